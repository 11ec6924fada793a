"""Counters of rows: sums, and what of them is published."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from queue_agent.core.verdicts.counts import NO_COUNTS, Counts, sum_of


def test_counts_add_up() -> None:
    assert Counts(1, 2, 3, 4, 5, 6, 7, 8) + Counts(1, 1, 1, 1, 1, 1, 1, 1) == Counts(2, 3, 4, 5, 6, 7, 8, 9)


def test_counts_of_partitions_are_summed() -> None:
    some = [Counts(1, 2, 3, 4, 5, 6, 7, 8), Counts(1, 1, 1, 1, 1, 1, 1, 1)]
    assert sum_of(some) == some[0] + some[1]
    assert sum_of([]) == NO_COUNTS


_KEPT_FIRST = ("lost", "possibly_lost", "lost_data_weight", "unwatched_recreations")


@pytest.mark.parametrize("name", [one.name for one in fields(Counts)])
def test_losses_are_published_as_they_are_kept_and_all_else_as_it_is(name: str) -> None:
    counts, kept = Counts(1, 2, 3, 4, 5, 6, 7, 8), replace(Counts(1, 2, 3, 4, 5, 6, 7, 8), **{name: 0})
    told = counts.told_as(kept)
    assert told == (kept if name in _KEPT_FIRST else counts)
    assert (told is counts) is (name not in _KEPT_FIRST)
