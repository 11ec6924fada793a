"""Asking clusters whether the rows of a replica have the indexes that they have in its queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from queue_agent.controllers.passes.clusters import Clusters, fan_out, get_cluster
from queue_agent.core.queues.queue_snapshots import TIMESTAMP_COLUMN
from queue_agent.core.queues.snapshots import QueuePartition
from queue_agent.core.trimming.alignment import Alignment, Search
from queue_agent.core.trimming.bounds import TrimBounds, unknown
from queue_agent.core.trimming.confirmation import partitions_to_trim
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from queue_agent.errors import ClusterError
from queue_agent.ports.cluster import Cluster

_CONCURRENT_SEARCHES = 16


@dataclass(frozen=True, slots=True)
class CopyOfQueue:
    """A table with rows of a queue, asked by its id: another one at its path is not meant."""

    ref: CrossClusterRef
    object_id: str

    async def read(self, clusters: Clusters, rows: Collection[tuple[int, int]]) -> Mapping[int, Mapping[int, int]]:
        """Timestamps of rows (partition index, row index), by partition index and row index."""
        values = await get_cluster(clusters, self.ref.cluster).select_row_values(
            f"#{self.object_id}", [TIMESTAMP_COLUMN], rows
        )
        found: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for (partition_index, row_index), timestamp in values[TIMESTAMP_COLUMN].items():
            found[partition_index][row_index] = timestamp
        return found


async def confirm_alignment(
    clusters: Clusters, plan: TrimPlan, replica: CopyOfQueue, queue: CopyOfQueue, origin: Origin
) -> TrimPlan:
    """The plan of a replica as far as alignment with the queue is proven; see `core.trimming.alignment`.

    Args:
        clusters: by name.
        plan: of the replica.
        replica: the table to trim; it has the column `$timestamp`.
        queue: a synchronous replica; its indexes are those of the queue.
        origin: of errors.

    Raises:
        ClusterError: one of both could not be asked.
    """
    alignments: Mapping[int, Alignment] = {
        index: _alignment(plan.partitions[index]) for index in partitions_to_trim(plan)
    }
    rows = {(index, row) for index, one in alignments.items() for row in one.window}
    alignments = await _learn(clusters, alignments, replica, queue, rows)
    unproven = {
        index: one for index, one in alignments.items() if one.find_proven() is None and one.find_mismatch() is None
    }
    anchors = await _search(get_cluster(clusters, queue.ref.cluster), queue, unproven)
    rows = {(index, row) for index, anchor in anchors for row in (anchor - 1, anchor)}
    alignments = await _learn(clusters, alignments, replica, queue, rows)
    held = {index: _held(plan, index, alignment, queue.ref, origin) for index, alignment in alignments.items()}
    return replace(plan, partitions={**plan.partitions, **held})


def _alignment(plan: PartitionPlan) -> Alignment:
    target = plan.trim.target
    assert target is not None, "only asked of partitions that are to be trimmed"
    assert isinstance(plan.partition, QueuePartition), "only what can be read has a target"
    return Alignment(target, plan.partition.lower_row_index)


async def _learn(
    clusters: Clusters,
    alignments: Mapping[int, Alignment],
    replica: CopyOfQueue,
    queue: CopyOfQueue,
    rows: Collection[tuple[int, int]],
) -> Mapping[int, Alignment]:
    """Read rows of both tables."""
    if not rows:
        return alignments
    of_queue, of_replica = await queue.read(clusters, rows), await replica.read(clusters, rows)
    return {index: one.known(of_queue.get(index, {}), of_replica.get(index, {})) for index, one in alignments.items()}


async def _search(
    cluster: Cluster, queue: CopyOfQueue, alignments: Mapping[int, Alignment]
) -> Collection[tuple[int, int]]:
    """Partition and row indexes where an anchor may be, beyond the windows."""

    async def find(key: tuple[int, Search]) -> int | None:
        index, search = key
        return await cluster.find_other_row(queue.object_id, index, search.rows, search.timestamp)

    keys = [(index, search) for index, one in alignments.items() for search in one.searches()]
    answers = await fan_out(find, keys, limit=_CONCURRENT_SEARCHES)
    anchors: list[tuple[int, int]] = []
    for (index, search), answer in answers.items():
        if isinstance(answer, ClusterError):
            raise answer
        if answer is not None:
            anchors.append((index, search.anchor_at(answer)))
    return anchors


def _held(plan: TrimPlan, index: int, alignment: Alignment, queue: CrossClusterRef, origin: Origin) -> PartitionPlan:
    partition = plan.partitions[index]
    proven = alignment.find_proven()
    if proven == alignment.target:
        return partition
    if proven is not None:
        return partition.held(TrimBounds(ConstraintKind.REPLICA_ALIGNMENT, allowed=proven, subject=str(queue)))
    mismatch = alignment.find_mismatch()
    if mismatch is not None:
        error = origin.error(
            f'Row {mismatch} of partition {index} of replica "{plan.table}" is not the one of queue "{plan.queue}":'
            f' it was written at {alignment.replica[mismatch]}, and in "{queue}" at {alignment.queue[mismatch]}.'
            " The replica lacks rows, so what consumers have read of it is not known. Replace it by one that has all"
            " rows, or trim it by hand"
        )
        return partition.held(unknown(ConstraintKind.ERROR, error), error)
    reason = origin.error(
        f'Cannot compare partition {index} of replica "{plan.table}" with "{queue}": near row {alignment.target} they'
        " have no two transactions in common, of which one ends where the other begins. Trimming goes on when both have"
        " rows of a later transaction"
    )
    return partition.held(unknown(ConstraintKind.REPLICA_ALIGNMENT, reason, str(queue)))
