"""Asking clusters whether the rows of a replica have the indexes they have in its queue."""

from __future__ import annotations

from collections.abc import Mapping

from queue_agent.controllers.clusters import Clusters, get_cluster
from queue_agent.core.error_info import Origin
from queue_agent.core.queue_snapshots import TIMESTAMP_COLUMN
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.trim_alignment import Alignment, hold_misaligned
from queue_agent.core.trim_confirmation import partitions_to_trim
from queue_agent.core.trim_plan import TrimPlan


async def confirm_alignment(
    clusters: Clusters, plan: TrimPlan, synchronous: CrossClusterRef, origin: Origin
) -> TrimPlan:
    """The plan as far as indexes are known to be the same.

    Args:
        clusters: by name.
        plan: of a replica with the column `$timestamp`.
        synchronous: a synchronous replica of the queue; its indexes are those of the queue.
        origin: of errors.

    Raises:
        ClusterError: one of both could not be asked.
    """
    indexes = partitions_to_trim(plan)
    if plan.table == synchronous or not indexes:
        return plan
    infos = [
        await get_cluster(clusters, table.cluster).get_tablet_infos(table.path, indexes)
        for table in (synchronous, plan.table)
    ]
    alignments = {index: Alignment(infos[0][index], infos[1][index]) for index in indexes}
    rows = {
        (index, alignment.common_row_index)
        for index, alignment in alignments.items()
        if not alignment.is_level and alignment.common_row_index is not None
    }
    timestamps: list[Mapping[tuple[int, int], int]] = [{}, {}]
    if rows:
        timestamps = [
            (await get_cluster(clusters, table.cluster).select_row_values(table.path, [TIMESTAMP_COLUMN], rows))[
                TIMESTAMP_COLUMN
            ]
            for table in (synchronous, plan.table)
        ]
    return hold_misaligned(plan, alignments, timestamps[0], timestamps[1], origin)
