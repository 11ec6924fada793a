"""Where a consumer is moved to, and when it is not."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.consumers.offset_reset import (
    Bounds,
    Destination,
    Earliest,
    Instant,
    Latest,
    Move,
    ResetRefused,
    RowIndex,
    Search,
    check_trimmed,
    plan_reset,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BOUNDS = {0: Bounds(10, 20), 2: Bounds(0, 0)}


def targets(destination: Destination, **found: int) -> dict[int, int]:
    moves = plan_reset(destination, BOUNDS, {0: 15}, {int(key[1:]): row for key, row in found.items()})
    return {move.partition_index: move.target for move in moves}


def test_earliest_and_latest_are_the_bounds_of_each_partition() -> None:
    assert targets(Earliest()) == {0: 10, 2: 0}
    assert targets(Latest()) == {0: 20, 2: 0}


def test_an_instant_is_where_it_was_found() -> None:
    assert targets(Instant(NOW), p0=17, p2=0) == {0: 17, 2: 0}


def test_a_row_behind_the_end_is_refused_and_the_end_itself_is_not() -> None:
    [move] = plan_reset(RowIndex(20), {0: Bounds(10, 20)}, {}, {})
    assert (move.current, move.target) == (0, 20)
    with pytest.raises(ResetRefused, match="Partition 0 ends before row 20"):
        plan_reset(RowIndex(21), {0: Bounds(10, 20)}, {}, {})


@pytest.mark.parametrize(
    ("destination", "found", "words"),
    [(RowIndex(3), {}, "Rows from row 3 on"), (Instant(NOW), {0: 10}, "Rows from 2026-01-01T00:00:00.000000Z on")],
)
def test_a_vital_consumer_is_not_moved_to_trimmed_rows_without_a_word(
    destination: Destination, found: dict[int, int], words: str
) -> None:
    moves = plan_reset(destination, {0: Bounds(10, 20)}, {0: 15}, found)
    assert [move.target for move in moves] == [10]
    with pytest.raises(ResetRefused, match=re.escape("partition 0 (before row 10)") + ".*--allow-trimmed"):
        check_trimmed(moves, destination, vital=True, lost_rows_are_fine=False)
    for vital, fine in ((True, True), (False, False)):
        warning = check_trimmed(moves, destination, vital=vital, lost_rows_are_fine=fine)
        assert warning is not None
        assert warning.startswith(words)
        assert "begins with the first rows" in warning


def test_a_consumer_that_stays_is_not_refused_but_told() -> None:
    moves = plan_reset(Instant(NOW), {0: Bounds(10, 10)}, {0: 10}, {0: 10})
    assert "not all there" in (check_trimmed(moves, Instant(NOW), vital=True, lost_rows_are_fine=False) or "")


def test_rows_before_the_first_there_is_may_be_young_too_even_if_it_was_a_single_one() -> None:
    [move] = plan_reset(Instant(NOW), {0: Bounds(1, 20)}, {}, {0: 1})
    assert move.reaches_trimmed


def test_rows_that_are_there_need_no_warning() -> None:
    for destination, bounds in ((Instant(NOW), Bounds(0, 9)), (RowIndex(10), Bounds(10, 20)), (Earliest(), BOUNDS[0])):
        moves = plan_reset(destination, {0: bounds}, {}, {0: bounds.lower_row_index})
        assert check_trimmed(moves, destination, vital=True, lost_rows_are_fine=False) is None


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 60), st.integers(0, 50))
def test_what_is_read_again_or_skipped_is_there(lower: int, count: int, current: int, where: int) -> None:
    bounds = Bounds(lower, lower + count)
    move = Move(0, current, lower + min(where, count), bounds)
    assert move.skipped_count <= count
    assert move.skipped_count == 0 or move.read_again_count == 0
    if lower <= current <= bounds.upper_row_index:
        assert move.target == current + move.skipped_count - move.read_again_count


@given(st.lists(st.integers(0, 20), max_size=40), st.integers(0, 21), st.integers(0, 5), st.integers(0, 10))
def test_the_search_finds_the_first_row_that_is_young_enough(
    stamps: list[int], limit: int, lower: int, trimmed: int
) -> None:
    stamps.sort()
    search = Search(lower, lower + len(stamps))
    questions = 0
    while (row := search.row_index) is not None:
        # Rows may be trimmed while they are looked for.
        search = search.after(stamps[row - lower] if row - lower >= min(trimmed, questions) else None, limit)
        questions += 1
    assert questions <= len(stamps).bit_length()
    if trimmed == 0:
        assert search.low == lower + bisect_left(stamps, limit)
    assert lower <= search.low <= lower + len(stamps)


def test_a_row_that_is_gone_counts_as_too_old_and_a_search_ends_at_the_first_that_is_not() -> None:
    timestamps = {3: 100, 4: 200, 5: 300}
    search, asked = Search(0, 6), []
    while (row_index := search.row_index) is not None:
        asked.append(row_index)
        search = search.after(timestamps.get(row_index), 200)
    assert (search.low, asked) == (4, [3, 5, 4])
    assert Search(0, 2).after(None, 200).low == 2
