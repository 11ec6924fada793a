"""What is to become of a queue and its partitions in one trimming iteration, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from queue_agent.core.queues.snapshots import FailedQueuePartition, QueuePartition
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.trimming.ages import RowAges
from queue_agent.core.trimming.bounds import TrimBounds, decide_trim, keep_young_rows, unknown
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What is to become of one partition, and why: decided when the plan is made, and read by all that follows."""

    partition: QueuePartition | FailedQueuePartition
    bounds: Sequence[TrimBounds]
    """Of every policy in force."""

    error: ErrorInfo | None = None
    """What is wrong, if the partition is left alone for that."""

    trim: PartitionTrim = field(init=False)
    """What follows from the bounds."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trim", _decide(self.partition, self.bounds))

    def held(self, bounds: TrimBounds, error: ErrorInfo | None = None) -> PartitionPlan:
        """The same under one more policy; the first error stays."""
        return replace(self, bounds=[*self.bounds, bounds], error=self.error or error)

    def begun_at(self, lower_row_index: int) -> PartitionPlan:
        """The same by what is known newer of the first row there is."""
        assert isinstance(self.partition, QueuePartition), "it can be read"
        if lower_row_index == self.partition.lower_row_index:
            return self
        return replace(self, partition=replace(self.partition, lower_row_index=lower_row_index))

    def narrowed(self, bounds: TrimBounds) -> PartitionPlan:
        """The same by what is known newer of a subject; what was known of it before stays if it allows less."""
        assert bounds.limit is not None, "a subject has a limit"
        others = [one for one in self.bounds if one.subject != bounds.subject]
        older = [one for one in self.bounds if one.subject == bounds.subject and one.limit is not None]
        strictest = min([*older, bounds], key=lambda one: -1 if one.limit is None else one.limit)
        if [strictest] == older:
            return self
        return replace(self, bounds=[*others, strictest])


def _decide(partition: QueuePartition | FailedQueuePartition, bounds: Sequence[TrimBounds]) -> PartitionTrim:
    if isinstance(partition, QueuePartition):
        return decide_trim(partition.lower_row_index, partition.upper_row_index, bounds)
    blocking = next(one for one in bounds if one.reason is not None)
    message = None if blocking.reason is None else blocking.reason.message
    return PartitionTrim(None, TrimConstraint(blocking.kind, subject=blocking.subject, message=message))


@dataclass(frozen=True, slots=True)
class TrimPlan:
    """What is to become of a queue in one trimming iteration."""

    queue: CrossClusterRef
    config: AutoTrimConfig = field(default_factory=AutoTrimConfig)
    partitions: Mapping[int, PartitionPlan] = field(default_factory=dict)
    """By partition index; none of a queue that could not be looked at."""

    error: ErrorInfo | None = None
    """For which nothing at all is trimmed."""

    replica: CrossClusterRef | None = None
    """The table to trim in place of a replicated queue."""

    vital_consumers: Collection[CrossClusterRef] = ()
    """Those whose offsets it goes by."""

    @property
    def table(self) -> CrossClusterRef:
        """Whose rows are to go."""
        return self.replica or self.queue

    @property
    def trims(self) -> Mapping[int, PartitionTrim]:
        """By partition index."""
        return {index: partition.trim for index, partition in self.partitions.items()}

    def blocked(self, kind: ConstraintKind, error: ErrorInfo) -> TrimPlan:
        """The same, but nothing may go."""
        bounds = unknown(kind, error)
        return replace(self, partitions={i: one.held(bounds) for i, one in self.partitions.items()}, error=error)

    def paused(self, kind: ConstraintKind, reason: ErrorInfo) -> TrimPlan:
        """The same, but nothing may go for now, though nothing is wrong."""
        bounds = unknown(kind, reason)
        return replace(self, partitions={i: one.held(bounds) for i, one in self.partitions.items()})

    def with_ages(self, ages: Mapping[int, RowAges | ErrorInfo]) -> TrimPlan:
        """The same, but only old rows may go.

        Args:
            ages: by partition index, of the rows below the present target of each partition that has one; an error:
                they could not be asked for.
        """
        return replace(
            self,
            partitions={
                index: partition if partition.trim.target is None else _hold_young(partition, ages[index])
                for index, partition in self.partitions.items()
            },
        )


def _hold_young(plan: PartitionPlan, ages: RowAges | ErrorInfo) -> PartitionPlan:
    if isinstance(ages, ErrorInfo):
        return plan.held(unknown(ConstraintKind.RETAINED_LIFETIME_DURATION, ages), ages)
    target = plan.trim.target
    assert target is not None, "only asked of partitions that are to be trimmed"
    bounds = keep_young_rows(ages, target)
    return plan if bounds is None else plan.held(bounds)
