"""The last look before a queue is trimmed: at registrations, offsets and exports, and last at the table itself."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.controllers.exports.confirmation import read_exports_again
from queue_agent.controllers.passes.clusters import fan_out, get_cluster
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.trimming.quarantine_look import look_at_quarantines
from queue_agent.controllers.trimming.replica_alignment import CopyOfQueue, confirm_alignment
from queue_agent.controllers.trimming.witness import Witness
from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.queues.snapshots import QueueSnapshot
from queue_agent.core.state.attributes import (
    QUEUE_ATTRIBUTES,
    TABLETS,
    build_mapping_row,
    build_queue_row,
    find_tablet_ids,
)
from queue_agent.core.state.family import find_consumer_row_error
from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.state.replication import find_consumer_access, find_queue_access, replicas_of, synchronous_of
from queue_agent.core.state.rows import QueueRow, Registration
from queue_agent.core.trimming.confirmation import FreshLook, confirm_plan, partitions_to_trim, vital_consumers
from queue_agent.core.trimming.losers import NO_SUSPECTS, NOTHING_WITNESSED, Suspects, Witnessed, find_suspects
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.trimming.quarantine import demote, find_released, hold_moved
from queue_agent.core.trimming.reasons_to_wait import find_reason_to_wait
from queue_agent.core.trimming.replica_trims import export_name
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from queue_agent.errors import ClusterError

_CONCURRENT_CONSUMERS = 16

PRESERVE_TABLET_INDEX: Final = "preserve_tablet_index"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A plan as far as it holds, and whom it takes rows from."""

    plan: TrimPlan
    suspects: Suspects = NO_SUSPECTS
    seen: Witnessed = NOTHING_WITNESSED
    released: Collection[CrossClusterRef] = ()
    """Consumers in quarantine, by a look right before."""


