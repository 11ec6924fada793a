"""One task of an export, where what it finds is not as it should be."""

from __future__ import annotations

from datetime import UTC, datetime

from queue_agent.controllers.export_task import ExportTask, run_export_task
from queue_agent.core.error_info import Origin
from queue_agent.core.export_config import ExportConfig, InvalidSchedule
from queue_agent.core.export_outcome import ExportOutcome
from queue_agent.core.export_schedule import EveryPeriod, ExportSchedule
from queue_agent.core.export_source import ChunkFacts, TabletChunks
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.timestamps import COUNTER_BITS
from tests.unguarded import AlwaysPermitted
from tests.unit.controllers.export_fakes import FakeExports

NOW = datetime(2025, 1, 23, tzinfo=UTC)
ORIGIN = Origin("agent-1", 481, 7, "Exports:0", 8, "1-2-3-4", 9, NOW)
MINUTELY = EveryPeriod(60)
OLD, NEW = TabletChunks("list", ["a"]), TabletChunks("list", ["a", "b"])


def flushed() -> FakeExports:
    """A tablet of two chunks: rows 5 to 10, for those before are gone, and 10 to 12."""
    cluster = FakeExports()
    cluster.tablets = [[NEW]]
    cluster.chunks = {"a": ChunkFacts(5, 60 << COUNTER_BITS, 50), "b": ChunkFacts(2, 130 << COUNTER_BITS, 20)}
    cluster.ends = [12]
    return cluster


async def export(
    cluster: FakeExports, schedule: ExportSchedule | InvalidSchedule = MINUTELY, *, check: bool = True
) -> ExportOutcome:
    task = ExportTask(
        CrossClusterRef("hume", "//tmp/q"), "e", ExportConfig(schedule, "//tmp/d"), NOW, 10, check, ORIGIN
    )
    return await run_export_task(task, cluster, AlwaysPermitted())


async def test_rows_are_told_by_the_end_of_what_is_flushed() -> None:
    cluster = flushed()
    outcome = await export(cluster)
    assert outcome.error is None
    assert {path: [(one.row_index, one.row_count) for one in part.chunks] for path, part in cluster.made.items()} == {
        "//tmp/d/60-60": [(5, 5)],
        "//tmp/d/120-60": [(10, 2)],
    }
    assert cluster.progress["//tmp/d"].tablets[0].row_count == 12


async def test_chunks_that_come_while_they_are_looked_at_are_not_taken_for_others() -> None:
    cluster = flushed()
    cluster.tablets = [[OLD], [NEW], [OLD], [NEW]]
    outcome = await export(cluster)
    assert "come and go too fast" in str(outcome.error)
    assert (cluster.made, cluster.progress) == ({}, {})
    cluster.tablets = [[OLD], [NEW]]
    assert (await export(cluster)).error is None
    assert cluster.progress["//tmp/d"].tablets[0].row_count == 12


async def test_where_chunks_do_not_go_on_with_the_progress_nothing_is_exported_if_that_is_checked() -> None:
    cluster = flushed()
    cluster.stored = {"tablets": {"0": {"last_chunk": "a", "row_count": 9}}}
    outcome = await export(cluster)
    assert "EndRowIndex: 10, RowCount: 9" in str(outcome.error)
    assert (outcome.mismatch_count, cluster.made) == (1, {})
    outcome = await export(cluster, check=False)
    assert (outcome.error, outcome.mismatch_count, list(cluster.made)) == (None, 1, ["//tmp/d/120-60"])
    assert cluster.progress["//tmp/d"].tablets[0].row_count == 12


async def test_what_can_not_be_read_is_an_error_and_is_not_overwritten() -> None:
    cluster = flushed()
    cluster.stored = {"tablets": 5}
    assert "Export progress can not be read" in str((await export(cluster)).error)
    assert "Cron expression" in str((await export(cluster, InvalidSchedule("* *", "too short"))).error)
    assert cluster.progress == {}
