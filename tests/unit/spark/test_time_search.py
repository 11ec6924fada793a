"""Many partitions are searched at once for the first row since a moment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.time_search import TimeSearch


def rounds(
    timestamps: Mapping[int, Sequence[int]], wanted: int, trimmed: Mapping[int, int] | None = None
) -> tuple[dict[int, int], int]:
    """What is found, and in how many rounds; rows below `trimmed` are gone when they are asked for."""
    gone = trimmed or {}
    search = TimeSearch({index: PartitionBounds(0, len(rows)) for index, rows in timestamps.items()}, wanted)
    count = 0
    while probes := search.probes():
        count += 1
        answer = {index: timestamps[index][row] for index, row in probes.items() if row >= gone.get(index, 0)}
        search.learn(probes, answer)
    return search.found(), count


@given(
    st.dictionaries(st.integers(0, 5), st.lists(st.integers(0, 50), max_size=40).map(sorted), max_size=4),
    st.integers(-1, 51),
)
def test_it_finds_what_bisection_finds(timestamps: dict[int, list[int]], wanted: int) -> None:
    assert rounds(timestamps, wanted)[0] == {index: bisect_left(rows, wanted) for index, rows in timestamps.items()}


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40).map(sorted), st.integers(-1, 51), st.integers(0, 40))
def test_rows_that_are_trimmed_meanwhile_are_passed_over(rows: list[int], wanted: int, gone: int) -> None:
    found = rounds({0: rows}, wanted, {0: gone})[0][0]

    assert found >= bisect_left(rows, wanted)
    assert all(row < gone or row == bisect_left(rows, wanted) for row in range(bisect_left(rows, wanted), found))


@pytest.mark.parametrize("wanted", [-1, 10_000_000])
def test_a_moment_outside_of_all_rows_takes_two_rounds(wanted: int) -> None:
    steady = {index: range(index, 1_000_000, 3) for index in range(3)}

    assert rounds(steady, wanted)[1] <= 2


def test_a_steady_flow_takes_few_rounds() -> None:
    assert rounds({0: range(7, 50_000_000, 5)}, 31_234_567)[1] <= 8


def test_a_flow_that_comes_in_bursts_takes_no_more_than_twice_the_bits() -> None:
    burst = [*([0] * 500_000), *range(500_000)]

    assert rounds({0: burst}, 499_999)[1] <= 2 + 2 * 20
