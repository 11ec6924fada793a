"""Building the snapshot of a consumer from its offsets and the snapshots of its queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from queue_agent.core.consumers.lag import disposition_of
from queue_agent.core.queues.snapshots import (
    Compared,
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    Disposition,
    FailedConsumerPartition,
    FailedQueuePartition,
    OffsetsRead,
    QueueMissing,
    QueuePartition,
    QueueRowValues,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, Registration
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import instant_of

_MOST_READINGS: Final = 3
"""Of offsets: those compared, the first that wait, and the latest."""

RowIndex = tuple[int, int]
"""Partition index and row index of a queue's row."""


@dataclass(frozen=True, slots=True)
class RowsToRead:
    """Rows of a queue whose values a consumer's position depends on."""

    timestamps: Set[RowIndex]
    data_weights: Set[RowIndex]


@dataclass(frozen=True, slots=True)
class QueueRowAnswers:
    """What was read of the rows asked for; rows that do not exist are absent."""

    timestamps: Mapping[RowIndex, int] = field(default_factory=dict)
    data_weights: Mapping[RowIndex, int] = field(default_factory=dict)


def unprocessed_consumer_snapshot(row: ConsumerRow, role: Role, now: datetime, origin: Origin) -> ConsumerSnapshot:
    """What is known before the first pass."""
    return ConsumerSnapshot(row, role, 0, now, origin.error("Consumer is not processed yet"))


def banned_consumer_snapshot(
    previous: ConsumerSnapshot, row: ConsumerRow, pass_instant: datetime, origin: Origin
) -> ConsumerSnapshot:
    """The next snapshot while the consumer is banned."""
    since = previous.banned_since or pass_instant
    error = origin.error(f'Consumer is banned by "queue_agent_banned" attribute (BannedSince: {encode_instant(since)})')
    return ConsumerSnapshot(row, previous.role, previous.pass_index + 1, pass_instant, error, banned_since=since)


def build_consumer_snapshot(
    previous: ConsumerSnapshot,
    row: ConsumerRow,
    registrations: Sequence[Registration],
    pass_instant: datetime,
    content: Mapping[CrossClusterRef, SubSnapshot] | ErrorInfo,
) -> ConsumerSnapshot:
    """Put together what was seen of each registered queue, or the error that kept from looking; verdicts stay."""
    return ConsumerSnapshot(
        row=row,
        role=previous.role,
        pass_index=previous.pass_index + 1,
        pass_instant=pass_instant,
        content=content if isinstance(content, ErrorInfo) else ConsumerView(content),
        registrations=registrations,
        verdicts=previous.verdicts,
    )


def find_view_of_queue(
    queue: CrossClusterRef, snapshot: QueueSnapshot | None, origin: Origin
) -> QueueView | QueueMissing | ErrorInfo:
    """What a consumer can be compared with.

    A queue none of whose partitions can be read is as good as missing.
    """
    if snapshot is not None and isinstance(snapshot.content, ErrorInfo):
        return snapshot.content
    if snapshot is None or snapshot.view is None or not snapshot.view.readable:
        return QueueMissing(origin.error(f'Queue "{queue}" snapshot is missing'))
    return snapshot.view


def find_readings(
    previous: SubSnapshot | None, queue: QueueView, newest: OffsetsRead | None = None
) -> Sequence[OffsetsRead]:
    """Offsets that may be compared with a view: one reading, and those that were made too late for it.

    Args:
        previous: what the previous pass saw of the same queue.
        queue: latest view of the queue.
        newest: read in this pass; None: they were not, for nothing was written.

    Returns:
        Empty if nothing is known of all partitions the queue has now. The first is to be compared: the last one that
        was made before the queue was asked, or the first there ever was.
    """
    known: list[OffsetsRead] = []
    if isinstance(previous, ConsumerQueueView) and previous.compared is not None:
        compared = previous.compared
        if len(queue.partitions) <= len(compared.queue.partitions):
            known = [compared.read, *compared.later]
    if newest is not None and (not known or known[-1].offsets != newest.offsets):
        known.append(newest)
    early = [index for index, one in enumerate(known) if one.moment < queue.asked]
    known = known[early[-1] if early else 0 :]
    return known if len(known) <= _MOST_READINGS else [*known[: _MOST_READINGS - 1], known[-1]]


