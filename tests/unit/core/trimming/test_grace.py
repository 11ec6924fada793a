"""The first trim after a silence: when it waits, for how long, and which rows it spares."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from queue_agent.core.trimming.grace import Activity, Graces, GraceTerms, find_graces, spare_slow_readers
from queue_agent.core.trimming.losers import Suspects, Witnessed
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from queue_agent.core.values.trim_constraints import ConstraintKind
from tests.unit.core.trimming.plans import (
    ALICE,
    BOB,
    BROKEN,
    NOW,
    QUEUE,
    good_targets,
    mounted,
    plan,
    position,
    snapshot_of,
    targets,
)

TERMS = GraceTerms(timedelta(minutes=10), timedelta(seconds=1))
CAROL = CrossClusterRef("hume", "//tmp/carol")
END = NOW + TERMS.grace


def planned(*offsets: int) -> TrimPlan:
    """By what Alice, who is vital, has read."""
    queue = snapshot_of(*[mounted(3, 20)] * len(offsets))
    return plan(queue, {ALICE: position(queue, *offsets)})


class Iterations:
    """Of one table that this agent has led since second 0."""

    def __init__(self, terms: GraceTerms = TERMS) -> None:
        self.graces = Graces()
        self.terms = terms

    def waits(self, second: float, led_since: float = 0.0, table: CrossClusterRef = QUEUE) -> bool:
        """Whether rows that somebody would lose have to wait in an iteration; its clock says so many seconds."""
        term, instant = Term(led_since, second), NOW + timedelta(seconds=second)
        foreseen = self.graces.preview(table, term, instant, self.terms)
        activity = self.graces.begin_or_go_on(table, term, instant, self.terms)
        assert activity == foreseen
        return activity.find_end(term, self.terms) is not None

    def run(self, begin: int, end: int) -> list[int]:
        """Iterate each second.

        Returns:
            Those that have to wait.
        """
        return [second for second in range(begin, end) if self.waits(second)]


def test_the_first_trims_wait_and_then_no_others() -> None:
    assert Iterations().run(5, 2000) == list(range(5, 605))


def test_a_grace_of_zero_waits_for_nothing() -> None:
    assert Iterations(replace(TERMS, grace=timedelta(0))).run(0, 100) == []


def test_after_a_silence_as_long_as_the_grace_it_begins_again() -> None:
    table = Iterations()
    table.run(0, 1000)
    assert not table.waits(999 + 599)
    assert table.waits(999 + 599 + 600)


def test_a_silence_within_the_grace_does_not_use_it_up() -> None:
    table = Iterations()
    assert table.waits(0)
    assert table.waits(86_400), "what was wanted a day ago tells nothing of consumers of today"


def test_whoever_leads_a_queue_anew_begins_again() -> None:
    table = Iterations()
    table.run(0, 1000)
    assert table.waits(1000, led_since=995)
    assert table.waits(1001, led_since=995)
    assert not table.waits(1600, led_since=995)


def test_tables_are_apart() -> None:
    table = Iterations()
    table.run(0, 1000)
    assert table.waits(1000, table=CAROL)
    assert not table.waits(1001)


def test_who_trims_once_an_hour_trims_in_every_other_iteration_at_least() -> None:
    table = Iterations(GraceTerms(timedelta(minutes=10), timedelta(hours=1)))
    assert [table.waits(3600 * hour) for hour in range(4)] == [True, False, False, False]


def test_nothing_is_remembered_longer_than_it_counts() -> None:
    table = Iterations()
    for second in range(0, 10_000, 100):
        table.waits(second, table=CrossClusterRef("hume", f"//tmp/{second}"))
    assert len(table.graces) == 6, "of the last ten minutes"


def test_the_end_is_told_by_the_clock_on_the_wall_and_found_by_the_other() -> None:
    activity = Activity(0.0, 5.0, 5.0, NOW)
    assert activity.find_end(Term(0.0, 604.9), TERMS) == END
    assert activity.find_end(Term(0.0, 605.0), TERMS) is None
    shorter = replace(TERMS, grace=timedelta(minutes=1))
    assert activity.find_end(Term(0.0, 60.0), shorter) == NOW + shorter.grace, "as configured now"
    assert activity.find_end(Term(0.0, 70.0), shorter) is None


@pytest.mark.parametrize(
    ("offsets", "left"),
    [
        pytest.param({BOB: {0: 5, 1: 9}}, {0: 5, 1: 9}, id="up to what is read"),
        pytest.param({BOB: {0: 1, 1: 9}}, {1: 9}, id="rows are gone already that it has not read"),
        pytest.param({BOB: {0: 8, 1: 15}}, {0: 8, 1: 9}, id="caught up meanwhile"),
        pytest.param({BOB: {1: 4}}, {0: 8, 1: 4}, id="whoever has not begun loses nothing"),
        pytest.param({BOB: None}, {}, id="not known"),
        pytest.param({}, {}, id="nobody had time to ask"),
    ],
)
def test_rows_stay_that_somebody_has_not_read(
    offsets: dict[CrossClusterRef, dict[int, int] | None], left: object
) -> None:
    spared = spare_slow_readers(planned(8, 9), Suspects({BOB: [0, 1]}), Witnessed(offsets), END)
    assert good_targets(spared) == left, "and nothing is wrong"


def test_the_slowest_counts_and_is_named() -> None:
    suspects = Suspects({BOB: [0], CAROL: [0]})
    spared = spare_slow_readers(planned(8, 9), suspects, Witnessed({BOB: {0: 5, 1: 0}, CAROL: {0: 6}}), END)
    assert targets(spared) == {0: 5, 1: 9}, "nobody is suspected in partition 1"
    found = spared.trims[0].constraint
    assert (found.kind, found.subject, found.row_index) == (ConstraintKind.GRACE, str(BOB), 5)
    assert (found.until, found.message) == (END, "until 2025-01-23T13:52:21.000000Z")
    assert [one.subject for one in find_graces(spared.partitions[0])] == [str(BOB), str(CAROL)]


def test_partitions_without_a_target_are_left_as_they_are() -> None:
    idle = planned(3)
    assert spare_slow_readers(idle, Suspects({BOB: [0]}), Witnessed(), END) == idle
    blocked = planned(8).blocked(ConstraintKind.ERROR, BROKEN)
    assert spare_slow_readers(blocked, Suspects({BOB: [0]}), Witnessed(), END) == blocked
