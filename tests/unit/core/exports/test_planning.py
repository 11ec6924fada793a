"""Which chunks go into which table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.planning import (
    QueueChunk,
    TablePart,
    advance,
    cut,
    find_future_error,
    finish,
    is_done,
    own_progress,
    plan_tables,
)
from queue_agent.core.exports.progress import NOTHING_EXPORTED, StoredProgress, TabletProgress
from queue_agent.core.exports.schedule import ByCron, EveryPeriod
from queue_agent.core.values.cron import CronExpression
from queue_agent.core.values.timestamps import COUNTER_BITS

MINUTE = EveryPeriod(60)
NOW = datetime(2024, 5, 1, tzinfo=UTC)


def chunks_of(tablet_index: int, seconds: Sequence[int], sizes: Sequence[int] | None = None) -> list[QueueChunk]:
    """Chunks that follow each other, each with its largest second."""
    chunks: list[QueueChunk] = []
    row_index = 0
    for number, second in enumerate(seconds):
        size = 1 if sizes is None else sizes[number]
        chunks.append(
            QueueChunk(f"{tablet_index}-{number}", tablet_index, row_index, size, second << COUNTER_BITS | 5, size * 10)
        )
        row_index += size
    return chunks


def planned(
    *seconds: Sequence[int], last_tick: int = 0, upper_bound: int = 10_000, limit: int = 100
) -> list[tuple[int, list[str]]]:
    """Ticks, and ids of the chunks."""
    chunks = {index: chunks_of(index, one) for index, one in enumerate(seconds)}
    return [
        (part.tick, [chunk.id for chunk in part.chunks])
        for part in plan_tables(MINUTE, last_tick, upper_bound, chunks, limit)
    ]


def test_a_chunk_goes_to_the_first_tick_after_its_last_row() -> None:
    assert planned([59, 60, 119, 120]) == [(60, ["0-0"]), (120, ["0-1", "0-2"]), (180, ["0-3"])]


def test_a_table_has_the_chunks_of_one_tablet_after_those_of_another() -> None:
    assert planned([1, 2], [1]) == [(60, ["0-0", "0-1", "1-0"])]


def test_a_tick_without_chunks_gets_no_table() -> None:
    assert planned([10, 400]) == [(60, ["0-0"]), (420, ["0-1"])]
    assert planned([]) == []


def test_what_is_late_goes_to_the_next_table_and_never_into_one_that_is_there() -> None:
    assert planned([10, 20], last_tick=120, upper_bound=180) == [(180, ["0-0", "0-1"])]
    assert planned([10, 20], last_tick=120, upper_bound=120) == []


def test_chunks_keep_their_order_though_time_goes_back() -> None:
    assert planned([130, 10, 70]) == [(180, ["0-0", "0-1", "0-2"])]
    assert planned([200, 10], upper_bound=180) == []


def test_only_so_many_tables_are_made_at_once() -> None:
    assert [tick for tick, _ in planned([10, 70, 130], limit=2)] == [60, 120]


tablets_of_chunks = st.lists(st.lists(st.tuples(st.integers(0, 600), st.integers(1, 5)), max_size=6), max_size=3)


@given(tablets_of_chunks, st.lists(st.integers(0, 900), min_size=1, max_size=6).map(sorted), st.integers(1, 3))
def test_whenever_tasks_run_every_row_is_exported_once_and_in_order(
    tablets: list[list[tuple[int, int]]], moments: list[int], limit: int
) -> None:
    everything = {
        index: chunks_of(index, [second for second, _ in one], [size for _, size in one])
        for index, one in enumerate(tablets)
    }
    progress = NOTHING_EXPORTED
    made: list[TablePart] = []
    for moment in [*moments, *range(1000, 1000 + 60 * 40, 60)]:
        upper_bound = MINUTE.range_at(moment).begin
        if progress.last_export_unix_ts >= upper_bound:
            continue
        waiting = {}
        for index, chunks in everything.items():
            row_count = progress.tablets.get(index, TabletProgress()).row_count
            waiting[index] = [chunk for chunk in chunks if chunk.row_index >= row_count]
        for part in plan_tables(MINUTE, progress.last_export_unix_ts, upper_bound, waiting, limit):
            assert progress.last_export_unix_ts < part.tick <= upper_bound
            assert part.chunks
            assert all(chunk.max_timestamp >> COUNTER_BITS < part.tick for chunk in part.chunks)
            made.append(part)
            progress = advance(progress, part, ["t0", "t1", "t2"])
    for index, chunks in everything.items():
        assert [chunk for part in made for chunk in part.chunks if chunk.tablet_index == index] == chunks
        if chunks:
            tablet = progress.tablets[index]
            assert tablet.row_count == chunks[-1].end_row_index
            assert tablet.chunk_count == len(chunks)
            assert tablet.max_timestamp == max(chunk.max_timestamp for chunk in chunks)


def test_a_progress_of_another_queue_does_not_count() -> None:
    mine, unsigned = StoredProgress(queue_object_id="1-1-1-1"), StoredProgress(last_export_unix_ts=5)
    assert own_progress(mine, "1-1-1-1") is mine
    assert own_progress(unsigned, "1-1-1-1") is unsigned
    assert own_progress(mine, "2-2-2-2") == NOTHING_EXPORTED


def test_a_task_that_left_a_table_out_was_no_success() -> None:
    done, broken = (finish(NOTHING_EXPORTED, NOW, "1-1-1-1", complete=complete) for complete in (True, False))
    assert (done.last_export_task_instant, broken.last_export_task_instant) == (NOW, NOW)
    assert done.last_successful_export_task_instant == NOW
    assert broken.last_successful_export_task_instant == NOTHING_EXPORTED.last_successful_export_task_instant
    assert done.queue_object_id == "1-1-1-1"


@given(tablets_of_chunks, st.integers(1, 60), st.integers(1, 4))
def test_pieces_hold_all_rows_in_order_and_not_too_many(
    tablets: list[list[tuple[int, int]]], limit: int, row_limit: int
) -> None:
    chunks = [
        chunk
        for index, one in enumerate(tablets)
        for chunk in chunks_of(index, [second for second, _ in one], [size for _, size in one])
    ]
    pieces = list(cut(chunks, limit, row_limit))
    assert [(piece.tablet_index, row) for piece in pieces for row in piece.rows] == [
        (chunk.tablet_index, row) for chunk in chunks for row in range(chunk.row_index, chunk.end_row_index)
    ]
    assert all(len(piece.rows) * 10 <= max(limit, 10) and len(piece.rows) <= row_limit for piece in pieces)


def test_chunks_that_touch_are_read_together() -> None:
    assert [piece.rows for piece in cut(chunks_of(0, [1, 2, 3]), 100, 10)] == [range(3)]


def test_only_a_tick_that_has_not_come_tells_of_a_wrong_clock() -> None:
    now = int(NOW.timestamp())
    assert find_future_error(StoredProgress(last_export_unix_ts=now), now - 3600, NOW) is None  # a longer period
    assert "in the future" in str(find_future_error(StoredProgress(last_export_unix_ts=now + 1), now - 3600, NOW))


def test_a_table_moves_the_progress_to_its_tick() -> None:
    part = TablePart(60, chunks_of(0, [1, 2]))
    assert advance(NOTHING_EXPORTED, part, ["t0"]).last_export_unix_ts == 60


def test_nothing_can_be_due_from_the_table_of_the_last_tick_on() -> None:
    done = StoredProgress(last_export_unix_ts=60, last_export_task_instant=NOW)
    assert is_done(done, 60, NOW)
    assert not is_done(done, 120, NOW)
    assert not is_done(done, 60, NOW - timedelta(seconds=1))


def test_a_first_export_needs_no_tick_before_its_chunks() -> None:
    later = ByCron(CronExpression.parse("0 0 0 1 1 * 2024-2199"))
    second = int(datetime(2024, 5, 1, tzinfo=UTC).timestamp())
    [part] = plan_tables(later, 0, 2**33, {0: chunks_of(0, [second])}, 10)
    assert part.tick == int(datetime(2025, 1, 1, tzinfo=UTC).timestamp())


def test_pieces_are_as_large_as_they_may_be() -> None:
    four = chunks_of(0, [1, 2, 3, 4], [2, 2, 2, 2])  # of ten bytes a row
    assert [(piece.rows, piece.data_weight) for piece in cut(four, 40, 100)] == [(range(4), 40), (range(4, 8), 40)]
    assert [(piece.rows, piece.data_weight) for piece in cut(four, 1000, 4)] == [(range(4), 40), (range(4, 8), 40)]
    assert [piece.rows for piece in cut(four, 39, 100)] == [range(2), range(2, 4), range(4, 6), range(6, 8)]
    large = chunks_of(0, [1], [10])
    assert [(piece.rows, piece.data_weight) for piece in cut(large, 30, 100)] == [
        (range(3), 30),
        (range(3, 6), 30),
        (range(6, 9), 30),
        (range(9, 10), 10),
    ]


def test_chunks_without_rows_or_without_weight_can_be_cut() -> None:
    weightless = QueueChunk("a", 0, 0, 3, 5, 0)
    assert [piece.rows for piece in cut([weightless], 10, 2)] == [range(2), range(2, 3)]
    assert list(cut([QueueChunk("a", 0, 0, 0, 5, 0)], 10, 2)) == []
