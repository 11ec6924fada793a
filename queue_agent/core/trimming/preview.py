"""What trimming by a policy would do to a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queue_agent.core.queues.snapshots import FailedQueuePartition, QueuePartition
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.trimming.bounds import TrimBounds
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint


@dataclass(frozen=True, slots=True)
class PartitionPreview:
    """What would become of one partition."""

    trim: PartitionTrim
    lower_row_index: int | None
    """None: not known; as below."""

    upper_row_index: int | None
    data_weight: int | None
    """Bytes that would go; None: not known."""

    bounds: Sequence[TrimBounds] = ()
    """Of every policy in force."""

    @property
    def row_count(self) -> int:
        """Rows that would go."""
        if self.trim.target is None:
            return 0
        assert self.lower_row_index is not None, "what is not known is not trimmed"
        return self.trim.target - self.lower_row_index

    def to_map(self) -> dict[str, Any]:
        return {
            "lower_row_index": self.lower_row_index,
            "upper_row_index": self.upper_row_index,
            "row_count": self.row_count,
            "data_weight": self.data_weight,
            **self.trim.to_map(),
            "bounds": [
                {"kind": one.kind.value, "subject": one.subject, "row_index": one.limit}
                for one in self.bounds
                if one.limit is not None and one.reason is None
            ],
        }


@dataclass(frozen=True, slots=True)
class TrimPreview:
    """What would become of a queue."""

    ref: CrossClusterRef
    policy: Mapping[str, Any]
    mode: TrimmingMode
    """Of the agent: unless it is `TRIM`, not even the queue's own policy is carried out."""

    error: ErrorInfo | None
    """What is wrong."""

    partitions: Sequence[PartitionPreview]
    """By partition index; empty if the queue cannot be looked at."""

    def to_map(self) -> dict[str, Any]:
        """The published form."""
        weights = [one.data_weight for one in self.partitions]
        return {
            "cluster": self.ref.cluster,
            "path": self.ref.path,
            "config": dict(self.policy),
            "trimming": self.mode.value,
            "error": None if self.error is None else self.error.to_map(),
            "row_count": sum(one.row_count for one in self.partitions),
            "data_weight": None if None in weights else sum(weight for weight in weights if weight is not None),
            "partitions": [one.to_map() for one in self.partitions],
        }


def weight_rows(plan: TrimPlan) -> set[tuple[int, int]]:
    """The rows (partition index, row index) whose cumulative data weight tells how many bytes would go."""
    rows: set[tuple[int, int]] = set()
    for index, plan_of_partition in plan.partitions.items():
        partition, target = plan_of_partition.partition, plan_of_partition.trim.target
        if target is not None and isinstance(partition, QueuePartition) and target < partition.upper_row_index:
            rows.add((index, target))
    return rows


def preview_partitions(plan: TrimPlan, weights: Mapping[tuple[int, int], int]) -> list[PartitionPreview]:
    """Tell of each partition what would go.

    Args:
        plan: of the whole queue.
        weights: cumulative data weights of `weight_rows`, as far as they are known.
    """
    return [_preview(index, plan.partitions[index], weights) for index in sorted(plan.partitions)]


def disabled_partitions(partitions: Sequence[QueuePartition | FailedQueuePartition]) -> list[PartitionPreview]:
    """Nothing goes, for the policy is not to trim."""
    trim = PartitionTrim(None, TrimConstraint(ConstraintKind.DISABLED))
    return [
        PartitionPreview(trim, partition.lower_row_index, partition.upper_row_index, 0)
        if isinstance(partition, QueuePartition)
        else PartitionPreview(trim, None, None, 0)
        for partition in partitions
    ]


def _preview(index: int, plan: PartitionPlan, weights: Mapping[tuple[int, int], int]) -> PartitionPreview:
    partition, trim = plan.partition, plan.trim
    if not isinstance(partition, QueuePartition):
        return PartitionPreview(trim, None, None, 0)  # nothing to draw without rows
    if trim.target is None:
        weight: int | None = 0
    elif trim.target == partition.upper_row_index:
        weight = partition.available_data_weight
    else:
        kept, gone = weights.get((index, trim.target)), partition.trimmed_data_weight
        weight = None if kept is None or gone is None else kept - gone
    return PartitionPreview(trim, partition.lower_row_index, partition.upper_row_index, weight, plan.bounds)
