"""What single policies say about one partition."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from queue_agent.core.queues.snapshots import FailedQueuePartition, QueuePartition
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.trimming.bounds import TrimBounds, keep_last_rows, read_by
from queue_agent.core.trimming.policies import PartitionFacts, plan_partition
from queue_agent.core.values.trim_constraints import ConstraintKind
from queue_agent.trim_policies import Gives
from tests.unit.core.trimming import plans
from tests.unit.core.trimming.plans import (
    ALICE,
    BOB,
    BROKEN,
    NOW,
    ORIGIN,
    QUEUE,
    constraint,
    consumer,
    good_targets,
    judged,
    mounted,
    plan_with,
    position,
    snapshot_of,
    unmounted,
)


def facts(
    partition: QueuePartition | FailedQueuePartition, config: AutoTrimConfig, *, has_timestamp_column: bool = True
) -> PartitionFacts:
    return PartitionFacts(1, partition, partition, has_timestamp_column, None, config, {ALICE: BROKEN}, {}, {}, ORIGIN)


@pytest.mark.parametrize(
    "bounds",
    [read_by(ALICE, 5, 10), read_by(ALICE, 0, 10), read_by(ALICE, 11, 10), keep_last_rows(10, 3)],
)
def test_a_policy_gives_what_the_table_says(bounds: TrimBounds) -> None:
    assert (bounds.wanted is not None) == (bounds.kind.gives is Gives.WISH)
    assert (bounds.allowed is not None) == (bounds.kind.gives is Gives.LIMIT)


def test_every_policy_is_asked_and_the_first_error_is_told() -> None:
    config = AutoTrimConfig(True, retained_rows=2, retained_lifetime_duration=timedelta(hours=1))
    plan = plan_partition(facts(mounted(0, 10), config, has_timestamp_column=False))
    assert [one.kind for one in plan.bounds] == [
        ConstraintKind.ERROR,
        ConstraintKind.RETAINED_ROWS,
        ConstraintKind.RETAINED_LIFETIME_DURATION,
    ]
    assert plan.error is not None
    assert plan.error.message == "Error getting safe trim row count, not trimming partition 1"


def test_what_is_wrong_with_a_tablet_that_can_not_be_trimmed_alarms_nobody() -> None:
    config = AutoTrimConfig(True, retained_lifetime_duration=timedelta(hours=1))
    plan = plan_partition(facts(unmounted(), config, has_timestamp_column=False))
    assert plan.trim.constraint.kind is ConstraintKind.NOT_MOUNTED
    assert plan.error is None


def test_a_decision_is_made_once_for_all_who_ask() -> None:
    plan = plan_partition(facts(mounted(0, 10), AutoTrimConfig(True, retained_rows=2)))
    assert plan.trim is plan.trim
    narrowed = plan.narrowed(read_by(ALICE, 5, 10))
    assert narrowed is plan, "an error of the subject allows less than any offset"
    assert plan.held(keep_last_rows(10, 5)).trim is not plan.trim


def test_a_replica_is_left_alone_where_the_queue_itself_can_not_be_read() -> None:
    config = AutoTrimConfig(True)
    plan = plan_partition(PartitionFacts(1, unmounted(), mounted(0, 10), True, None, config, {}, {}, {}, ORIGIN))
    assert [one.kind for one in plan.bounds] == [ConstraintKind.ERROR]
    assert plan.error is BROKEN


@pytest.mark.parametrize(
    ("offset", "before", "kind"),
    [
        (8, timedelta(seconds=1), ConstraintKind.STALE_OFFSET),
        (8, timedelta(milliseconds=900), ConstraintKind.VITAL_CONSUMER),
        (8, None, ConstraintKind.VITAL_CONSUMER),
        (0, None, ConstraintKind.NOTHING_READ),
        (0, timedelta(seconds=1), ConstraintKind.NOTHING_READ),
        (15, timedelta(seconds=1), ConstraintKind.CONSUMER_AHEAD),
    ],
)
def test_an_offset_from_before_the_queue_was_created_lets_nothing_go(
    offset: int, before: timedelta | None, kind: ConstraintKind
) -> None:
    queue = snapshot_of(mounted(0, 12))
    assert queue.view is not None
    created_at = NOW + timedelta(milliseconds=900)
    queue = replace(queue, content=replace(queue.view, created_at=created_at))
    read = position(queue, offset, committed_at=None if before is None else created_at - before)
    result = plans.plan(queue, {ALICE: read, BOB: position(queue, 12, committed_at=created_at)})
    assert good_targets(result) == ({0: 8} if kind is ConstraintKind.VITAL_CONSUMER else {})
    assert (constraint(result).kind, constraint(result).subject) == (kind, str(ALICE))


@pytest.mark.parametrize("tablet", ["older", None])
@pytest.mark.parametrize(("lower", "is_held"), [(7, True), (8, False), (12, False)])
def test_an_offset_below_which_there_are_no_rows_holds_nothing_whatever_it_is_of(
    tablet: str | None, lower: int, is_held: bool
) -> None:
    queue = snapshot_of(mounted(lower, 12))
    seen = judged(consumer(ALICE, position(queue, 8)), {0: tablet})
    kind = constraint(plan_with(queue, [Registration(QUEUE, ALICE, True)], {ALICE: seen})).kind
    assert (kind in {ConstraintKind.UNPROVED_OFFSET, ConstraintKind.STALE_OFFSET}) is is_held
