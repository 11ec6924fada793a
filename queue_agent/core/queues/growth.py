"""Counters of the objects served: what was written, trimmed and read since an object was first seen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from queue_agent.core.queues.snapshots import ConsumerPartition, ConsumerQueueView, QueuePartition, QueueView
from queue_agent.core.state.rows import Registration

Counts = Mapping[int, int | None]
"""By partition index; None, or absent: not known now."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How far a count has grown that may go down as well."""

    last: Mapping[int, int] = field(default_factory=dict)
    """The count seen last, by partition index."""

    by_partition: Mapping[int, int] = field(default_factory=dict)
    total: int = 0
    """Of all partitions, those that are no more included."""

    def without(self, indexes: Collection[int]) -> Growth:
        """The same, to go on from whatever count these partitions are seen with next."""
        if not indexes:
            return self
        return replace(self, last={index: count for index, count in self.last.items() if index not in indexes})

    def after(self, counts: Counts, partition_count: int) -> Growth:
        """The growth once these counts were seen; partitions beyond `partition_count` are forgotten."""
        last, grown, total = dict(self.last), dict(self.by_partition), self.total
        for index, count in counts.items():
            if count is None:
                continue
            growth = max(0, count - last.get(index, count))
            last[index] = count
            grown[index] = grown.get(index, 0) + growth
            total += growth
        for index in [index for index in last if index >= partition_count]:
            del last[index]
        for index in [index for index in grown if index >= partition_count]:
            del grown[index]
        return Growth(last, grown, total)


@dataclass(frozen=True, slots=True)
class QueueGrowth:
    """Counters of a queue."""

    rows_written: Growth = Growth()
    rows_trimmed: Growth = Growth()
    data_weight_written: Growth = Growth()
    tablets: Mapping[int, str] = field(default_factory=dict)
    """Ids of those counted last, by partition index: what another tablet held before nobody has written meanwhile."""

    def after(self, view: QueueView) -> QueueGrowth:
        """The counters once this was seen; a tablet that is another one counts from its present end."""
        known = {i: one for i, one in enumerate(view.partitions) if isinstance(one, QueuePartition)}
        count = len(view.partitions)
        other = {i for i, one in known.items() if self.tablets.get(i, one.tablet_id) != one.tablet_id}
        tablets = {**self.tablets, **{i: one.tablet_id for i, one in known.items()}}
        return QueueGrowth(
            self.rows_written.without(other).after({i: one.upper_row_index for i, one in known.items()}, count),
            self.rows_trimmed.without(other).after({i: one.lower_row_index for i, one in known.items()}, count),
            self.data_weight_written.without(other).after(
                {i: one.cumulative_data_weight for i, one in known.items()}, count
            ),
            {i: tablet for i, tablet in tablets.items() if i < count},
        )


@dataclass(frozen=True, slots=True)
class ConsumerGrowth:
    """Counters of a consumer, for one of its queues."""

    rows_consumed: Growth = Growth()
    data_weight_consumed: Growth = Growth()

    def after(self, view: ConsumerQueueView, registration: Registration) -> ConsumerGrowth:
        known = registered_partitions(view, registration)
        count = len(view.partitions)
        return ConsumerGrowth(
            self.rows_consumed.after({i: one.next_row_index for i, one in known.items()}, count),
            self.data_weight_consumed.after({i: one.cumulative_data_weight for i, one in known.items()}, count),
        )


NO_QUEUE_GROWTH: Final = QueueGrowth()
NO_CONSUMER_GROWTH: Final = ConsumerGrowth()


def registered_partitions(view: ConsumerQueueView, registration: Registration) -> Mapping[int, ConsumerPartition]:
    """The readable partitions a consumer is registered for, by index."""
    return {
        i: partition
        for i, partition in enumerate(view.partitions)
        if isinstance(partition, ConsumerPartition) and (not registration.partitions or i in registration.partitions)
    }


def registered_indexes(view: ConsumerQueueView, registration: Registration) -> Collection[int]:
    """Indexes of the queue's partitions that a consumer is registered for."""
    indexes = range(len(view.partitions))
    chosen = registration.partitions
    return {index for index in chosen if index in indexes} if chosen else indexes
