"""The agent's own pass: state tables to board and fleets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from queue_agent.controllers.group.leadership import Leadership, boot_seconds
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.rounds.fleet import Fleet
from queue_agent.controllers.status.board import AGENT, Board
from queue_agent.core.consumers.multi_consumers import split_multi_consumers
from queue_agent.core.group.placement import place
from queue_agent.core.group.reconcile import Assignment, assign_objects
from queue_agent.core.queues.snapshots import ConsumerSnapshot, QueueSnapshot, Role
from queue_agent.core.state.family import find_queue_row_error, is_multi_consumer
from queue_agent.core.state.rows import ConsumerRow, QueueRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, UnexpectedError
from queue_agent.isolation import isolate
from queue_agent.ports.events import EventLog
from queue_agent.ports.passes import Clock, PassObserver
from queue_agent.ports.state import StateStore

PASS_FAILED = "queue_agent_pass_failed"
PASS_FAILED_CODE = 3025
PLACE: Final = "agent"
"""See `isolation`."""

_MOST_TOLD: Final = 20
"""Objects that an agent begins to lead at once, and that have an event each."""


@dataclass(frozen=True, slots=True)
class Fleets:
    """Controllers by kind of object."""

    queues: Fleet
    consumers: Fleet
    multi_consumers: Fleet


class Agent:
    """Keeps a controller for every object of a stage.

    Args:
        stage: its objects are led.
        store: the state tables.
        board: gets registrations and rows.
        fleets: the controllers.
        leadership: hears of every reading of the mapping.
        clock, origins, observer: of the passes.
        handle_replicated_objects: whether objects of replicated types are led, as of now.
        changed: set when the tables are not as they were.
        events: hears what this agent begins to lead.
    """

    def __init__(
        self,
        stage: str,
        store: StateStore,
        board: Board,
        fleets: Fleets,
        leadership: Leadership,
        clock: Clock,
        origins: Origins,
        observer: PassObserver,
        handle_replicated_objects: Callable[[], bool] = lambda: False,
        changed: asyncio.Event | None = None,
        events: EventLog | None = None,
    ) -> None:
        self._stage = stage
        self._store = store
        self._board = board
        self._fleets = fleets
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._pass_instant = clock.now()
        self._handle_replicated_objects = handle_replicated_objects
        self._done: tuple[StateRows, bool] | None = None
        self._leadership = leadership
        self._events = events
        self._changed = changed or asyncio.Event()
        self._state: StateRows | None = None
        self._led: Collection[CrossClusterRef] = frozenset()
        self._versions: Mapping[CrossClusterRef, int] = {}
        self._stamp: Hashable = None
        """Of the mapping when the versions were read."""

        self._assigned: Collection[CrossClusterRef] = frozenset()

    @property
    def state(self) -> StateRows | None:
        """The tables as they were read last; None: not yet."""
        return self._state

    async def do_pass(self, pass_index: int) -> None:
        """Read the tables once and make the controllers fit."""
        self._pass_instant = self._clock.now()
        sent = boot_seconds()
        stamp = await self._store.read_hosts_stamp()  # before the rows: what is written in between shows the next time
        state = await self._store.read()
        address = self._leadership.address
        if state is not self._state:
            self._state = state
            own = frozenset(table for table, host in state.hosts.items() if host == address)
            self._tell_new(own - set(self._led), {row.queue for row in state.queues})
            self._led = own
            self._stamp = None
            self._changed.set()
        if stamp != self._stamp:
            found = await self._store.read_host_versions(self._led)
            self._versions = {table: one.version for table, one in found.items() if one.host == address}
            self._stamp = stamp
        self._leadership.observe(sent, self._versions)
        handle_replicated_objects = self._handle_replicated_objects()
        if self._done == (state, handle_replicated_objects):
            return  # everything fits already
        self._done = None
        rows, multi_consumers = split_multi_consumers(state, _is_multi_consumer)
        origin = self._origins.make(self._pass_instant)
        self._board.put_registrations(rows.registrations)
        self._board.put_rows(rows)
        self._board.put_multi_consumer_rows(multi_consumers)
        errors = _find_errors(rows, origin)
        # What another is to lead is looked at for one more pass: by then that one has begun.
        led = {*self._led, *self._assigned}
        assignment = assign_objects(
            rows,
            self._stage,
            led,
            errors.keys(),
            multi_consumers=multi_consumers,
            handle_replicated_objects=handle_replicated_objects,
        )
        unmade = {
            **await self._fleets.queues.match(assignment.queues),
            **await self._fleets.consumers.match(assignment.consumers),
            **await self._fleets.multi_consumers.match(assignment.multi_consumers),
        }
        self._board.put_assignment(assignment)
        self._board.put_placement(place(self._leadership.address, rows, multi_consumers, self._stage))
        self._put_errors(rows, assignment, errors, unmade, origin)
        self._assigned = self._led
        if (
            len(led) == len(self._led)
            and not unmade
            and Role.ERROR
            not in {
                *assignment.queues.values(),
                *assignment.consumers.values(),
            }
        ):
            # Every pass reports errors again; without any, the next has nothing to do while the tables stay equal.
            self._done = state, handle_replicated_objects

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

    def _tell_new(self, tables: Collection[CrossClusterRef], queues: Collection[CrossClusterRef]) -> None:
        """Note what this agent leads from now on: one by one, or how many if they are very many."""
        if self._events is None or not tables:
            return
        kind, address = EventKind.HAND_OVER, self._leadership.address
        if len(tables) > _MOST_TOLD:
            words = f"Agent {address} begins to lead {len(tables):,} queues and consumers"
            self._events.note(kind, words, subject=address, details={"object_count": len(tables)})
            return
        for table in sorted(tables):
            words = f"Agent {address} begins to lead {table}"
            is_queue = table in queues
            self._events.note(kind, words, table if is_queue else None, None if is_queue else table, address)

    def _put_errors(
        self,
        rows: StateRows,
        assignment: Assignment,
        errors: Mapping[CrossClusterRef, ErrorInfo],
        unmade: Mapping[CrossClusterRef, UnexpectedError],
        origin: Origin,
    ) -> None:
        """Publish why some objects have no controller; every pass repeats it, so it is never stale."""
        instant = self._pass_instant
        for row in rows.queues:
            error = origin.cluster_error(unmade[row.queue]) if row.queue in unmade else None
            if assignment.queues.get(row.queue) is Role.ERROR:
                error = errors.get(row.queue) or _not_handled("Queues", row, origin)
            if error is not None:
                self._board.put_queue(QueueSnapshot(row, Role.ERROR, 0, instant, error))
        for consumer_row in rows.consumers:
            ref = consumer_row.consumer
            error = origin.cluster_error(unmade[ref]) if ref in unmade else None
            if assignment.consumers.get(ref) is Role.ERROR:
                error = _not_handled("Consumers", consumer_row, origin)
            if error is not None:
                self._board.put_consumer(ConsumerSnapshot(consumer_row, Role.ERROR, 0, instant, error))

    def _describe(self, error: Exception) -> ErrorInfo:
        origin = self._origins.make(self._pass_instant)
        cause = describe_pass_error(error, origin)
        if isinstance(error, ClusterError):
            return origin.error("Error while reading dynamic state", inner_errors=[cause])
        return cause


def _find_errors(rows: StateRows, origin: Origin) -> dict[CrossClusterRef, ErrorInfo]:
    """The queues no controller can be made for."""
    mappings = {row.table: row for row in rows.mappings or ()}
    errors: dict[CrossClusterRef, ErrorInfo] = {}
    for row in rows.queues:
        error = isolate(PLACE, row.queue, partial(find_queue_row_error, row, origin, mappings.get(row.queue)))
        if error is not None:
            errors[row.queue] = origin.cluster_error(error) if isinstance(error, UnexpectedError) else error
    return errors


def _is_multi_consumer(row: ConsumerRow) -> bool:
    """The rest is a consumer, whose own pass says what is wrong with it."""
    return isolate(PLACE, row.consumer, partial(is_multi_consumer, row)) is True


def _not_handled(kind: str, row: QueueRow | ConsumerRow, origin: Origin) -> ErrorInfo:
    return origin.error(
        f'{kind} of type "{row.object_type}" are not handled: "handle_replicated_objects" is off in this agent'
    )
