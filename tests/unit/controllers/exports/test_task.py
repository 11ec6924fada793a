"""One task of an export, where what it finds is not as it should be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from queue_agent.controllers.exports.task import ExportTask, run_export_task
from queue_agent.core.exports.config import ExportConfig, InvalidSchedule
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.schedule import ByCron, EveryPeriod, ExportSchedule
from queue_agent.core.exports.source import ChunkFacts, TabletChunks
from queue_agent.core.values.cron import CronExpression
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import COUNTER_BITS
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
    cluster.tablet_ids = [["t0"]]
    return cluster


async def export(
    cluster: FakeExports,
    schedule: ExportSchedule | InvalidSchedule = MINUTELY,
    *,
    check: bool = True,
    time_to_live: timedelta | None = None,
) -> ExportOutcome:
    config = ExportConfig(schedule, "//tmp/d", time_to_live)
    task = ExportTask(CrossClusterRef("hume", "//tmp/q"), "e", config, NOW, 10, check, ORIGIN)
    return await run_export_task(task, cluster, AlwaysPermitted())


async def test_rows_are_told_by_the_end_of_what_is_flushed() -> None:
    cluster = flushed()
    outcome = await export(cluster)
    assert outcome.error is None
    assert {name: [(one.row_index, one.row_count) for one in part.chunks] for name, part in cluster.made.items()} == {
        "60-60": [(5, 5)],
        "120-60": [(10, 2)],
    }
    assert cluster.progress["d-1"].tablets[0].row_count == 12


async def test_chunks_that_come_while_they_are_looked_at_are_not_taken_for_others() -> None:
    cluster = flushed()
    cluster.tablets = [[OLD], [NEW], [OLD], [NEW]]
    outcome = await export(cluster)
    assert "change too fast to be read" in str(outcome.error)
    assert (cluster.made, cluster.progress) == ({}, {})
    cluster.tablets = [[OLD], [NEW]]
    assert (await export(cluster)).error is None
    assert cluster.progress["d-1"].tablets[0].row_count == 12


async def test_where_chunks_do_not_go_on_with_the_progress_nothing_is_exported_if_that_is_checked() -> None:
    cluster = flushed()
    cluster.stored = {"tablets": {"0": {"last_chunk": "a", "row_count": 9}}}
    outcome = await export(cluster)
    assert "EndRowIndex: 10, RowCount: 9" in str(outcome.error)
    assert (outcome.mismatch_count, cluster.made) == (1, {})
    outcome = await export(cluster, check=False)
    assert (outcome.error, outcome.mismatch_count, list(cluster.made)) == (None, 1, ["120-60"])
    assert cluster.progress["d-1"].tablets[0].row_count == 12


async def test_what_can_not_be_read_is_an_error_and_is_not_overwritten() -> None:
    cluster = flushed()
    cluster.stored = {"tablets": 5}
    assert "Export progress can not be read" in str((await export(cluster)).error)
    assert "Cron expression" in str((await export(cluster, InvalidSchedule("* *", "too short"))).error)
    assert cluster.progress == {}


async def test_progress_is_that_of_a_tablet_and_not_of_an_index() -> None:
    cluster = flushed()
    cluster.stored = {"tablets": {"0": {"last_chunk": "a", "row_count": 9, "tablet_id": "another"}}}
    outcome = await export(cluster)
    assert (outcome.error, outcome.recounted, sorted(cluster.made)) == (None, [0], ["120-60", "60-60"])
    tablet = cluster.progress["d-1"].tablets[0]
    assert (tablet.row_count, tablet.tablet_id) == (12, "t0")


async def test_a_tablet_that_has_the_last_chunk_at_the_same_rows_goes_on() -> None:
    for tablet_id in ("another", "0-0-0-0"):
        cluster = flushed()
        cluster.stored = {"tablets": {"0": {"last_chunk": "a", "row_count": 10, "tablet_id": tablet_id}}}
        outcome = await export(cluster)
        assert (outcome.error, outcome.recounted, list(cluster.made)) == (None, [], ["120-60"])
        assert cluster.progress["d-1"].tablets[0].tablet_id == "t0"


async def test_progress_follows_its_tablet_to_another_index() -> None:
    cluster = flushed()
    cluster.tablets, cluster.ends, cluster.tablet_ids = [[TabletChunks("new", []), NEW]], [0, 12], [["t1", "t0"]]
    cluster.stored = {"tablets": {"0": {"last_chunk": "a", "row_count": 10, "tablet_id": "t0"}}}
    outcome = await export(cluster)
    assert (outcome.error, outcome.recounted, list(cluster.made)) == (None, [], ["120-60"])
    assert list(cluster.progress["d-1"].tablets) == [1]


async def test_tablets_that_change_while_chunks_are_listed_are_not_taken_for_others() -> None:
    cluster = flushed()
    cluster.tablet_ids = [["t0"], ["t1"]]
    outcome = await export(cluster)
    assert "have just changed" in str(outcome.error)
    assert (cluster.made, cluster.progress) == ({}, {})


async def test_tables_that_would_be_gone_at_once_are_not_made() -> None:
    cluster = flushed()
    outcome = await export(cluster, time_to_live=timedelta(microseconds=1))
    assert "Making the tables took 0 seconds" in str(outcome.error)
    assert (outcome.after, outcome.made, cluster.progress) == (None, [], {})
    assert (await export(cluster, time_to_live=timedelta(hours=1))).error is None


async def test_a_time_to_live_counts_from_the_later_of_both_clocks() -> None:
    for seconds in (-7200, 7200):
        cluster = flushed()
        cluster.cluster_time = NOW + timedelta(seconds=seconds)
        assert (await export(cluster, time_to_live=timedelta(hours=1))).error is None
        expected = encode_instant(max(NOW, cluster.cluster_time) + timedelta(hours=1))
        assert {attributes["expiration_time"] for attributes in cluster.attributes} == {expected}


async def test_chunks_of_a_time_without_ticks_are_an_error_of_the_export() -> None:
    cluster = flushed()  # chunks of 1970
    outcome = await export(cluster, ByCron(CronExpression.parse("0 0 0 1 1 * 2024-2199")))
    assert "Requested date does not exist" in str(outcome.error)
    assert cluster.progress == {}
