"""Agents of the stage, with their real controllers: what one has in memory goes with it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.consumers.ledger_keeper import LedgerKeeper
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.status.board import AGENT, Board
from queue_agent.controllers.status.trim_book import TrimBook
from queue_agent.controllers.trimming.fresh_registrations import FreshRegistrations
from queue_agent.controllers.trimming.journal import TrimJournalKeeper
from queue_agent.core.group.lease import Hold
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.attributes import build_consumer_row, build_queue_row
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.state.trim_journal import JournalSpan, TrimRecord
from queue_agent.core.values.observed import ConsumerOffset, Poll, TableDescription, TabletInfo, Watch
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from queue_agent.core.verdicts.keeping import LedgerRow, restore
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.errors import ActionRefused, ClusterUnavailable, ObjectNotFound, OutcomeUnknown
from queue_agent.ports.cluster import Permit
from tests.model.stage_rows import CONSUMERS, PARTITIONS, PARTLY, QUEUE, READER, START, TABLES, VITAL, Reader
from tests.unguarded import unguarded_context
from tests.unit.controllers.agent_world import (
    CONSUMER_ATTRIBUTES,
    QUEUE_ATTRIBUTES,
    FakeCluster,
    FakeObserver,
    FakeQueue,
    FakeStore,
)

if TYPE_CHECKING:
    from tests.model.stage import World


class Agent:
    """A process: what it has in memory goes with it.

    Args:
        world: all else.
        number: of its host.
    """

    _started = 0

    def __init__(self, world: World, number: int) -> None:
        Agent._started += 1
        self.world = world
        self.number = number
        self.is_alive = True
        self._tasks: set[asyncio.Task[Any]] = set()
        self._passes: dict[CrossClusterRef, asyncio.Task[Any]] = {}
        self._controllers: dict[CrossClusterRef, tuple[Role, Any]] = {}
        clock = world.clock
        self.board = Board(f"agent-{number}", clock)
        self._origins = Origins(Process(f"agent-{number}", Agent._started, 7), "Control:0", random.Random(1))
        self.leadership = Leads(self)
        journal = Journal(self)
        self.seen: dict[tuple[CrossClusterRef, int], Reader] = {}
        observer: Any = _Deaf()
        self._journal = TrimJournalKeeper(journal, self.board, clock, self._origins, observer)
        self._book = TrimBook(journal, clock)
        self._ledger = LedgerKeeper(Ledgers(self), self.leadership, self.board, clock, self._origins, observer)
        registrations = [
            Registration(QUEUE, VITAL, vital=True),
            Registration(QUEUE, READER, vital=False),
            Registration(QUEUE, PARTLY, False, (PARTITIONS - 1,)),
        ]
        self._store = FakeStore(registrations=registrations)
        context = unguarded_context(
            self.board,
            {name: Rows(self, name) for name in ("pythia", "hume", "kant")},
            clock,
            FakeObserver(),
            ControllerConfig(enable_automatic_trimming=True, trimming_grace=timedelta(0)),
            registrations=FreshRegistrations(self._store),
            journal=self._journal,
            trims=self._book,
            ledger=self._ledger,
            leadership=self.leadership,
        )
        self._context = context

    async def boot(self) -> None:
        origin = self._origins.make(self.world.clock.now())
        queue = build_queue_row(QUEUE, QUEUE_ATTRIBUTES, QueueRow(QUEUE), origin)
        consumers = [build_consumer_row(ref, CONSUMER_ATTRIBUTES, ConsumerRow(ref), origin) for ref in CONSUMERS]
        await self._store.write_objects([queue], consumers)
        rows = await self._store.read()
        self.board.put_registrations(rows.registrations)
        self.board.put_rows(rows)
        self._every(1.0, self._report)
        self._every(1.0, lambda: self._book.do_pass(0))
        self._every(1.0, lambda: self._ledger.do_pass(0))
        self._every(2.0, lambda: self._journal.do_pass(0))
        for ref in TABLES:
            self._every(1.0, lambda ref=ref: self._pass(ref))  # type: ignore[misc] # a default that is bound

    async def _report(self) -> None:
        self.board.finish_pass(AGENT, 1, self.world.clock.now(), None)

    @property
    def passes_queue(self) -> bool:
        """Whether a pass of the queue is under way that may trim it."""
        return QUEUE in self._passes and self._controllers[QUEUE][0] is Role.LEADING

    def lead(self, refs: Collection[CrossClusterRef]) -> None:
        """Begin to lead some objects, and to follow the others."""
        self.leadership.lead(refs)
        roles: dict[CrossClusterRef, Role] = {}
        for ref in TABLES:
            role = roles[ref] = Role.LEADING if ref in refs else Role.FOLLOWING
            if ref in self._controllers and self._controllers[ref][0] is role:
                continue
            if ref in self._passes:
                self._passes.pop(ref).cancel()
            make: Any = QueueController if ref == QUEUE else ConsumerController
            self._controllers[ref] = role, make(ref, role, self._context, self._origins)
        self.board.put_assignment(Assignment({QUEUE: roles[QUEUE]}, {ref: roles[ref] for ref in CONSUMERS}))

    async def _pass(self, ref: CrossClusterRef) -> None:
        """A pass of an object, by itself so that it can be cancelled."""
        if ref not in self._controllers or ref in self._passes:
            return
        controller = self._controllers[ref][1]
        task = self._passes[ref] = asyncio.get_running_loop().create_task(controller.do_pass(1))
        error: Exception | None = None
        try:
            await task
        except asyncio.CancelledError:
            if not self.is_alive:
                raise
        except Exception as caught:  # noqa: BLE001 - as pass loops do
            error = caught
        finally:
            if self._passes.get(ref) is task:
                del self._passes[ref]
        if self._controllers[ref][1] is controller:
            controller.pass_finished(1, 0.0, error)

    def cancel_passes(self) -> None:
        """As it happens to passes that take too long."""
        for task in list(self._passes.values()):
            task.cancel()

    def _every(self, period: float, act: Callable[[], Awaitable[None]]) -> None:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(period * self.world.dice.uniform(0.5, 1.1))  # the period of a pass
                await act()

        self.keep(asyncio.get_running_loop().create_task(repeat()))

    def keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)

    def die(self) -> None:
        self.is_alive = False
        for task in (*self._tasks, *self._passes.values()):
            task.cancel()

    async def ask(self) -> None:
        """Each request: the dead send none."""
        if not self.is_alive:
            raise asyncio.CancelledError
        await self.world.delay()
        if not self.is_alive:
            raise asyncio.CancelledError


class Rows(FakeCluster):
    """`ports.Cluster` as one agent sees it."""

    def __init__(self, agent: Agent, name: str) -> None:
        super().__init__(
            name,
            queues={QUEUE.path: FakeQueue(["mounted"] * PARTITIONS, {})},
            attributes={QUEUE.path: QUEUE_ATTRIBUTES, **{ref.path: CONSUMER_ATTRIBUTES for ref in CONSUMERS}},
        )
        self.agent = agent
        self.world = agent.world

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]:
        found = dict(await super().get_attributes(path, names))
        if "id" in found:
            found["id"] = self.world.object_id
        if "tablets" in found:
            found["tablets"] = [{**one, "tablet_id": self._tablet_id(one["index"])} for one in found["tablets"]]
        return found

    def _tablet_id(self, index: int) -> str:
        return f"{self.world.object_id}-{self.world.reshards}-{index}"

    def _look(self) -> None:
        states, revision = self.world.tablet_states, self.world.reshards
        self.queues[QUEUE.path] = FakeQueue(states, {}, self.world.object_id, revision)

    async def poll(self, watch: Watch) -> Poll:
        await self.agent.ask()
        self._look()
        return await super().poll(watch)

    async def get_table(self, path: str) -> TableDescription:
        await self.agent.ask()
        self._look()
        table = await super().get_table(path)
        tablets = [replace(one, tablet_id=self._tablet_id(one.index)) for one in table.tablets]
        return replace(table, tablets=tablets, created_at=self.world.created_at)

    async def get_tablet_infos(
        self, path: str, partition_indexes: Sequence[int], object_id: str | None = None
    ) -> Mapping[int, TabletInfo]:
        await self.agent.ask()
        if object_id not in (None, self.world.object_id):
            raise ObjectNotFound(f"No such object {object_id}", 500)
        partitions = self.world.partitions
        self.world.check_mounted(max(partition_indexes, default=0))
        found = {index: TabletInfo(partitions[index].end, partitions[index].start, 0) for index in partition_indexes}
        await self.agent.ask()
        return found

    async def read_consumer_offsets(
        self,
        consumer_path: str,
        partition_counts: Mapping[CrossClusterRef, int],
        *,
        with_meta: bool,
        name: str = "",
    ) -> Mapping[CrossClusterRef, Mapping[int, ConsumerOffset]]:
        await self.agent.ask()
        ref = CrossClusterRef(self.name, consumer_path)
        if self.world.happens(self.world.perils.unreadable):
            raise ClusterUnavailable("no answer", 105)
        readers = self.world.readers(ref)[: max(partition_counts.values())]
        found = {
            index: ConsumerOffset(index, one.offset, int(START.timestamp() + one.written_at) << 30)
            for index, one in enumerate(readers)
            if one.has_begun
        }
        await self.agent.ask()
        return dict.fromkeys(partition_counts, found)

    async def read_next_row_indexes(
        self, consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        await self.agent.ask()
        ref = CrossClusterRef(self.name, consumer_path)
        if ref != VITAL and self.world.happens(self.world.perils.unreadable):
            raise ClusterUnavailable("no answer", 105)
        if ref == PARTLY and self.world.happens(self.world.perils.slow):
            await asyncio.sleep(3)  # virtual time, longer than a trim waits for it
        readers = self.world.readers(ref)[:partition_count]
        for index, one in enumerate(readers):
            self.agent.seen[ref, index] = replace(one)
        found = {index: one.offset for index, one in enumerate(readers) if one.has_begun}
        await self.agent.ask()
        return found

    async def trim_rows(self, object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
        world = self.world
        await self.agent.ask()
        permit.check()
        if object_id != world.object_id:
            raise ObjectNotFound(f"No such object {object_id}", 500)
        world.check_mounted(partition_index)
        is_lost = world.happens(world.perils.lost_answer)
        if not (is_lost and world.dice.random() < 0.5):
            seen = {ref: one for (ref, index), one in self.agent.seen.items() if index == partition_index}
            world.partitions[partition_index].trim(trimmed_row_count, seen)
        await self.agent.ask()
        if is_lost:
            raise OutcomeUnknown("no answer", 105)


class Journal:
    """`ports.TrimJournalStore` and `ports.TrimJournalReader` as one agent sees them."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.world = agent.world

    async def write(self, records: Collection[TrimRecord]) -> None:
        await self.agent.ask()
        is_lost = self.world.happens(self.world.perils.lost_answer)
        if not (is_lost and self.world.dice.random() < 0.5):
            self.world.journal |= {_key(one): one for one in records}
        await self.agent.ask()
        if is_lost:
            raise ClusterUnavailable("no answer", 105)

    async def remove(self, records: Collection[TrimRecord]) -> None:
        await self.agent.ask()
        for one in records:
            self.world.journal.pop(_key(one), None)

    async def read(self, wanted: Mapping[CrossClusterRef, JournalSpan]) -> Sequence[TrimRecord]:
        await self.agent.ask()
        found = [
            one
            for one in self.world.journal.values()
            if one.queue in wanted
            and one.instant >= wanted[one.queue].since
            and one.partition_index in wanted[one.queue].partitions
        ]
        await self.agent.ask()
        return found


