"""Counters of queues and consumers, fed with every snapshot: however often and by whom they are read."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from queue_agent.core.queues.growth import NO_CONSUMER_GROWTH, NO_QUEUE_GROWTH, ConsumerGrowth, QueueGrowth
from queue_agent.core.queues.snapshots import ConsumerQueueView, ConsumerSnapshot, QueueSnapshot, Role
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.refs import CrossClusterRef

Pair = tuple[CrossClusterRef, CrossClusterRef]
"""A consumer and a queue."""

_KnownPair = tuple[Sequence[Any], Registration, ConsumerGrowth]


@dataclass(frozen=True, slots=True)
class CounterValues:
    """All counters at one time."""

    queues: Mapping[CrossClusterRef, QueueGrowth] = field(default_factory=dict)
    consumers: Mapping[Pair, ConsumerGrowth] = field(default_factory=dict)


class ObjectCounters:
    """`ports.SnapshotObserver`; counts from the first snapshot of an object, or of a registration, until it
    has no controller any more.

    Counters of an object or a partition do not change while it cannot be read.
    """

    def __init__(self) -> None:
        self._queues: dict[CrossClusterRef, tuple[Sequence[Any], QueueGrowth]] = {}
        self._consumers: dict[CrossClusterRef, dict[CrossClusterRef, _KnownPair]] = {}

    def queue_published(self, snapshot: QueueSnapshot) -> None:
        """See `ports.SnapshotObserver`."""
        view = snapshot.view
        if view is None or snapshot.role is not Role.LEADING:
            return
        seen, growth = self._queues.get(snapshot.ref, ((), NO_QUEUE_GROWTH))
        if seen is not view.partitions:  # those of an idle object stay the same
            self._queues[snapshot.ref] = view.partitions, growth.after(view)

    def consumer_published(self, snapshot: ConsumerSnapshot) -> None:
        """See `ports.SnapshotObserver`."""
        if snapshot.role is not Role.LEADING:
            return
        pairs = self._consumers.setdefault(snapshot.ref, {})
        for gone in pairs.keys() - {registration.queue for registration in snapshot.registrations}:
            del pairs[gone]
        if snapshot.view is None:
            return
        for registration in snapshot.registrations:
            position = snapshot.view.queues.get(registration.queue)
            if not isinstance(position, ConsumerQueueView):
                continue
            known = pairs.get(registration.queue)
            if known is None or known[0] is not position.partitions or known[1] != registration:
                growth = NO_CONSUMER_GROWTH if known is None else known[2]
                pairs[registration.queue] = position.partitions, registration, growth.after(position, registration)

    def objects_kept(self, queues: Container[CrossClusterRef], consumers: Container[CrossClusterRef]) -> None:
        """See `ports.SnapshotObserver`."""
        self._queues = {ref: known for ref, known in self._queues.items() if ref in queues}
        self._consumers = {ref: pairs for ref, pairs in self._consumers.items() if ref in consumers}

    def values(self) -> CounterValues:
        """All counters as of now; what is counted later does not change them."""
        return CounterValues(
            {ref: growth for ref, (_, growth) in self._queues.items()},
            {
                (consumer, queue): growth
                for consumer, pairs in self._consumers.items()
                for queue, (_, _, growth) in pairs.items()
            },
        )
