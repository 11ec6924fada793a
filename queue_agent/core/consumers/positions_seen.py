"""What a verdict was made from, and what of it has changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    FailedConsumerPartition,
    FailedQueuePartition,
    QueuePartition,
)
from queue_agent.core.state.rows import QueueRow, Registration
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import PartitionTrim
from queue_agent.core.verdicts.objectives import Objective
from queue_agent.core.verdicts.values import Seconds


class Seen(NamedTuple):
    """What a verdict is from. What has not changed is the same object."""

    mine: Sequence[ConsumerPartition | FailedConsumerPartition]
    """By partition."""

    theirs: Sequence[QueuePartition | FailedQueuePartition]
    """Of the queue, by partition."""

    trims: Mapping[int, PartitionTrim] | None
    queue_row: QueueRow
    data_ttl: timedelta | None
    """Of the queue's rows."""

    quarantines: Sequence[tuple[CrossClusterRef, bool]]
    """Consumers of the queue that are in quarantine, and whether their rows go already."""

    registration: Registration
    objective: Objective | None
    acknowledged: Seconds | None

    def is_as(self, old: Seen) -> bool:
        """Whether nothing has changed."""
        return (
            self.mine is old.mine
            and self.theirs is old.theirs
            and self.trims is old.trims
            and self.queue_row is old.queue_row
            and self.data_ttl == old.data_ttl
            and self.quarantines == old.quarantines
            and self.registration is old.registration
            and self.objective is old.objective
            and self.acknowledged is old.acknowledged
        )

    def find_moved(self, old: Seen) -> Collection[int] | None:
        """Indexes of the partitions that have changed; None: the change is about all, also those that are no more."""
        known, trims = old.trims or {}, self.trims or {}
        if self[3:] != old[3:]:
            return None
        moved = {
            index
            for index, (mine, theirs, was_mine, was_theirs) in enumerate(
                zip(self.mine, self.theirs, old.mine, old.theirs, strict=False)
            )
            if mine is not was_mine or theirs is not was_theirs or trims.get(index) != known.get(index)
        }
        is_rebuilt = len(self.theirs) != len(old.theirs) or any(
            _tablet(self.theirs[index]) != _tablet(old.theirs[index]) for index in moved
        )
        return None if is_rebuilt else moved


def _tablet(partition: QueuePartition | FailedQueuePartition) -> str | None:
    return partition.tablet_id if isinstance(partition, QueuePartition) else None