def idle_sub_snapshot(
    previous: SubSnapshot | None, queue: QueueView, readings: Sequence[OffsetsRead], now: datetime
) -> ConsumerQueueView | None:
    """The next position if neither queue nor offsets have changed since the previous one; `readings` is not empty.

    It is what `build_sub_snapshot` would make of the same. None: something has changed or is still to be asked, or the
    clock went back.
    """
    if not isinstance(previous, ConsumerQueueView) or not previous.settled or now < previous.seen_at:
        return None
    compared = previous.compared
    if compared is None or not _same_queue(compared.queue, queue) or compared.read.offsets != readings[0].offsets:
        return None
    return ConsumerQueueView(previous.partitions, now, Compared(queue, readings[0], readings[1:]), settled=True)


def rows_to_read(previous: SubSnapshot | None, queue: QueueView, offsets: Mapping[int, ConsumerOffset]) -> RowsToRead:
    """The rows whose values are needed and are not known from the previous snapshot of the same consumer and queue."""
    timestamps: set[RowIndex] = set()
    data_weights: set[RowIndex] = set()
    unchanged = _unchanged_partitions(previous, queue, offsets)
    for index, partition in enumerate(queue.partitions):
        if index in unchanged or isinstance(partition, FailedQueuePartition):
            continue
        offset = _offset(offsets, index)
        known = _known_values(previous, index, partition, offset.offset)
        if _needs_timestamp(queue, partition, offset) and known.next_row_timestamp is None:
            timestamps.add((index, offset.offset))
        if _needs_data_weight(queue, partition, offset) and known.read_data_weight is None:
            data_weights.add((index, offset.offset - 1))
    return RowsToRead(timestamps, data_weights)


def build_sub_snapshot(
    previous: SubSnapshot | None,
    queue: QueueView,
    readings: Sequence[OffsetsRead],
    answers: QueueRowAnswers,
    now: datetime,
) -> ConsumerQueueView:
    """A consumer's position in one queue.

    Args:
        previous: what the previous pass saw of the same queue; counters continue from there, or restart if it failed.
        queue: latest view of the queue.
        readings: of offsets; see `find_readings`. Not empty.
        answers: to the questions of `rows_to_read`.
        now: idle times, lag and rates are as of then.
    """
    offsets = readings[0].offsets
    unchanged = _unchanged_partitions(previous, queue, offsets, now)
    partitions: list[ConsumerPartition | FailedConsumerPartition] = []
    settled = True
    for index, queue_partition in enumerate(queue.partitions):
        if index in unchanged:
            partitions.append(unchanged[index])
            continue
        offset = _offset(offsets, index)
        counters = _previous_counters(previous, index)
        if isinstance(queue_partition, FailedQueuePartition):
            settled = False
            partitions.append(
                FailedConsumerPartition(
                    error=queue_partition.error,
                    next_row_index=offset.offset,
                    last_consume_time=instant_of(offset.last_write_timestamp),
                    counters=_updated(counters, offset.offset, offset.meta.get("cumulative_data_weight"), now),
                )
            )
            continue
        known = _known_values(previous, index, queue_partition, offset.offset)
        values = QueueRowValues(
            tablet_id=queue_partition.tablet_id,
            next_row_index=offset.offset,
            next_row_timestamp=(
                answers.timestamps.get((index, offset.offset), known.next_row_timestamp)
                if _needs_timestamp(queue, queue_partition, offset)
                else None
            ),
            read_data_weight=(
                answers.data_weights.get((index, offset.offset - 1), known.read_data_weight)
                if _needs_data_weight(queue, queue_partition, offset)
                else None
            ),
        )
        partition = _partition(queue_partition, offset, values, counters, now)
        settled = settled and _is_complete(values, queue, queue_partition, offset) and _is_counted(partition)
        partitions.append(partition)
    return ConsumerQueueView(
        partitions, seen_at=now, compared=Compared(queue, readings[0], readings[1:]), settled=settled
    )


def _same_queue(old: QueueView, new: QueueView) -> bool:
    """Whether nothing has changed in the queue from one view to the other."""
    return old.partitions is new.partitions and _same_columns(old, new)


def _same_columns(old: QueueView, new: QueueView) -> bool:
    return (old.has_timestamp_column, old.has_cumulative_data_weight_column) == (
        new.has_timestamp_column,
        new.has_cumulative_data_weight_column,
    )


def _unchanged_partitions(
    previous: SubSnapshot | None, queue: QueueView, offsets: Mapping[int, ConsumerOffset], now: datetime | None = None
) -> Mapping[int, ConsumerPartition]:
    """The partitions of which everything is known already, by index; none if the clock went back."""
    if not isinstance(previous, ConsumerQueueView) or previous.compared is None:
        return {}
    compared = previous.compared
    if not _same_columns(compared.queue, queue) or (now is not None and now < previous.seen_at):
        return {}
    unchanged: dict[int, ConsumerPartition] = {}
    pairs = zip(compared.queue.partitions, queue.partitions, previous.partitions, strict=False)
    for index, (old_queue_partition, queue_partition, old) in enumerate(pairs):
        if (
            old_queue_partition is queue_partition
            and isinstance(queue_partition, QueuePartition)
            and isinstance(old, ConsumerPartition)
            and compared.read.offsets.get(index) == offsets.get(index)
            and _is_complete(old.queue_row_values, queue, queue_partition, _offset(offsets, index))
            and _is_counted(old)
        ):
            unchanged[index] = old
    return unchanged