class TrimConfirmer:
    """Confirms trimming plans; what it does not know for certain it does not let through.

    Args:
        context: what it works with.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._witness = Witness(context)

    async def confirm(
        self,
        plan: TrimPlan,
        planned_row: QueueRow,
        replica_row: QueueRow | None,
        quarantines: Collection[Quarantine],
        origin: Origin,
    ) -> Confirmed:
        """The plan as far as it holds by what is asked now.

        Args:
            plan: of a queue that is a plain table, or of a replica.
            planned_row: the queue's row it was made from.
            replica_row: the row of the replica it was made from; None: it is of no replica.
            quarantines: those by which consumers hold nothing in the plan.
            origin: of errors.
        """
        assert (plan.replica is None) == (replica_row is None), "a replica is confirmed by its row"
        if not partitions_to_trim(plan):
            return Confirmed(plan)
        context, queue = self._context, plan.queue
        known = {*plan.vital_consumers, *(one.consumer for one in quarantines)}
        try:
            references = [] if replica_row is None else self._find_references(plan)
            if replica_row is not None:
                plan = await self._aligned(plan, replica_row, references, origin)
                if not partitions_to_trim(plan):
                    return Confirmed(plan)
            registrations = (await context.registrations.read()).get(queue, ())
            released = await self._find_released(queue, quarantines, registrations, origin)
            names = [one.consumer for one in released]
            registrations = demote(registrations, names)
            view = self._find_snapshot(queue).view
            suspects = find_suspects(plan, registrations, context.board.all_consumers, view)
            look, seen = await self._look(plan, planned_row, replica_row, registrations, references, suspects, origin)
        except ClusterError as caught:
            error = origin.error(
                f'Trimming iteration skipped since queue "{queue}" could not be read again',
                inner_errors=[origin.cluster_error(caught)],
            )
            return Confirmed(plan.blocked(ConstraintKind.ERROR, error))
        # The agent's own pass may have read of one later than this look did.
        latest = [*registrations, *context.board.registrations_of_queue(queue)]
        if set(vital_consumers(latest)) - known:
            error = origin.error(f'Trimming iteration skipped since a vital consumer of "{queue}" has just come')
            return Confirmed(plan.blocked(ConstraintKind.ERROR, error))
        reason = self._find_mismatch(queue, vital_consumers(registrations), origin) or find_reason_to_wait(
            context.board.agent_pass().last_success_instant,
            registrations,
            context.board.all_consumers,
            context.config.pass_period,
            context.clock.now(),
            origin,
        )
        if reason is not None:
            return Confirmed(plan.blocked(ConstraintKind.ERROR, reason))
        plan = confirm_plan(plan, planned_row, replica_row, registrations, look, origin)
        plan = hold_moved(plan, released, seen.offsets)
        return Confirmed(plan, suspects, seen, names)

    async def _find_released(
        self,
        queue: CrossClusterRef,
        quarantines: Collection[Quarantine],
        registrations: Sequence[Registration],
        origin: Origin,
    ) -> Sequence[Quarantine]:
        """Who is in quarantine now; any other vital consumer holds its rows."""
        if not quarantines:
            return ()
        consumers = [one.consumer for one in quarantines]
        snapshot = self._find_snapshot(queue)
        look = await look_at_quarantines(self._context, snapshot, consumers, registrations, origin)
        return find_released(quarantines, look, self._context.clock.now())

    def _find_mismatch(
        self, queue: CrossClusterRef, consumers: Sequence[CrossClusterRef], origin: Origin
    ) -> ErrorInfo | None:
        clusters = {queue.cluster, *(consumer.cluster for consumer in consumers)}
        return self._context.connections.find_mismatch(clusters, origin)

    async def _look(
        self,
        plan: TrimPlan,
        planned_row: QueueRow,
        replica_row: QueueRow | None,
        registrations: Sequence[Registration],
        references: Sequence[CrossClusterRef],
        suspects: Suspects,
        origin: Origin,
    ) -> tuple[FreshLook, Witnessed]:
        """Offsets and exports first, then the ends of the partitions, and what is about the table itself last."""
        queue, indexes = plan.queue, partitions_to_trim(plan)
        clusters = self._context.clusters
        table = self._find_tablets(planned_row, origin)
        consumers = vital_consumers(registrations)
        object_id = _id_of(replica_row or planned_row)
        exports = await self._read_exports(planned_row, replica_row, origin)
        async with asyncio.TaskGroup() as group:
            others = group.create_task(self._witness.look(plan, object_id, suspects, origin))
            next_row_indexes = await self._read_offsets(queue, consumers, max(indexes) + 1, origin)
        infos = await get_cluster(clusters, table.cluster).get_tablet_infos(table.path, indexes)
        mine = infos
        if plan.table != table:
            mine = await get_cluster(clusters, plan.table.cluster).get_tablet_infos(plan.table.path, indexes)
        attributes = await self._ask_attributes(queue, with_tablets=replica_row is None)
        replica_rows: Sequence[QueueRow] = []
        tablet_ids = find_tablet_ids(attributes)
        if replica_row is not None:
            replica = await self._ask_attributes(plan.table, with_tablets=True)
            replica_rows = [build_queue_row(plan.table, replica, replica_row, origin), self._state_row(plan.table)]
            tablet_ids = find_tablet_ids(replica)
        look = FreshLook(
            rows=[build_queue_row(queue, attributes, planned_row, origin), self._state_row(queue)],
            upper_row_indexes={index: info.total_row_count for index, info in infos.items()},
            lower_row_indexes={index: info.trimmed_row_count for index, info in mine.items()},
            next_row_indexes=next_row_indexes,
            exports=exports,
            mapping=build_mapping_row(queue, attributes, origin),
            replica_rows=replica_rows,
            tablet_ids=tablet_ids,
            aligned_with=references,
        )
        return look, others.result()

    async def _read_exports(
        self, planned_row: QueueRow, replica_row: QueueRow | None, origin: Origin
    ) -> Mapping[str, ExportProgress | ErrorInfo]:
        """Progress of the exports of a plain table, or of all replicas of a replicated one, by name in plans."""
        if replica_row is None:
            answers = await read_exports_again(self._context, [planned_row], origin)
            return {name: answer for (_, name), answer in answers.items()}
        mapping = self._context.board.find_mapping(planned_row.queue)
        replicas = [] if mapping is None else replicas_of(mapping)
        rows = [self._state_row(replica.table) for replica in replicas]
        answers = await read_exports_again(self._context, rows, origin)
        return {export_name(table, name): answer for (table, name), answer in answers.items()}

    def _find_references(self, plan: TrimPlan) -> Sequence[CrossClusterRef]:
        """The synchronous replicas other than the one to trim: consumers may have read from any of them."""
        mapping = self._context.board.find_mapping(plan.queue)
        return [] if mapping is None else [table for table in synchronous_of(mapping) if table != plan.table]

    async def _aligned(
        self, plan: TrimPlan, replica_row: QueueRow, references: Sequence[CrossClusterRef], origin: Origin
    ) -> TrimPlan:
        """The plan of a replica as far as it is proven that its rows have the indexes that they have in the queue."""
        if not references:
            return plan
        error = await self._find_alignment_error(plan, origin)
        if error is not None:
            return plan.blocked(ConstraintKind.ERROR, error)
        replica = CopyOfQueue(plan.table, _id_of(replica_row))
        for reference in references:
            queue = CopyOfQueue(reference, _id_of(self._find_snapshot(reference).row))
            plan = await confirm_alignment(self._context.clusters, plan, replica, queue, origin)
        return plan

    async def _find_alignment_error(self, plan: TrimPlan, origin: Origin) -> ErrorInfo | None:
        """Why nothing can be known of the indexes of a replica's rows."""
        view = self._find_snapshot(plan.table).view
        if view is None or not view.has_timestamp_column:
            return origin.error(
                f'Trimming iteration skipped since replica "{plan.table}" has no column "$timestamp": whether its rows'
                " have the indexes that they have in the queue cannot be told. Add the column to all replicas"
            )
        if len(plan.partitions) > 1 and not await self._keeps_tablet_indexes(plan.queue):
            return origin.error(
                f'Trimming iteration skipped since replicas of "{plan.queue}" get rows in other partitions than the'
                " queue. Set its attribute preserve_tablet_index, remount it, and replace asynchronous replicas"
            )
        return None

    async def _keeps_tablet_indexes(self, queue: CrossClusterRef) -> bool:
        """Whether rows are replicated to the tablet they were written to; by default they are not."""
        attributes = await get_cluster(self._context.clusters, queue.cluster).get_attributes(
            queue.path, [PRESERVE_TABLET_INDEX, "mount_config"]
        )
        mount_config = attributes.get("mount_config")
        options = mount_config if isinstance(mount_config, Mapping) else {}
        return bool(attributes.get(PRESERVE_TABLET_INDEX, options.get(PRESERVE_TABLET_INDEX, False)))

    def _find_snapshot(self, table: CrossClusterRef) -> QueueSnapshot:
        snapshot = self._context.board.find_queue(table)
        if snapshot is None:
            raise ClusterError(f'"{table}" is not polled any more')
        return snapshot

    def _find_tablets(self, row: QueueRow, origin: Origin) -> CrossClusterRef:
        """The table whose ends are those of a queue."""
        access = find_queue_access(row, self._context.board.find_mapping(row.queue), origin)
        if isinstance(access, ErrorInfo):
            raise ClusterError(access.message)
        return access.tablets

    async def _ask_attributes(self, table: CrossClusterRef, *, with_tablets: bool) -> Mapping[str, Any]:
        """Of the table to trim its tablets by the same answer, so that they are those of the object with this id."""
        names = (*QUEUE_ATTRIBUTES, TABLETS) if with_tablets else QUEUE_ATTRIBUTES
        return await get_cluster(self._context.clusters, table.cluster).get_attributes(table.path, names)

    def _state_row(self, queue: CrossClusterRef) -> QueueRow:
        row = self._context.board.find_queue_row(queue)
        if row is None:
            raise ClusterError(f'Queue "{queue}" has left the state tables')
        return row

    async def _read_offsets(
        self, queue: CrossClusterRef, consumers: Sequence[CrossClusterRef], partition_count: int, origin: Origin
    ) -> Mapping[CrossClusterRef, Mapping[int, int] | ErrorInfo]:
        tables = {consumer: self._find_table(consumer, origin) for consumer in consumers}

        async def read(consumer: CrossClusterRef) -> Mapping[int, int]:
            table = tables[consumer]
            assert isinstance(table, CrossClusterRef)
            cluster = get_cluster(self._context.clusters, table.cluster)
            return await cluster.read_next_row_indexes(table.path, queue, partition_count, name=consumer.name)

        known = [consumer for consumer, table in tables.items() if isinstance(table, CrossClusterRef)]
        answers = await fan_out(read, known, limit=_CONCURRENT_CONSUMERS)
        return {
            **{consumer: table for consumer, table in tables.items() if isinstance(table, ErrorInfo)},
            **{
                consumer: origin.cluster_error(answer) if isinstance(answer, ClusterError) else answer
                for consumer, answer in answers.items()
            },
        }

    def _find_table(self, consumer: CrossClusterRef, origin: Origin) -> CrossClusterRef | ErrorInfo:
        """Where the offsets of a consumer are, by the state tables as of now."""
        board = self._context.board
        row = board.find_consumer_row(consumer)
        if row is None:
            return origin.error(f'Consumer "{consumer}" is not in the state tables')
        if row.queue_agent_banned:
            return origin.error(f'Consumer "{consumer}" is banned')
        mapping = board.find_mapping(consumer.table)
        error = find_consumer_row_error(row, origin, mapping)
        return find_consumer_access(row, mapping, origin) if error is None else error


def _id_of(row: QueueRow) -> str:
    if row.object_id is None:
        raise ClusterError(f'Object id is not known for queue replica "{row.queue}"')
    return row.object_id
