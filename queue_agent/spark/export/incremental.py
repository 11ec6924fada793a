"""What a verification keeps of an export, so that the next one looks only at what came since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from queue_agent.spark.export.documents import ExportFile, Manifest, Range, Replaced
from queue_agent.spark.export.file_sets import FileSet, Known, Listing, find_others, list_files
from queue_agent.spark.export.layout import parse_file_name
from queue_agent.spark.export.storage import Storage


@dataclass(frozen=True, slots=True)
class Verified:
    """Manifests up to one of them, found whole; as long as partitions and periods are, not files."""

    export_id: str
    last_number: int = -1
    """Of the last manifest; -1 before the first."""

    deep: bool = True
    """Whether all data was read."""

    verified_at: str = ""
    """Of the last of these verifications."""

    row_count: int = 0
    ranges: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """By partition: the first row, and one past the last."""

    tablet_ids: Mapping[int, str] = field(default_factory=dict)
    """By partition: whose rows these are."""

    label_rows: Mapping[str, int] = field(default_factory=dict)
    """By directory of time: rows in files that count."""

    files: Mapping[str, FileSet] = field(default_factory=dict)
    """By directory of time: files that count."""

    others: Sequence[str] = ()
    """Files that were there and did not count: replaced ones, and those in no manifest."""

    @property
    def known(self) -> Known:
        """What its manifests tell of files."""
        return Known(self.last_number, self.ranges)

    def to_json(self) -> dict[str, Any]:
        return {
            "export_id": self.export_id,
            "last_manifest": self.last_number,
            "deep": self.deep,
            "verified_at": self.verified_at,
            "rows": self.row_count,
            "ranges": {str(index): list(bounds) for index, bounds in sorted(self.ranges.items())},
            "tablets": {str(index): tablet_id for index, tablet_id in sorted(self.tablet_ids.items())},
            "labels": dict(sorted(self.label_rows.items())),
            "files": {label: files.to_json() for label, files in sorted(self.files.items())},
            "others": sorted(self.others),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Verified:
        return cls(
            str(value["export_id"]),
            int(value["last_manifest"]),
            bool(value["deep"]),
            str(value["verified_at"]),
            int(value["rows"]),
            {int(index): (int(begin), int(end)) for index, (begin, end) in value["ranges"].items()},
            {int(index): str(tablet_id) for index, tablet_id in value["tablets"].items()},
            {str(label): int(rows) for label, rows in value["labels"].items()},
            {str(label): FileSet.from_json(files) for label, files in value["files"].items()},
            [str(path) for path in value["others"]],
        )

    def covers(self, export_id: str, *, deep: bool) -> bool:
        """Whether a verification may build on this one."""
        return self.export_id == export_id and (self.deep or not deep)


def replaced_before(since: Verified, manifests: Iterable[Manifest]) -> list[Replaced]:
    """Files of earlier manifests than these, which these replace; none if there are no earlier ones."""
    if since.last_number < 0:
        return []
    brought: set[str] = set()
    earlier = []
    for manifest in manifests:
        earlier += [file for file in manifest.plan.replaces if file.path not in brought]
        brought |= {file.path for file in manifest.files}
    return earlier


def check_replaced(since: Verified, earlier: Sequence[Replaced]) -> list[str]:
    """Whether files that are replaced can be some of the earlier manifests, and are replaced once."""
    faults = [
        f"{path} is replaced {count} times" for path, count in Counter(f.path for f in earlier).items() if count > 1
    ]
    for file in earlier:
        name = parse_file_name(file.path.rpartition("/")[2])
        begin, end = since.ranges.get(name.partition_index, (0, 0)) if name is not None else (0, 0)
        if name is None or name.begin < begin or name.end > end:
            faults.append(f"{file.path} is replaced, and no manifest brought it")
    return faults


def rows_by_label(since: Verified, files: Iterable[ExportFile], earlier: Iterable[Replaced]) -> Counter[str]:
    """Rows of each directory of time, with those that were there before."""
    counts = Counter(since.label_rows)
    for file in files:
        counts[file.label] += file.row_count
    for replaced in earlier:
        counts[replaced.path.rpartition("/")[0]] -= replaced.row_count
    return counts


def files_left(since: Verified, earlier: Iterable[Replaced]) -> dict[str, FileSet]:
    """By directory of time: files of earlier manifests that still count."""
    left = dict(since.files)
    for file in earlier:
        label = file.path.rpartition("/")[0]
        left[label] = left.get(label, FileSet()).minus(FileSet.of([file.path]))
    return left


def list_files_since(
    storage: Storage,
    since: Verified,
    manifests: Sequence[Manifest],
    live: Mapping[str, ExportFile],
    ranges: Mapping[int, tuple[int, int]],
) -> Listing:
    """All files, or by directory: those of earlier manifests, and those beside the ones that are looked at."""
    now = Known(max([since.last_number, *(manifest.number for manifest in manifests)]), ranges)
    if since.last_number < 0:
        stored = storage.files("", recursive=True)
        return Listing(stored, others=find_others((file.path for file in stored), now, live))
    wanted = {file.label for file in live.values()}
    ignored = {*since.others, *(file.path for manifest in manifests for file in manifest.plan.replaces)}
    return list_files(
        storage,
        sorted({*since.files, *wanted}),
        wanted,
        before=since.known,
        now=now,
        live=live,
        ignored=ignored,
    )


def rows_replaced(earlier: Iterable[Replaced]) -> Counter[int]:
    """By partition: rows of these files."""
    counts: Counter[int] = Counter()
    for file in earlier:
        name = parse_file_name(file.path.rpartition("/")[2])
        if name is not None:
            counts[name.partition_index] += file.row_count
    return counts


def tiles_of(since: Verified) -> dict[int, Range]:
    """By partition: all rows of earlier manifests."""
    return {index: Range(index, begin, end) for index, (begin, end) in since.ranges.items()}


def after(
    since: Verified,
    manifests: Sequence[Manifest],
    live: Mapping[str, ExportFile],
    ranges: Mapping[int, tuple[int, int]],
    others: Sequence[str],
    *,
    deep: bool,
) -> Verified:
    """What to keep once these manifests were found whole, too; whoever keeps it says when."""
    earlier = replaced_before(since, manifests)
    tablet_ids = dict(since.tablet_ids)
    for manifest in manifests:
        tablet_ids |= manifest.plan.tablet_ids
    labels = rows_by_label(since, live.values(), earlier)
    files = files_left(since, earlier)
    for path, file in live.items():
        files[file.label] = files.get(file.label, FileSet()).plus(FileSet.of([path]))
    return Verified(
        since.export_id,
        max([since.last_number, *(manifest.number for manifest in manifests)]),
        deep,
        "",
        sum(labels.values()),
        dict(ranges),
        tablet_ids,
        {label: rows for label, rows in labels.items() if rows},
        {label: own for label, own in files.items() if own.count},
        sorted(others),
    )
