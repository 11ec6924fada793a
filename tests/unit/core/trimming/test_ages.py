"""How far rows are old enough to go."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.trimming import ages as trim_ages
from queue_agent.core.trimming.ages import RowAges, RowFound, ages_at, learn, lifetime_limit, next_chunk

SECOND = 1 << 30


def look(timestamps: Sequence[int | None], chunk: range, limit: int) -> RowFound | None:
    """What a cluster answers about rows that have these timestamps, by row index."""
    for index in chunk:
        if index >= len(timestamps):
            return None
        timestamp = timestamps[index]
        if timestamp is None or timestamp >= limit or index == chunk[-1]:
            return RowFound(index, timestamp)
    return None


@given(data=st.data(), timestamps=st.lists(st.none() | st.integers(1, 30), max_size=25))
def test_no_young_row_is_ever_taken_for_old_whatever_is_remembered(
    data: st.DataObject, timestamps: list[int | None]
) -> None:
    known: RowAges | None = None
    tablet_id, lower = "a", 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trim_ages, "CHUNK_ROW_COUNT", data.draw(st.integers(1, 6)))
        for _ in range(data.draw(st.integers(1, 6))):
            limit = data.draw(st.integers(1, 32))
            end = data.draw(st.integers(0, len(timestamps) + 2))
            lower = data.draw(st.integers(lower, max(lower, min(end, len(timestamps)))))
            if data.draw(st.booleans()):
                tablet_id = data.draw(st.sampled_from("ab"))
            # Another tablet has other rows.
            rows = timestamps if tablet_id == "a" else [*reversed(timestamps)]
            known = ages_at(known, tablet_id, limit, lower)
            for _ in range(data.draw(st.integers(0, 9))):
                chunk = next_chunk(known, end)
                if chunk is None:
                    break
                known = learn(known, chunk, look(rows, chunk, limit))
            for index in range(lower, min(known.old_row_index, len(rows))):
                timestamp = rows[index]
                assert timestamp is not None
                assert timestamp < limit
            assert known.old_row_index <= max(lower, len(rows))


def test_rows_are_looked_at_in_bounded_pieces_up_to_the_end() -> None:
    ages = ages_at(None, "t", 100, 5)
    assert next_chunk(ages, 5) is None
    assert next_chunk(ages, 20) == range(5, 20)
    chunk = next_chunk(ages, 1_000_000)
    assert chunk == range(5, 5 + trim_ages.CHUNK_ROW_COUNT)
    ages = learn(ages, chunk, RowFound(chunk[-1], 99))
    assert next_chunk(ages, 1_000_000) == range(chunk.stop, chunk.stop + trim_ages.CHUNK_ROW_COUNT)


def test_a_young_row_is_not_asked_for_again_until_it_is_old() -> None:
    ages = learn(ages_at(None, "t", 100, 0), range(10), RowFound(4, 120))
    assert (ages.old_row_index, next_chunk(ages, 10)) == (4, None)
    assert next_chunk(ages_at(ages, "t", 120, 0), 10) is None
    assert next_chunk(ages_at(ages, "t", 121, 0), 10) == range(4, 10)


def test_a_row_without_a_timestamp_is_young_for_ever() -> None:
    ages = learn(ages_at(None, "t", 100, 0), range(10), RowFound(4, None))
    assert next_chunk(ages_at(ages, "t", (1 << 64) - 1, 0), 10) is None


def test_a_longer_lifetime_another_tablet_or_rows_that_are_gone_mean_to_look_anew() -> None:
    ages = learn(ages_at(None, "t", 100, 0), range(10), RowFound(9, 50))
    assert ages == RowAges("t", 100, 10)
    assert ages_at(ages, "t", 99, 2) == RowAges("t", 99, 2)
    assert ages_at(ages, "other", 100, 2) == RowAges("other", 100, 2)
    assert ages_at(ages, "t", 100, 12) == RowAges("t", 100, 12)
    assert ages_at(ages, "t", 150, 2) == RowAges("t", 150, 10)


@pytest.mark.parametrize("found", [None, RowFound(3, 50), RowFound(10, 50), RowFound(11, None)])
def test_an_answer_that_proves_nothing_teaches_nothing(found: RowFound | None) -> None:
    ages = ages_at(None, "t", 100, 0)
    assert learn(ages, range(10), found) == ages


def test_the_limit_is_the_second_of_the_timestamp_less_the_lifetime() -> None:
    assert lifetime_limit(100 * SECOND + 7, timedelta(seconds=30)) == 70 * SECOND
    assert lifetime_limit(100 * SECOND, timedelta(seconds=100)) == 0
    assert lifetime_limit(100 * SECOND, timedelta(days=999_999)) == 0


def test_the_least_limit_is_the_epoch() -> None:
    assert lifetime_limit(9 * SECOND, timedelta(seconds=8)) == SECOND
    assert lifetime_limit(9 * SECOND, timedelta(seconds=9)) == 0
    assert lifetime_limit(9 * SECOND, timedelta(seconds=10)) == 0


def test_what_is_known_for_the_same_limit_and_the_same_first_row_is_kept() -> None:
    known = RowAges("a", 5 * SECOND, 3, young_timestamp=7 * SECOND)
    assert ages_at(known, "a", 5 * SECOND, 3) == known


def test_a_row_of_the_very_limit_is_young() -> None:
    ages = learn(RowAges("a", 5 * SECOND, 0), range(3), RowFound(2, 5 * SECOND))
    assert (ages.old_row_index, ages.young_timestamp) == (2, 5 * SECOND)
