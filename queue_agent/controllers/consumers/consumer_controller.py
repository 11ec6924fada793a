"""The pass of one consumer: compare its offsets with its queues, publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from queue_agent.controllers.consumers.judge import ConsumerJudge
from queue_agent.controllers.consumers.owner_reader import OwnerReader
from queue_agent.controllers.passes.clusters import fan_out, get_cluster
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.rounds.round_member import FirstAnswer
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.consumers.consumer_snapshots import (
    QueueRowAnswers,
    RowsToRead,
    banned_consumer_snapshot,
    build_consumer_snapshot,
    build_sub_snapshot,
    find_readings,
    find_view_of_queue,
    idle_sub_snapshot,
    rows_to_read,
    unprocessed_consumer_snapshot,
)
from queue_agent.core.queues.queue_snapshots import DATA_WEIGHT_COLUMN, TIMESTAMP_COLUMN
from queue_agent.core.queues.snapshots import ConsumerSnapshot, OffsetsRead, QueueView, Role, SubSnapshot
from queue_agent.core.state.family import find_consumer_row_error, has_meta_column
from queue_agent.core.state.replication import REPLICATED_TYPES, find_consumer_access, find_queue_access
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import (
    OFFSETS_PASSES,
    ConsumerOffset,
    Poll,
    Watch,
    is_refresh_due,
    is_untouched,
    tablet_count,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import PassScope

KIND = "consumer_controller"
_NO_OFFSETS = OffsetsRead({}, 0)
"""In a queue without partitions."""

_CONCURRENT_QUEUES = 16


@dataclass(frozen=True, slots=True)
class _Access:
    """Where the offsets of a consumer are, by rows without an error."""

    row: ConsumerRow
    mapping: MappingRow | None
    table: CrossClusterRef
    with_meta: bool


class ConsumerController:
    """Looks at one consumer again and again; `rounds.Controller`.

    Args:
        ref: the consumer; its row must be on the board.
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
        self._origins = origins
        now = self._clock.now()
        row = self._board.find_consumer_row(ref) or ConsumerRow(ref)
        self._snapshot = unprocessed_consumer_snapshot(row, role, now, origins.make(now))
        self._table = ref.table
        self._access: _Access | None = None
        self._poll: Poll | None = None
        """Before the offsets in the snapshot were read."""

        self._judge = ConsumerJudge(ref, context)
        self._owner = OwnerReader(ref, context.clusters)
        self._board.put_consumer(self._snapshot)

    @property
    def kind(self) -> str:
        """See `rounds.Controller`."""
        return KIND

    def find_watch(self) -> Watch | None:
        """See `rounds.Controller`."""
        row = self._board.find_consumer_row(self._ref)
        if row is None or row.queue_agent_banned or row.object_type in REPLICATED_TYPES:
            return None
        return self._watch(self._ref.path)

    def pass_quietly(self, pass_index: int, poll: Poll, pass_instant: datetime) -> bool:
        """See `rounds.Controller`."""
        row = self._board.find_consumer_row(self._ref)
        view = self._snapshot.view
        access = self._access
        registrations = self._board.registrations_of_consumer(self._ref)
        if (
            row is None
            or view is None
            or access is None
            or access.row is not row
            or access.mapping is not self._board.find_mapping(self._table)
            or registrations != self._snapshot.registrations
            or is_refresh_due(self._ref, pass_index, OFFSETS_PASSES)
            or not is_untouched(self._poll, poll)
        ):
            return False
        now = self._clock.now()
        if self._snapshot.role is Role.LEADING and self._owner.is_due(row, now):
            return False
        found: dict[CrossClusterRef, SubSnapshot] = {}
        for queue, previous in view.queues.items():
            snapshot = self._board.find_queue(queue)
            view_of_queue = None if snapshot is None else snapshot.view
            if view_of_queue is None or not view_of_queue.readable:
                return False
            readings = find_readings(previous, view_of_queue)
            idle = idle_sub_snapshot(previous, view_of_queue, readings, now) if readings else None
            if idle is None:
                return False
            found[queue] = idle
        self._poll = poll
        self._publish(build_consumer_snapshot(self._snapshot, row, registrations, pass_instant, found))
        return True

    async def do_pass(self, pass_index: int, first_answer: FirstAnswer = None) -> None:
        """Look at the consumer once, and publish what was seen; see `rounds.Controller`."""
        row = self._board.find_consumer_row(self._ref)
        if row is None:
            # It has left the state tables a moment ago, and this controller is about to be stopped.
            return
        pass_instant = self._clock.now()
        origin = self._origins.make(pass_instant)
        if row.queue_agent_banned:
            self._publish(banned_consumer_snapshot(self._snapshot, row, pass_instant, origin))
            return
        registrations = self._board.registrations_of_consumer(self._ref)
        queues = sorted({one.queue for one in registrations})
        is_leading = self._snapshot.role is Role.LEADING
        await self._judge.prepare(registrations, leading=is_leading)
        if is_leading:
            self._judge.owner = await self._owner.read(row, pass_instant, origin)
        content = await self._look(row, queues, pass_index, first_answer, origin)
        self._publish(build_consumer_snapshot(self._snapshot, row, registrations, pass_instant, content))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Publish that the pass failed, if it did; tell the observer."""
        if error is not None:
            now = self._clock.now()
            row = self._board.find_consumer_row(self._ref) or self._snapshot.row
            content = describe_pass_error(error, self._origins.make(now))
            registrations = self._board.registrations_of_consumer(self._ref)
            self._publish(build_consumer_snapshot(self._snapshot, row, registrations, now, content))
        scope = PassScope(self._ref.cluster, leading=self._snapshot.role is Role.LEADING)
        self._observer.pass_finished(KIND, pass_index, seconds, error, scope)

    def _publish(self, snapshot: ConsumerSnapshot) -> None:
        verdicts = self._judge.judge(snapshot)
        self._snapshot = snapshot if verdicts is snapshot.verdicts else replace(snapshot, verdicts=verdicts)
        self._board.put_consumer(self._snapshot)

    async def _look(
        self,
        row: ConsumerRow,
        queues: list[CrossClusterRef],
        pass_index: int,
        first_answer: FirstAnswer,
        origin: Origin,
    ) -> dict[CrossClusterRef, SubSnapshot] | ErrorInfo:
        access = self._find_access(row, origin)
        if isinstance(access, ErrorInfo):
            return access
        table = access.table
        poll = first_answer or await self._poll_table(row, table)
        refresh = is_refresh_due(self._ref, pass_index, OFFSETS_PASSES)
        untouched = not refresh and isinstance(poll, Poll) and is_untouched(self._poll, poll)
        now = self._clock.now()
        found: dict[CrossClusterRef, SubSnapshot] = {}
        to_ask: dict[CrossClusterRef, tuple[QueueView, Sequence[OffsetsRead]]] = {}
        for queue in queues:
            view = find_view_of_queue(queue, self._board.find_queue(queue), origin)
            if not isinstance(view, QueueView):
                found[queue] = view
                continue
            previous = self._find_previous(queue)
            readings = find_readings(previous, view) if untouched else ()
            if not view.partitions:
                readings = [_NO_OFFSETS]
            idle = idle_sub_snapshot(previous, view, readings, now) if readings else None
            if idle is not None:
                found[queue] = idle
            elif not readings and isinstance(poll, ClusterError):
                found[queue] = origin.cluster_error(poll)
            else:
                to_ask[queue] = view, readings
        unknown = {queue: len(view.partitions) for queue, (view, readings) in to_ask.items() if not readings}
        read = await self._read_offsets(access, unknown)
        if isinstance(read, ClusterError):
            found |= {queue: origin.cluster_error(read) for queue in unknown}
            to_ask = {queue: asked for queue, asked in to_ask.items() if queue not in unknown}
        else:
            moment = self._board.next_moment()
            for queue, offsets in read.items():
                view = to_ask[queue][0]
                newest = OffsetsRead(offsets, moment)
                to_ask[queue] = view, find_readings(self._find_previous(queue), view, newest)
        answers = await fan_out(
            lambda queue: self._look_at_queue(queue, *to_ask[queue], origin), to_ask, limit=_CONCURRENT_QUEUES
        )
        for queue, answer in answers.items():
            found[queue] = origin.cluster_error(answer) if isinstance(answer, ClusterError) else answer
        self._poll = poll if isinstance(poll, Poll) else None
        return {queue: found[queue] for queue in queues}

    def _find_access(self, row: ConsumerRow, origin: Origin) -> _Access | ErrorInfo:
        """Where the offsets are; found once for a row, for rows rarely change."""
        mapping = self._board.find_mapping(self._table)
        if self._access is not None and self._access.row is row and self._access.mapping is mapping:
            return self._access
        error = find_consumer_row_error(row, origin, mapping)
        if error is not None:
            return error
        table = find_consumer_access(row, mapping, origin)
        if isinstance(table, ErrorInfo):
            return table
        self._access = _Access(row, mapping, table, has_meta_column(row))
        return self._access

    def _watch(self, path: str) -> Watch:
        # Most tables of consumers have one tablet: if this one has too, the next poll can be compared with the first.
        return Watch(path, 1) if self._poll is None else Watch(path, tablet_count(self._poll), self._poll)

    async def _poll_table(self, row: ConsumerRow, table: CrossClusterRef) -> Poll | ClusterError | None:
        """Whether something was written; None: writes to this table do not tell."""
        if row.object_type in REPLICATED_TYPES:
            return None
        try:
            cluster = get_cluster(self._clusters, table.cluster)
            return await cluster.poll(self._watch(table.path))
        except ClusterError as error:
            return error

    async def _read_offsets(
        self, access: _Access, partition_counts: Mapping[CrossClusterRef, int]
    ) -> Mapping[CrossClusterRef, Mapping[int, ConsumerOffset]] | ClusterError:
        if not partition_counts:
            return {}
        try:
            cluster = get_cluster(self._clusters, access.table.cluster)
            return await cluster.read_consumer_offsets(
                access.table.path, partition_counts, with_meta=access.with_meta, name=self._ref.name
            )
        except ClusterError as error:
            return error

    def _find_previous(self, queue: CrossClusterRef) -> SubSnapshot | None:
        return None if self._snapshot.view is None else self._snapshot.view.queues.get(queue)

    async def _look_at_queue(
        self, queue: CrossClusterRef, view: QueueView, readings: Sequence[OffsetsRead], origin: Origin
    ) -> SubSnapshot:
        previous = self._find_previous(queue)
        answers = await self._read_rows(queue, rows_to_read(previous, view, readings[0].offsets), origin)
        return build_sub_snapshot(previous, view, readings, answers, self._clock.now())

    async def _read_rows(self, queue: CrossClusterRef, rows: RowsToRead, origin: Origin) -> QueueRowAnswers:
        if not rows.timestamps and not rows.data_weights:
            return QueueRowAnswers()
        row = self._board.find_queue_row(queue) or QueueRow(queue)
        access = find_queue_access(row, self._board.find_mapping(queue), origin)
        if isinstance(access, ErrorInfo):
            raise ClusterError(access.message)
        table = access.rows
        cluster = get_cluster(self._clusters, table.cluster)
        wanted = {TIMESTAMP_COLUMN: rows.timestamps, DATA_WEIGHT_COLUMN: rows.data_weights}
        columns = [column for column, indexes in wanted.items() if indexes]
        values = await cluster.select_row_values(table.path, columns, rows.timestamps | rows.data_weights)
        return QueueRowAnswers(
            timestamps=values.get(TIMESTAMP_COLUMN, {}), data_weights=values.get(DATA_WEIGHT_COLUMN, {})
        )
