"""Which dead vital consumers hold the rows of a queue no longer, and how many of their rows go."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from queue_agent.core.queues.snapshots import QueuePartition
from queue_agent.core.state.quarantines import Commit, Quarantine, QuarantineTerms, QuarantineWish
from queue_agent.core.state.rows import Registration
from queue_agent.core.trimming.bounds import TrimBounds
from queue_agent.core.trimming.confirmation import partitions_to_trim
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind

RENEWAL: Final = timedelta(minutes=10)
"""From one writing of a row that does not change to the next."""

_VOID_AFTER: Final = timedelta(hours=1)
"""Nobody has watched the consumer for so long: it gets a new notice."""

_MOST_AT_ONCE: Final = RENEWAL
"""A longer pause between two looks counts as so much waiting."""


@dataclass(frozen=True, slots=True)
class QuarantineLook:
    """What is known right now of a queue and its dead consumers; all of it was read, and nothing is assumed."""

    wish: QuarantineWish
    object_id: str
    """Of the queue."""

    has_exports: bool
    vital: Collection[CrossClusterRef]
    """Consumers that are registered as vital."""

    protected: Collection[CrossClusterRef]
    """Those that nobody may put into quarantine, by their owners."""

    commits: Mapping[CrossClusterRef, Mapping[int, Commit]]
    """By partition, of each consumer in question that is vital; of none if the owner of the queue allows nothing."""


class StepKind(enum.Enum):
    """What becomes of a quarantine."""

    ANNOUNCED = "announced"
    RENEWED = "renewed"
    STARTED = "started"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be written before it is true."""

    kind: StepKind
    quarantine: Quarantine
    reason: str = ""
    """Of an end."""


def find_steps(
    known: Collection[Quarantine],
    dead: Collection[CrossClusterRef],
    look: QuarantineLook,
    terms: QuarantineTerms,
    now: datetime,
    *,
    may_start: bool,
) -> Sequence[Step]:
    """What is to be done about the quarantines of one queue.

    Args:
        known: those there are, as the table has them, with the time that was waited since.
        dead: consumers that have been silent for long enough, and hold rows.
        look: at everything it depends on.
        terms: of the agent.
        now: time of day, which may be wrong.
        may_start: rows may be trimmed at all.
    """
    steps: list[Step] = []
    active = 0
    for one in sorted(known, key=_rank):
        end = _find_end(one, look, now)
        if end is None and active >= _most(look.vital):
            end = "Half of the vital consumers are in quarantine already"
        if end is not None:
            steps.append(Step(StepKind.ENDED, one, end))
            continue
        active += 1
        is_due = not one.left and one.consumer in dead
        if not one.is_started and is_due and may_start:
            steps.append(Step(StepKind.STARTED, replace(one, is_started=True, renewed_at=now)))
        elif now - one.renewed_at >= RENEWAL:
            steps.append(Step(StepKind.RENEWED, replace(one, renewed_at=now)))
    names = {one.consumer for one in known}
    for consumer in sorted(set(dead) - names):
        fresh = Quarantine(consumer, look.object_id, look.commits.get(consumer, {}), now, now, terms.notice)
        if active < _most(look.vital) and _find_end(fresh, look, now) is None:
            active += 1
            steps.append(Step(StepKind.ANNOUNCED, fresh))
    return steps


def find_released(quarantines: Collection[Quarantine], look: QuarantineLook, now: datetime) -> Sequence[Quarantine]:
    """Those that hold nothing now: never more than half of the vital consumers, so never the last.

    Args:
        quarantines: those there are.
        look: right before.
        now: time of day.
    """
    started = [one for one in sorted(quarantines, key=_rank) if one.is_started and _find_end(one, look, now) is None]
    return started[: _most(look.vital)]


def demote(registrations: Collection[Registration], released: Collection[CrossClusterRef]) -> Sequence[Registration]:
    """The registrations as trimming takes them: a released consumer is one that holds nothing back."""
    return [replace(one, vital=False) if one.consumer in released else one for one in registrations]


def hold_moved(
    plan: TrimPlan, released: Collection[Quarantine], offsets: Mapping[CrossClusterRef, Mapping[int, int] | None]
) -> TrimPlan:
    """The plan without rows of consumers that may read again: those that are not where they were at their notice.

    Args:
        plan: in which they hold nothing.
        released: the consumers.
        offsets: by consumer, as read last; None: they could not be read, and the consumer holds its rows.
    """
    partitions = dict(plan.partitions)
    for one in released:
        now = offsets.get(one.consumer, {})
        if now is not None and all(_offset(one, index) == offset for index, offset in now.items()):
            continue
        for index in partitions_to_trim(plan):
            kept = _offset(one, index)
            allowed = kept if now is None else min(kept, now.get(index, kept))
            bounds = TrimBounds(ConstraintKind.QUARANTINE, allowed=allowed, subject=str(one.consumer))
            partitions[index] = partitions[index].held(bounds)
    return replace(plan, partitions=partitions)


