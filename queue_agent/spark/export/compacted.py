"""What a compaction keeps of an export, so that the next one reads only manifests that came since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from queue_agent.spark.export import layout
from queue_agent.spark.export.documents import ExportFile, Manifest
from queue_agent.spark.export.state import ExportState
from queue_agent.spark.export.storage import StoredFile


@dataclass(frozen=True, slots=True)
class Compacted:
    """Manifests up to one of them; as long as what is not complete yet, not as the export."""

    export_id: str
    target_bytes: int
    """Up to which files were merged."""

    last_number: int = -1
    """Of the last manifest; -1 before the first."""

    closed_until: datetime | None = None
    """Directories of time that end here or earlier were complete: what could be merged there was."""

    files: Sequence[ExportFile] = ()
    """Files that count, in the other directories."""

    replaced: Mapping[str, datetime] = field(default_factory=dict)
    """Files that wait to be removed, and since when."""

    def to_json(self) -> dict[str, Any]:
        return {
            "export_id": self.export_id,
            "target_bytes": self.target_bytes,
            "last_manifest": self.last_number,
            "closed_until": None if self.closed_until is None else self.closed_until.isoformat(),
            "files": [file.to_json() for file in self.files],
            "replaced": {path: moment.isoformat() for path, moment in sorted(self.replaced.items())},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Compacted:
        closed = value["closed_until"]
        return cls(
            str(value["export_id"]),
            int(value["target_bytes"]),
            int(value["last_manifest"]),
            None if closed is None else datetime.fromisoformat(closed),
            [ExportFile.from_json(file) for file in value["files"]],
            {str(path): datetime.fromisoformat(moment) for path, moment in value["replaced"].items()},
        )

    def knows_all_of(self, label: str) -> bool:
        """Whether each file of a directory that counts is in `files`, or in a later manifest."""
        return not ExportState(closed_until=self.closed_until).is_closed(label)


class Files:
    """Files that count, and those that were replaced, while manifests are followed.

    Args:
        kept: to begin with.
    """

    def __init__(self, kept: Compacted) -> None:
        self.live = {file.path: file for file in kept.files}
        self.replaced = dict(kept.replaced)

    def follow(self, manifest: Manifest) -> None:
        """Take in the next manifest."""
        for replaced in manifest.plan.replaces:
            self.live.pop(replaced.path, None)
            self.replaced[replaced.path] = datetime.fromisoformat(manifest.published_at)
        self.live |= {file.path: file for file in manifest.files}

    def removals(self, stored: Iterable[StoredFile], now: datetime, grace: timedelta) -> list[str]:
        """Files that nobody should need: replaced ones, those in no manifest, and temporary ones, after a while.

        Args:
            stored: all files of directories of which all that counts is known.
            now: the present.
            grace: since the replacement, or since a file was last written; readers that began before go on.
        """
        removals = [path for path, moment in self.replaced.items() if now - moment >= grace]
        for file in stored:
            name = file.path.rpartition("/")[2]
            is_data = layout.parse_file_name(name) is not None
            if file.path in self.live or file.path in self.replaced or not (is_data or layout.is_temporary(name)):
                continue
            if now - file.modified >= grace:
                removals.append(file.path)
        return removals

    def forget(self, paths: Iterable[str]) -> None:
        """Files that are removed."""
        for path in paths:
            self.replaced.pop(path, None)

    def kept(self, export_id: str, target_bytes: int, state: ExportState) -> Compacted:
        """What the next compaction needs of all manifests."""
        files = [file for file in self.live.values() if not state.is_closed(file.label)]
        return Compacted(export_id, target_bytes, state.last_number, state.closed_until, files, self.replaced)