def _is_counted(partition: ConsumerPartition) -> bool:
    """Whether the counters know what was seen; one that is ahead of a clock that went back takes no notice."""
    weight = partition.cumulative_data_weight
    counters = partition.counters
    return counters.row_count.count == partition.next_row_index and (
        weight is None or counters.data_weight.count == weight
    )


def _is_complete(values: QueueRowValues, queue: QueueView, partition: QueuePartition, offset: ConsumerOffset) -> bool:
    """Whether every value that is needed has been found."""
    return not (
        (values.next_row_timestamp is None and _needs_timestamp(queue, partition, offset))
        or (values.read_data_weight is None and _needs_data_weight(queue, partition, offset))
    )


def _partition(
    queue: QueuePartition, offset: ConsumerOffset, values: QueueRowValues, counters: Counters, now: datetime
) -> ConsumerPartition:
    unread_row_count = queue.upper_row_index - offset.offset
    cumulative_data_weight = offset.meta.get("cumulative_data_weight", values.read_data_weight)
    commit_timestamp = values.next_row_timestamp
    if commit_timestamp is None:
        commit_timestamp = offset.meta.get("offset_timestamp")
    next_row_commit_time = None if commit_timestamp is None else instant_of(commit_timestamp)
    return ConsumerPartition(
        next_row_index=offset.offset,
        last_consume_time=instant_of(offset.last_write_timestamp),
        disposition=disposition_of(unread_row_count, queue.available_row_count),
        unread_row_count=unread_row_count,
        unread_data_weight=(
            None
            if queue.cumulative_data_weight is None or cumulative_data_weight is None
            else queue.cumulative_data_weight - cumulative_data_weight
        ),
        next_row_commit_time=next_row_commit_time,
        cumulative_data_weight=cumulative_data_weight,
        counters=_updated(counters, offset.offset, cumulative_data_weight, now),
        queue_row_values=values,
    )


def _offset(offsets: Mapping[int, ConsumerOffset], partition_index: int) -> ConsumerOffset:
    """A consumer without a row for the partition has read nothing."""
    return offsets.get(partition_index) or ConsumerOffset(partition_index, offset=0, last_write_timestamp=0)


def _needs_timestamp(queue: QueueView, partition: QueuePartition, offset: ConsumerOffset) -> bool:
    unread_row_count = partition.upper_row_index - offset.offset
    return (
        queue.has_timestamp_column
        and disposition_of(unread_row_count, partition.available_row_count) is Disposition.PENDING_CONSUMPTION
    )


def _needs_data_weight(queue: QueueView, partition: QueuePartition, offset: ConsumerOffset) -> bool:
    return (
        queue.has_cumulative_data_weight_column
        and offset.offset > partition.lower_row_index
        and "cumulative_data_weight" not in offset.meta
    )


def _known_values(
    previous: SubSnapshot | None, partition_index: int, queue: QueuePartition, next_row_index: int
) -> QueueRowValues:
    """What the previous pass read of the same rows; rows of a queue never change while its tablet is the same."""
    nothing = QueueRowValues(queue.tablet_id, next_row_index)
    old = _previous_partition(previous, partition_index)
    if not isinstance(old, ConsumerPartition):
        return nothing
    values = old.queue_row_values
    same = (values.tablet_id, values.next_row_index) == (queue.tablet_id, next_row_index)
    return values if same else nothing


def _previous_counters(previous: SubSnapshot | None, partition_index: int) -> Counters:
    old = _previous_partition(previous, partition_index)
    if old is None:
        return Counters()
    assert isinstance(previous, ConsumerQueueView)
    return previous.counters_of(old)


def _previous_partition(
    previous: SubSnapshot | None, partition_index: int
) -> ConsumerPartition | FailedConsumerPartition | None:
    if not isinstance(previous, ConsumerQueueView) or partition_index >= len(previous.partitions):
        return None
    return previous.partitions[partition_index]


def _updated(counters: Counters, next_row_index: int, data_weight: int | None, now: datetime) -> Counters:
    return Counters(
        row_count=counters.row_count.updated(next_row_index, now),
        data_weight=counters.data_weight if data_weight is None else counters.data_weight.updated(data_weight, now),
    )
