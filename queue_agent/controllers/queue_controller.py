"""The pass of one queue: look, publish, trim."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import structlog

from queue_agent.controllers.clusters import get_cluster
from queue_agent.controllers.context import ControllerContext
from queue_agent.controllers.fan_out import fan_out
from queue_agent.controllers.origins import Origins, describe_pass_error
from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.queue_snapshots import (
    DATA_WEIGHT_COLUMN,
    QueueObservation,
    banned_queue_snapshot,
    build_queue_snapshot,
    data_weight_rows,
    find_schema_error,
    readable_partition_indexes,
    unprocessed_queue_snapshot,
)
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import QueueRow
from queue_agent.core.snapshots import QueueSnapshot, Role
from queue_agent.core.trim import TRIM_FAILED, TrimPlan, find_trim_error, is_trim_due, plan_trims, trim_alert
from queue_agent.errors import ClusterError

log = structlog.get_logger(__name__)

KIND = "queue_controller"
_CONCURRENT_TRIMS = 16


class QueueController:
    """Looks at one queue again and again, and trims it if it leads.

    Args:
        ref: the queue; its row must be on the board.
        role: leading or following.
        context: what it works with.
        origins: of errors.
    """

    def __init__(self, ref: CrossClusterRef, role: Role, context: ControllerContext, origins: Origins) -> None:
        self._ref = ref
        self._board = context.board
        self._clusters = context.clusters
        self._clock = context.clock
        self._observer = context.observer
        self._config = context.config
        self._origins = origins
        now = self._clock.now()
        row = self._board.find_queue_row(ref) or QueueRow(ref)
        self._snapshot = unprocessed_queue_snapshot(row, role, now, origins.make(now))
        self._published = False
        self._board.put_queue(self._snapshot)

    async def do_pass(self, pass_index: int) -> None:
        """Look at the queue once, publish what was seen, trim what may go."""
        self._published = False
        row = self._board.find_queue_row(self._ref)
        if row is None:
            # It has left the state tables a moment ago, and this controller is about to be stopped.
            return
        pass_instant = self._clock.now()
        origin = self._origins.make(pass_instant)
        if row.queue_agent_banned:
            self._publish(banned_queue_snapshot(self._snapshot, row, pass_instant, origin))
            return
        observation = await self._observe(origin)
        snapshot = build_queue_snapshot(
            self._snapshot,
            row,
            self._board.registrations_of_queue(self._ref),
            pass_instant,
            self._clock.now(),
            origin,
            observation,
        )
        trims = snapshot.role is Role.LEADING and self._config.enable_automatic_trimming
        # An alert of an iteration that nobody will repeat would stay for ever.
        self._publish(snapshot if trims else replace(snapshot, alerts={}))
        if trims and is_trim_due(snapshot.pass_index, self._config.pass_period, self._config.trimming_period):
            error = await self._trim(snapshot, origin)
            alerts = {} if error is None else {TRIM_FAILED: trim_alert(error, origin)}
            self._publish(replace(snapshot, alerts=alerts))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Publish that the pass failed, unless it had published what it saw before; tell the observer."""
        if error is not None and not self._published:
            self._publish(self._failed_snapshot(self._clock.now(), error))
        self._observer.pass_finished(KIND, pass_index, seconds, error)

    def _failed_snapshot(self, now: datetime, error: Exception) -> QueueSnapshot:
        origin = self._origins.make(now)
        return build_queue_snapshot(
            self._snapshot,
            self._board.find_queue_row(self._ref) or self._snapshot.row,
            self._board.registrations_of_queue(self._ref),
            now,
            now,
            origin,
            QueueObservation(describe_pass_error(error, origin)),
        )

    def _publish(self, snapshot: QueueSnapshot) -> None:
        self._snapshot = snapshot
        self._board.put_queue(snapshot)
        self._published = True

    async def _observe(self, origin: Origin) -> QueueObservation:
        path = self._ref.path
        try:
            cluster = get_cluster(self._clusters, self._ref.cluster)
            table = await cluster.get_table(path)
        except ClusterError as error:
            return QueueObservation(origin.cluster_error(error))
        schema_error = find_schema_error(table, origin)
        if schema_error is not None:
            return QueueObservation(schema_error)
        try:
            infos = await cluster.get_tablet_infos(path, readable_partition_indexes(table))
        except ClusterError as error:
            return QueueObservation(table, origin.cluster_error(error))
        rows = data_weight_rows(self._snapshot, table, infos)
        if not rows:
            return QueueObservation(table, infos)
        try:
            return QueueObservation(table, infos, await cluster.select_row_values(path, DATA_WEIGHT_COLUMN, rows))
        except ClusterError as error:
            return QueueObservation(table, infos, origin.cluster_error(error))

    async def _trim(self, snapshot: QueueSnapshot, origin: Origin) -> ErrorInfo | None:
        """Do one trimming iteration; what went wrong with it, if anything."""
        registrations = self._board.registrations_of_queue(self._ref)
        plan = plan_trims(snapshot, registrations, self._board.all_consumers, origin)
        failures: dict[int, ErrorInfo] = {}
        object_id = snapshot.row.object_id
        if isinstance(plan, TrimPlan) and plan.targets:
            assert object_id is not None
            failures = await self._trim_partitions(object_id, plan, origin)
        return find_trim_error(self._ref, plan, failures, origin)

    async def _trim_partitions(self, object_id: str, plan: TrimPlan, origin: Origin) -> dict[int, ErrorInfo]:
        cluster = get_cluster(self._clusters, self._ref.cluster)
        targets = plan.targets
        outcomes = await fan_out(
            lambda index: cluster.trim_rows(object_id, index, targets[index]), targets, limit=_CONCURRENT_TRIMS
        )
        failures: dict[int, ErrorInfo] = {}
        for index, outcome in outcomes.items():
            fields = {"partition_index": index, "trimmed_row_count": targets[index], "object_id": object_id}
            if outcome is None:
                log.info("partition trimmed", **fields, constraint=plan.decisions[index].constraint)
            else:
                log.warning("partition not trimmed", **fields, error=str(outcome))
                failures[index] = origin.cluster_error(outcome)
        return failures
