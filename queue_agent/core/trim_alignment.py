"""Whether a row of a replica has the same index as in the queue: what consumers have read is told by indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from queue_agent.core.error_info import Origin
from queue_agent.core.observed import TabletInfo
from queue_agent.core.trim_bounds import unknown
from queue_agent.core.trim_constraints import ConstraintKind
from queue_agent.core.trim_plan import TrimPlan


@dataclass(frozen=True, slots=True)
class Alignment:
    """One partition of a queue, as a synchronous replica has it, and as the replica to trim has it."""

    queue: TabletInfo
    replica: TabletInfo

    @property
    def is_level(self) -> bool:
        """Whether both have had as many rows."""
        return self.queue.total_row_count == self.replica.total_row_count

    @property
    def common_row_index(self) -> int | None:
        """The last row both should have; None if there is none."""
        index = min(self.queue.total_row_count, self.replica.total_row_count) - 1
        return index if index >= max(self.queue.trimmed_row_count, self.replica.trimmed_row_count) else None


def hold_misaligned(
    plan: TrimPlan,
    alignments: Mapping[int, Alignment],
    queue_timestamps: Mapping[tuple[int, int], int],
    replica_timestamps: Mapping[tuple[int, int], int],
    origin: Origin,
) -> TrimPlan:
    """The plan of a replica, but without the partitions whose rows need not have the indexes of the queue's.

    A replica that was made anew, or was not given all rows, counts its rows from another one on. One that is level with
    the queue does not, nor does one whose last common row was written at the same timestamp. A replica that is so
    far behind that there is no common row is left alone until it is not.

    Args:
        plan: of a replica.
        alignments: by partition index, of those to trim.
        queue_timestamps: by partition index and index of the common row, as a synchronous replica has them.
        replica_timestamps: the same, as the replica has them.
        origin: of errors.
    """
    partitions = dict(plan.partitions)
    for index, alignment in alignments.items():
        if alignment.is_level:
            continue
        row_index = alignment.common_row_index
        if row_index is None:
            reason = origin.error(
                f'Not trimming partition {index} of replica "{plan.table}" before it has rows that a synchronous'
                " replica has, too"
            )
            partitions[index] = partitions[index].held(unknown(ConstraintKind.ERROR, reason))
            continue
        found, expected = replica_timestamps.get((index, row_index)), queue_timestamps.get((index, row_index))
        if found is None or found != expected:
            error = origin.error(
                f'Row {row_index} of partition {index} of replica "{plan.table}" is not the one of queue'
                f' "{plan.queue}": it was written at {found}, and not at {expected}'
            )
            partitions[index] = partitions[index].held(unknown(ConstraintKind.ERROR, error), error)
    return replace(plan, partitions=partitions)
