"""Which events a task of a static export is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.event_kinds import EventKind

EXPORT_KINDS: Final = frozenset({EventKind.EXPORT, EventKind.EXPORT_FAILED, EventKind.EXPORT_RECOVERED})


def find_export_event(
    name: str, directory: str, outcome: ExportOutcome, *, failed_before: bool
) -> tuple[EventKind, str, Mapping[str, Any]] | None:
    """Kind, sentence and details; None: a task that made nothing, or failed like the one before.

    Args:
        name: of the export.
        directory: where it puts tables.
        outcome: of the task.
        failed_before: whether the task before this one failed.
    """
    tables, rows = len(outcome.made), sum(part.row_count for part in outcome.made)
    details = {"export": name, "directory": directory, "table_count": tables, "row_count": rows}
    made = f"{rows:,} rows to {tables} table{'' if tables == 1 else 's'} in {directory}"
    if outcome.recounted:
        made += f"; {len(outcome.recounted)} partitions begin again, so rows may be there twice"
        details["recounted_partition_count"] = len(outcome.recounted)
    if outcome.error is not None:
        if failed_before:
            return None
        reason = f"Export {name} to {directory} fails: {flatten_error(outcome.error)}"
        return EventKind.EXPORT_FAILED, reason, details
    if failed_before:
        return EventKind.EXPORT_RECOVERED, f"Export {name} works again: {made}", details
    return (EventKind.EXPORT, f"Export {name} wrote {made}", details) if outcome.made else None


def flatten_error(error: ErrorInfo) -> str:
    """An error and what is in it, in a line."""
    return ": ".join([error.message, *(flatten_error(inner) for inner in error.inner_errors)])
