"""What trimming would do to a queue: decided by the same code on the same snapshots, and not done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from queue_agent.controllers.passes.clusters import get_cluster
from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.trimming.confirmation import Confirmed, TrimConfirmer
from queue_agent.controllers.trimming.row_ages import RowAgesReader
from queue_agent.core.queues.queue_snapshots import DATA_WEIGHT_COLUMN
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.replication import REPLICATED
from queue_agent.core.state.rows import Registration
from queue_agent.core.trimming.decision import plan_trims
from queue_agent.core.trimming.errors import find_trim_error
from queue_agent.core.trimming.grace import spare_slow_readers
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.trimming.preview import TrimPreview, disabled_partitions, preview_partitions, weight_rows
from queue_agent.core.trimming.quarantine import burst, demote, limit_release
from queue_agent.core.trimming.replica_trims import plan_replica_trims
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError

log = structlog.get_logger(__name__)

_CHUNK_COUNT = 50
"""More than a pass asks, for nothing is remembered from one preview to the next."""


class TrimPreviewer:
    """`ports.TrimPlanner`.

    Args:
        context: what it works with.
        origins: of errors.
    """

    def __init__(self, context: ControllerContext, origins: Origins) -> None:
        self._context = context
        self._origins = origins

    async def preview(self, ref: CrossClusterRef, policy: Mapping[str, Any] | None) -> TrimPreview | None:
        """See `ports.TrimPlanner`."""
        context = self._context
        snapshot = context.board.find_queue(ref)
        if snapshot is None or snapshot.role is Role.FOLLOWING:
            return None
        policy = (snapshot.row.auto_trim_config or {}) if policy is None else policy
        origin = self._origins.make(context.clock.now())
        released = [one for one in snapshot.quarantines if one.is_started]
        names = [one.consumer for one in released]
        registrations = demote(context.board.registrations_of_queue(ref), names)
        plan = self._plan(snapshot, policy, registrations, origin)
        if plan is None:
            partitions = [] if snapshot.view is None else disabled_partitions(snapshot.view.partitions)
            return TrimPreview(ref, policy, context.trimming_mode, None, partitions)
        replica = None if plan.replica is None else context.board.find_queue(plan.replica)
        replica_row = None if replica is None else replica.row
        object_id = (replica_row or snapshot.row).object_id
        if object_id is not None and plan.error is None:
            plan = await self._hold_back(object_id, plan, origin)
            if context.quarantine is not None:
                plan = limit_release(plan, released, int(burst(context.quarantine.max_rows_per_hour)))
            confirmer = TrimConfirmer(context)
            plan = self._grant_grace(await confirmer.confirm(plan, snapshot.row, replica_row, released, origin))
        weights = await self._read_weights(snapshot, plan)
        return TrimPreview(
            ref,
            policy,
            context.trimming_mode,
            find_trim_error(plan, {}, origin),
            preview_partitions(plan, weights),
        )

    def _plan(
        self,
        snapshot: QueueSnapshot,
        policy: Mapping[str, Any],
        registrations: Sequence[Registration],
        origin: Origin,
    ) -> TrimPlan | None:
        """Of a replicated queue that of its first synchronous replica."""
        board = self._context.board
        if snapshot.row.object_type != REPLICATED:
            return plan_trims(snapshot, policy, registrations, board.all_consumers, snapshot.exported, origin)
        mapping = board.find_mapping(snapshot.ref)
        plans = plan_replica_trims(
            snapshot, policy, mapping, board.all_queues, registrations, board.all_consumers, origin
        )
        return None if plans is None else plans.shown

    def _grant_grace(self, confirmed: Confirmed) -> TrimPlan:
        context, plan = self._context, confirmed.plan
        term, terms = context.leadership.find_term([plan.queue, plan.table]), context.grace_terms
        activity = context.graces.preview(plan.table, term, context.clock.now(), terms)
        end = activity.find_end(term, terms)
        return plan if end is None else spare_slow_readers(plan, confirmed.suspects, confirmed.seen, end)

    async def _hold_back(self, object_id: str, plan: TrimPlan, origin: Origin) -> TrimPlan:
        cluster = get_cluster(self._context.clusters, plan.table.cluster)
        return await RowAgesReader(_CHUNK_COUNT).hold_back(cluster, object_id, plan, origin)

    async def _read_weights(self, snapshot: QueueSnapshot, plan: TrimPlan) -> Mapping[tuple[int, int], int]:
        view = snapshot.view
        rows = weight_rows(plan)
        if view is None or not view.has_cumulative_data_weight_column or not rows:
            return {}
        cluster = get_cluster(self._context.clusters, plan.queue.cluster)
        try:
            values = await cluster.select_row_values(snapshot.ref.path, [DATA_WEIGHT_COLUMN], rows)
        except ClusterError as error:
            log.warning("data weights not known", queue=str(plan.queue), error=str(error))
            return {}
        return values[DATA_WEIGHT_COLUMN]
