"""How far the exports of a queue are, as it is published."""

from __future__ import annotations

from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.progress import StoredProgress, TabletProgress
from queue_agent.core.exports.queue_exports import ExportState, QueueExports
from queue_agent.core.exports.schedule import EveryPeriod

CONFIG = ExportConfig(EveryPeriod(60), "//d")


def test_an_exporter_shows_its_tasks() -> None:
    progress = StoredProgress(last_export_unix_ts=60)
    state = ExportState(
        CONFIG,
        progress,
        last_successful_tick=120,
        task_index=3,
        task_instant="2024-01-01T00:00:00.000000Z",
        retry_index=2,
        retry_backoff=500,
    )
    assert state.to_map() == {
        "progress": progress.to_map(),
        "last_successful_export_unix_ts": 120,
        "export_task_invocation_index": 3,
        "export_task_invocation_instant": "2024-01-01T00:00:00.000000Z",
        "retry_index": 2,
        "retry_backoff_duration": 500,
    }


def test_trimming_counts_on_each_export_by_its_name() -> None:
    state = ExportState(CONFIG, StoredProgress(tablets={0: TabletProgress("1-1-1-1", 0, 7, 1, "t0")}))
    [(name, reached)] = QueueExports(exporters={"hourly": state}).reached({0: "t0"}).items()
    assert (name, reached.row_counts) == ("hourly", {0: 7})
