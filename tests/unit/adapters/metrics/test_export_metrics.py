"""Metrics of static exports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from queue_agent.adapters.metrics.export_metrics import ExportCounters, export_lines
from queue_agent.core.exports.config import ExportConfig, InvalidSchedule
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.planning import QueueChunk, TablePart
from queue_agent.core.exports.progress import StoredProgress
from queue_agent.core.exports.queue_exports import ExportState, QueueExports
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef

QUEUE = CrossClusterRef("hume", "//tmp/q")
NOW = datetime(2024, 5, 1, 12, 30, 30, tzinfo=UTC)
TICK = int(NOW.timestamp()) - 30
CONFIG = ExportConfig(EveryPeriod(60), "//tmp/x")
LABELS = 'queue_cluster="hume",queue_path="//tmp/q",queue_tag="none"'
PARTS = [TablePart(60, [QueueChunk("1", 0, 0, 3, 5), QueueChunk("2", 0, 3, 4, 5)])]


def lines_of(counters: ExportCounters, *states: ExportState, role: Role = Role.LEADING, compatible: bool = True) -> str:
    exports = QueueExports(exporters={f"e{number}": state for number, state in enumerate(states)})
    snapshot = QueueSnapshot(QueueRow(QUEUE), role, 1, NOW, ErrorInfo("none"), exports=exports)
    return "".join(
        text
        for lines in export_lines({QUEUE: snapshot}, counters.values(), compatible=compatible)
        for _, text in lines.by_family()
    )


def made(progress: StoredProgress) -> ExportOutcome:
    return ExportOutcome(before=StoredProgress(), after=progress, made=list(PARTS))


def test_tasks_are_counted_by_export_and_together() -> None:
    counters = ExportCounters()
    counters.exports_kept({QUEUE: ["e0", "e1"]})
    for name in ("e0", "e1"):
        counters.export_finished(QUEUE, name, made(StoredProgress()))
    counters.export_finished(QUEUE, "e0", ExportOutcome(skipped=2, mismatch_count=1, error=ErrorInfo("broken")))
    text = lines_of(counters, ExportState(CONFIG), ExportState(CONFIG))
    first = f'{LABELS},export_name="e0"'
    assert f"queue_agent_queue_exported_rows_total{{{first}}} 7\n" in text
    assert f"queue_agent_queue_exported_tables_total{{{first}}} 1\n" in text
    assert f"queue_agent_queue_export_skipped_tables_total{{{first}}} 2\n" in text
    assert f"queue_agent_queue_export_errors_total{{{first}}} 1\n" in text
    assert f"yt_queue_agent_queue_static_export_exported_chunks{{{first}}} 2\n" in text
    assert f"yt_queue_agent_queue_static_export_exported_chunks{{{LABELS}}} 4\n" in text
    assert f"yt_queue_agent_queue_static_export_export_task_errors{{{LABELS}}} 1\n" in text
    assert "row_count_mismatches" in text


def test_what_was_not_committed_was_not_exported() -> None:
    counters = ExportCounters()
    counters.exports_kept({QUEUE: ["e0"]})
    counters.export_finished(QUEUE, "e0", ExportOutcome(made=list(PARTS), error=ErrorInfo("broken")))
    assert f'queue_agent_queue_exported_rows_total{{{LABELS},export_name="e0"}} 0\n' in lines_of(
        counters, ExportState(CONFIG)
    )


def test_exports_begin_at_zero_and_end_with_their_queue() -> None:
    counters = ExportCounters()
    counters.exports_kept({QUEUE: ["e0"]})
    assert f'queue_agent_queue_export_errors_total{{{LABELS},export_name="e0"}} 0\n' in lines_of(
        counters, ExportState(CONFIG)
    )
    counters.exports_kept({})
    assert lines_of(counters, ExportState(CONFIG)) == ""


def test_the_lag_is_that_of_the_last_table_behind_the_last_tick() -> None:
    counters = ExportCounters()
    counters.exports_kept({QUEUE: ["e0"]})
    state = ExportState(CONFIG, StoredProgress(NOW - timedelta(seconds=5), NOW, TICK - 90))
    text = lines_of(counters, state)
    labels = f'{LABELS},export_name="e0"'
    assert f"yt_queue_agent_queue_static_export_time_lag{{{labels}}} 90\n" in text
    assert f"yt_queue_agent_queue_static_export_table_lag{{{labels}}} 2\n" in text
    assert f"queue_agent_queue_export_last_table_timestamp_seconds{{{labels}}} {TICK - 90}\n" in text
    seconds = (NOW - EPOCH).total_seconds() - 5
    assert f"queue_agent_queue_export_last_success_timestamp_seconds{{{labels}}} {seconds!r}\n" in text


def test_what_is_not_known_is_not_told() -> None:
    counters = ExportCounters()
    counters.exports_kept({QUEUE: ["e0"]})
    progress = StoredProgress(last_export_unix_ts=TICK)
    for state in (ExportState(CONFIG), ExportState(ExportConfig(InvalidSchedule("x", "y"), "//tmp/x"), progress)):
        assert "time_lag" not in lines_of(counters, state)
    assert "yt_" not in lines_of(counters, ExportState(CONFIG, progress), compatible=False)
    assert lines_of(counters, ExportState(CONFIG, progress), role=Role.FOLLOWING) == ""
