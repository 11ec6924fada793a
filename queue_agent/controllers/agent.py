"""The agent's own pass: state tables to board and fleets."""

from __future__ import annotations

from queue_agent.controllers.board import AGENT, Board
from queue_agent.controllers.fleet import Fleet
from queue_agent.controllers.origins import Origins, describe_pass_error
from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.family import find_queue_row_error
from queue_agent.core.reconcile import assign_objects
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import StateRows
from queue_agent.core.snapshots import QueueSnapshot, Role
from queue_agent.errors import ClusterError
from queue_agent.ports import Clock, PassObserver, StateStore

PASS_FAILED = "queue_agent_pass_failed"
PASS_FAILED_CODE = 3025


class Agent:
    """Keeps a controller for every object of a stage.

    Args:
        stage: its objects are led.
        store: the state tables.
        board: gets registrations and rows.
        queues: controllers of queues.
        consumers: controllers of consumers.
        clock, origins, observer: of the passes.
    """

    def __init__(
        self,
        stage: str,
        store: StateStore,
        board: Board,
        queues: Fleet,
        consumers: Fleet,
        clock: Clock,
        origins: Origins,
        observer: PassObserver,
    ) -> None:
        self._stage = stage
        self._store = store
        self._board = board
        self._queues = queues
        self._consumers = consumers
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._pass_instant = clock.now()

    async def do_pass(self, pass_index: int) -> None:
        """Read the tables once and make the controllers fit."""
        self._pass_instant = self._clock.now()
        rows = await self._store.read()
        origin = self._origins.make(self._pass_instant)
        self._board.put_registrations(rows.registrations)
        self._board.put_rows(rows)
        errors = _find_errors(rows, origin)
        assignment = assign_objects(rows, self._stage, errors.keys())
        await self._queues.match(assignment.queues)
        await self._consumers.match(assignment.consumers)
        self._board.put_assignment(assignment)
        for row in rows.queues:
            if assignment.queues.get(row.queue) is Role.ERROR:
                self._board.put_queue(QueueSnapshot(row, Role.ERROR, 0, self._pass_instant, errors[row.queue]))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Put on the board how the pass went; tell the observer."""
        failure = None if error is None else self._describe(error)
        self._board.finish_pass(AGENT, pass_index, self._pass_instant, failure)
        alerts: dict[str, ErrorInfo] = {}
        if failure is not None:
            origin = self._origins.make(self._pass_instant)
            alerts[PASS_FAILED] = origin.error("Error in Queue Agent pass", PASS_FAILED_CODE, inner_errors=[failure])
        self._board.put_alerts(AGENT, alerts)
        self._observer.pass_finished(AGENT, pass_index, seconds, error)

    def _describe(self, error: Exception) -> ErrorInfo:
        origin = self._origins.make(self._pass_instant)
        cause = describe_pass_error(error, origin)
        if isinstance(error, ClusterError):
            return origin.error("Error while reading dynamic state", inner_errors=[cause])
        return cause


def _find_errors(rows: StateRows, origin: Origin) -> dict[CrossClusterRef, ErrorInfo]:
    """The queues no controller can be made for."""
    found = {row.queue: find_queue_row_error(row, origin) for row in rows.queues}
    return {ref: error for ref, error in found.items() if error is not None}
