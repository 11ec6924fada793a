"""What a trimming plan was made of, so that the same is not made again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.queues.snapshots import ConsumerQueueView, ConsumerSnapshot, QueueSnapshot
from queue_agent.core.state.replication import REPLICATED_TYPES
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.refs import CrossClusterRef


@dataclass(frozen=True, slots=True, eq=False)
class TrimInputs:
    """The inputs of a plan in which nothing is an error; snapshots of idle objects share their partitions."""

    policy: Mapping[str, Any] | None
    object_id: str | None
    has_timestamp_column: bool
    registrations: Sequence[Registration]
    """Vital ones, in order."""

    exports: Mapping[str, ExportProgress]
    """By name."""

    partitions: Sequence[Sequence[Any]]
    """Of the queue, then of each consumer."""

    tablets: Sequence[Mapping[int, str | None] | None]
    """By consumer and partition, of whose rows the offset is; None: of a consumer that is not judged."""

    def is_same(self, other: TrimInputs | None) -> bool:
        """Whether the plan would be the same; it may be even if this says no."""
        return (
            other is not None
            and len(self.partitions) == len(other.partitions)
            and all(mine is others for mine, others in zip(self.partitions, other.partitions, strict=True))
            and self.object_id == other.object_id
            and self.has_timestamp_column == other.has_timestamp_column
            and self.registrations == other.registrations
            and self.policy == other.policy
            and self.exports == other.exports
            and self.tablets == other.tablets
        )


def find_trim_inputs(
    snapshot: QueueSnapshot,
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
) -> TrimInputs | None:
    """The inputs of the plan by the queue's own policy; None if anything is not known, or the queue is replicated.

    Args:
        snapshot: of the queue.
        registrations: those of the queue.
        consumers: latest snapshots.
    """
    view_of_queue = snapshot.view
    if view_of_queue is None or snapshot.exports.error is not None or snapshot.row.object_type in REPLICATED_TYPES:
        return None
    vital = sorted(registration for registration in registrations if registration.vital)
    partitions: list[Sequence[Any]] = [view_of_queue.partitions]
    tablets: list[Mapping[int, str | None] | None] = []
    for registration in vital:
        consumer = consumers.get(registration.consumer)
        view = None if consumer is None else consumer.view
        position = None if view is None else view.queues.get(snapshot.ref)
        verdict = None if consumer is None else consumer.verdicts.get(snapshot.ref)
        tablets.append(None if verdict is None else verdict.tablets)
        if not isinstance(position, ConsumerQueueView):
            return None
        partitions.append(position.partitions)
    row = snapshot.row
    return TrimInputs(
        row.auto_trim_config,
        row.object_id,
        view_of_queue.has_timestamp_column,
        vital,
        snapshot.exported,
        partitions,
        tablets,
    )
