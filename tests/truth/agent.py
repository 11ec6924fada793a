"""The parts of an agent that trim and export, over tables whose truth is known."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.exports.exports import ExportManager
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.status.board import AGENT, Board
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.attributes import build_consumer_row, build_mapping_row, build_queue_row
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow, Registration, StateRows
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from queue_agent.ports.cluster import Permit
from tests.truth.clusters import TruthCluster, queue_attributes
from tests.truth.exports import TruthExports
from tests.truth.history import CONSUMERS, History
from tests.truth.tables import Event
from tests.truth.wire import Wire
from tests.unguarded import AlwaysPermitted, unguarded_context
from tests.unit.controllers.agent_world import CONSUMER_ATTRIBUTES, FakeObserver

_CONFIG: Final = {
    "enable_automatic_trimming": True,
    "trimming_grace": 0,
    "queue_exporter": {"enable": True, "retry_backoff": {"min_backoff": 1, "max_backoff": 1, "backoff_jitter": 0}},
}
_CLUSTERS: Final = ("meta", "pythia", "hume")


class NotesTrims:
    """`ports.LeadershipGuard` of the only agent; it hears when one begins to carry out a plan."""

    def __init__(self, history: History) -> None:
        self._history = history

    def find_hold(self, refs: Collection[CrossClusterRef]) -> None:
        *_, table = refs  # the queue, then the table to trim
        self._history.trim_begins(table)

    def find_term(self, refs: Collection[CrossClusterRef]) -> Term:
        return Term(0.0, 0.0)

    def permit(self, refs: Collection[CrossClusterRef]) -> Permit:
        return AlwaysPermitted()

    @contextmanager
    def acting(self, refs: Collection[CrossClusterRef]) -> Iterator[Permit]:
        yield AlwaysPermitted()


class TruthRegistrations:
    """`ports.RegistrationGuard` by a question that can get lost."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def read(self) -> Mapping[CrossClusterRef, Sequence[Registration]]:
        self._wire.ask()
        found = registrations_of(self._wire.history)
        self._wire.answered()
        return {self._wire.history.tables.queue.ref: found}


def registrations_of(history: History) -> Sequence[Registration]:
    """As the state table has them."""
    queue = history.tables.queue.ref
    return [Registration(queue, consumer, vital) for consumer, vital in history.registered.items()]


class AgentClock:
    """`ports.Clock` that may be wrong."""

    def __init__(self, history: History) -> None:
        self._history = history

    def now(self) -> datetime:
        return self._history.agent_now


class TruthAgent:
    """An agent whose passes are begun by hand.

    Args:
        history: the truth.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.wire = Wire(history)
        self.clock = AgentClock(history)
        self.board = Board("agent-1", self.clock)
        self._origins = Origins(Process("agent-1", 481, 7), "Controller:0", random.Random(1))
        self._context = unguarded_context(
            self.board,
            {name: TruthCluster(name, self.wire) for name in _CLUSTERS},
            self.clock,
            FakeObserver(),
            ControllerConfig.model_validate(_CONFIG),
            export_clusters={name: TruthExports(name, self.wire) for name in _CLUSTERS},
            leadership=NotesTrims(history),
            registrations=TruthRegistrations(self.wire),
        )
        self._exports = ExportManager(self._context, self._origins, self, lambda: 1e6, lambda: 0.0)
        self._queues: dict[CrossClusterRef, QueueController] = {}
        self._consumers: dict[CrossClusterRef, ConsumerController] = {}
        self._queue_rows: dict[CrossClusterRef, QueueRow] = {}
        self._mappings: dict[CrossClusterRef, MappingRow] = {}
        self._passes = 0

    def export_finished(self, queue: CrossClusterRef, name: str, outcome: ExportOutcome) -> None:
        """See `ports.ExportObserver`."""

    def exports_kept(self, exports: Any) -> None:
        """See `ports.ExportObserver`."""

    def synchronize(self) -> None:
        """What the synchronizer does: write down the attributes of all objects."""
        origin = self._origins.make(self.clock.now())
        nodes = self.history.tables.nodes
        for ref, node in nodes.items():
            attributes = queue_attributes(node)
            self._queue_rows[ref] = build_queue_row(ref, attributes, self._queue_rows.get(ref), origin)
            mapping = build_mapping_row(ref, attributes, origin)
            if mapping is not None:
                self._mappings[ref] = mapping

    def read_state(self) -> None:
        """What the agent's own pass does: read the state tables, and have a controller for each object."""
        origin = self._origins.make(self.clock.now())
        consumers: dict[CrossClusterRef, ConsumerRow] = {
            ref: build_consumer_row(ref, CONSUMER_ATTRIBUTES, None, origin) for ref in CONSUMERS
        }
        self.board.put_registrations(registrations_of(self.history))
        self.board.put_rows(
            StateRows(list(self._queue_rows.values()), list(consumers.values()), [], list(self._mappings.values()))
        )
        for ref in self._queue_rows:
            if ref not in self._queues:
                self._queues[ref] = QueueController(ref, Role.LEADING, self._context, self._origins)
        for ref in consumers:
            if ref not in self._consumers:
                self._consumers[ref] = ConsumerController(ref, Role.LEADING, self._context, self._origins)
        self.board.put_assignment(
            Assignment(dict.fromkeys(self._queues, Role.LEADING), dict.fromkeys(self._consumers, Role.LEADING))
        )
        self.board.finish_pass(AGENT, self._passes, self.clock.now(), None)

    async def poll_consumers(self, meanwhile: Sequence[tuple[int, Event]] = ()) -> None:
        """A pass of each consumer."""
        self._passes += 1
        self.wire.expect(meanwhile)
        for controller in self._consumers.values():
            await controller.do_pass(self._passes)

    async def poll_replicas(self, meanwhile: Sequence[tuple[int, Event]] = ()) -> None:
        """A pass of each table that is not the queue itself."""
        self._passes += 1
        self.wire.expect(meanwhile)
        for ref, controller in self._queues.items():
            if ref != self.history.tables.queue.ref:
                await controller.do_pass(self._passes)
        self.history.pass_ends()

    async def poll_queue(self, meanwhile: Sequence[tuple[int, Event]] = ()) -> None:
        """A pass of the queue, which trims."""
        self._passes += 1
        self.wire.expect(meanwhile)
        await self._queues[self.history.tables.queue.ref].do_pass(self._passes)
        self.history.pass_ends()

    async def export(self, meanwhile: Sequence[tuple[int, Event]] = ()) -> None:
        """A pass of all exports, and the tasks it begins."""
        self._passes += 1
        self.wire.expect(meanwhile)
        async with asyncio.TaskGroup() as tasks:
            await self._exports._do_pass(tasks, self._passes)

    async def catch_up(self) -> None:
        """A pass of everything, in which nothing happens."""
        self.synchronize()
        self.read_state()
        await self.poll_replicas()
        await self.poll_queue()
        await self.poll_consumers()
        await self.export()
