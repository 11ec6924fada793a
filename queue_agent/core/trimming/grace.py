"""Time for consumers that hold nothing back: the first trim after a silence waits before it takes rows from them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from queue_agent.core.queues.snapshots import QueuePartition
from queue_agent.core.trimming.bounds import TrimBounds
from queue_agent.core.trimming.losers import Suspects, Witnessed
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from queue_agent.core.values.trim_constraints import ConstraintKind

_PERIODS_OF_SILENCE: Final = 2
"""An agent that trims once an hour is not silent for an hour."""


@dataclass(frozen=True, slots=True)
class GraceTerms:
    """How long the first trim waits, and what it is the first after."""

    grace: timedelta
    """Zero: it does not wait."""

    period: timedelta
    """From one iteration to the next."""

    @property
    def silence(self) -> timedelta:
        return max(self.grace, self.period * _PERIODS_OF_SILENCE)


@dataclass(frozen=True, slots=True)
class Activity:
    """Iterations with something to trim, without a silence between them; times are those of the agent's own clock."""

    led_since: float
    """Another agent may have led the queue before."""

    begun: float
    latest: float
    instant: datetime
    """Time of day when it began, for people."""

    def goes_on(self, term: Term, terms: GraceTerms) -> bool:
        """Whether an iteration of now belongs to it."""
        return self.led_since == term.since and term.passed_since(self.latest) < terms.silence.total_seconds()

    def find_end(self, term: Term, terms: GraceTerms) -> datetime | None:
        """Time of day when rows that somebody would lose may go; None: they may."""
        if term.passed_since(self.begun) >= terms.grace.total_seconds():
            return None
        return self.instant + terms.grace


class Graces:
    """Since when tables have been trimmed without a silence."""

    def __init__(self) -> None:
        self._activities: OrderedDict[CrossClusterRef, Activity] = OrderedDict()

    def __len__(self) -> int:
        return len(self._activities)

    def begin_or_go_on(self, table: CrossClusterRef, term: Term, instant: datetime, terms: GraceTerms) -> Activity:
        """An iteration has something to trim, by all that was read right before.

        Args:
            table: to trim.
            term: since when this agent has led it, and the queue.
            instant: time of day.
            terms: as configured now.
        """
        activity = self._find(table, term, instant, terms)
        self._activities[table] = replace(activity, latest=term.now)
        self._activities.move_to_end(table)
        self._forget(term, terms)
        return activity

    def preview(self, table: CrossClusterRef, term: Term, instant: datetime, terms: GraceTerms) -> Activity:
        """What the next iteration would belong to."""
        return self._find(table, term, instant, terms)

    def _find(self, table: CrossClusterRef, term: Term, instant: datetime, terms: GraceTerms) -> Activity:
        found = self._activities.get(table)
        if found is not None and found.goes_on(term, terms):
            return found
        return Activity(term.since, term.now, term.now, instant)

    def _forget(self, term: Term, terms: GraceTerms) -> None:
        """What would begin again anyway."""
        while True:
            table, oldest = next(iter(self._activities.items()))
            if term.passed_since(oldest.latest) < terms.silence.total_seconds():
                return
            del self._activities[table]


def spare_slow_readers(plan: TrimPlan, suspects: Suspects, seen: Witnessed, end: datetime) -> TrimPlan:
    """The plan without rows that a consumer has not committed which holds nothing back.

    Args:
        plan: confirmed.
        suspects: of the plan.
        seen: right before; of a consumer that could not be read it is not known what it would lose.
        end: of the grace.
    """
    partitions = dict(plan.partitions)
    for index, one in plan.partitions.items():
        for bounds in _find_bounds(one, index, suspects, seen, end):
            partitions[index] = partitions[index].held(bounds)
    return replace(plan, partitions=partitions)


def find_graces(plan: PartitionPlan) -> Sequence[TrimBounds]:
    """What waits in a partition."""
    return [one for one in plan.bounds if one.kind is ConstraintKind.GRACE]


def _find_bounds(
    plan: PartitionPlan, index: int, suspects: Suspects, seen: Witnessed, end: datetime
) -> Sequence[TrimBounds]:
    partition, target = plan.partition, plan.trim.target
    if target is None:
        return ()
    assert isinstance(partition, QueuePartition), "only what can be read has a target"
    found = []
    for consumer, indexes in suspects.indexes.items():
        offsets = seen.offsets.get(consumer)
        if index not in indexes or (offsets is not None and index not in offsets):
            continue  # whoever has not begun loses nothing
        row_index = 0 if offsets is None else offsets[index]
        if row_index < target:
            allowed = max(row_index, partition.lower_row_index)
            found.append(TrimBounds(ConstraintKind.GRACE, allowed=allowed, subject=str(consumer), until=end))
    return found
