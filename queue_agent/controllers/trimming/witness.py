"""The offsets of consumers that hold nothing back, right before rows go which they have not committed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Final

from queue_agent.controllers.passes.clusters import fan_out, get_cluster
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.queues.queue_snapshots import DATA_WEIGHT_COLUMN
from queue_agent.core.state.replication import find_consumer_access
from queue_agent.core.trimming.losers import Row, Suspects, Witnessed, rows_to_weigh
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError

_CONCURRENT_CONSUMERS: Final = 100

PATIENCE_SECONDS: Final = 1.0
"""A consumer that holds nothing back must not hold trims back by being slow to answer."""


class Witness:
    """Reads what is needed to tell how many rows a trim takes from whom. What cannot be read stops nothing.

    Args:
        context: what it works with.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    async def look(self, plan: TrimPlan, object_id: str, suspects: Suspects, origin: Origin) -> Witnessed:
        """Offsets of the suspects, and the weights of the rows that they lose.

        Args:
            plan: about to be confirmed and carried out.
            object_id: of the table to trim.
            suspects: of the plan.
            origin: of errors.
        """
        to_ask = [consumer for consumer in suspects.indexes if consumer not in suspects.unknown]
        if not to_ask:
            return Witnessed()
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        offsets = await self._read_offsets(plan, suspects, to_ask, deadline, origin)
        try:
            async with asyncio.timeout_at(deadline):
                weights = await self._read_weights(plan, object_id, rows_to_weigh(plan, suspects, offsets))
        except TimeoutError:
            return Witnessed(offsets)
        return Witnessed(offsets, weights)

    async def _read_offsets(
        self,
        plan: TrimPlan,
        suspects: Suspects,
        consumers: Collection[CrossClusterRef],
        deadline: float,
        origin: Origin,
    ) -> Mapping[CrossClusterRef, Mapping[int, int] | None]:
        async def read(consumer: CrossClusterRef) -> Mapping[int, int]:
            board = self._context.board
            row = board.find_consumer_row(consumer)
            table = None if row is None else find_consumer_access(row, board.find_mapping(consumer.table), origin)
            if table is None or isinstance(table, ErrorInfo):
                raise ClusterError(f'Offsets of "{consumer}" are not to be found')
            cluster = get_cluster(self._context.clusters, table.cluster)
            count = max(suspects.indexes[consumer]) + 1
            try:
                async with asyncio.timeout_at(deadline):
                    return await cluster.read_next_row_indexes(table.path, plan.queue, count, name=consumer.name)
            except TimeoutError:  # costs this consumer its own exactness, and nobody else
                raise ClusterError(f'Offsets of "{consumer}" could not be read in time') from None

        answers = await fan_out(read, consumers, limit=_CONCURRENT_CONSUMERS)
        return {consumer: None if isinstance(answer, ClusterError) else answer for consumer, answer in answers.items()}

    async def _read_weights(self, plan: TrimPlan, object_id: str, rows: Collection[Row]) -> Mapping[Row, int]:
        snapshot = self._context.board.find_queue(plan.table)
        view = None if snapshot is None else snapshot.view
        if not rows or view is None or not view.has_cumulative_data_weight_column:
            return {}
        try:
            cluster = get_cluster(self._context.clusters, plan.table.cluster)
            values = await cluster.select_row_values(f"#{object_id}", [DATA_WEIGHT_COLUMN], rows)
        except ClusterError:
            return {}
        return values.get(DATA_WEIGHT_COLUMN, {})
