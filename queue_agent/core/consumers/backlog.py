"""A consumer's positions in a queue added up: rows to read, and how old they are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from queue_agent.core.consumers.lag import elapsed
from queue_agent.core.queues.snapshots import ConsumerPartition, ConsumerQueueView, QueuePartition
from queue_agent.core.values.encoding import EPOCH

SETTLED_AFTER: Final = timedelta(minutes=1)
"""A position is read later than the end of its partition: one that is younger may have been the end meanwhile."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """A consumer and a queue, all partitions that can be read taken together."""

    failed_partition_count: int
    """Those that could not be read."""

    unread_row_count: int
    """Unread rows that are still there; partitions in which the consumer is ahead do not make it less."""

    ahead_row_count: int
    """By how much offsets are past the ends, taken together; those that are not just settling."""

    processing_lag: timedelta | None
    """Age of the oldest unread row; zero if there is none, None if it is not known."""

    last_consume_time: datetime | None
    """The latest of all partitions; None: nothing was ever read."""

    unread_data_weight: int | None = None
    """Bytes of the unread rows; None: not known of all of them."""


def add_up(view: ConsumerQueueView) -> Backlog:
    """Take the partitions of a consumer's position together, as of when they were seen."""
    readable = {index: one for index, one in enumerate(view.partitions) if isinstance(one, ConsumerPartition)}
    unread = {index: min(one.unread_row_count, _available(view, index)) for index, one in readable.items()}
    waiting = {index: rows for index, rows in unread.items() if rows > 0}
    ahead = (
        -one.unread_row_count
        for one in readable.values()
        if one.unread_row_count < 0 and elapsed(one.last_consume_time, view.seen_at) >= SETTLED_AFTER
    )
    latest = max((one.last_consume_time for one in view.partitions), default=EPOCH)
    return Backlog(
        failed_partition_count=len(view.partitions) - len(readable),
        unread_row_count=sum(waiting.values()),
        ahead_row_count=sum(ahead),
        processing_lag=_lag([readable[index].next_row_commit_time for index in waiting], view.seen_at),
        last_consume_time=None if latest == EPOCH else latest,
        unread_data_weight=_weight([readable[index].unread_data_weight for index in waiting]),
    )


def _available(view: ConsumerQueueView, index: int) -> int:
    """Rows there are in a partition of the queue."""
    assert view.compared is not None, "only a position made of whole snapshots can be added up"
    partition = view.compared.queue.partitions[index]
    assert isinstance(partition, QueuePartition), "what could be compared can be read"
    return partition.available_row_count


def _weight(weights: Collection[int | None]) -> int | None:
    known = [one for one in weights if one is not None]
    return sum(known) if len(known) == len(weights) else None


def _lag(commit_times: Collection[datetime | None], now: datetime) -> timedelta | None:
    known = [one for one in commit_times if one is not None]
    if len(known) < len(commit_times):
        return None
    return elapsed(min(known), now) if known else timedelta(0)
