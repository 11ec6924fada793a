"""Which tasks of exports are told as events."""

from __future__ import annotations

from queue_agent.core.exports.export_events import find_export_event
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.planning import TablePart
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.event_kinds import EventKind

BROKEN = ErrorInfo("No room", inner_errors=(ErrorInfo("Account is full"),))


def find(outcome: ExportOutcome, *, failed_before: bool = False) -> tuple[EventKind, str] | None:
    event = find_export_event("daily", "//d", outcome, failed_before=failed_before)
    return None if event is None else event[:2]


def test_tables_that_are_made_are_told() -> None:
    one = ExportOutcome(made=[TablePart(60, [])])
    assert find(one) == (EventKind.EXPORT, "Export daily wrote 0 rows to 1 table in //d")
    two = ExportOutcome(made=[TablePart(60, []), TablePart(120, [])], recounted=[3])
    event = find_export_event("daily", "//d", two, failed_before=False)
    assert event is not None
    assert event[1].endswith("to 2 tables in //d; 1 partitions begin again, so rows may be there twice")
    assert event[2]["recounted_partition_count"] == 1


def test_a_task_without_news_is_no_event() -> None:
    assert find(ExportOutcome()) is None
    assert find(ExportOutcome(error=BROKEN), failed_before=True) is None


def test_a_failure_is_told_once_and_so_is_its_end() -> None:
    assert find(ExportOutcome(error=BROKEN)) == (
        EventKind.EXPORT_FAILED,
        "Export daily to //d fails: No room: Account is full",
    )
    kind, reason = find(ExportOutcome(), failed_before=True) or (None, "")
    assert kind is EventKind.EXPORT_RECOVERED
    assert reason == "Export daily works again: 0 rows to 0 tables in //d"
