"""The pass of one consumer: compare its offsets with its queues, publish."""

from __future__ import annotations

from queue_agent.controllers.clusters import get_cluster
from queue_agent.controllers.context import ControllerContext
from queue_agent.controllers.fan_out import fan_out
from queue_agent.controllers.origins import Origins, describe_pass_error
from queue_agent.core.consumer_snapshots import (
    QueueRowAnswers,
    RowIndex,
    RowsToRead,
    banned_consumer_snapshot,
    build_consumer_snapshot,
    build_sub_snapshot,
    find_view_of_queue,
    rows_to_read,
    unprocessed_consumer_snapshot,
)
from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.family import find_consumer_row_error, has_meta_column
from queue_agent.core.observed import ConsumerOffset
from queue_agent.core.queue_snapshots import DATA_WEIGHT_COLUMN, TIMESTAMP_COLUMN
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow
from queue_agent.core.snapshots import ConsumerSnapshot, QueueView, Role, SubSnapshot
from queue_agent.errors import ClusterError

KIND = "consumer_controller"
_CONCURRENT_QUEUES = 16


class ConsumerController:
    """Looks at one consumer again and again.

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
        self._board.put_consumer(self._snapshot)

    async def do_pass(self, pass_index: int) -> None:
        """Look at the consumer once, and publish what was seen."""
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
        content: dict[CrossClusterRef, SubSnapshot] | ErrorInfo | None = find_consumer_row_error(row, origin)
        if content is None:
            content = await self._look_at_queues(sorted({one.queue for one in registrations}), row, origin)
        self._publish(build_consumer_snapshot(self._snapshot, row, registrations, pass_instant, content))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Publish that the pass failed, if it did; tell the observer."""
        if error is not None:
            now = self._clock.now()
            row = self._board.find_consumer_row(self._ref) or self._snapshot.row
            content = describe_pass_error(error, self._origins.make(now))
            registrations = self._board.registrations_of_consumer(self._ref)
            self._publish(build_consumer_snapshot(self._snapshot, row, registrations, now, content))
        self._observer.pass_finished(KIND, pass_index, seconds, error)

    def _publish(self, snapshot: ConsumerSnapshot) -> None:
        self._snapshot = snapshot
        self._board.put_consumer(snapshot)

    async def _look_at_queues(
        self, queues: list[CrossClusterRef], row: ConsumerRow, origin: Origin
    ) -> dict[CrossClusterRef, SubSnapshot]:
        with_meta = has_meta_column(row)
        answers = await fan_out(
            lambda queue: self._look_at_queue(queue, with_meta, origin), queues, limit=_CONCURRENT_QUEUES
        )
        return {
            queue: origin.cluster_error(answer) if isinstance(answer, ClusterError) else answer
            for queue, answer in sorted(answers.items())
        }

    async def _look_at_queue(self, queue: CrossClusterRef, with_meta: bool, origin: Origin) -> SubSnapshot:
        view = find_view_of_queue(queue, self._board.find_queue(queue), origin)
        if not isinstance(view, QueueView):
            return view
        previous = None if self._snapshot.view is None else self._snapshot.view.queues.get(queue)
        offsets: dict[int, ConsumerOffset] = {}
        if view.partitions:
            cluster = get_cluster(self._clusters, self._ref.cluster)
            offsets = dict(
                await cluster.read_consumer_offsets(self._ref.path, queue, len(view.partitions), with_meta=with_meta)
            )
        answers = await self._read_rows(queue, rows_to_read(previous, view, offsets))
        return build_sub_snapshot(previous, view, offsets, answers, self._clock.now())

    async def _read_rows(self, queue: CrossClusterRef, rows: RowsToRead) -> QueueRowAnswers:
        """Both columns at the same time; the first error is the error of the whole."""
        cluster = get_cluster(self._clusters, queue.cluster)
        wanted = {TIMESTAMP_COLUMN: rows.timestamps, DATA_WEIGHT_COLUMN: rows.data_weights}
        answers = await fan_out(
            lambda column: cluster.select_row_values(queue.path, column, wanted[column]),
            [column for column, indexes in wanted.items() if indexes],
            limit=len(wanted),
        )
        found: dict[str, dict[RowIndex, int]] = {column: {} for column in wanted}
        for column, answer in answers.items():
            if isinstance(answer, ClusterError):
                raise answer
            found[column] = dict(answer)
        return QueueRowAnswers(timestamps=found[TIMESTAMP_COLUMN], data_weights=found[DATA_WEIGHT_COLUMN])