def watched(quarantine: Quarantine, elapsed: float) -> Quarantine:
    """The same after so many seconds in which the consumer was watched."""
    return replace(quarantine, waited=quarantine.waited + min(timedelta(seconds=elapsed), _MOST_AT_ONCE))


def find_silent(silences: Mapping[CrossClusterRef, float], terms: QuarantineTerms) -> Collection[CrossClusterRef]:
    """Those of the consumers that hold rows which are to be announced, by the seconds of their silence."""
    after = terms.after.total_seconds()
    return {consumer for consumer, seconds in silences.items() if seconds >= after}


class Allowance:
    """How many unread rows of a queue may go now, so that no hour sees more than allowed."""

    def __init__(self) -> None:
        self._rows = 0.0
        self._grown_at: float | None = None

    def grow(self, now: float, max_rows_per_hour: int) -> int:
        """Rows that may go.

        Args:
            now: by a clock that is never set.
            max_rows_per_hour: a minute's worth may go at once, and the rest evenly.
        """
        at_once = burst(max_rows_per_hour)
        elapsed = 0.0 if self._grown_at is None else now - self._grown_at
        self._grown_at = now
        self._rows = min(at_once, self._rows + elapsed * (max_rows_per_hour - at_once) / 3600)
        return int(self._rows)

    def spend(self, rows: int) -> None:
        """So many rows are about to go."""
        self._rows -= rows


def burst(max_rows_per_hour: int) -> float:
    """Rows that may go at once."""
    return max_rows_per_hour / 60


def limit_release(plan: TrimPlan, released: Collection[Quarantine], allowed: int) -> TrimPlan:
    """The plan with no more unread rows of released consumers than may go now.

    Args:
        plan: in which they hold nothing.
        released: the consumers.
        allowed: rows; partitions with the most of them come first.
    """
    rows = {index: count for index, one in plan.partitions.items() if (count := _count_unread(one, index, released))}
    partitions = dict(plan.partitions)
    for index in sorted(rows, key=lambda index: (-rows[index], index)):
        # Of a partition that it has not begun nobody could say how many rows it loses.
        taken = min(rows[index], allowed) if all(index in one.commits for one in released) else 0
        allowed -= taken
        if taken < rows[index]:
            slowest = min(released, key=lambda one: (_offset(one, index), one.consumer))
            target = partitions[index].trim.target
            assert target is not None, "it has rows to go"
            bounds = TrimBounds(
                ConstraintKind.QUARANTINE, allowed=target - rows[index] + taken, subject=str(slowest.consumer)
            )
            partitions[index] = partitions[index].held(bounds)
    return replace(plan, partitions=partitions)


def count_unread(plan: TrimPlan, released: Collection[Quarantine]) -> int:
    """Rows that a plan takes from released consumers."""
    return sum(_count_unread(one, index, released) for index, one in plan.partitions.items())


def _count_unread(plan: PartitionPlan, index: int, released: Collection[Quarantine]) -> int:
    if not released or plan.trim.target is None:
        return 0
    assert isinstance(plan.partition, QueuePartition), "only what can be read has a target"
    slowest = min(_offset(one, index) for one in released)
    return max(0, plan.trim.target - max(slowest, plan.partition.lower_row_index))


def _offset(one: Quarantine, index: int) -> int:
    return one.commits[index].offset if index in one.commits else 0


def _most(vital: Collection[CrossClusterRef]) -> int:
    return len(set(vital)) // 2


def _rank(one: Quarantine) -> tuple[bool, datetime, CrossClusterRef]:
    """What has started first, and what was announced first."""
    return not one.is_started, one.announced_at, one.consumer


def _find_end(one: Quarantine, look: QuarantineLook, now: datetime) -> str | None:
    """Why a consumer is in quarantine no longer, or cannot be put there."""
    return next(_ends(one, look, now), None)


def _ends(one: Quarantine, look: QuarantineLook, now: datetime) -> Iterator[str]:
    if one.consumer not in look.vital:
        yield "It is not registered as vital any more"
    if not look.wish.enable:
        yield "The queue does not allow it"
    if look.wish.require_export and not look.has_exports:
        yield "The queue has no static export, which its owner demands"
    if one.consumer in look.protected:
        yield "The consumer is protected"
    if one.object_id != look.object_id:
        yield "The queue was created again"
    if not one.commits:
        yield "The consumer has never committed"
    if look.commits.get(one.consumer, {}) != one.commits:
        yield "The consumer has committed"
    if abs(now - one.renewed_at) > _VOID_AFTER:
        yield "No agent has watched it for an hour"
