"""Plans, and how they get less."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.trimming.ages import RowAges
from queue_agent.core.trimming.bounds import TrimBounds, read_by, unknown
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from tests.unit.core.trimming.plans import (
    ALICE,
    BOB,
    BROKEN,
    QUEUE,
    constraint,
    good_targets,
    mounted,
    plan,
    position,
    snapshot_of,
    targets,
    unmounted,
)

READ = TrimBounds(ConstraintKind.VITAL_CONSUMER, wanted=15, subject="alice")
ONE = PartitionPlan(mounted(3, 20), [READ])
PLAN = TrimPlan(QUEUE, partitions={0: ONE, 1: PartitionPlan(mounted(3, 20), [replace(READ, wanted=3)])})

limits = st.builds(
    TrimBounds,
    kind=st.sampled_from(ConstraintKind),
    wanted=st.integers(0, 25),
    allowed=st.none() | st.integers(0, 25),
    subject=st.sampled_from(["alice", "bob", None]),
)


def target(one: PartitionPlan) -> int:
    """Up to where rows go; where they begin if none go."""
    return one.trim.target if one.trim.target is not None else 3


@given(st.lists(limits, max_size=3), limits)
def test_what_is_learnt_later_never_lets_more_rows_go(known: list[TrimBounds], newer: TrimBounds) -> None:
    before = PartitionPlan(mounted(3, 20), [READ, *known])
    assert target(before.narrowed(newer)) <= target(before)
    assert target(before.held(newer)) <= target(before)


@given(st.lists(limits, max_size=3), limits)
def test_learning_the_same_twice_changes_nothing(known: list[TrimBounds], newer: TrimBounds) -> None:
    once = PartitionPlan(mounted(3, 20), [READ, *known]).narrowed(newer)
    assert once.narrowed(newer) == once


def test_what_is_known_of_a_subject_is_replaced_only_by_what_is_stricter() -> None:
    assert ONE.narrowed(replace(READ, wanted=18)) is ONE
    assert list(ONE.narrowed(replace(READ, wanted=9)).bounds) == [replace(READ, wanted=9)]
    assert len(ONE.narrowed(replace(READ, subject="bob")).bounds) == 2


def test_the_first_error_of_a_partition_stays() -> None:
    held = ONE.held(unknown(ConstraintKind.ERROR, BROKEN), BROKEN).held(READ, ErrorInfo("later"))
    assert (held.error, held.trim.target, held.trim.constraint.message) == (BROKEN, None, "broken")


def test_a_partition_that_can_not_be_read_says_why_it_stays() -> None:
    blocked = PartitionPlan(unmounted(), [READ, unknown(ConstraintKind.NOT_MOUNTED, BROKEN, "t")])
    assert blocked.trim.target is None
    found = blocked.trim.constraint
    assert (found.kind, found.subject, found.message) == (ConstraintKind.NOT_MOUNTED, "t", "broken")


def test_a_blocked_plan_lets_nothing_go_and_is_an_error_and_a_paused_one_is_none() -> None:
    assert targets(PLAN) == {0: 15}
    blocked = PLAN.blocked(ConstraintKind.ERROR, BROKEN)
    paused = PLAN.paused(ConstraintKind.REPLICA_ALIGNMENT, BROKEN)
    assert (targets(blocked), blocked.error) == ({}, BROKEN)
    assert (targets(paused), paused.error) == ({}, None)
    assert constraint(paused).kind is ConstraintKind.REPLICA_ALIGNMENT
    assert all(one.error is None for one in paused.partitions.values())


def test_only_old_rows_go() -> None:
    def with_ages(ages: RowAges | ErrorInfo) -> TrimPlan:
        return PLAN.with_ages({0: ages})

    young, unsure, old = RowAges("t", 100, 8, young_timestamp=200), RowAges("t", 100, 10), RowAges("t", 100, 15)
    assert [targets(with_ages(ages)) for ages in (young, unsure, old)] == [{0: 8}, {0: 10}, {0: 15}]
    failed = with_ages(BROKEN)
    assert (targets(failed), failed.partitions[0].error, failed.error) == ({}, BROKEN, None)
    assert constraint(failed).kind is ConstraintKind.RETAINED_LIFETIME_DURATION
    assert failed.partitions[1] is PLAN.partitions[1]


def test_a_plan_for_a_replica_is_about_its_rows() -> None:
    replica = CrossClusterRef("hume", "//tmp/r")
    assert (PLAN.table, replace(PLAN, replica=replica).table) == (QUEUE, replica)


def test_rows_that_others_trimmed_since_are_not_trimmed_again() -> None:
    assert target(ONE) == 15
    begun = ONE.begun_at(10)
    assert begun.trim.target == 15
    assert begun.partition == mounted(10, 20)
    assert ONE.begun_at(16).trim.target is None
    assert ONE.begun_at(3) is ONE


def test_a_plan_is_paused_without_an_error() -> None:
    queue = snapshot_of(mounted(3, 20), mounted(3, 20))
    paused = plan(queue, {ALICE: position(queue, 8, 9)}).paused(ConstraintKind.HAND_OVER, BROKEN)
    assert good_targets(paused) == {}
    assert [constraint(paused, index) for index in range(2)] == [
        TrimConstraint(ConstraintKind.HAND_OVER, 0, 8 - 3, message="broken"),
        TrimConstraint(ConstraintKind.HAND_OVER, 0, 9 - 3, message="broken"),
    ]


def test_what_is_known_newer_of_one_consumer_leaves_the_others_alone() -> None:
    queue = snapshot_of(mounted(3, 20))
    result = plan(queue, {ALICE: position(queue, 8), BOB: position(queue, 5)})
    narrowed = result.partitions[0].narrowed(read_by(ALICE, 7, 20))
    assert narrowed.trim.target == 5
    assert narrowed.trim.constraint.held_row_count == 2
