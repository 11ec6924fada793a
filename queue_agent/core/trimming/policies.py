"""What holds a partition back, policy by policy: each says what it has to say about one partition.

Rows of the table in `queue_agent/trim_policies.py` that are not found here follow from more than one partition, or
from what is asked right before a trim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    FailedConsumerPartition,
    FailedQueuePartition,
    QueueMissing,
    QueuePartition,
)
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.trimming.bounds import TrimBounds, exported_by, keep_last_rows, read_by, unknown
from queue_agent.core.trimming.plan import PartitionPlan
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind

ConsumerPosition = ConsumerQueueView | QueueMissing | ErrorInfo
"""Where a vital consumer is in the queue; an error if that is not known."""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What is known of a partition."""

    index: int
    partition: QueuePartition | FailedQueuePartition
    """Of the queue."""

    stored: QueuePartition | FailedQueuePartition
    """The one that has its rows: of the queue itself, or of a replica."""

    has_timestamp_column: bool
    created_at: datetime | None
    """When the queue was created; None: not known."""

    config: AutoTrimConfig
    positions: Mapping[CrossClusterRef, ConsumerPosition]
    """Of every vital consumer."""

    doubts: Mapping[CrossClusterRef, ConstraintKind]
    """Of these, those whose offset is one of rows that the partition had before, or may be."""

    exports: Mapping[str, ExportProgress]
    """By name."""

    origin: Origin

    @property
    def is_mounted(self) -> bool:
        return self.stored.tablet_state == "mounted"

    @property
    def upper_row_index(self) -> int | None:
        """Of the queue; None: not known."""
        return self.partition.upper_row_index if isinstance(self.partition, QueuePartition) else None


Finding = tuple[TrimBounds, ErrorInfo | None]
"""A bound, and what is wrong if the partition is left alone for that."""


def plan_partition(facts: PartitionFacts) -> PartitionPlan:
    """What follows from all policies; the first error is the one that is told."""
    findings = [finding for policy in POLICIES for finding in policy(facts)]
    error = next((error for _, error in findings if error is not None), None)
    return PartitionPlan(facts.stored, [bounds for bounds, _ in findings], error)


def by_tablet(facts: PartitionFacts) -> Iterator[Finding]:
    """Nothing goes from a tablet that cannot be trimmed, or of which nothing is known."""
    index, stored = facts.index, facts.stored
    if not facts.is_mounted:
        reason = facts.origin.error(
            f'Not trimming partition {index} since its tablet is in state "{stored.tablet_state}" and is not mounted'
        )
        yield unknown(ConstraintKind.NOT_MOUNTED, reason), None
        return
    failed = next((one for one in (facts.partition, stored) if isinstance(one, FailedQueuePartition)), None)
    if failed is not None:
        yield unknown(ConstraintKind.ERROR, failed.error), failed.error


def by_vital_consumers(facts: PartitionFacts) -> Iterator[Finding]:
    """What every one of them has read may go."""
    for consumer, position in facts.positions.items():
        bounds = _consumer_bounds(facts, consumer, position)
        # Why a tablet that cannot be trimmed anyway is not worth trimming is nobody's concern.
        is_alarming = facts.is_mounted and isinstance(position, ConsumerQueueView)
        yield bounds, bounds.reason if is_alarming else None


def by_exports(facts: PartitionFacts) -> Iterator[Finding]:
    """What every one of them has may go."""
    for name, progress in sorted(facts.exports.items()):
        yield exported_by(name, progress, facts.index, facts.upper_row_index, facts.origin), None


def by_retained_rows(facts: PartitionFacts) -> Iterator[Finding]:
    """So many rows stay as the owner wishes."""
    if facts.config.retained_rows is not None and isinstance(facts.stored, QueuePartition):
        yield keep_last_rows(facts.stored.upper_row_index, facts.config.retained_rows), None


def by_lifetime(facts: PartitionFacts) -> Iterator[Finding]:
    """Without ages nothing goes; what the ages say comes when they are known, see `TrimPlan.with_ages`."""
    if facts.config.retained_lifetime_duration is None or facts.has_timestamp_column:
        return
    cause = facts.origin.error('Queue has no column "$timestamp", so the age of its rows is not known')
    error = facts.origin.error(
        f"Error getting safe trim row count, not trimming partition {facts.index}", inner_errors=[cause]
    )
    yield unknown(ConstraintKind.RETAINED_LIFETIME_DURATION, cause), error if facts.is_mounted else None


POLICIES: Final[tuple[Callable[[PartitionFacts], Iterator[Finding]], ...]] = (
    by_tablet,
    by_vital_consumers,
    by_exports,
    by_retained_rows,
    by_lifetime,
)
"""The problem of the first is reported first."""


def _consumer_bounds(facts: PartitionFacts, consumer: CrossClusterRef, position: ConsumerPosition) -> TrimBounds:
    subject = str(consumer)
    match position:
        case ErrorInfo():
            return unknown(ConstraintKind.ERROR, position, subject)
        case QueueMissing(error):
            # The consumer could not be compared with this queue when it was looked at last: the next pass will tell.
            return unknown(ConstraintKind.ERROR, error, subject)
    if facts.index >= len(position.partitions):
        error = facts.origin.error(
            f'Queue sub-snapshot for consumer "{consumer}" does not contain a snapshot for partition {facts.index}'
        )
        return unknown(ConstraintKind.ERROR, error, subject)
    read = position.partitions[facts.index]
    if isinstance(read, FailedConsumerPartition):
        return unknown(ConstraintKind.ERROR, read.error, subject)
    upper_row_index = read.next_row_index if facts.upper_row_index is None else facts.upper_row_index
    return read_by(consumer, read.next_row_index, upper_row_index, _find_doubt(facts, consumer, read))


def _find_doubt(facts: PartitionFacts, consumer: CrossClusterRef, read: ConsumerPartition) -> ConstraintKind | None:
    """Why the offset may be one of other rows; one below which there are none takes none."""
    if isinstance(facts.stored, QueuePartition) and read.next_row_index <= facts.stored.lower_row_index:
        return None
    return ConstraintKind.STALE_OFFSET if _is_older(read, facts.created_at) else facts.doubts.get(consumer)


def _is_older(read: ConsumerPartition, created_at: datetime | None) -> bool:
    """Whether an offset is known to have been committed before the queue was created."""
    if created_at is None or read.last_consume_time == EPOCH:
        return False
    return read.last_consume_time < created_at.replace(microsecond=0)  # of commits only the second is known
