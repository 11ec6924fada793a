"""`@queue_static_export_progress`: how far a static export has got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from queue_agent.core.encoding import EPOCH, Unsigned, encode_instant

NULL_ID: Final = "0-0-0-0"


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """How far an export has got, or all exports of a queue together."""

    row_counts: Mapping[int, int]
    """By partition index: the rows below this index are exported, trimmed ones included."""

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

    def to_map(self) -> dict[str, Any]:
        return {
            "last_chunk": self.last_chunk,
            "max_timestamp": Unsigned(self.max_timestamp),
            "row_count": self.row_count,
            "chunk_count": self.chunk_count,
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

    @property
    def reached(self) -> ExportProgress:
        """What trimming wants to know."""
        return ExportProgress({index: tablet.row_count for index, tablet in self.tablets.items()})

    def with_tablet(self, index: int, tablet: TabletProgress) -> StoredProgress:
        """The same, further in one tablet."""
        return replace(self, tablets={**self.tablets, index: tablet})

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
                int(value.get("last_export_unix_ts", value.get("last_exported_fragment_unix_ts", 0))),
                {int(index): _tablet(tablet) for index, tablet in value.get("tablets", {}).items()},
                str(value.get("queue_object_id", NULL_ID)),
            )
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"Export progress can not be read: {error}") from error


NOTHING_EXPORTED: Final = StoredProgress()


def _tablet(value: Mapping[str, Any]) -> TabletProgress:
    return TabletProgress(
        str(value.get("last_chunk", NULL_ID)),
        int(value.get("max_timestamp", 0)),
        int(value.get("row_count", 0)),
        int(value.get("chunk_count", 0)),
    )


def _instant(value: Any) -> datetime:
    return EPOCH if value is None else datetime.fromisoformat(str(value))
