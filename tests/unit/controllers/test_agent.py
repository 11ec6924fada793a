"""Passes over objects and tables, driven by hand against fakes of the ports."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queue_agent.config.passes import ControllerConfig, CypressSynchronizerConfig
from queue_agent.controllers.agent import Agent, Fleets
from queue_agent.controllers.board import AGENT, Board
from queue_agent.controllers.consumer_controller import ConsumerController
from queue_agent.controllers.context import ControllerContext
from queue_agent.controllers.discovery import Synchronizer
from queue_agent.controllers.leadership import Leadership
from queue_agent.controllers.orchid_tree import OrchidTree, TreeFacts
from queue_agent.controllers.origins import Origins, Process
from queue_agent.controllers.queue_controller import QueueController
from queue_agent.core.observed import (
    ColumnDescription,
    ConsumerOffset,
    Glance,
    ObjectRevisions,
    TableDescription,
    TableFacts,
    TabletDescription,
    TabletInfo,
    Watch,
)
from queue_agent.core.placement import place
from queue_agent.core.reconcile import Assignment
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import (
    ConsumerNameRow,
    ConsumerRow,
    HostVersion,
    MappingRow,
    QueueRow,
    Registration,
    StateRows,
)
from queue_agent.core.snapshots import Role
from queue_agent.core.trim_ages import RowFound
from queue_agent.errors import ClusterError, ClusterUnavailable, ObjectNotFound
from queue_agent.ports.cluster import Permit
from queue_agent.ports.passes import PassScope
from queue_agent.wire import yson
from queue_agent.wire.error import YtError
from tests.unit.controllers.still_rounds import still_fleet, still_rounds

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
    """Stands still until moved."""

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
        return {name: value for name, value in self.attributes[path].items() if name in names}

    async def glance(self, watch: Watch) -> Glance:
        self._ask()
        if watch.path not in self.queues:
            return Glance(TableFacts("1-2-3-4", 1, {"mounted": 1}), None)
        states = self.queues[watch.path].states
        known = range(watch.tablet_count)
        infos = await self.get_tablet_infos(watch.path, known) if set(states) == {"mounted"} else None
        return Glance(TableFacts("1-2-3-4", 1, Counter(states)), infos)

    async def glance_all(self, watches: Sequence[Watch]) -> Sequence[Glance | ClusterError]:
        return [await self.glance(watch) for watch in watches]

    async def get_table(self, path: str) -> TableDescription:
        self._ask()
        return TableDescription(
            [ColumnDescription("data", "string"), ColumnDescription("$timestamp", "uint64")],
            [
                TabletDescription(index, f"{path}-{index}", state, "cell", "node-1:9022")
                for index, state in enumerate(self.queues[path].states)
            ],
        )

    async def get_tablet_infos(self, path: str, partition_indexes: Sequence[int]) -> Mapping[int, TabletInfo]:
        self._ask()
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

    async def trim_rows(
        self, object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit | None = None
    ) -> None:
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
        )
        self.context = ControllerContext(
            self.board,
            self.clusters,
            self.clock,
            self.observer,
            ControllerConfig(enable_automatic_trimming=trimming),
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

    def consumer_controller(self) -> ConsumerController:
        return ConsumerController(CONSUMER, Role.LEADING, self.context, self.origins)

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

    def standing(self) -> Mapping[str, Any]:
        status = self.board.consumer_status(CONSUMER)
        assert status is not None
        standing: Mapping[str, Any] = status["queues"][str(QUEUE)]
        return standing


@pytest.fixture
async def world() -> World:
    world = World()
    await world.synchronize()
    return world


async def test_read_rows_are_trimmed_and_all_is_published(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await queue.do_pass(0)
    await consumer.do_pass(0)
    await queue.do_pass(1)
    assert world.pythia.trims == [("1-2-3-4", 0, 42)]
    assert world.trim_alert() is None
    assert world.standing()["partition_count"] == 1
    partitions = await world.tree.get(["queue_agent", "consumers", "hume://tmp/c", "partitions", str(QUEUE), "0"])
    assert (partitions["next_row_index"], partitions["unread_row_count"]) == (42, 58)


async def test_what_is_decided_follows_what_has_changed(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    for index in range(4):
        await queue.do_pass(index)
        await consumer.do_pass(index)
    world.pythia.queues[QUEUE.path] = FakeQueue(["mounted"], {0: (42, 100)})
    for index in range(3):
        await queue.do_pass(index)
        await consumer.do_pass(index)
    world.pythia.trims.clear()
    await queue.do_pass(0)
    assert world.pythia.trims == []
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 50}
    await consumer.do_pass(0)
    await queue.do_pass(0)
    assert world.pythia.trims == [("1-2-3-4", 0, 50)]
    snapshot = world.board.find_queue(QUEUE)
    assert snapshot is not None
    assert snapshot.trims is not None
    assert snapshot.trims[0].constraint.row_index == 50


async def test_without_the_switch_nothing_is_ever_trimmed() -> None:
    world = World(trimming=False)
    await world.synchronize()
    queue, consumer = world.queue_controller(), world.consumer_controller()
    for index in range(3):
        await queue.do_pass(index)
        await consumer.do_pass(index)
    assert world.pythia.trims == []
    assert world.trim_alert() is None


async def test_a_following_controller_does_not_trim(world: World) -> None:
    queue, consumer = world.queue_controller(Role.FOLLOWING), world.consumer_controller()
    for index in range(2):
        await queue.do_pass(index)
        await consumer.do_pass(index)
    assert world.pythia.trims == []


async def test_nothing_is_trimmed_by_state_tables_nobody_could_read_for_long(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await queue.do_pass(0)
    world.clock.time += timedelta(seconds=61)
    await consumer.do_pass(0)
    await queue.do_pass(1)
    assert world.pythia.trims == []
    assert "state tables were read last" in str(world.trim_alert())
    world.board.finish_pass(AGENT, 1, world.clock.now(), None)
    await queue.do_pass(2)
    assert world.pythia.trims == [("1-2-3-4", 0, 42)]


async def test_nothing_is_trimmed_by_a_vital_consumer_that_was_not_looked_at_for_long(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await queue.do_pass(0)
    await consumer.do_pass(0)
    world.clock.time += timedelta(seconds=11)
    await queue.do_pass(1)
    assert world.pythia.trims == []
    assert "was looked at last" in str(world.trim_alert())
    await consumer.do_pass(1)
    await queue.do_pass(2)
    assert world.pythia.trims == [("1-2-3-4", 0, 42)]


async def test_a_refused_trim_is_an_alert_until_it_succeeds(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await queue.do_pass(0)
    await consumer.do_pass(0)
    trim_rows = world.pythia.trim_rows

    async def refuse(
        object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit | None = None
    ) -> None:
        raise ClusterError("Cannot trim", 1)

    world.pythia.trim_rows = refuse  # type: ignore[method-assign] # one request of the fake fails
    await queue.do_pass(1)
    alert = world.trim_alert()
    assert alert is not None
    assert alert["code"] == 3036
    world.pythia.trim_rows = trim_rows  # type: ignore[method-assign] # and heals
    await queue.do_pass(2)
    assert world.trim_alert() is None


async def test_an_unmounted_queue_is_missing_for_its_consumer_and_raises_no_alert(world: World) -> None:
    world.pythia.queues[QUEUE.path] = FakeQueue(["unmounted"], {})
    queue, consumer = world.queue_controller(), world.consumer_controller()
    for index in range(2):
        await queue.do_pass(index)
        await consumer.do_pass(index)
    error = world.standing()["error"]
    assert (error["code"], error["message"]) == (1, 'Queue "pythia://tmp/q" snapshot is missing')
    await queue.do_pass(2)
    assert world.trim_alert() is None
    world.pythia.queues[QUEUE.path] = FakeQueue(["mounted"], {0: (0, 100)})
    await queue.do_pass(3)
    assert world.trim_alert() is None


async def test_a_cluster_that_fails_is_the_error_of_its_objects_until_it_answers(world: World) -> None:
    queue = world.queue_controller()
    assert world.queue_error() == "Queue is not processed yet"
    world.pythia.broken = ClusterUnavailable("pythia does not answer", 105)
    await queue.do_pass(0)
    assert world.queue_error() == "pythia does not answer"
    world.pythia.broken = None
    await queue.do_pass(1)
    snapshot = world.board.find_queue(QUEUE)
    assert snapshot is not None
    assert (snapshot.error, snapshot.pass_index) == (None, 2)


async def test_a_queue_on_an_unknown_cluster_says_so(world: World) -> None:
    del world.clusters["pythia"]
    await world.queue_controller().do_pass(0)
    assert world.queue_error() == 'Cluster "pythia" is not known to this queue agent'


async def test_a_pass_that_crashed_is_published_as_an_error(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await queue.do_pass(0)
    queue.pass_finished(0, 0.1, None)
    world.pythia.broken = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError) as crash:
        await queue.do_pass(1)
    queue.pass_finished(1, 0.1, crash.value)
    assert world.queue_error() == "Pass failed: ZeroDivisionError()"
    consumer.pass_finished(0, 60.0, TimeoutError())
    status = world.board.consumer_status(CONSUMER)
    assert status is not None
    assert status["error"]["message"] == "Pass did not end in time"
    assert world.observer.passes[-1] == ("consumer_controller", TimeoutError)


async def test_a_ban_stops_looking(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    banned = {"attribute_revision": 9, "queue_agent_banned": True}
    world.pythia.attributes[QUEUE.path] = {**QUEUE_ATTRIBUTES, **banned}
    world.pythia.revisions = ObjectRevisions({QUEUE.path: 9}, {})
    await world.synchronize()
    await queue.do_pass(0)
    await consumer.do_pass(0)
    assert world.queue_error().startswith("Queue is banned")
    assert world.standing()["error"]["message"].startswith("Queue is banned")


async def test_the_synchronizer_writes_what_is_new_and_drops_what_is_gone() -> None:
    world = World()
    await world.synchronizer.do_pass(0)
    assert world.store.queues[QUEUE].object_id == "1-2-3-4"
    assert world.store.consumers[CONSUMER].row_revision == 1
    assert world.written.is_set()
    world.written.clear()
    await world.synchronizer.do_pass(1)
    assert not world.written.is_set()
    world.pythia.revisions = ObjectRevisions({}, {})
    await world.synchronizer.do_pass(2)
    assert world.store.queues == {}
    assert world.written.is_set()


async def test_a_cluster_without_a_usable_list_is_an_alert_and_the_others_are_served() -> None:
    world = World()
    world.pythia.broken = ClusterUnavailable("pythia does not answer", 105)
    await world.synchronizer.do_pass(0)
    assert set(world.store.consumers) == {CONSUMER}
    alert = world.board.alerts()["cypress_synchronizer_unable_to_fetch_object_revisions"]
    assert (alert["code"], alert["inner_errors"][0]["attributes"]["cluster"]) == (3000, "pythia")
    world.pythia.broken = None
    world.pythia.revisions = ObjectRevisions({"//x": 1}, {"//x": 1})
    await world.synchronizer.do_pass(1)
    assert "must not intersect" in str(world.board.alerts())
    world.pythia.revisions = ObjectRevisions({}, {})
    await world.synchronizer.do_pass(2)
    assert world.board.alerts() == {}


async def test_an_object_that_can_not_be_fetched_is_an_error_in_its_row_and_tried_again() -> None:
    world = World()
    del world.pythia.attributes[QUEUE.path]
    await world.synchronizer.do_pass(0)
    await world.synchronizer.do_pass(1)
    row = world.store.queues[QUEUE]
    assert (row.row_revision, row.revision) == (2, None)
    assert row.synchronization_error is not None
    assert row.synchronization_error["code"] == 500


async def test_a_synchronizer_pass_that_fails_is_an_alert_until_the_next_good_one() -> None:
    world = World()
    error = ClusterUnavailable("no state")
    world.synchronizer.pass_finished(0, 0.1, error)
    assert world.board.alerts()["cypress_synchronizer_pass_failed"]["code"] == 3002
    assert world.board.synchronizer_pass().last_success_instant is None
    await world.synchronizer.do_pass(1)
    world.synchronizer.pass_finished(1, 0.1, None)
    assert world.board.alerts() == {}
    assert world.board.synchronizer_pass().last_success_instant == START


async def test_the_agent_keeps_a_controller_for_every_object_of_its_stage() -> None:
    world = World()
    await world.synchronizer.do_pass(0)
    sick = CrossClusterRef("pythia", "//tmp/sick")
    world.store.queues[sick] = QueueRow(sick, queue_agent_stage="production")
    async with still_rounds() as rounds:
        queues, consumers = still_fleet(rounds), still_fleet(rounds)
        fleets = Fleets(queues, consumers, still_fleet(rounds))
        agent = Agent(
            "production", world.store, world.board, fleets, leadership(), world.clock, world.origins, world.observer
        )
        await agent.do_pass(0)
        assert queues.running == {QUEUE: Role.LEADING}
        assert consumers.running == {CONSUMER: Role.LEADING}
        status = world.board.queue_status(sick)
        assert status is not None
        assert status["error"]["message"] == "Queue is not in-sync yet"
        assert world.board.registrations_of_consumer(CONSUMER) == world.store.registrations

        world.store.queues.clear()
        world.clock.time += timedelta(seconds=1)
        await agent.do_pass(1)
        agent.pass_finished(1, 0.1, None)
        assert queues.running == {}
        assert world.board.queue_status(sick) is None
        assert world.board.agent_pass().last_success_instant == START + timedelta(seconds=1)

        world.store.broken = ClusterUnavailable("no state", 105)
        with pytest.raises(ClusterUnavailable) as error:
            await agent.do_pass(2)
        agent.pass_finished(2, 0.1, error.value)
        assert consumers.running == {CONSUMER: Role.LEADING}
        alert = world.board.alerts()["queue_agent_pass_failed"]
        assert alert["inner_errors"][0]["message"] == "Error while reading dynamic state"
        await consumers.match({})


async def test_the_tree_shows_passes_objects_and_alerts(world: World) -> None:
    await world.queue_controller().do_pass(0)
    tree = world.tree
    assert await tree.list([]) == [
        "service",
        "alerts",
        "queue_agent_sharding_manager",
        "cypress_synchronizer",
        "queue_agent",
    ]
    assert await tree.get(["cypress_synchronizer", "active"]) is True
    assert await tree.list(["queue_agent", "queues"]) == [str(QUEUE)]
    assert await tree.get(["queue_agent", "queues"]) == {str(QUEUE): None}
    node = await tree.get(["queue_agent", "queues", str(QUEUE)])
    assert set(node) == {
        "leading",
        "pass_index",
        "pass_instant",
        "row",
        "replicated_table_mapping_row",
        "status",
        "partitions",
        "exporters",
    }
    assert await tree.get(["queue_agent", "owned_queues", str(QUEUE), "status", "partition_count"]) == 1
    assert set(await tree.get(["queue_agent", "owned_queues"])) == {str(QUEUE)}
    info = await tree.get(["queue_agent", "controller_info", "per_cluster", "pythia", "inactive_objects"])
    assert info["leading_queues"] == [{"path": str(QUEUE), "pass_instant": "2025-01-23T13:42:21.839124Z"}]
    assert await tree.get(["alerts"]) == {}


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        (["queue_agent", "queues", "pythia://tmp/other"], 3105, "pythia://tmp/other is not mapped to any queue agent"),
        (["queue_agent", "consumers", str(CONSUMER), "status"], 1, "Object hume://tmp/c is missing"),
        (["queue_agent", "queues", "nonsense"], 500, "Error parsing object reference"),
        (["queue_agent", "producers"], 500, 'has no child with key "producers"'),
    ],
)
async def test_what_is_not_in_the_tree_is_an_error(world: World, path: list[str], code: int, words: str) -> None:
    with pytest.raises(YtError) as error:
        await world.tree.get(path)
    assert (error.value.code, words in error.value.message) == (code, True)
