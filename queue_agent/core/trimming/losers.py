"""Which consumers a trim takes rows from that they have not committed: those that hold nothing back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    FailedConsumerPartition,
    QueuePartition,
    QueueView,
)
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_journal import Loser
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind

Row = tuple[int, int]
"""Partition index and row index."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """Consumers that may have unread rows below the targets of a plan."""

    indexes: Mapping[CrossClusterRef, Collection[int]] = field(default_factory=dict)
    """Of the partitions, by consumer."""

    unknown: Collection[CrossClusterRef] = ()
    """Those that have been asked in vain: asking again would only take time."""

    doubtful: Mapping[CrossClusterRef, Collection[int]] = field(default_factory=dict)
    """Partitions in which an offset may be one of other rows, which a reshard or a re-creation took away."""


@dataclass(frozen=True, slots=True)
class Witnessed:
    """What was read right before a trim, of consumers that hold nothing back."""

    offsets: Mapping[CrossClusterRef, Mapping[int, int] | None] = field(default_factory=dict)
    """By partition index; None: they could not be read."""

    weights: Mapping[Row, int] = field(default_factory=dict)
    """Cumulative data weight through a row, as far as it is known."""


NO_SUSPECTS: Final = Suspects()
NOTHING_WITNESSED: Final = Witnessed()


def find_suspects(
    plan: TrimPlan,
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    queue: QueueView | None,
) -> Suspects:
    """Whose offsets are to be read before a plan is carried out.

    Args:
        plan: what is to be trimmed.
        registrations: those of the queue.
        consumers: their latest snapshots.
        queue: the latest view of it; None: it cannot be read.
    """
    partitions = () if queue is None else queue.partitions
    tablets = {index: one.tablet_id for index, one in enumerate(partitions) if isinstance(one, QueuePartition)}
    targets = {index: trim.target for index, trim in plan.trims.items() if trim.target is not None}
    found: dict[CrossClusterRef, Collection[int]] = {}
    unknown: list[CrossClusterRef] = []
    doubtful: dict[CrossClusterRef, Collection[int]] = {}
    for one in registrations:
        if one.vital:
            continue
        indexes = [index for index in targets if not one.partitions or index in one.partitions]
        if not indexes:
            continue
        snapshot = consumers.get(one.consumer)
        view = None if snapshot is None or snapshot.view is None else snapshot.view.queues.get(plan.queue)
        if not isinstance(view, ConsumerQueueView):
            if snapshot is not None and snapshot.pass_index > 0:
                unknown.append(one.consumer)
            found[one.consumer] = doubtful[one.consumer] = indexes
            continue
        verdict = None if snapshot is None else snapshot.verdicts.get(plan.queue)
        proved = {} if verdict is None else verdict.tablets
        doubts = [index for index in indexes if index not in tablets or proved.get(index) != tablets[index]]
        behind = [index for index in indexes if index in doubts or _is_behind(view.partitions, index, targets[index])]
        if doubts:
            doubtful[one.consumer] = doubts
        if behind:
            found[one.consumer] = behind
    return Suspects(found, unknown, doubtful)


def rows_to_weigh(
    plan: TrimPlan, suspects: Suspects, offsets: Mapping[CrossClusterRef, Mapping[int, int] | None]
) -> set[Row]:
    """Rows whose cumulative weights tell how many bytes each of them loses."""
    rows: set[Row] = set()
    for consumer, indexes in suspects.indexes.items():
        for index in indexes:
            span = _span(plan.partitions[index], offsets.get(consumer), index)
            if span is not None:
                rows |= {(index, max(span[0] - 1, span[2])), (index, span[1] - 1)}
    return rows


def find_losers(
    plan: PartitionPlan, index: int, suspects: Suspects, seen: Witnessed, quarantined: Collection[CrossClusterRef]
) -> Sequence[Loser]:
    """Who loses rows of one partition.

    Args:
        plan: as it is carried out, with a target.
        index: of the partition.
        suspects: of the whole plan.
        seen: right before the trim.
        quarantined: consumers that would have held the rows.
    """
    target = plan.trim.target
    assert target is not None, "it is trimmed"
    vital_trimming, subject = _who_let_go(plan)
    losers: list[Loser] = []
    for consumer, indexes in suspects.indexes.items():
        if index not in indexes:
            continue
        offsets = seen.offsets.get(consumer)
        if offsets is None:
            losers.append(Loser(consumer, None, None, vital_trimming, subject, consumer in quarantined))
            continue
        offset = offsets.get(index)
        # Whoever has not begun loses nothing.
        if offset is not None and (offset < target or index in suspects.doubtful.get(consumer, ())):
            span = _span(plan, offsets, index)
            weight = None if span is None else _weigh(span, index, seen.weights)
            losers.append(Loser(consumer, offset, weight, vital_trimming, subject, consumer in quarantined))
    return losers


def _is_behind(partitions: Sequence[ConsumerPartition | FailedConsumerPartition], index: int, target: int) -> bool:
    """One without an offset may have begun since."""
    if index >= len(partitions):
        return True
    one = partitions[index]
    return isinstance(one, FailedConsumerPartition) or one.next_row_index < target


def _span(plan: PartitionPlan, offsets: Mapping[int, int] | None, index: int) -> tuple[int, int, int] | None:
    """First and end of the unread rows that go, and the first row that is there; None: none go, or it is not known."""
    partition, target = plan.partition, plan.trim.target
    if offsets is None or index not in offsets or target is None or not isinstance(partition, QueuePartition):
        return None
    first = max(offsets[index], partition.lower_row_index)
    return (first, target, partition.lower_row_index) if first < target else None


def _weigh(span: tuple[int, int, int], index: int, weights: Mapping[Row, int]) -> int | None:
    first, end, lower = span
    before, last = weights.get((index, max(first - 1, lower))), weights.get((index, end - 1))
    if before is None or last is None or last < before:
        return None
    if first > lower:
        return last - before
    # The row before the first is gone, and with it what the first one weighs: it counts as much as the others.
    return (last - before) * (end - first) // (end - first - 1) if end - first > 1 else None


def _who_let_go(plan: PartitionPlan) -> tuple[bool, str | None]:
    """Whether it was a vital consumer, rather than an export, that passed the rows last, and which."""
    passed = [
        (one.limit, one)
        for one in plan.bounds
        if one.kind in (ConstraintKind.VITAL_CONSUMER, ConstraintKind.EXPORT) and one.limit is not None
    ]
    if not passed:
        return True, None
    slowest = min(passed, key=lambda pair: pair[0])[1]
    return slowest.kind is not ConstraintKind.EXPORT, slowest.subject
