"""Asking a cluster how old the rows are that are to be trimmed."""

from __future__ import annotations

from collections.abc import Mapping

from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.core.queues.snapshots import QueuePartition
from queue_agent.core.trimming.ages import RowAges, ages_at, learn, lifetime_limit, next_chunk
from queue_agent.core.trimming.errors import ages_error
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.trim_constraints import ConstraintKind
from queue_agent.errors import ClusterError
from queue_agent.ports.cluster import Cluster

CHUNKS_PER_PASS = 10
"""How many questions about one partition are asked one after the other; the next pass goes on from there."""

_CONCURRENT_QUESTIONS = 16


class RowAgesReader:
    """Knows the rows of one queue that were looked at.

    Args:
        chunk_count: how many questions about one partition are asked at once.
    """

    def __init__(self, chunk_count: int = CHUNKS_PER_PASS) -> None:
        self._chunk_count = chunk_count
        self._known: dict[int, RowAges] = {}

    async def hold_back(self, cluster: Cluster, object_id: str, plan: TrimPlan, origin: Origin) -> TrimPlan:
        """Keep the rows that are younger than the lifetime in the plan, or may be; without one the plan stays."""
        lifetime = plan.config.retained_lifetime_duration
        targets = {index: trim.target for index, trim in plan.trims.items() if trim.target is not None}
        if lifetime is None or not targets:
            return plan
        try:
            present = await cluster.generate_timestamp()
        except ClusterError as caught:
            error = origin.error(
                f'Cannot generate timestamp for cluster "{plan.queue.cluster}", trimming iteration skipped',
                inner_errors=[origin.cluster_error(caught)],
            )
            return plan.blocked(ConstraintKind.ERROR, error)
        limit = lifetime_limit(present, lifetime)

        async def look(index: int) -> RowAges:
            partition = plan.partitions[index].partition
            assert isinstance(partition, QueuePartition), "only what can be read has a target"
            ages = ages_at(self._known.get(index), partition.tablet_id, limit, partition.lower_row_index)
            return await self._look(cluster, object_id, index, ages, targets[index])

        answers = await fan_out(look, targets, limit=_CONCURRENT_QUESTIONS)
        ages: Mapping[int, RowAges | ErrorInfo] = {
            index: ages_error(index, limit, origin.cluster_error(answer), origin)
            if isinstance(answer, ClusterError)
            else answer
            for index, answer in answers.items()
        }
        return plan.with_ages(ages)

    async def _look(self, cluster: Cluster, object_id: str, index: int, ages: RowAges, end_row_index: int) -> RowAges:
        for _ in range(self._chunk_count):
            chunk = next_chunk(ages, end_row_index)
            if chunk is None:
                break
            found = await cluster.find_young_row(object_id, index, chunk, ages.limit)
            ages = self._known[index] = learn(ages, chunk, found)
        return ages
