"""Offsets of a stream as Spark keeps them: SPYT's shape, in which the last row that was read counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.spark.errors import QueueChanged
from queue_agent.spark.options import OnNewPartitions

_NEW_CHECKPOINT: Final = "a new checkpointLocation starts again at the consumer's offsets"


@dataclass(frozen=True, slots=True)
class PartitionBounds:
    """Rows that a partition has: from `lower_row_index` to one before `upper_row_index`."""

    lower_row_index: int
    upper_row_index: int


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """Where a stream stands in a queue."""

    cluster: str
    path: str
    next_row_indexes: Mapping[int, int]
    """By partition: the first row that is not read yet."""

    object_id: str | None = None
    """Of the queue; SPYT does not keep it, and passes over it."""

    def to_json(self) -> dict[str, Any]:
        """`{"cluster":…,"path":…,"partitions":{"0":299},"object_id":…}`, where -1 means that nothing was read."""
        return {
            "cluster": self.cluster,
            "path": self.path,
            "partitions": {str(index): row - 1 for index, row in sorted(self.next_row_indexes.items())},
            **({} if self.object_id is None else {"object_id": self.object_id}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StreamPosition:
        """What `to_json`, or SPYT, wrote."""
        return cls(
            str(value["cluster"]),
            str(value["path"]),
            {int(index): int(row) + 1 for index, row in value["partitions"].items()},
            value.get("object_id"),
        )


def plan_start(bounds: Mapping[int, PartitionBounds], consumed: Mapping[int, int]) -> dict[int, int]:
    """Where a stream without a checkpoint begins: next row by partition.

    Args:
        bounds: of every partition.
        consumed: next row by partition of the consumer; one that it never read begins at the lowest row there is.
    """
    return {index: consumed.get(index, bound.lower_row_index) for index, bound in bounds.items()}


def plan_end(
    start: Mapping[int, int],
    bounds: Mapping[int, PartitionBounds | None],
    max_rows_per_partition: int | None,
    on_new_partitions: OnNewPartitions,
) -> dict[int, int]:
    """Up to where the next batch goes: next row by partition after it.

    Args:
        start: next row by partition before it.
        bounds: of every partition; None for one that is unmounted, of which nothing is read.
        max_rows_per_partition: None for all there are.
        on_new_partitions: what a partition means that is not in `start`.

    Raises:
        QueueChanged: the queue is shorter than what was read of it, or has other partitions.
    """
    gone = sorted(set(start) - set(bounds))
    if gone:
        raise QueueChanged(f"partitions {gone} no longer exist: the queue was resharded; {_NEW_CHECKPOINT}")
    new = sorted(set(bounds) - set(start))
    if new and on_new_partitions == "fail":
        raise QueueChanged(f"partitions {new} are new; on_new_partitions=read reads them from their lowest row")
    end: dict[int, int] = {}
    for index, bound in sorted(bounds.items()):
        if bound is None:
            if index not in start:
                break  # SPYT takes no offsets with gaps between the partitions
            end[index] = start[index]
            continue
        begin = start.get(index, bound.lower_row_index)
        if bound.upper_row_index < begin:
            raise QueueChanged(
                f"partition {index} ends at row {bound.upper_row_index}, but row {begin - 1} was read: "
                f"the queue was cut off; {_NEW_CHECKPOINT}"
            )
        limit = bound.upper_row_index if max_rows_per_partition is None else begin + max_rows_per_partition
        end[index] = min(bound.upper_row_index, limit)
    return end


def cap(end: Mapping[int, int], start: Mapping[int, int], target: Mapping[int, int]) -> dict[int, int]:
    """The end of a batch, no further than a target; partitions that came after it was set are left out."""
    return {
        index: max(start.get(index, 0), min(row, target[index])) if index in target else start[index]
        for index, row in end.items()
        if index in target or index in start
    }


def plan_ranges(
    start: Mapping[int, int], end: Mapping[int, int], bounds: Mapping[int, PartitionBounds]
) -> dict[int, tuple[int, int]]:
    """Rows of a batch by partition, without those that have none; new partitions begin at their lowest row."""
    ranges = {}
    for index, upper in sorted(end.items()):
        begin = start[index] if index in start else bounds[index].lower_row_index
        if begin < upper:
            ranges[index] = (begin, upper)
    return ranges
