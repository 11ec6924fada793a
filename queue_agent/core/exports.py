"""Whether and how far the static exports of a queue have got; exporting itself is not supported yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.rows import QueueRow
from queue_agent.core.snapshots import Role


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


def find_exports_error(row: QueueRow, role: Role, origin: Origin) -> ErrorInfo | None:
    """Why the progress is not known; None if there are no exports at all."""
    if role is not Role.LEADING:
        return origin.error("Following queue controller can't track exports progress")
    if row.static_export_config:
        reason = origin.error("Static exports are not supported by this agent yet")
        return origin.error("Incorrect queue exports", inner_errors=[reason])
    return None


def banned_exports_error(ban: ErrorInfo, origin: Origin) -> ErrorInfo:
    """Of a queue that is banned."""
    reason = origin.error("Exports are disabled, since this queue is banned", inner_errors=[ban])
    return origin.error("Incorrect queue exports", inner_errors=[reason])
