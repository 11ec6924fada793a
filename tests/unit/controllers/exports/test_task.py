"""One task of an export, where what it finds is not as it should be."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queue_agent.controllers.exports.task import (
    DueTables,
    ExportTask,
    find_due_tables,
    find_progress,
    run_export_task,
)
from queue_agent.core.exports.config import ExportConfig, InvalidSchedule
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.progress import NOTHING_EXPORTED
from queue_agent.core.exports.schedule import ByCron, EveryPeriod, ExportSchedule
from queue_agent.core.exports.source import ChunkFacts, TabletChunks
from queue_agent.core.values.cron import CronExpression
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import COUNTER_BITS
from queue_agent.errors import ActionRefused, ClusterError
from tests.unguarded import AlwaysPermitted
from tests.unit.controllers.export_fakes import FakeExports

NOW = datetime(2025, 1, 23, tzinfo=UTC)
ORIGIN = Origin("agent-1", 481, 7, "Exports:0", 8, "1-2-3-4", 9, NOW)
MINUTELY = EveryPeriod(60)
TASK = ExportTask(CrossClusterRef("hume", "//tmp/q"), "e", ExportConfig(MINUTELY, "//tmp/d"), NOW, 10, True, ORIGIN)
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
    task = replace(TASK, config=config, check_row_counts=check)
    return await run_export_task(task, cluster, AlwaysPermitted())


async def look(cluster: FakeExports, *, max_table_count: int = 10) -> DueTables | ErrorInfo:
    return await find_due_tables(replace(TASK, max_table_count=max_table_count), cluster)


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
    assert "Export progress cannot be read" in str((await export(cluster)).error)
    assert "Cron expression" in str((await export(cluster, InvalidSchedule("* *", "too short"))).error)
    assert cluster.progress == {}


async def test_an_export_that_its_owner_has_just_removed_does_not_fail() -> None:
    """The web UI removes it and what the directory says of it at once, and the agent reads one after the other."""
    cluster = flushed()
    cluster.destination = None
    assert "is missing" in str((await export(cluster)).error)
    cluster.is_removed = True
    with pytest.raises(ActionRefused):
        await export(cluster)
    assert cluster.made == {}


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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "replicated_table"}, 'expected "table", "replicated_table" found'),
        ({"dynamic": False}, "should be a dynamic table"),
        ({"sorted": True}, "should be an ordered dynamic table"),
    ],
)
async def test_a_queue_that_can_not_be_exported_is_an_error(change: dict[str, Any], words: str) -> None:
    cluster = flushed()
    cluster.queue = replace(cluster.queue, **change)
    outcome = await export(cluster)
    assert words in str(outcome.error)
    assert (cluster.made, cluster.progress) == ({}, {})


async def test_a_directory_that_is_for_another_queue_is_left_alone() -> None:
    for destination in (None, {"originating_queue_id": "9-9-9-9"}):
        cluster = flushed()
        cluster.destination = destination
        outcome = await export(cluster)
        assert "queue_static_export_destination" in str(outcome.error) or "9-9-9-9" in str(outcome.error)
        assert (cluster.made, cluster.progress) == ({}, {})


async def test_a_directory_that_was_exchanged_after_it_was_locked_is_left_alone() -> None:
    cluster = flushed()
    cluster.destination_id = "d-2"
    outcome = await export(cluster)
    assert "//tmp/d is a link" in str(outcome.error)
    assert (cluster.made, cluster.progress) == ({}, {})


async def test_what_waits_is_what_is_flushed_and_in_no_table() -> None:
    due = await look(flushed(), max_table_count=1)
    assert isinstance(due, DueTables)
    assert ([part.tick for part in due.tables], due.waiting_row_count, due.is_early) == ([120], 2, False)
    assert due.tables[0].chunks[0].data_weight == 50


async def test_only_chunks_from_the_last_exported_one_on_are_asked_for() -> None:
    cluster = flushed()
    cluster.stored = {"tablets": {"0": {"last_chunk": "b", "row_count": 12, "tablet_id": "t0"}}}
    assert (await export(cluster)).error is None
    assert cluster.described == [["b"]]
    cluster.stored = {"tablets": {"0": {"last_chunk": "gone", "row_count": 5, "tablet_id": "t0"}}}
    assert (await export(cluster)).error is None
    assert cluster.described == [["b"], ["a", "b"]]


async def test_an_export_that_is_done_for_its_tick_looks_at_no_chunks() -> None:
    cluster = flushed()
    cluster.stored = {
        "last_export_unix_ts": int(NOW.timestamp()),
        "tablets": {"0": {"last_chunk": "a", "row_count": 10, "tablet_id": "t0"}},
    }
    outcome = await export(cluster)
    assert (outcome.error, outcome.after, cluster.progress, cluster.list_count) == (None, None, {}, 0)
    assert outcome.before is not None
    assert outcome.before.tablets[0].row_count == 10
    due = await look(cluster)
    assert isinstance(due, DueTables)
    assert due.is_early


async def test_progress_of_a_time_to_come_is_an_error() -> None:
    cluster = flushed()
    second = int(NOW.timestamp())
    cluster.stored = {
        "last_export_unix_ts": second + 86400,
        "last_export_task_instant": encode_instant(NOW + timedelta(days=1)),
        "queue_object_id": "1-2-3-4",
        "tablets": {},
    }
    outcome = await export(cluster)
    assert "which is in the future" in str(outcome.error)
    assert cluster.progress == {}


async def test_rows_that_do_not_match_their_progress_are_no_ground_for_trimming() -> None:
    cluster = flushed()
    cluster.stored = {"tablets": {"0": {"last_chunk": "a", "row_count": 9, "tablet_id": "t0"}}}
    outcome = await export(cluster)
    assert outcome.before is not None
    assert outcome.before.tablets == {}


async def test_a_table_that_is_there_already_is_told_with_what_names_it() -> None:
    cluster = flushed()
    cluster.refused = {"120-60": ClusterError("There is one already", 501)}
    outcome = await export(cluster)
    assert outcome.error is not None
    assert outcome.error.message == "Queue export task part failed"
    assert outcome.error.attributes["export_unix_ts"] == 180
    [cause] = outcome.error.inner_errors
    assert cause.message.startswith("Generated output table name uniqueness invariant violated")
    names = ("output_table_name_pattern", "export_period", "export_cron_expression", "export_unix_ts")
    assert [cause.attributes[name] for name in names] == ["%UNIX_TS-%PERIOD", 60_000, None, 180]
    assert [one.code for one in cause.inner_errors] == [501]
    assert ([part.tick for part in outcome.made], outcome.skipped) == ([120], 1)
    assert cluster.progress["d-1"].last_export_unix_ts == 120


async def test_the_expression_of_a_schedule_is_told_with_a_table_that_is_there_already() -> None:
    cluster = flushed()
    cluster.refused = {"60-60": ClusterError("There is one already", 501)}
    outcome = await export(cluster, ByCron(CronExpression.parse("0 * * * * *")))
    assert outcome.error is not None
    [cause] = outcome.error.inner_errors
    assert (cause.attributes["export_period"], cause.attributes["export_cron_expression"]) == (None, "0 * * * * *")


async def test_another_failure_of_a_table_is_told_as_it_came() -> None:
    cluster = flushed()
    cluster.refused = {"60-60": ClusterError("no room", 902)}
    outcome = await export(cluster)
    assert outcome.error is not None
    assert [(one.message, one.code) for one in outcome.error.inner_errors] == [("no room", 902)]
    cluster.refused = {"60-60": ValueError("no date")}
    outcome = await export(cluster)
    assert outcome.error is not None
    assert [one.message for one in outcome.error.inner_errors] == ["no date"]


async def test_the_clock_of_the_cluster_is_asked_only_for_tables_that_expire() -> None:
    cluster = flushed()
    cluster.cluster_time = None  # type: ignore[assignment] # whoever asks for it fails
    assert (await export(cluster)).error is None
    cluster = flushed()
    cluster.tablets, cluster.tablet_ids, cluster.ends = [[]], [[]], []
    cluster.cluster_time = None  # type: ignore[assignment]
    assert (await export(cluster, time_to_live=timedelta(hours=1))).error is None


async def test_progress_that_is_known_of_tablets_saves_a_look_at_their_chunks() -> None:
    cluster = flushed()
    outcome = await export(cluster)
    assert outcome.after is not None
    stored = outcome.after.to_map()
    for tablet in stored["tablets"].values():
        tablet.pop("tablet_id")  # as the C++ agent writes it
    cluster.stored, looked = stored, cluster.list_count
    due = await find_progress(TASK, cluster, outcome.after)
    assert isinstance(due, DueTables)
    assert ({index: one.tablet_id for index, one in due.progress.tablets.items()}, cluster.list_count) == (
        {0: "t0"},
        looked,
    )
    due = await find_progress(TASK, cluster, NOTHING_EXPORTED)
    assert isinstance(due, DueTables)
    assert (due.progress.tablets[0].row_count, due.recounted, cluster.list_count > looked) == (12, [], True)


async def test_progress_of_tablets_that_are_gone_is_told() -> None:
    cluster = flushed()
    cluster.tablet_ids, cluster.tablets, cluster.ends = [["t9"]], [[TabletChunks("list", [])]], [0]
    cluster.stored = {"tablets": {"0": {"last_chunk": "x", "row_count": 9, "tablet_id": "t0"}}}
    due = await find_progress(TASK, cluster, NOTHING_EXPORTED)
    assert isinstance(due, DueTables)
    assert (due.recounted, due.progress.tablets) == ([0], {})
