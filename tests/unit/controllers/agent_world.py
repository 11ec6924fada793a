"""An agent's parts and the clusters they look at, in memory."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from queue_agent.config.passes import ControllerConfig, CypressSynchronizerConfig
from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.state.discovery import Synchronizer
from queue_agent.controllers.status.board import AGENT, Board
from queue_agent.controllers.status.orchid_tree import OrchidTree, TreeFacts
from queue_agent.controllers.trimming.fresh_registrations import FreshRegistrations
from queue_agent.core.group.placement import place
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import (
    ConsumerNameRow,
    ConsumerRow,
    HostVersion,
    MappingRow,
    QueueRow,
    Registration,
    StateRows,
)
from queue_agent.core.trimming.ages import RowFound
from queue_agent.core.values.observed import (
    ColumnDescription,
    ConsumerOffset,
    ObjectRevisions,
    Poll,
    TableDescription,
    TableFacts,
    TabletDescription,
    TabletInfo,
    Watch,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ObjectNotFound
from queue_agent.ports.cluster import Permit
from queue_agent.ports.passes import PassScope
from tests.unguarded import always_the_keeper, unguarded_context
from yt_wire import yson

ADDRESS = "agent-1:9030"
START = datetime(2025, 1, 23, 13, 42, 21, 839124, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
SCHEMA = yson.loads(
    b"<strict=%true;unique_keys=%true>["
    b"{name=queue_cluster;type=string;sort_order=ascending;required=%true};"
    b"{name=queue_path;type=string;sort_order=ascending;required=%true};"
    b"{name=partition_index;type=uint64;sort_order=ascending;required=%true};"
    b"{name=offset;type=uint64;required=%true};{name=meta;type=any;required=%false}]"
)
QUEUE_ATTRIBUTES = {
    "attribute_revision": 5,
    "type": "table",
    "dynamic": True,
    "sorted": False,
    "queue_agent_stage": "production",
    "id": "1-2-3-4",
    "auto_trim_config": {"enable": True},
}
CONSUMER_ATTRIBUTES = {
    "attribute_revision": 6,
    "type": "table",
    "treat_as_queue_consumer": True,
    "schema": SCHEMA,
    "queue_agent_stage": "production",
}


@dataclass
class FakeClock:
    """Does not move until it is set."""

    time: datetime = START

    def now(self) -> datetime:
        return self.time


@dataclass
class FakeObserver:
    """Remembers the passes it heard of."""

    passes: list[tuple[str, type[Exception] | None]] = field(default_factory=list)

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        self.passes.append((kind, None if error is None else type(error)))


@dataclass
class FakeQueue:
    """An ordered table: tablet states, and row ranges by partition index."""

    states: list[str]
    bounds: dict[int, tuple[int, int]]
    object_id: str = "1-2-3-4"
    revision: int = 1


@dataclass
class FakeCluster:
    """`ports.Cluster` over dictionaries; `broken` is what every request ends with, if set."""

    name: str
    queues: dict[str, FakeQueue] = field(default_factory=dict)
    attributes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    revisions: ObjectRevisions = field(default_factory=lambda: ObjectRevisions({}, {}))
    offsets: dict[tuple[str, CrossClusterRef], dict[int, int]] = field(default_factory=dict)
    names: dict[str, Collection[str]] = field(default_factory=dict)
    trims: list[tuple[str, int, int]] = field(default_factory=list)
    broken: Exception | None = None

    def _ask(self) -> None:
        if self.broken is not None:
            raise self.broken

    async def get_object_revisions(self) -> ObjectRevisions:
        self._ask()
        return self.revisions

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]:
        self._ask()
        if path not in self.attributes:
            raise ObjectNotFound(f"Node {path} has no child", 500)
        states = self.queues[path].states if path in self.queues else []
        tablets = [{"index": index, "tablet_id": f"{path}-{index}"} for index, _ in enumerate(states)]
        found = {"tablets": tablets, **self.attributes[path]}
        return {name: value for name, value in found.items() if name in names}

    async def poll(self, watch: Watch) -> Poll:
        self._ask()
        if watch.path not in self.queues:
            return Poll(TableFacts("1-2-3-4", 1, {"mounted": 1}), None)
        queue = self.queues[watch.path]
        known = range(watch.tablet_count)
        is_known = len(known) <= len(queue.states) and watch.object_id in (None, queue.object_id)
        is_whole = is_known and set(queue.states) == {"mounted"}
        infos = None
        if is_whole:
            with suppress(ObjectNotFound):  # it may have been created again meanwhile
                infos = await self.get_tablet_infos(watch.path, known, watch.object_id)
        return Poll(TableFacts(queue.object_id, queue.revision, Counter(queue.states)), infos)

    async def poll_all(self, watches: Sequence[Watch]) -> Sequence[Poll | ClusterError]:
        return [await self.poll(watch) for watch in watches]

    async def get_table(self, path: str) -> TableDescription:
        self._ask()
        return TableDescription(
            [ColumnDescription("data", "string"), ColumnDescription("$timestamp", "uint64")],
            [
                TabletDescription(index, f"{path}-{index}", state, "cell", "node-1:9022")
                for index, state in enumerate(self.queues[path].states)
            ],
            object_id=self.queues[path].object_id,
        )

    async def get_tablet_infos(
        self, path: str, partition_indexes: Sequence[int], object_id: str | None = None
    ) -> Mapping[int, TabletInfo]:
        self._ask()
        if object_id not in (None, self.queues[path].object_id):
            raise ObjectNotFound(f"No such object {object_id}", 500)
        bounds = self.queues[path].bounds
        return {index: TabletInfo(bounds[index][1], bounds[index][0], 0) for index in partition_indexes}

    async def select_row_values(
        self, path: str, columns: Sequence[str], rows: Collection[tuple[int, int]]
    ) -> Mapping[str, Mapping[tuple[int, int], int]]:
        self._ask()
        return {column: dict.fromkeys(rows, 1) for column in columns}

    async def read_consumer_offsets(
        self,
        consumer_path: str,
        partition_counts: Mapping[CrossClusterRef, int],
        *,
        with_meta: bool,
        name: str = "",
    ) -> Mapping[CrossClusterRef, Mapping[int, ConsumerOffset]]:
        self._ask()
        found = {queue: self.offsets.get((consumer_path, queue), {}) for queue in partition_counts}
        return {
            queue: {index: ConsumerOffset(index, offset, 0) for index, offset in offsets.items()}
            for queue, offsets in found.items()
        }

    async def read_next_row_indexes(
        self, consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        self._ask()
        return self.offsets.get((consumer_path, queue), {})

    async def read_consumer_names(self, path: str) -> Collection[str]:
        self._ask()
        return self.names.get(path, ())

    async def generate_timestamp(self) -> int:
        self._ask()
        return 1 << 60

    async def find_young_row(self, object_id: str, partition_index: int, rows: range, limit: int) -> RowFound | None:
        self._ask()
        return RowFound(rows[-1], 1)

    async def find_other_row(self, object_id: str, partition_index: int, rows: range, timestamp: int) -> int | None:
        self._ask()
        return None

    async def trim_rows(self, object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
        self._ask()
        self.trims.append((object_id, partition_index, trimmed_row_count))


@dataclass
class FakeStore:
    """`ports.StateStore` over dictionaries."""

    queues: dict[CrossClusterRef, QueueRow] = field(default_factory=dict)
    consumers: dict[CrossClusterRef, ConsumerRow] = field(default_factory=dict)
    registrations: list[Registration] = field(default_factory=list)
    mappings: dict[CrossClusterRef, MappingRow] = field(default_factory=dict)
    names: dict[CrossClusterRef, ConsumerNameRow] = field(default_factory=dict)
    broken: ClusterError | None = None

    async def read(self) -> StateRows:
        if self.broken is not None:
            raise self.broken
        return StateRows(
            list(self.queues.values()),
            list(self.consumers.values()),
            list(self.registrations),
            list(self.mappings.values()),
            list(self.names.values()),
            {ref.table: ADDRESS for ref in (*self.queues, *self.consumers)},
        )

    async def read_registrations(self) -> Sequence[Registration]:
        return (await self.read()).registrations

    async def read_hosts_stamp(self) -> int:
        if self.broken is not None:
            raise self.broken
        return 1

    async def read_host_versions(self, tables: Collection[CrossClusterRef]) -> Mapping[CrossClusterRef, HostVersion]:
        return {table: HostVersion(ADDRESS, 1) for table in tables}

    async def write_objects(
        self, queues: Collection[QueueRow], consumers: Collection[ConsumerRow], mappings: Collection[MappingRow] = ()
    ) -> None:
        self.queues |= {row.queue: row for row in queues}
        self.consumers |= {row.consumer: row for row in consumers}
        self.mappings |= {row.table: row for row in mappings}

    async def delete_objects(
        self,
        queues: Collection[CrossClusterRef],
        consumers: Collection[CrossClusterRef],
        mappings: Collection[CrossClusterRef] = (),
    ) -> None:
        for rows, gone in ((self.queues, queues), (self.consumers, consumers), (self.mappings, mappings)):
            for ref in gone:
                rows.pop(ref, None)

    async def write_consumer_names(self, names: Collection[ConsumerNameRow]) -> None:
        self.names |= {row.consumer: row for row in names}

    async def delete_consumer_names(self, names: Collection[CrossClusterRef]) -> None:
        for name in names:
            self.names.pop(name, None)


def leadership() -> Leadership:
    """Of an agent that the mapping knows."""
    return Leadership(ADDRESS, timedelta(seconds=15))


async def look(queue: QueueController, consumer: ConsumerController) -> None:
    """Passes of both until the consumer is judged: by offsets that were read before the queue was."""
    for pass_index in range(2):
        await queue.do_pass(pass_index)
        await consumer.do_pass(pass_index)


class World:
    """An agent's parts, and the clusters they look at: a queue on pythia, a vital consumer of it on hume."""

    def __init__(self, trimming: bool = True) -> None:
        self.clock = FakeClock()
        self.observer = FakeObserver()
        self.pythia = FakeCluster(
            "pythia",
            queues={QUEUE.path: FakeQueue(["mounted"], {0: (0, 100)})},
            attributes={QUEUE.path: QUEUE_ATTRIBUTES},
            revisions=ObjectRevisions({QUEUE.path: 5}, {}),
        )
        self.hume = FakeCluster(
            "hume",
            attributes={CONSUMER.path: CONSUMER_ATTRIBUTES},
            revisions=ObjectRevisions({}, {CONSUMER.path: 6}),
            offsets={(CONSUMER.path, QUEUE): {0: 42}},
        )
        self.clusters = {"pythia": self.pythia, "hume": self.hume}
        self.store = FakeStore(registrations=[Registration(QUEUE, CONSUMER, vital=True)])
        self.board = Board("agent-1", self.clock)
        self.written = asyncio.Event()
        self.origins = Origins(Process("agent-1", 481, 7), "Controller:0", random.Random(1))
        self.synchronizer = Synchronizer(
            self.clusters,
            CypressSynchronizerConfig(policy="watching"),
            self.store,
            self.board,
            self.written,
            self.clock,
            self.origins,
            self.observer,
            always_the_keeper,
        )
        self.context = unguarded_context(
            self.board,
            self.clusters,
            self.clock,
            self.observer,
            ControllerConfig(enable_automatic_trimming=trimming),
            registrations=FreshRegistrations(self.store),
        )
        self.tree = OrchidTree(self.board, TreeFacts("0.1", lambda: True, lambda: 10, lambda: True), self.clock)

    async def synchronize(self) -> None:
        await self.synchronizer.do_pass(0)
        rows = await self.store.read()
        self.board.put_registrations(rows.registrations)
        self.board.put_rows(rows)
        self.board.put_assignment(Assignment({QUEUE: Role.LEADING}, {CONSUMER: Role.LEADING}))
        self.board.put_placement(place(ADDRESS, rows, (), "production"))
        self.board.finish_pass(AGENT, 0, self.clock.now(), None)

    def queue_controller(self, role: Role = Role.LEADING) -> QueueController:
        return QueueController(QUEUE, role, self.context, self.origins)

    def consumer_controller(self, role: Role = Role.LEADING) -> ConsumerController:
        return ConsumerController(CONSUMER, role, self.context, self.origins)

    @cached_property
    def consumer(self) -> ConsumerController:
        """The same each time: it knows what it has judged."""
        return self.consumer_controller()

    async def look(self) -> None:
        """Passes in which nothing is trimmed, until the consumer is judged: by offsets read before the queue was."""
        await look(self.queue_controller(), self.consumer)

    def queue_error(self) -> str:
        snapshot = self.board.find_queue(QUEUE)
        assert snapshot is not None
        assert snapshot.error is not None
        return snapshot.error.message

    def trim_alert(self) -> Mapping[str, Any] | None:
        status = self.board.queue_status(QUEUE)
        assert status is not None
        alert: Mapping[str, Any] | None = status["alerts"].get("queue_agent_queue_controller_trim_failed")
        return alert

    def position(self) -> Mapping[str, Any]:
        status = self.board.consumer_status(CONSUMER)
        assert status is not None
        position: Mapping[str, Any] = status["queues"][str(QUEUE)]
        return position
