"""What follows from the bounds of one partition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.trimming.ages import RowAges
from queue_agent.core.trimming.bounds import (
    TrimBounds,
    decide_trim,
    exported_by,
    keep_last_rows,
    keep_young_rows,
    read_by,
    unknown,
)
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from tests.unit.core.trimming.plans import ORIGIN

ALICE = CrossClusterRef("hume", "//tmp/alice")
BOB = CrossClusterRef("hume", "//tmp/bob")
BROKEN = ErrorInfo("broken")

bounds = st.builds(
    TrimBounds,
    kind=st.sampled_from(ConstraintKind),
    wanted=st.none() | st.integers(0, 50),
    allowed=st.none() | st.integers(0, 50),
    subject=st.none() | st.sampled_from("abc"),
)
policies_of_all = st.lists(bounds, max_size=5)


@given(st.integers(0, 30), st.integers(0, 30), policies_of_all)
def test_a_partition_is_trimmed_forward_only_within_every_limit_and_its_end(
    lower: int, row_count: int, policies: list[TrimBounds]
) -> None:
    trim = decide_trim(lower, lower + row_count, policies)
    if trim.target is not None:
        assert lower < trim.target <= lower + row_count
        assert all(trim.target <= one.limit for one in policies if one.limit is not None)
        assert any(one.wanted is not None for one in policies)


@given(st.integers(0, 30), st.integers(0, 30), policies_of_all, st.randoms())
def test_the_order_of_policies_is_of_no_account(
    lower: int, row_count: int, policies: list[TrimBounds], shuffler: Any
) -> None:
    shuffled = list(policies)
    shuffler.shuffle(shuffled)
    assert decide_trim(lower, lower + row_count, shuffled) == decide_trim(lower, lower + row_count, policies)


@given(st.integers(0, 30), st.integers(0, 30), policies_of_all)
def test_a_second_trim_finds_nothing(lower: int, row_count: int, policies: list[TrimBounds]) -> None:
    upper = lower + row_count
    target = decide_trim(lower, upper, policies).target
    if target is not None:
        assert decide_trim(target, upper, policies).target is None


@given(st.integers(0, 30), st.integers(0, 30), policies_of_all, bounds)
def test_one_more_limit_never_trims_more(
    lower: int, row_count: int, policies: list[TrimBounds], more: TrimBounds
) -> None:
    upper = lower + row_count
    before = decide_trim(lower, upper, policies).target or lower
    limit = replace(more, wanted=None)
    assert (decide_trim(lower, upper, [*policies, limit]).target or lower) <= before


@given(st.integers(0, 30), st.integers(0, 30), policies_of_all)
def test_held_rows_are_those_that_go_when_what_binds_is_lifted(
    lower: int, row_count: int, policies: list[TrimBounds]
) -> None:
    upper = lower + row_count
    policies = [replace(one, wanted=None) for one in policies]
    wish = TrimBounds(ConstraintKind.VITAL_CONSUMER, wanted=100)
    trim = decide_trim(lower, upper, [*policies, wish])
    reached = trim.target or lower
    lifted = [one for one in policies if one.allowed is None or max(one.allowed, lower) > reached]
    held = trim.constraint.held_row_count
    assert held is not None
    if reached < upper:
        assert (decide_trim(lower, upper, [*lifted, wish]).target or lower) == reached + held


def test_the_binding_constraint_is_told_even_if_nothing_is_trimmed() -> None:
    policies = [read_by(ALICE, 8, 10), read_by(BOB, 5, 10), keep_last_rows(10, 3)]
    assert decide_trim(3, 10, policies).constraint == TrimConstraint(ConstraintKind.VITAL_CONSUMER, 5, 2, str(BOB))
    held = decide_trim(6, 10, policies)
    assert (held.target, held.constraint) == (
        None,
        TrimConstraint(ConstraintKind.VITAL_CONSUMER, 5, 1, str(BOB)),
    )


def test_limits_alone_never_trim() -> None:
    trim = decide_trim(0, 100, [keep_last_rows(100, 10)])
    assert trim.target is None
    assert trim.constraint == TrimConstraint(ConstraintKind.NO_VITAL_CONSUMER, 0, 90)


def test_what_is_read_to_the_end_is_held_by_nobody() -> None:
    trim = decide_trim(0, 9, [read_by(ALICE, 9, 9)])
    assert (trim.target, trim.constraint) == (9, TrimConstraint(ConstraintKind.END_OF_PARTITION, 9, 0))
    assert decide_trim(9, 9, [read_by(ALICE, 3, 9)]).constraint == TrimConstraint(ConstraintKind.END_OF_PARTITION, 9, 0)
    assert decide_trim(0, 0, [read_by(ALICE, 0, 0)]).constraint == TrimConstraint(ConstraintKind.END_OF_PARTITION, 0, 0)


def test_what_is_not_known_comes_before_what_holds_back_as_much() -> None:
    trim = decide_trim(0, 9, [read_by(ALICE, 0, 9), unknown(ConstraintKind.ERROR, BROKEN, str(BOB))])
    assert trim.constraint == TrimConstraint(ConstraintKind.ERROR, 0, 9, str(BOB), "broken")


def test_an_export_lets_go_what_it_has() -> None:
    progress = ExportProgress({1: 7})
    assert exported_by("daily", progress, 1, 9, ORIGIN) == TrimBounds(ConstraintKind.EXPORT, wanted=7, subject="daily")
    assert exported_by("daily", progress, 0, 9, ORIGIN).wanted == 0


def test_rows_whose_age_is_not_known_yet_are_kept() -> None:
    assert keep_young_rows(RowAges("t", 100, 5), 5) is None
    kept = TrimBounds(ConstraintKind.RETAINED_LIFETIME_DURATION, allowed=3)
    assert keep_young_rows(RowAges("t", 100, 3), 5) == kept
    assert keep_young_rows(RowAges("t", 100, 3, 100), 3) == kept


def test_the_published_form_has_all_keys() -> None:
    assert decide_trim(0, 9, [read_by(ALICE, 4, 9)]).to_map() == {
        "target": 4,
        "constraint": {
            "kind": "vital_consumer",
            "subject": "hume://tmp/alice",
            "row_index": 4,
            "held_row_count": 5,
            "message": None,
        },
    }


def test_one_row_that_was_read_is_not_nothing() -> None:
    assert read_by(ALICE, 1, 5).kind is ConstraintKind.VITAL_CONSUMER
    assert read_by(ALICE, 0, 5).kind is ConstraintKind.NOTHING_READ


def test_an_offset_that_may_be_of_other_rows_counts_as_one_that_has_read_nothing() -> None:
    doubted = read_by(ALICE, 8, 9, ConstraintKind.UNPROVED_OFFSET)
    assert (doubted.kind, doubted.limit) == (ConstraintKind.UNPROVED_OFFSET, 0)
    for policies in ([doubted, read_by(BOB, 0, 9)], [read_by(BOB, 0, 9), doubted]):
        assert decide_trim(0, 9, policies).constraint.kind is ConstraintKind.NOTHING_READ, "nobody mends the other one"
    assert read_by(ALICE, 10, 9, ConstraintKind.UNPROVED_OFFSET).kind is ConstraintKind.CONSUMER_AHEAD


def test_what_is_wrong_is_told_before_what_lets_nothing_go_either() -> None:
    wrong = unknown(ConstraintKind.ERROR, BROKEN, "z")
    ahead = read_by(BOB, 9, 5)
    nothing_read = read_by(ALICE, 0, 5)
    for first in (wrong, ahead):
        for policies in ([first, nothing_read], [nothing_read, first]):
            assert decide_trim(0, 5, policies).constraint.kind is first.kind
    at_end = TrimBounds(ConstraintKind.VITAL_CONSUMER, wanted=5)
    assert decide_trim(5, 5, [at_end]).constraint.kind is ConstraintKind.END_OF_PARTITION
    assert decide_trim(5, 5, [at_end, wrong]).constraint.kind is ConstraintKind.ERROR


def test_what_is_wrong_is_told_of_an_empty_partition_too() -> None:
    assert decide_trim(0, 0, [unknown(ConstraintKind.ERROR, BROKEN)]).constraint.kind is ConstraintKind.ERROR


def test_an_export_whose_progress_is_of_other_rows_is_named() -> None:
    bounds = exported_by("daily", ExportProgress({0: 5}, frozenset({0})), 0, 20, ORIGIN)
    assert (bounds.allowed, bounds.wanted, bounds.subject) == (0, None, "daily")
