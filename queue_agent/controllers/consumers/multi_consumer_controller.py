"""The pass of one multi-consumer: see which consumers are in it, and have them known."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from queue_agent.controllers.passes.clusters import get_cluster
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.rounds.round_member import FirstAnswer
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.consumers.multi_consumers import (
    PASS_FAILED,
    PASS_FAILED_CODE,
    MultiConsumerSnapshot,
    banned_multi_consumer,
    plan_names,
)
from queue_agent.core.state.family import find_consumer_object_error
from queue_agent.core.state.replication import find_consumer_access
from queue_agent.core.state.rows import ConsumerRow
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import Poll, Watch
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import PassScope
from queue_agent.ports.state import StateStore

KIND = "multi_consumer_controller"


class MultiConsumerController:
    """Looks at one multi-consumer again and again.

    Args:
        ref: the table; its row must be on the board.
        store: gets the names.
        context: what it works with.
        origins: of errors.
    """

    def __init__(self, ref: CrossClusterRef, store: StateStore, context: ControllerContext, origins: Origins) -> None:
        self._ref = ref
        self._store = store
        self._board = context.board
        self._clusters = context.clusters
        self._clock = context.clock
        self._observer = context.observer
        self._origins = origins
        now = self._clock.now()
        row = self._board.find_multi_consumer_row(ref) or ConsumerRow(ref)
        error = origins.make(now).error("Multi consumer is not processed yet")
        self._snapshot = MultiConsumerSnapshot(row, 0, now, error)
        self._board.put_multi_consumer(self._snapshot)

    @property
    def kind(self) -> str:
        """See `rounds.Controller`."""
        return KIND

    def find_watch(self) -> Watch | None:
        """Every pass reads the names again."""
        return None

    def pass_quietly(self, pass_index: int, poll: Poll, pass_instant: datetime) -> bool:
        """See `rounds.Controller`."""
        return False

    async def do_pass(self, pass_index: int, first_answer: FirstAnswer = None) -> None:
        """Look at the table once, publish what was seen, and record the names that are new."""
        row = self._board.find_multi_consumer_row(self._ref)
        if row is None:
            # It has left the state tables a moment ago, and this controller is about to be stopped.
            return
        pass_instant = self._clock.now()
        origin = self._origins.make(pass_instant)
        if row.queue_agent_banned:
            self._publish(banned_multi_consumer(self._snapshot, row, pass_instant, origin))
            return
        snapshot = MultiConsumerSnapshot(row, self._snapshot.pass_index + 1, pass_instant, None, self._snapshot.names)
        names = await self._read_names(row, origin)
        if isinstance(names, ErrorInfo):
            failure = origin.error("Multi consumer controller has snapshot error", inner_errors=[names])
            self._publish(replace(snapshot, error=names, alerts=_alerts(failure, origin)))
            return
        snapshot = replace(snapshot, names=names)
        unrecorded = await self._record(row, names, origin)
        self._publish(snapshot if unrecorded is None else replace(snapshot, alerts=_alerts(unrecorded, origin)))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Publish that the pass failed, if it did; tell the observer."""
        if error is not None:
            now = self._clock.now()
            origin = self._origins.make(now)
            failure = describe_pass_error(error, origin)
            self._publish(
                replace(
                    self._snapshot,
                    pass_index=self._snapshot.pass_index + 1,
                    pass_instant=now,
                    error=failure,
                    alerts=_alerts(failure, origin),
                )
            )
        scope = PassScope(self._ref.cluster, leading=True)
        self._observer.pass_finished(KIND, pass_index, seconds, error, scope)

    async def _read_names(self, row: ConsumerRow, origin: Origin) -> list[str] | ErrorInfo:
        mapping = self._board.find_mapping(self._ref)
        error = find_consumer_object_error(row, origin, mapping)
        table = find_consumer_access(row, mapping, origin) if error is None else error
        if isinstance(table, ErrorInfo):
            return table
        try:
            names = await get_cluster(self._clusters, table.cluster).read_consumer_names(table.path)
        except ClusterError as failure:
            return origin.error("Error while selecting from user table", inner_errors=[origin.cluster_error(failure)])
        return sorted(name for name in names if name)

    async def _record(self, row: ConsumerRow, names: list[str], origin: Origin) -> ErrorInfo | None:
        """Have the state tables name these consumers; what went wrong with it, if anything."""
        changes = plan_names(self._ref, row.queue_agent_stage, names, self._board.recorded_names(self._ref))
        try:
            if changes.write:
                await self._store.write_consumer_names(changes.write)
            if changes.delete:
                await self._store.delete_consumer_names(changes.delete)
        except ClusterError as error:
            return origin.error(
                "Error while synchronizing multi_consumer_names table", inner_errors=[origin.cluster_error(error)]
            )
        return None

    def _publish(self, snapshot: MultiConsumerSnapshot) -> None:
        self._snapshot = snapshot
        self._board.put_multi_consumer(snapshot)


def _alerts(failure: ErrorInfo, origin: Origin) -> dict[str, ErrorInfo]:
    return {
        PASS_FAILED: origin.error("Multi consumer controller pass failed", PASS_FAILED_CODE, inner_errors=[failure])
    }
