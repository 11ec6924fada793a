"""When a dead vital consumer holds rows no longer, and how many of them go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from queue_agent.core.state.quarantines import Commit, Quarantine, QuarantineTerms, QuarantineWish
from queue_agent.core.state.rows import Registration
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.trimming.quarantine import (
    Allowance,
    QuarantineLook,
    Step,
    StepKind,
    count_unread,
    demote,
    find_released,
    find_silent,
    find_steps,
    hold_moved,
    limit_release,
    watched,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from tests.unit.core.trimming.plans import ALICE, BOB, NOW, QUEUE, mounted, plan, position, snapshot_of, unmounted

CAROL = CrossClusterRef("hume", "//tmp/carol")
DAVE = CrossClusterRef("hume", "//tmp/dave")
AT_4 = Commit(4, 700)
TERMS = QuarantineTerms(timedelta(days=7), timedelta(hours=24), 3600)
LOOK = QuarantineLook(
    wish=QuarantineWish(enable=True),
    object_id="1-2-3-4",
    has_exports=False,
    vital=[ALICE, BOB],
    protected=(),
    commits={BOB: {0: AT_4}},
)
ANNOUNCED = Quarantine(BOB, "1-2-3-4", {0: AT_4}, NOW, NOW, TERMS.notice)
WAITED = replace(ANNOUNCED, waited=TERMS.notice)
STARTED = replace(WAITED, is_started=True)


def steps(
    *known: Quarantine,
    dead: Collection[CrossClusterRef] = (BOB,),
    look: QuarantineLook = LOOK,
    now: datetime = NOW,
    may_start: bool = True,
) -> list[Step]:
    return list(find_steps(known, dead, look, TERMS, now, may_start=may_start))


def kinds(*known: Quarantine, **others: Any) -> list[StepKind]:
    return [step.kind for step in steps(*known, **others)]


def test_who_is_silent_for_long_enough() -> None:
    week = TERMS.after.total_seconds()
    assert find_silent({ALICE: week - 1, BOB: week}, TERMS) == {BOB}


def test_a_dead_consumer_gets_notice_with_what_it_has_read() -> None:
    assert steps() == [Step(StepKind.ANNOUNCED, ANNOUNCED)]
    assert steps(dead=()) == []


def test_who_has_never_committed_gets_none() -> None:
    assert steps(look=replace(LOOK, commits={BOB: {}})) == []


def test_it_starts_after_the_notice_if_it_is_dead_then_and_rows_may_go() -> None:
    assert kinds(ANNOUNCED) == []
    assert kinds(replace(ANNOUNCED, waited=TERMS.notice - timedelta(seconds=1))) == []
    later = NOW + timedelta(minutes=1)
    assert steps(WAITED, now=later) == [Step(StepKind.STARTED, replace(STARTED, renewed_at=later))]
    assert kinds(WAITED, dead=()) == [], "it cannot be read, or has nothing to read"
    assert kinds(WAITED, may_start=False) == []
    assert kinds(STARTED, dead=()) == [], "once it has started, it goes on"


ENDS: Mapping[str, Mapping[str, Any]] = {
    "not registered as vital": {"vital": [ALICE, CAROL]},
    "does not allow it": {"wish": QuarantineWish()},
    "no static export": {"wish": QuarantineWish(enable=True, require_export=True)},
    "is protected": {"protected": [BOB]},
    "was created again": {"object_id": "5-6-7-8"},
    "has committed": {"commits": {BOB: {0: Commit(5, 701)}}},
}


@pytest.mark.parametrize("words", ENDS)
@pytest.mark.parametrize("one", [ANNOUNCED, WAITED, STARTED])
def test_what_ends_it_keeps_it_from_starting_and_from_taking_rows(words: str, one: Quarantine) -> None:
    look = replace(LOOK, **ENDS[words])
    [step] = steps(one, look=look, dead=())
    assert (step.kind, step.quarantine) == (StepKind.ENDED, one)
    assert words in step.reason
    assert find_released([one], look, NOW) == []


@pytest.mark.parametrize("words", sorted(ENDS.keys() - {"was created again", "has committed"}))
def test_what_ends_it_keeps_it_from_being_announced(words: str) -> None:
    assert steps(look=replace(LOOK, **ENDS[words])) == []


@pytest.mark.parametrize(
    "commits", [{}, {0: Commit(3, 701)}, {0: AT_4, 1: Commit(0, 701)}, {0: Commit(4, 701)}, {0: Commit(4, 699)}]
)
def test_a_step_back_a_first_commit_and_the_same_offset_again_are_commits(commits: Mapping[int, Commit]) -> None:
    look = replace(LOOK, commits={BOB: commits})
    assert kinds(STARTED, look=look, dead=()) == [StepKind.ENDED]
    assert find_released([STARTED], look, NOW) == []


def test_an_export_is_enough_for_who_demands_one() -> None:
    look = replace(LOOK, wish=QuarantineWish(enable=True, require_export=True), has_exports=True)
    assert kinds(look=look) == [StepKind.ANNOUNCED]


@pytest.mark.parametrize("hours", [-1.1, 1.1])
def test_nobody_has_watched_or_the_clock_was_set(hours: float) -> None:
    now = NOW + timedelta(hours=hours)
    [step] = steps(STARTED, now=now)
    assert (step.kind, step.reason) == (StepKind.ENDED, "No agent has watched it for an hour")
    assert find_released([STARTED], LOOK, now) == []


def test_rows_are_renewed() -> None:
    now = NOW + timedelta(minutes=10)
    assert steps(ANNOUNCED, now=now) == [Step(StepKind.RENEWED, replace(ANNOUNCED, renewed_at=now))]
    assert steps(STARTED, now=now) == [Step(StepKind.RENEWED, replace(STARTED, renewed_at=now))]
    assert kinds(STARTED, now=now - timedelta(seconds=1)) == []


def test_never_the_last_vital_consumer_and_never_more_than_half_of_them() -> None:
    commits = {one: {0: AT_4} for one in (ALICE, BOB, CAROL, DAVE)}
    for vital, count in (([BOB], 0), ([ALICE, BOB], 1), ([ALICE, BOB, CAROL], 1), ([ALICE, BOB, CAROL, DAVE], 2)):
        look = replace(LOOK, vital=vital, commits=commits)
        assert kinds(dead=vital, look=look) == [StepKind.ANNOUNCED] * count
        started = [replace(STARTED, consumer=one) for one in vital]
        assert len(find_released(started, look, NOW)) == count
    three = replace(LOOK, vital=[ALICE, BOB, CAROL], commits=commits)
    assert kinds(ANNOUNCED, dead=[BOB, CAROL], look=three) == []
    four = [replace(WAITED, consumer=one) for one in (ALICE, BOB)]
    assert kinds(*four, dead=[ALICE, BOB], look=three) == [StepKind.STARTED, StepKind.ENDED], "there were more once"
    started = [replace(one, is_started=True) for one in four]
    assert kinds(*started, dead=[], look=three) == [StepKind.ENDED]
    twice = replace(LOOK, vital=[BOB, BOB])
    assert find_released([STARTED], twice, NOW) == [], "one consumer, however many registrations"


def test_who_has_started_comes_before_who_has_notice() -> None:
    commits = {one: {0: AT_4} for one in (ALICE, BOB, CAROL)}
    look = replace(LOOK, vital=[ALICE, BOB, CAROL], commits=commits)
    early = replace(ANNOUNCED, consumer=ALICE, announced_at=NOW - timedelta(days=1))
    late = replace(STARTED, consumer=CAROL)
    assert find_released([early, STARTED, late], look, NOW) == [STARTED]
    assert find_released([early], look, NOW) == []


def test_time_counts_that_agents_have_watched() -> None:
    assert watched(ANNOUNCED, 1.5).waited == timedelta(seconds=1.5)
    assert watched(WAITED, 3600.0).waited == TERMS.notice + timedelta(minutes=10), "nobody looked meanwhile"


def test_a_released_consumer_is_as_one_that_holds_nothing() -> None:
    registrations = [Registration(QUEUE, ALICE, vital=True), Registration(QUEUE, BOB, vital=True)]
    assert demote(registrations, [BOB]) == [registrations[0], replace(registrations[1], vital=False)]


def test_no_hour_sees_more_rows_than_allowed() -> None:
    allowance = Allowance()
    gone = []
    for second in range(7200):
        rows = allowance.grow(float(second), TERMS.max_rows_per_hour)
        allowance.spend(rows)
        gone.append(rows)
    assert max(sum(gone[begin : begin + 3600]) for begin in range(3600)) <= TERMS.max_rows_per_hour
    assert sum(gone) > 1.9 * TERMS.max_rows_per_hour
    waited = Allowance()
    assert waited.grow(0.0, 3600) == 0
    assert waited.grow(1e6, 3600) == 60, "a minute's worth at most"
    hour = [60]
    waited.spend(60)
    for second in range(1, 3600):
        hour.append(rows := waited.grow(1e6 + second, 3600))
        waited.spend(rows)
    assert sum(hour) <= 3600


def released(*partitions: tuple[int, int]) -> TrimPlan:
    """By what Alice has read of partitions of 100 rows; Bob holds nothing."""
    queue = snapshot_of(*[mounted(lower, 100) for lower, _ in partitions])
    return plan(queue, {ALICE: position(queue, *[read for _, read in partitions])})


def test_so_many_unread_rows_go_and_the_fullest_partition_first() -> None:
    one = replace(STARTED, commits={0: Commit(10, 1), 1: Commit(0, 1)})
    whole = released((0, 50), (20, 90))
    assert count_unread(whole, [one]) == 40 + 70
    assert count_unread(whole, []) == 0
    limited = limit_release(whole, [one], 100)
    assert {index: trim.target for index, trim in limited.trims.items()} == {0: 40, 1: 90}
    held = limited.trims[0].constraint
    assert (held.kind, held.subject, held.held_row_count) == (ConstraintKind.QUARANTINE, str(BOB), 10)
    assert limited.trims[1].constraint.kind is ConstraintKind.VITAL_CONSUMER
    assert count_unread(limited, [one]) == 100
    none = limit_release(whole, [one], 0)
    assert {index: trim.target for index, trim in none.trims.items()} == {0: 10, 1: None}
    assert limit_release(whole, [one], 110).trims == whole.trims
    assert limit_release(whole, [], 0).trims == whole.trims


def test_a_partition_that_the_consumer_has_not_begun_keeps_its_rows() -> None:
    one = replace(STARTED, commits={0: Commit(10, 1)})
    limited = limit_release(released((0, 50), (20, 90)), [one], 1000)
    assert {index: trim.target for index, trim in limited.trims.items()} == {0: 50, 1: None}
    assert limited.trims[1].constraint.kind is ConstraintKind.QUARANTINE


@pytest.mark.parametrize(
    ("offsets", "targets"),
    [
        ({}, [50, 90]),
        ({BOB: {0: 10, 1: 30}}, [50, 90]),
        ({BOB: {0: 11, 1: 30}}, [10, 30]),
        ({BOB: {0: 10, 1: 25}}, [10, 25]),
        ({BOB: {0: 10, 1: 30, 2: 1}}, [10, 30]),
        ({BOB: None}, [10, 30]),
        ({BOB: {0: 10, 1: 30}, CAROL: None}, [20, 40]),
    ],
)
def test_who_is_not_where_it_was_holds_its_rows_and_takes_none_from_others(
    offsets: Mapping[CrossClusterRef, Mapping[int, int] | None], targets: list[int]
) -> None:
    one = replace(STARTED, commits={0: Commit(10, 1), 1: Commit(30, 1)})
    other = replace(STARTED, consumer=CAROL, commits={0: Commit(20, 1), 1: Commit(40, 1)})
    held = hold_moved(released((0, 50), (20, 90), (0, 0)), [one, other], offsets)
    assert {index: trim.target for index, trim in held.trims.items()} == {0: targets[0], 1: targets[1], 2: None}


def test_the_slowest_of_several_is_the_measure() -> None:
    other = replace(STARTED, consumer=CAROL, commits={0: Commit(5, 1)})
    whole = released((0, 50))
    one = replace(STARTED, commits={0: Commit(10, 1)})
    assert count_unread(whole, [one, other]) == 45
    [held] = limit_release(whole, [one, other], 20).trims.values()
    assert (held.target, held.constraint.subject) == (25, str(CAROL))


def test_rows_that_everybody_has_read_cost_nothing_and_what_cannot_be_read_is_left_alone() -> None:
    one = replace(STARTED, commits={0: Commit(60, 1)})
    assert count_unread(released((0, 50)), [one]) == 0
    assert limit_release(released((0, 50)), [one], 0).trims[0].target == 50
    queue = snapshot_of(unmounted())
    broken = plan(queue, {ALICE: position(queue, 5)})
    assert limit_release(broken, [one], 0).trims == broken.trims