def _key(record: TrimRecord) -> tuple[Any, ...]:
    return record.queue, record.instant, record.partition_index, record.agent


class Ledgers:
    """`ports.LedgerStore` as one agent sees it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.world = agent.world

    async def find(self, pair: Pair) -> QueueState | None:
        await self.agent.ask()
        rows = [(index, state) for (of, index), state in self.world.ledger.items() if of == pair]
        await self.agent.ask()
        restored = restore(pair, rows, self.world.clock.now().timestamp())
        assert not restored.errors
        return restored.state

    async def write(self, rows: Collection[LedgerRow]) -> None:
        await self.agent.ask()
        is_lost = self.world.happens(self.world.perils.lost_answer)
        if not (is_lost and self.world.dice.random() < 0.5):
            self.world.ledger |= {(row.pair, row.partition_index): row.state for row in rows}
        await self.agent.ask()
        if is_lost:
            raise ClusterUnavailable("no answer", 105)


class Leads:
    """`ports.LeadershipGuard` that waits for the lease of whoever led before."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._since: dict[CrossClusterRef, float] = {}

    def lead(self, refs: Collection[CrossClusterRef]) -> None:
        now = asyncio.get_running_loop().time()
        self._since = {ref: self._since.get(ref, now) for ref in refs}

    def find_hold(self, refs: Collection[CrossClusterRef]) -> Hold | None:
        now = asyncio.get_running_loop().time()
        for ref in refs:
            if ref.table not in self._since:
                return Hold("another agent leads it")
            rest = self._since[ref.table] + self._agent.world.perils.lease - now
            if rest > 0:
                return Hold("the former leader may still act", rest)
        return None

    def find_term(self, refs: Collection[CrossClusterRef]) -> Term:
        now = asyncio.get_running_loop().time()
        return Term(max(self._since.get(ref.table, now) for ref in refs), now)

    def permit(self, refs: Collection[CrossClusterRef]) -> Permit:
        return _Permit(self, refs)

    @contextmanager
    def acting(self, refs: Collection[CrossClusterRef]) -> Iterator[Permit]:
        yield self.permit(refs)


@dataclass(frozen=True)
class _Permit:
    leads: Leads
    refs: Collection[CrossClusterRef]
    seconds: float = 60.0

    def check(self) -> None:
        if self.leads.find_hold(self.refs) is not None:
            raise ActionRefused("held")


class _Deaf:
    """Any observer."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None
