"""`@queue_static_export_progress`: how far a static export has got."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from queue_agent.core.values.encoding import EPOCH, MAX_UNSIGNED, Unsigned, encode_instant
from queue_agent.core.values.scalars import MAX_SECOND, read_instant, read_integer, read_text

_MAX_DIGITS: Final = 9
"""Of the index of a tablet."""

NULL_ID: Final = "0-0-0-0"


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """How far an export has got, or all exports of a queue together."""

    row_counts: Mapping[int, int]
    """By partition index: the rows below this index are exported, trimmed ones included."""

    foreign: frozenset[int] = frozenset()
    """Partitions with progress that does not count: it is not known to be of their present tablets."""

    def row_count(self, partition_index: int) -> int:
        """Of one partition; 0 if it was never exported."""
        return self.row_counts.get(partition_index, 0)


def aggregate_progress(exports: Iterable[ExportProgress]) -> ExportProgress | None:
    """What every export has; None if there are no exports."""
    all_exports = list(exports)
    if not all_exports:
        return None
    indexes = sorted({index for export in all_exports for index in export.row_counts})
    return ExportProgress({index: min(export.row_count(index) for export in all_exports) for index in indexes})


@dataclass(frozen=True, slots=True)
class TabletProgress:
    """Of one tablet."""

    last_chunk: str = NULL_ID
    max_timestamp: int = 0
    row_count: int = 0
    """Index after the last exported row: trimmed rows count."""

    chunk_count: int = 0
    tablet_id: str = NULL_ID
    """Whose rows these are; `NULL_ID`: written by an agent that does not tell, such as the C++ one.

    The index of a tablet is no identity: after a reshard the same index is that of other rows.
    """

    def to_map(self) -> dict[str, Any]:
        known = {} if self.tablet_id == NULL_ID else {"tablet_id": self.tablet_id}
        return {
            "last_chunk": self.last_chunk,
            "max_timestamp": Unsigned(self.max_timestamp),
            "row_count": self.row_count,
            "chunk_count": self.chunk_count,
            **known,
        }


@dataclass(frozen=True, slots=True)
class StoredProgress:
    """The attribute as a whole; what it has by default is that of an export that never ran."""

    last_successful_export_task_instant: datetime = EPOCH
    """Of the last task that left no table out, though it may have had none to make."""

    last_export_task_instant: datetime = EPOCH
    last_export_unix_ts: int = 0
    """Tick of the last table."""

    tablets: Mapping[int, TabletProgress] = field(default_factory=dict)
    """By index."""

    queue_object_id: str = NULL_ID

    def reached(self, tablet_ids: Mapping[int, str]) -> ExportProgress:
        """What trimming may count on: progress of the tablets that the queue has now.

        Args:
            tablet_ids: by partition index.
        """
        own = self.by_tablet()
        row_counts = {index: own[one].row_count for index, one in tablet_ids.items() if one in own}
        foreign = frozenset(index for index, tablet in self.tablets.items() if tablet.row_count > 0)
        return ExportProgress(row_counts, foreign - row_counts.keys())

    def by_tablet(self) -> Mapping[str, TabletProgress]:
        """Progress by the id of its tablet, whatever the index was; the least if the document names a tablet twice."""
        found: dict[str, TabletProgress] = {}
        for one in self.tablets.values():
            if one.tablet_id != NULL_ID and one.row_count <= found.get(one.tablet_id, one).row_count:
                found[one.tablet_id] = one
        return found

    def left_of(self, tablet_ids: Sequence[str]) -> Mapping[int, TabletProgress]:
        """Progress, by index, that names none of these tablets."""
        present = set(tablet_ids)
        return {index: one for index, one in self.tablets.items() if one.tablet_id not in present}

    @property
    def last_chunks(self) -> Set[str]:
        """Of all tablets, also of those that are gone."""
        return {tablet.last_chunk for tablet in self.tablets.values()} - {NULL_ID}

    def to_map(self) -> dict[str, Any]:
        """As it is stored and published."""
        successful = encode_instant(self.last_successful_export_task_instant)
        return {
            "last_successful_export_task_instant": successful,
            "last_successful_export_iteration_instant": successful,
            "last_export_task_instant": encode_instant(self.last_export_task_instant),
            "last_export_unix_ts": Unsigned(self.last_export_unix_ts),
            "tablets": {str(index): tablet.to_map() for index, tablet in sorted(self.tablets.items())},
            "queue_object_id": self.queue_object_id,
        }

    @classmethod
    def parse(cls, value: Any) -> StoredProgress:
        """Read the attribute as any agent has left it; None: there is none yet.

        Raises:
            ValueError: it makes no sense.
        """
        if value is None:
            return cls()
        if not isinstance(value, Mapping):
            raise ValueError(f"Export progress is not a map: {value!r}")
        try:
            successful = value.get(
                "last_successful_export_task_instant", value.get("last_successful_export_iteration_instant")
            )
            return cls(
                _instant(successful),
                _instant(value.get("last_export_task_instant")),
                read_integer(
                    value.get("last_export_unix_ts", value.get("last_exported_fragment_unix_ts", 0)),
                    "last_export_unix_ts",
                    most=MAX_SECOND,
                ),
                {_tablet_index(index): _tablet(tablet) for index, tablet in _map(value.get("tablets", {})).items()},
                read_text(value.get("queue_object_id", NULL_ID), "queue_object_id"),
            )
        except ValueError as error:
            raise ValueError(f"Export progress cannot be read: {error}") from error


NOTHING_EXPORTED: Final = StoredProgress()


def recall_tablets(stored: StoredProgress, known: StoredProgress) -> StoredProgress:
    """A progress with the tablets that were found out for one that was read earlier.

    Args:
        stored: as it is written down now; an agent that does not tell tablets may have written it.
        known: the same from earlier, with its tablets. What differs from it in the slightest is not known.
    """
    tablets = dict(stored.tablets)
    for index, tablet in stored.tablets.items():
        before = known.tablets.get(index)
        if tablet.tablet_id == NULL_ID and before is not None and replace(before, tablet_id=NULL_ID) == tablet:
            tablets[index] = before
    return replace(stored, tablets=tablets)


def keep_tablets(progress: StoredProgress, known: Sequence[TabletProgress | None]) -> StoredProgress:
    """The progress of these tablets, by index, and of no others."""
    return replace(progress, tablets={index: one for index, one in enumerate(known) if one is not None})


def without_tablets(progress: StoredProgress, indexes: Container[int]) -> StoredProgress:
    """The progress of all other tablets."""
    return replace(progress, tablets={index: one for index, one in progress.tablets.items() if index not in indexes})


def dropped_indexes(before: StoredProgress, after: StoredProgress) -> Sequence[int]:
    """Indexes of progress with rows that no tablet continues. Wherever these rows are now, they are exported again.

    Args:
        before: progress as stored.
        after: progress of the present tablets.
    """
    kept = {(one.last_chunk, one.row_count) for one in after.tablets.values()}
    return [
        index
        for index, one in sorted(before.tablets.items())
        if one.row_count > 0 and (one.last_chunk, one.row_count) not in kept
    ]


def _tablet(value: Any) -> TabletProgress:
    value = _map(value)
    return TabletProgress(
        read_text(value.get("last_chunk", NULL_ID), "last_chunk"),
        read_integer(value.get("max_timestamp", 0), "max_timestamp", most=MAX_UNSIGNED),
        read_integer(value.get("row_count", 0), "row_count"),
        read_integer(value.get("chunk_count", 0), "chunk_count"),
        read_text(value.get("tablet_id", NULL_ID), "tablet_id"),
    )


def _tablet_index(text: Any) -> int:
    """YSON has no other keys than strings."""
    is_number = isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    if not is_number or str(int(text)) != text:  # "0" and "00" would be one tablet with two entries
        raise ValueError(f"expected the index of a tablet, got {text!r}")
    return int(text)


def _map(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a map, got {value!r}")
    return value


def _instant(value: Any) -> datetime:
    return EPOCH if value is None else read_instant(value, "instant")
