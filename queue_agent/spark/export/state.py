"""What the manifests of an export say when they are read one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from queue_agent.spark.export.documents import ExportFile, Manifest, Range
from queue_agent.spark.export.errors import TargetDamaged
from queue_agent.spark.export.layout import parse_file_name, period_of

_TIMESTAMP_BITS: Final = 30
"""Below the seconds of a timestamp of YTsaurus."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Rows in one directory of time."""

    row_count: int = 0
    ends: Mapping[int, int] = field(default_factory=dict)
    """By partition: one past the last row."""

    def plus(self, other: Tally) -> Tally:
        ends = {
            index: max(self.ends.get(index, 0), other.ends.get(index, 0)) for index in sorted({*self.ends, *other.ends})
        }
        return Tally(self.row_count + other.row_count, ends)

    def to_json(self) -> dict[str, Any]:
        return {"rows": self.row_count, "ends": {str(index): end for index, end in self.ends.items()}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tally:
        return cls(int(value["rows"]), {int(index): int(end) for index, end in value["ends"].items()})


@dataclass(frozen=True, slots=True)
class ExportState:
    """How far an export is; kept in `_progress.json`, and the same when it is rebuilt from the manifests."""

    last_number: int = -1
    """Of the last manifest; -1 before the first."""

    first_row_indexes: Mapping[int, int] = field(default_factory=dict)
    """By partition: the first row that was ever exported."""

    next_row_indexes: Mapping[int, int] = field(default_factory=dict)
    """By partition: one past the last row."""

    last_timestamps: Mapping[int, int] = field(default_factory=dict)
    """By partition: the greatest `$timestamp`."""

    tablet_ids: Mapping[int, str] = field(default_factory=dict)
    """By partition: the tablet whose rows these are; absent as long as no manifest tells, as of earlier versions."""

    tallies: Mapping[str, Tally] = field(default_factory=dict)
    """By label: directories of time that are not closed."""

    closed_until: datetime | None = None
    """Directories of time that end here or earlier are closed."""

    def is_closed(self, label: str) -> bool:
        """Whether a directory of time has been declared complete."""
        return self.closed_until is not None and bool(label) and period_of(label)[1] <= self.closed_until

    def to_json(self) -> dict[str, Any]:
        return {
            "last_manifest": self.last_number,
            "first_row_indexes": _with_text_keys(self.first_row_indexes),
            "next_row_indexes": _with_text_keys(self.next_row_indexes),
            "last_timestamps": _with_text_keys(self.last_timestamps),
            "tablets": {str(index): tablet_id for index, tablet_id in sorted(self.tablet_ids.items())},
            "open": {label: tally.to_json() for label, tally in sorted(self.tallies.items())},
            "closed_until": None if self.closed_until is None else self.closed_until.isoformat(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ExportState:
        closed = value["closed_until"]
        return cls(
            int(value["last_manifest"]),
            _with_number_keys(value["first_row_indexes"]),
            _with_number_keys(value["next_row_indexes"]),
            _with_number_keys(value["last_timestamps"]),
            {int(index): str(tablet_id) for index, tablet_id in value.get("tablets", {}).items()},
            {label: Tally.from_json(tally) for label, tally in value["open"].items()},
            None if closed is None else datetime.fromisoformat(closed),
        )


def follow(state: ExportState, manifest: Manifest) -> ExportState:
    """The state after one more manifest.

    Raises:
        TargetDamaged: it is not the next one, or its rows do not adjoin those before.
    """
    if manifest.number != state.last_number + 1:
        raise TargetDamaged(f"manifest {manifest.number} comes after {state.last_number}")
    first, following = dict(state.first_row_indexes), dict(state.next_row_indexes)
    timestamps = dict(state.last_timestamps)
    if manifest.plan.kind == "export":
        for rows in sorted([*manifest.plan.gaps, *manifest.plan.ranges]):
            _adjoin(manifest.number, first, following, rows)
        for file in manifest.files:
            if file.max_timestamp is not None:
                index = file.rows.partition_index
                timestamps[index] = max(timestamps.get(index, 0), file.max_timestamp)
    tallies = dict(state.tallies)
    for label, tally in tallies_of(manifest).items():
        if not state.is_closed(label):
            tallies[label] = tallies.get(label, Tally()).plus(tally)
    return replace(
        state,
        last_number=manifest.number,
        first_row_indexes=first,
        next_row_indexes=following,
        last_timestamps=timestamps,
        tablet_ids={**state.tablet_ids, **manifest.plan.tablet_ids},
        tallies=tallies,
    )


def follow_all(manifests: Iterable[Manifest]) -> ExportState:
    """The state after all manifests, as if no directory of time had been closed."""
    state = ExportState()
    for manifest in manifests:
        state = follow(state, manifest)
    return state


def tallies_of(manifest: Manifest) -> dict[str, Tally]:
    """By label: what a manifest adds to directories; less than nothing where it replaces more than it brings.

    Takes time in proportion to the files, also where all of them are in one directory.
    """
    counts: dict[str, int] = {}
    ends: dict[str, dict[int, int]] = {}

    def add(label: str, row_count: int, partition_index: int | None, end: int) -> None:
        counts[label] = counts.get(label, 0) + row_count
        of_label = ends.setdefault(label, {})
        if partition_index is not None:
            of_label[partition_index] = max(of_label.get(partition_index, 0), end)

    for file in manifest.files:
        add(file.label, file.row_count, file.rows.partition_index, file.rows.end)
    for replaced in manifest.plan.replaces:
        label, _, name = replaced.path.rpartition("/")
        parsed = parse_file_name(name)
        index, end = (None, 0) if parsed is None else (parsed.partition_index, parsed.end)
        add(label, -replaced.row_count, index, end)
    return {label: Tally(count, dict(sorted(ends[label].items()))) for label, count in counts.items()}


def live_files(manifests: Iterable[Manifest]) -> dict[str, ExportFile]:
    """By path: the files that are part of the export."""
    live: dict[str, ExportFile] = {}
    for manifest in manifests:
        for replaced in manifest.plan.replaces:
            live.pop(replaced.path, None)
        live |= {file.path: file for file in manifest.files}
    return live


def late_rows(state: ExportState, files: Sequence[ExportFile]) -> int:
    """Rows that go to directories of time that are closed."""
    return sum(file.row_count for file in files if state.is_closed(file.label))


def instant_of(timestamp: int) -> datetime:
    """The second of a timestamp of YTsaurus."""
    return datetime.fromtimestamp(timestamp >> _TIMESTAMP_BITS, UTC)


def _adjoin(number: int, first: dict[int, int], following: dict[int, int], rows: Range) -> None:
    index = rows.partition_index
    if index not in following:
        first[index], following[index] = rows.begin, rows.end
    elif rows.begin == following[index]:
        following[index] = rows.end
    elif rows.end == first[index]:
        first[index] = rows.begin
    else:
        raise TargetDamaged(
            f"manifest {number} has rows {rows.begin} to {rows.end - 1} of partition {index}; those before it are "
            f"{first[index]} to {following[index] - 1}"
        )


def _with_text_keys(rows: Mapping[int, int]) -> dict[str, int]:
    return {str(index): row for index, row in sorted(rows.items())}


def _with_number_keys(rows: Mapping[str, Any]) -> dict[int, int]:
    return {int(index): int(row) for index, row in rows.items()}
