"""What verdicts are made from: a consumer's position, what keeps its rows, and why some of them are gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from queue_agent.core.consumers.retention import VitalConsumers, find_retention, find_trim_config
from queue_agent.core.queues.growth import registered_partitions
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    FailedQueuePartition,
    QueuePartition,
    QueueSnapshot,
)
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim
from queue_agent.core.verdicts.advice import Advice, Turn, command
from queue_agent.core.verdicts.incidents import NOBODY, Blame
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.queue_state import PartitionReading
from queue_agent.core.verdicts.values import LossCause

_TABLET_NOT_MOUNTED: Final = 1702
_OF_CONSUMERS: Final = frozenset({ConstraintKind.VITAL_CONSUMER, ConstraintKind.NOTHING_READ})


def read_positions(
    view: ConsumerQueueView,
    queue: QueueSnapshot,
    registration: Registration,
    vital: VitalConsumers,
    *,
    trims: bool,
    but: Collection[int] = (),
) -> Mapping[int, PartitionReading]:
    """Readings of the partitions that can be read, by index.

    Args:
        view: the consumer's position, compared with a view of the queue.
        queue: latest snapshot of the queue.
        registration: of the consumer for the queue.
        vital: the queue's vital consumers, to forecast what will be trimmed.
        trims: this agent may trim.
        but: indexes of partitions that are not looked at.
    """
    assert view.compared is not None, "a position made of whole snapshots"
    config = find_trim_config(queue) if trims else None
    others = NOBODY
    if queue.view is not None and queue.view.data_ttl is not None:
        others = Blame(data_ttl=queue.view.data_ttl.total_seconds())
    found: dict[int, PartitionReading] = {}
    for index, mine in registered_partitions(view, registration).items():
        if index in but:
            continue
        partition = view.compared.queue.partitions[index]
        assert isinstance(partition, QueuePartition), "what could be compared can be read"
        trim = None if queue.trims is None else queue.trims.get(index)
        written = partition.last_row_commit_time
        retention = find_retention(index, mine, queue, registration, vital, is_ours=trims)
        found[index] = PartitionReading(
            _reading(mine, partition, view.compared.queue.object_id, view.compared.later_offset(index)),
            _find_blame(partition, trim, config, retention.slowest_vital, others),
            retention,
            _held_rows(trim, registration),
            None if written == EPOCH else written.timestamp(),
            registration.partitions or (),
        )
    return found


def explain_unreadable(queue: QueueSnapshot | None, registration: Registration, error: ErrorInfo) -> tuple[str, Advice]:
    """Why a position cannot be read, and what helps."""
    ref, consumer = registration.queue, registration.consumer
    partitions = () if queue is None or queue.view is None else queue.view.partitions
    failed = {index: one for index, one in enumerate(partitions) if isinstance(one, FailedQueuePartition)}
    if failed:
        index, one = next(iter(failed.items()))
        if one.tablet_state == "unmounted":
            mount = command(Turn.CLUSTER, ("yt", "--proxy", ref.cluster, "mount-table", ref.path))
            return f"Cannot read partition {index}: the tablet is unmounted", mount
        return f"Cannot read partition {index}: {one.error.message}", Advice(Turn.CLUSTER)
    if queue is None:
        words = "create the queue again, or unregister the consumer if the queue is gone for good"
        return f"Queue {ref} does not exist, or this stage does not serve it", Advice(Turn.OWNER, words)
    if error.code == _TABLET_NOT_MOUNTED:
        mount = command(Turn.CLUSTER, ("yt", "--proxy", consumer.cluster, "mount-table", consumer.path))
        return f"Cannot be read: the table of consumer {consumer} is unmounted", mount
    return f"Cannot be read: {error.message}", Advice(Turn.CLUSTER)


def _reading(mine: ConsumerPartition, partition: QueuePartition, object_id: str | None, later_offset: int) -> Reading:
    committed_at: float | None = mine.last_consume_time.timestamp()
    if mine.last_consume_time == EPOCH and mine.next_row_index == 0:
        committed_at = None
    first = max(mine.next_row_index, partition.lower_row_index)
    is_next = mine.next_row_index == first < partition.upper_row_index
    written = mine.next_row_commit_time if is_next else None
    return Reading(
        partition.lower_row_index,
        partition.upper_row_index,
        mine.next_row_index,
        committed_at,
        partition.tablet_id,
        object_id,
        None if written is None else written.timestamp(),
        later_offset=later_offset,
    )


def _find_blame(
    partition: QueuePartition,
    trim: PartitionTrim | None,
    config: AutoTrimConfig | None,
    slowest_vital: str | None,
    others: Blame,
) -> Blame:
    """Who has trimmed: this stage's agents go no further than what constrains them.

    If nothing holds them back at the moment, the vital consumer that was the last to pass the row let it go.
    """
    if config is None:
        return others
    if trim is None:
        return Blame(LossCause.VITAL_TRIMMING, slowest_vital)
    constraint = trim.constraint
    if constraint.row_index is not None and partition.lower_row_index > constraint.row_index:
        return others
    if constraint.kind is ConstraintKind.EXPORT:
        return Blame(LossCause.EXPORT_TRIMMING, constraint.subject)
    return Blame(LossCause.VITAL_TRIMMING, constraint.subject if constraint.kind in _OF_CONSUMERS else slowest_vital)


def _held_rows(trim: PartitionTrim | None, registration: Registration) -> int:
    if trim is None or trim.constraint.kind not in _OF_CONSUMERS:
        return 0
    is_held = trim.constraint.subject == str(registration.consumer)
    return (trim.constraint.held_row_count or 0) if is_held else 0
