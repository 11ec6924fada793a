"""The pass of one queue: look, publish, trim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from queue_agent.controllers.passes.clusters import get_cluster
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.rounds.round_member import FirstAnswer
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.trimming.trimmer import Trimmer
from queue_agent.core.exports.queue_exports import NO_STATES, ExportStates
from queue_agent.core.queues.exports import find_exports
from queue_agent.core.queues.queue_snapshots import (
    DATA_WEIGHT_COLUMN,
    QueueObservation,
    banned_queue_snapshot,
    build_queue_snapshot,
    data_weight_rows,
    find_schema_error,
    idle_queue_snapshot,
    readable_partition_indexes,
    unprocessed_queue_snapshot,
)
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.replication import REPLICATED_TYPES, find_queue_access
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.trimming.decision import is_trim_due
from queue_agent.core.trimming.errors import QUARANTINE, TRIM_FAILED, find_quarantine_alert, trim_alert
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import (
    DESCRIPTION_PASSES,
    KnownTable,
    Poll,
    TableDescription,
    TabletInfo,
    Watch,
    is_refresh_due,
    remember_table,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import PassScope

KIND = "queue_controller"


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
        self._context = context
        self._origins = origins
        self._trimmer = Trimmer(ref, context)
        self._known: KnownTable | None = None
        self._seen: tuple[TableDescription, Mapping[int, TabletInfo]] | None = None
        self._confirmed: Poll | None = None
        """By which all that was seen is still true."""

        self._polled: tuple[Poll, datetime] | None = None
        """The last poll of a round, and when it was asked for."""

        self._export_states: ExportStates = NO_STATES
        """As of the last pass that was not quiet."""

        now = self._clock.now()
        row = self._board.find_queue_row(ref) or QueueRow(ref)
        self._snapshot = unprocessed_queue_snapshot(row, role, now, origins.make(now))
        self._published = False
        """In this pass."""

        self._asked = 0
        """Moment before the last look at the table."""

        self._board.put_queue(self._snapshot)

    @property
    def kind(self) -> str:
        """See `rounds.Controller`."""
        return KIND

    def find_watch(self) -> Watch | None:
        """See `rounds.Controller`."""
        row = self._board.find_queue_row(self._ref)
        if row is None or row.queue_agent_banned or row.object_type in REPLICATED_TYPES:
            return None
        self._asked = self._board.next_moment()
        return _watch(self._ref.path, self._known, self._confirmed)

    def pass_quietly(self, pass_index: int, poll: Poll, pass_instant: datetime) -> bool:
        """See `rounds.Controller`."""
        self._polled = poll, pass_instant
        row = self._board.find_queue_row(self._ref)
        previous = self._snapshot
        if (
            row is None
            or row is not previous.row
            or is_refresh_due(self._ref, pass_index, DESCRIPTION_PASSES)
            or self._board.find_exports(self._ref) is not self._export_states
            or not self._is_confirmed_by(poll)
        ):
            return False
        exports = previous.exports
        if exports.error is not None:
            exports = find_exports(row, previous.role, self._export_states, self._origins.make(pass_instant))
        registrations = self._board.registrations_of_queue(self._ref)
        now = self._clock.now()
        snapshot = idle_queue_snapshot(previous, row, registrations, pass_instant, self._asked, now, exports)
        if snapshot is None or not self._is_trimmed(snapshot):
            return False
        self._publish(snapshot)
        return True

    def _is_confirmed_by(self, poll: Poll) -> bool:
        """Whether what was seen last is still true."""
        if poll is self._confirmed:
            return True
        if self._known is None or self._seen is None or not self._known.is_confirmed_by(poll):
            return False
        if poll.tablet_infos != self._seen[1]:
            return False
        self._confirmed = poll
        return True

    def _is_trimmed(self, snapshot: QueueSnapshot) -> bool:
        """Whether trimming has nothing to do, nor to say, that it has not said before."""
        if snapshot.alerts:
            return False
        mode = self._trimming_mode(snapshot)
        if mode is TrimmingMode.OFF:
            return snapshot.trims is None
        return not self._is_trim_due(snapshot) or self._trimmer.rests(snapshot)

    def _trimming_mode(self, snapshot: QueueSnapshot) -> TrimmingMode:
        return self._context.trimming_mode if snapshot.role is Role.LEADING else TrimmingMode.OFF

    def _is_trim_due(self, snapshot: QueueSnapshot) -> bool:
        config = self._context.config
        return is_trim_due(snapshot.pass_index, config.pass_period, config.trimming_period)

    async def do_pass(self, pass_index: int, first_answer: FirstAnswer = None) -> None:
        """Look at the queue once, publish what was seen, trim what may go; see `rounds.Controller`."""
        self._confirmed = None
        row = self._board.find_queue_row(self._ref)
        if row is None:
            # It has left the state tables a moment ago, and this controller is about to be stopped.
            return
        is_polled = self._polled is not None and first_answer is self._polled[0]
        pass_instant = self._polled[1] if self._polled is not None and is_polled else self._clock.now()
        if first_answer is None:
            self._asked = self._board.next_moment()
        origin = self._origins.make(pass_instant)
        self._export_states = self._board.find_exports(self._ref)
        if row.queue_agent_banned:
            self._publish(banned_queue_snapshot(self._snapshot, row, pass_instant, origin))
            return
        snapshot = await self._look(row, pass_index, pass_instant, first_answer, origin)
        mode = self._trimming_mode(snapshot)
        if mode is TrimmingMode.OFF:
            # What an iteration has left that nobody will repeat would stay for ever.
            left = snapshot.alerts or snapshot.trims is not None
            self._publish(replace(snapshot, alerts={}, trims=None, quarantines=()) if left else snapshot)
            return
        self._publish(snapshot)
        if self._is_trim_due(snapshot):
            outcome = await self._trimmer.do_iteration(snapshot, mode, origin)
            alerts = {} if outcome.error is None else {TRIM_FAILED: trim_alert(outcome.error, origin)}
            quarantines = find_quarantine_alert(outcome.quarantines, outcome.quarantine_error, origin)
            if quarantines is not None:
                alerts[QUARANTINE] = quarantines
            self._publish(replace(snapshot, alerts=alerts, trims=outcome.trims, quarantines=outcome.quarantines))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Publish that the pass failed, or only trimming if what was seen is published already; tell the observer."""
        if error is not None:
            now = self._clock.now()
            self._publish(
                self._untrimmed_snapshot(now, error) if self._published else self._failed_snapshot(now, error)
            )
        self._published = False
        scope = PassScope(self._ref.cluster, leading=self._snapshot.role is Role.LEADING)
        self._observer.pass_finished(KIND, pass_index, seconds, error, scope)

    def _failed_snapshot(self, now: datetime, error: Exception) -> QueueSnapshot:
        origin = self._origins.make(now)
        return build_queue_snapshot(
            self._snapshot,
            self._board.find_queue_row(self._ref) or self._snapshot.row,
            self._board.registrations_of_queue(self._ref),
            now,
            self._asked,
            now,
            origin,
            QueueObservation(describe_pass_error(error, origin)),
            self._export_states,
        )

    def _untrimmed_snapshot(self, now: datetime, error: Exception) -> QueueSnapshot:
        origin = self._origins.make(now)
        return replace(self._snapshot, alerts={TRIM_FAILED: trim_alert(describe_pass_error(error, origin), origin)})

    def _publish(self, snapshot: QueueSnapshot) -> None:
        self._snapshot = snapshot
        self._board.put_queue(snapshot)
        self._published = True

    async def _look(
        self, row: QueueRow, pass_index: int, pass_instant: datetime, first_answer: FirstAnswer, origin: Origin
    ) -> QueueSnapshot:
        seen = await self._look_at_tablets(row, pass_index, first_answer, origin)
        registrations = self._board.registrations_of_queue(self._ref)
        if not isinstance(seen, QueueObservation):
            if seen == self._seen:
                now = self._clock.now()
                exports = find_exports(row, self._snapshot.role, self._export_states, origin)
                idle = idle_queue_snapshot(self._snapshot, row, registrations, pass_instant, self._asked, now, exports)
                if idle is not None:
                    return idle
            table, infos = self._seen = seen
            seen = QueueObservation(table, infos, await self._read_data_weights(row, table, infos, origin))
        now = self._clock.now()
        return build_queue_snapshot(
            self._snapshot, row, registrations, pass_instant, self._asked, now, origin, seen, self._export_states
        )

    async def _look_at_tablets(
        self, row: QueueRow, pass_index: int, first_answer: FirstAnswer, origin: Origin
    ) -> tuple[TableDescription, Mapping[int, TabletInfo]] | QueueObservation:
        """What the tablets say; or what there is in place of it."""
        access = find_queue_access(row, self._board.find_mapping(self._ref), origin)
        if isinstance(access, ErrorInfo):
            return QueueObservation(access)
        path = access.tablets.path
        known = self._known
        if known is None or known.table != access.tablets or is_refresh_due(self._ref, pass_index, DESCRIPTION_PASSES):
            known = None
        try:
            cluster = get_cluster(self._clusters, access.tablets.cluster)
            if isinstance(first_answer, ClusterError):
                raise first_answer
            poll = first_answer or await cluster.poll(_watch(path, known))
            if known is not None and poll.tablet_infos is not None and known.is_confirmed_by(poll):
                return known.description, poll.tablet_infos
            table = await cluster.get_table(path)
        except ClusterError as error:
            return QueueObservation(origin.cluster_error(error))
        if self._seen is not None and table == self._seen[0]:
            table = self._seen[0]  # what is compared in every pass had better be the same object
        self._known = remember_table(access.tablets, poll.facts, table)
        schema_error = find_schema_error(table, origin)
        if schema_error is not None:
            return QueueObservation(schema_error)
        try:
            indexes = readable_partition_indexes(table)
            return table, await cluster.get_tablet_infos(path, indexes, table.object_id)
        except ClusterError as error:
            return QueueObservation(table, origin.cluster_error(error))

    async def _read_data_weights(
        self, row: QueueRow, table: TableDescription, infos: Mapping[int, TabletInfo], origin: Origin
    ) -> Mapping[tuple[int, int], int] | ErrorInfo:
        rows = data_weight_rows(self._snapshot, table, infos)
        if not rows:
            return {}
        access = find_queue_access(row, self._board.find_mapping(self._ref), origin)
        if isinstance(access, ErrorInfo):
            return access
        try:
            cluster = get_cluster(self._clusters, access.rows.cluster)
            values = await cluster.select_row_values(access.rows.path, [DATA_WEIGHT_COLUMN], rows)
        except ClusterError as error:
            return origin.cluster_error(error)
        return values[DATA_WEIGHT_COLUMN]


def _watch(path: str, known: KnownTable | None, last: Poll | None = None) -> Watch:
    """Of the table that is known: another one at its path is not to answer."""
    return Watch(path) if known is None else Watch(path, known.tablet_count, last, known.facts.object_id)
