"""Passes that ask only where something has changed publish what passes that ask everything would have published."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from queue_agent.adapters.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.board import Board
from queue_agent.controllers.consumer_controller import ConsumerController
from queue_agent.controllers.context import ControllerContext
from queue_agent.controllers.origins import Origins, Process
from queue_agent.controllers.queue_controller import QueueController
from queue_agent.controllers.round_member import Controller, FirstAnswer
from queue_agent.core import status
from queue_agent.core.consumer_snapshots import (
    QueueRowAnswers,
    build_consumer_snapshot,
    build_sub_snapshot,
    find_view_of_queue,
    rows_to_read,
)
from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.observed import Glance, Watch
from queue_agent.core.queue_snapshots import (
    DATA_WEIGHT_COLUMN,
    TIMESTAMP_COLUMN,
    QueueObservation,
    banned_queue_snapshot,
    build_queue_snapshot,
    data_weight_rows,
    find_schema_error,
    readable_partition_indexes,
)
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow, QueueRow, Registration, StateRows
from queue_agent.core.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    QueueRowValues,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.errors import ClusterError
from queue_agent.local_cluster.clock import Clock as ClusterClock
from queue_agent.local_cluster.runner import LocalClusters
from queue_agent.local_cluster.sorted_resharding import Sharding
from queue_agent.local_cluster.tablets import ALL_TABLETS, TabletRange
from queue_agent.ports.passes import PassScope
from queue_agent.wire import yson
from queue_agent.wire.error import YtError

NAME: Final = "hume"
START: Final = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
QUEUES: Final = [CrossClusterRef(NAME, f"//tmp/q{index}") for index in range(3)]
CONSUMERS: Final = [CrossClusterRef(NAME, f"//tmp/c{index}") for index in range(2)]
STEPS: Final = 150
COLUMNS: Final = {
    "data": {"name": "data", "type": "string"},
    TIMESTAMP_COLUMN: {"name": TIMESTAMP_COLUMN, "type": "uint64"},
    DATA_WEIGHT_COLUMN: {"name": DATA_WEIGHT_COLUMN, "type": "int64"},
}
CONSUMER_SCHEMA: Final = yson.loads(
    b"<strict=%true;unique_keys=%true>["
    b"{name=queue_cluster;type=string;sort_order=ascending;required=%true};"
    b"{name=queue_path;type=string;sort_order=ascending;required=%true};"
    b"{name=partition_index;type=uint64;sort_order=ascending;required=%true};"
    b"{name=offset;type=uint64;required=%true};{name=meta;type=any;required=%false}]"
)


@dataclass
class FakeClock:
    """The agent's; stands still during a step."""

    time: datetime = START

    def now(self) -> datetime:
        return self.time


class SameNumbers(random.Random):
    """Makes the ids of all errors equal, so that whole errors can be compared."""

    def getrandbits(self, k: int, /) -> int:
        return 7


class Observer:
    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        assert error is None, error


class Requests:
    """Hears of requests to the cluster."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def request_finished(self, cluster: str, command: str, outcome: str, seconds: float) -> None:
        self.commands.append(command)


@dataclass
class World:
    """A cluster, and an agent's controllers for objects on it, driven by hand."""

    clusters: LocalClusters
    adapter: YtCluster
    requests: Requests
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.cluster = self.clusters.cluster(NAME)
        self.board = Board("agent-1", self.clock)
        self.origins = Origins(Process("agent-1", 1, 2), "Controller:0", SameNumbers())
        self.context = ControllerContext(self.board, {NAME: self.adapter}, self.clock, Observer(), ControllerConfig())
        self.queue_rows: dict[CrossClusterRef, QueueRow] = {}
        self.registrations: set[Registration] = set()
        for ref in QUEUES:
            self.create_queue(ref, 2, list(COLUMNS))
        for ref in CONSUMERS:
            self.cluster.cypress.create(
                ref.path, "table", {"dynamic": True, "treat_as_queue_consumer": True, "schema": CONSUMER_SCHEMA}
            )
            self.cluster.tablets.mount(ref.path)
        self.registrations = {Registration(queue, consumer, vital=True) for queue in QUEUES for consumer in CONSUMERS}
        self.put_rows()
        self.queues = {ref: QueueController(ref, Role.LEADING, self.context, self.origins) for ref in QUEUES}
        self.consumers = {ref: ConsumerController(ref, Role.LEADING, self.context, self.origins) for ref in CONSUMERS}
        self.pass_index = 0
        self.quiet_passes = 0
        self.random = random.Random(0)
        self.full_queues: dict[CrossClusterRef, QueueSnapshot] = {}

    def create_queue(self, ref: CrossClusterRef, tablet_count: int, columns: list[str]) -> None:
        attributes = {"dynamic": True, "schema": [COLUMNS[name] for name in columns], "tablet_count": tablet_count}
        object_id = self.cluster.cypress.create(ref.path, "table", attributes)
        self.cluster.tablets.mount(ref.path)
        self.queue_rows[ref] = QueueRow(
            ref, row_revision=1, object_type="table", dynamic=True, sorted=False, object_id=object_id
        )

    def put_rows(self) -> None:
        consumers = [ConsumerRow(ref, 1, object_type="table", schema=CONSUMER_SCHEMA) for ref in CONSUMERS]
        self.board.put_registrations(sorted(self.registrations))
        self.board.put_rows(StateRows(list(self.queue_rows.values()), consumers, sorted(self.registrations)))

    def tablet_count(self, ref: CrossClusterRef) -> int:
        return int(self.cluster.cypress.get(f"{ref.path}/@tablet_count"))

    def bounds(self, ref: CrossClusterRef, partition: int) -> tuple[int, int]:
        [info] = self.cluster.tables.tablet_infos(ref.path, [partition])
        return info["trimmed_row_count"], info["total_row_count"]

    def write_offset(self, consumer: CrossClusterRef, queue: CrossClusterRef, partition: int, **values: Any) -> None:
        self.cluster.writer.insert_rows(consumer.path, [{**offset_key(queue, partition), **encoded(values)}])

    async def do_passes(self) -> None:
        """A pass of every object, change-driven and in full, and whether they are the same."""
        self.pass_index += 1
        glances = await self.look(self.queues)
        for queue in QUEUES:
            previous = forget_queue(self.board.all_queues[queue])
            await self.do_pass(self.queues[queue], glances.get(queue))
            full_queue = self.full_queues[queue] = await self.look_at_queue(previous)
            assert_same_queue(self.board.all_queues[queue], full_queue, self.clock.time)
        glances = await self.look(self.consumers)
        for consumer in CONSUMERS:
            before = forget_consumer(self.board.all_consumers[consumer])
            await self.do_pass(self.consumers[consumer], glances.get(consumer))
            full_consumer = await self.look_at_consumer(before)
            assert_same_consumer(self.board.all_consumers[consumer], full_consumer, self.clock.time)

    async def look(self, controllers: Mapping[CrossClusterRef, Controller]) -> Mapping[CrossClusterRef, FirstAnswer]:
        """What a round asks first, for some of the objects; the others have passes of their own."""
        watches = {
            ref: controller.find_watch() for ref, controller in controllers.items() if self.random.random() < 0.8
        }
        asked = {ref: watch for ref, watch in watches.items() if watch is not None}
        return dict(zip(asked, await self.adapter.glance_all([*asked.values()]), strict=True)) if asked else {}

    async def do_pass(self, controller: Controller, answer: FirstAnswer) -> None:
        if isinstance(answer, Glance) and controller.pass_quietly(self.pass_index, answer, self.clock.now()):
            self.quiet_passes += 1
        else:
            await controller.do_pass(self.pass_index, answer)

    async def look_at_queue(self, previous: QueueSnapshot) -> QueueSnapshot:
        """A whole pass from scratch: every question is asked."""
        now, origin = self.clock.now(), self.origins.make(self.clock.now())
        registrations = self.board.registrations_of_queue(previous.ref)
        row = self.board.find_queue_row(previous.ref)
        assert row is not None
        if row.queue_agent_banned:
            return banned_queue_snapshot(previous, row, now, origin)
        observation = await self.observe(row, previous, origin)
        return build_queue_snapshot(previous, row, registrations, now, now, origin, observation)

    async def observe(self, row: QueueRow, previous: QueueSnapshot, origin: Origin) -> QueueObservation:
        path = row.queue.path
        try:
            await self.adapter.glance(Watch(path))
            table = await self.adapter.get_table(path)
        except ClusterError as error:
            return QueueObservation(origin.cluster_error(error))
        schema_error = find_schema_error(table, origin)
        if schema_error is not None:
            return QueueObservation(schema_error)
        try:
            infos = await self.adapter.get_tablet_infos(path, readable_partition_indexes(table))
            wanted = data_weight_rows(previous, table, infos)
            values = await self.adapter.select_row_values(path, [DATA_WEIGHT_COLUMN], wanted)
        except ClusterError as error:
            return QueueObservation(table, origin.cluster_error(error))
        return QueueObservation(table, infos, values[DATA_WEIGHT_COLUMN])

    async def look_at_consumer(self, previous: ConsumerSnapshot) -> ConsumerSnapshot:
        """A whole pass from scratch, with the queues as seen from scratch."""
        now, origin = self.clock.now(), self.origins.make(self.clock.now())
        registrations = self.board.registrations_of_consumer(previous.ref)
        standings: dict[CrossClusterRef, SubSnapshot] = {}
        for queue in sorted({one.queue for one in registrations}):
            try:
                standings[queue] = await self.compare(previous, queue, origin)
            except ClusterError as error:
                standings[queue] = origin.cluster_error(error)
        return build_consumer_snapshot(previous, previous.row, registrations, now, standings)

    async def compare(self, previous: ConsumerSnapshot, queue: CrossClusterRef, origin: Origin) -> SubSnapshot:
        view = find_view_of_queue(queue, self.full_queues[queue], origin)
        if not isinstance(view, QueueView):
            return view
        old = None if previous.view is None else previous.view.queues.get(queue)
        await self.adapter.glance(Watch(previous.ref.path))
        partition_counts = {queue: len(view.partitions)}
        offsets = (await self.adapter.read_consumer_offsets(previous.ref.path, partition_counts, with_meta=True))[queue]
        rows = rows_to_read(old, view, offsets)
        found: dict[str, Mapping[tuple[int, int], int]] = {TIMESTAMP_COLUMN: {}, DATA_WEIGHT_COLUMN: {}}
        for column, wanted in ((TIMESTAMP_COLUMN, rows.timestamps), (DATA_WEIGHT_COLUMN, rows.data_weights)):
            if wanted:
                found |= await self.adapter.select_row_values(queue.path, [column], wanted)
        answers = QueueRowAnswers(found[TIMESTAMP_COLUMN], found[DATA_WEIGHT_COLUMN])
        return build_sub_snapshot(old, view, offsets, answers, self.clock.now())


def forget_queue(snapshot: QueueSnapshot) -> QueueSnapshot:
    """A previous snapshot of which only the counters are left."""
    counters = snapshot.counters
    if snapshot.view is not None:
        counters = {index: one.rolled(snapshot.view.seen_at) for index, one in counters.items()}
    return replace(snapshot, content=ErrorInfo("forgotten"), counters=counters)


def forget_consumer(snapshot: ConsumerSnapshot) -> ConsumerSnapshot:
    """A previous snapshot of which only the counters are left."""
    if snapshot.view is None:
        return snapshot
    return replace(
        snapshot, content=ConsumerView({ref: forget(standing) for ref, standing in snapshot.view.queues.items()})
    )


def forget(standing: SubSnapshot) -> SubSnapshot:
    if not isinstance(standing, ConsumerQueueView):
        return standing
    partitions = [
        replace(one, counters=standing.counters_of(one), queue_row_values=QueueRowValues("", -1))
        if isinstance(one, ConsumerPartition)
        else one
        for one in standing.partitions
    ]
    return ConsumerQueueView(partitions, standing.seen_at)


def assert_same_queue(cheap: QueueSnapshot, full: QueueSnapshot, now: datetime) -> None:
    later = now + timedelta(milliseconds=300)
    assert_same(status.queue_node(cheap, "agent-1", later), status.queue_node(full, "agent-1", later), str(cheap.ref))


def assert_same_consumer(cheap: ConsumerSnapshot, full: ConsumerSnapshot, now: datetime) -> None:
    later = now + timedelta(milliseconds=300)
    cheap_node, full_node = (status.consumer_node(one, "agent-1", later) for one in (cheap, full))
    assert_same(cheap_node, full_node, str(cheap.ref))


def assert_same(cheap: Any, full: Any, place: str) -> None:
    """Equal to the last key; rates may be rounded differently, for idle passes are put together."""
    if isinstance(cheap, Mapping) and isinstance(full, Mapping):
        assert cheap.keys() == full.keys(), place
        for key, value in cheap.items():
            assert_same(value, full[key], f"{place}/{key}")
    elif isinstance(cheap, (list, tuple)) and isinstance(full, (list, tuple)):
        assert len(cheap) == len(full), place
        for index, (left, right) in enumerate(zip(cheap, full, strict=True)):
            assert_same(left, right, f"{place}/{index}")
    elif isinstance(cheap, float):
        assert cheap == pytest.approx(full, rel=1e-9, abs=1e-12), place
    else:
        assert cheap == full, place


def offset_key(queue: CrossClusterRef, partition: int) -> dict[bytes, Any]:
    return {
        b"queue_cluster": queue.cluster.encode(),
        b"queue_path": queue.path.encode(),
        b"partition_index": yson.Uint64(partition),
    }


def encoded(values: Mapping[str, Any]) -> dict[bytes, Any]:
    return {name.encode(): value for name, value in values.items()}


class Steps:
    """What users and operators do, at random."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.done: list[str] = []

    def do_step(self) -> None:
        """Nothing, or one to three things; what a cluster refuses is nothing as well."""
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 3])):
            name, weight = zip(*self._actions().items(), strict=True)
            [action] = self.random.choices([*name], weights=[one for one, _ in weight])
            try:
                self._actions()[action][1]()
            except YtError as error:
                action += f" ({error.message[:40]})"
            self.done.append(action)
        self.done.append("pass")

    def _actions(self) -> Mapping[str, tuple[int, Callable[[], None]]]:
        return {
            "write": (12, self.write),
            "trim": (5, self.trim),
            "advance": (12, self.advance),
            "rewind": (3, self.rewind),
            "advance meta": (5, self.advance_meta),
            "delete offset": (2, self.delete_offset),
            "unmount": (2, self.unmount),
            "mount": (8, self.mount),
            "freeze": (2, self.freeze),
            "unfreeze": (3, self.unfreeze),
            "remount at once": (2, self.remount),
            "reshard": (2, self.reshard),
            "create anew": (2, self.create_anew),
            "remove": (1, self.remove),
            "unmount consumer": (1, self.unmount_consumer),
            "mount consumer": (9, self.mount_consumer),
            "register": (3, self.register),
            "unregister": (1, self.unregister),
            "ban, or not": (1, self.ban),
            "other row": (1, self.change_row),
            "clock": (1, self.turn_clock_back),
        }

    def queue(self) -> CrossClusterRef:
        return self.random.choice(QUEUES)

    def consumer(self) -> CrossClusterRef:
        return self.random.choice(CONSUMERS)

    def partition(self, queue: CrossClusterRef) -> int:
        return self.random.randrange(self.world.tablet_count(queue))

    def some_tablets(self, path: str) -> TabletRange:
        count = int(self.world.cluster.cypress.get(f"{path}/@tablet_count"))
        index = self.random.randrange(count)
        return self.random.choice([ALL_TABLETS, TabletRange(index, index)])

    def write(self) -> None:
        queue = self.queue()
        partition = self.partition(queue)
        rows = [{b"$tablet_index": partition, b"data": b"x" * self.random.randrange(20)}] * self.random.randrange(1, 6)
        self.world.cluster.writer.insert_rows(queue.path, rows)

    def trim(self) -> None:
        queue = self.queue()
        partition = self.partition(queue)
        lower, upper = self.world.bounds(queue, partition)
        self.world.cluster.tables.trim_rows(queue.path, partition, self.random.randint(lower, upper))

    def advance(self) -> None:
        queue = self.queue()
        partition = self.partition(queue)
        lower, upper = self.world.bounds(queue, partition)
        offset = self.random.randint(max(0, lower - 1), upper + 1)
        self.world.write_offset(self.consumer(), queue, partition, offset=yson.Uint64(offset))

    def rewind(self) -> None:
        queue = self.queue()
        self.world.write_offset(self.consumer(), queue, self.partition(queue), offset=yson.Uint64(0))

    def advance_meta(self) -> None:
        queue = self.queue()
        partition = self.partition(queue)
        _, upper = self.world.bounds(queue, partition)
        known: dict[str, Any] = {
            "cumulative_data_weight": self.random.randrange(1000),
            "offset_timestamp": yson.Uint64(int(START.timestamp()) + self.random.randrange(100) << 30),
        }
        meta = {name: value for name, value in known.items() if self.random.random() < 0.7}
        offset = yson.Uint64(self.random.randint(0, upper))
        self.world.write_offset(self.consumer(), queue, partition, offset=offset, meta=meta)

    def delete_offset(self) -> None:
        queue = self.queue()
        self.world.cluster.writer.delete_rows(self.consumer().path, [offset_key(queue, self.partition(queue))])

    def unmount(self) -> None:
        path = self.queue().path
        self.world.cluster.tablets.unmount(path, self.some_tablets(path))

    def mount(self) -> None:
        self.world.cluster.tablets.mount(self.queue().path)

    def freeze(self) -> None:
        path = self.queue().path
        self.world.cluster.tablets.freeze(path, self.some_tablets(path))

    def unfreeze(self) -> None:
        self.world.cluster.tablets.unfreeze(self.queue().path)

    def remount(self) -> None:
        path = self.queue().path
        self.world.cluster.tablets.unmount(path)
        self.world.cluster.tablets.mount(path)

    def reshard(self) -> None:
        path = self.queue().path
        self.world.cluster.tablets.unmount(path)
        self.world.cluster.tablets.reshard(path, Sharding(tablet_count=self.random.randint(1, 4)))
        if self.random.random() < 0.7:
            self.world.cluster.tablets.mount(path)

    def create_anew(self) -> None:
        queue = self.queue()
        self.remove_if_there(queue)
        columns = ["data", *(name for name in (TIMESTAMP_COLUMN, DATA_WEIGHT_COLUMN) if self.random.random() < 0.8)]
        self.world.create_queue(queue, self.random.randint(1, 3), columns)
        if self.random.random() < 0.7:  # else the synchronizer has not seen it yet
            self.world.put_rows()

    def remove(self) -> None:
        self.remove_if_there(self.queue())

    def remove_if_there(self, queue: CrossClusterRef) -> None:
        if self.world.cluster.cypress.exists(queue.path):
            self.world.cluster.cypress.remove(queue.path)

    def unmount_consumer(self) -> None:
        self.world.cluster.tablets.unmount(self.consumer().path)

    def mount_consumer(self) -> None:
        for consumer in CONSUMERS:
            self.world.cluster.tablets.mount(consumer.path)

    def register(self) -> None:
        self.world.registrations.add(Registration(self.queue(), self.consumer(), vital=True))
        self.world.put_rows()

    def unregister(self) -> None:
        gone = self.random.choice(sorted(self.world.registrations) or [Registration(QUEUES[0], CONSUMERS[0], True)])
        self.world.registrations.discard(gone)
        self.world.put_rows()

    def ban(self) -> None:
        queue = self.queue()
        row = self.world.queue_rows[queue]
        self.world.queue_rows[queue] = replace(row, queue_agent_banned=not row.queue_agent_banned)
        self.world.put_rows()

    def change_row(self) -> None:
        queue = self.queue()
        self.world.queue_rows[queue] = replace(self.world.queue_rows[queue], queue_profiling_tag=str(len(self.done)))
        self.world.put_rows()

    def turn_clock_back(self) -> None:
        self.world.clock.time -= timedelta(seconds=self.random.randrange(3))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    seconds = iter(range(10**9))
    time = ClusterClock(lambda: START.timestamp() + next(seconds) / 50)
    requests = Requests()
    async with LocalClusters({NAME: 0}, clock=time) as clusters:
        config = ClusterConfig(proxy=clusters.addresses[NAME], discover_proxies=False)
        async with YtCluster(NAME, config, requests) as adapter:
            yield World(clusters, adapter, requests)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_the_change_driven_pass_publishes_what_a_full_pass_would(world: World, seed: int) -> None:
    steps = Steps(world, seed)
    await world.do_passes()
    for _ in range(STEPS):
        world.clock.time += timedelta(seconds=1, milliseconds=steps.random.randrange(500))
        steps.do_step()
        try:
            await world.do_passes()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, after {'; '.join(steps.done)}: {error}") from error
    assert world.quiet_passes > STEPS / 2, "of five passes a step"


async def test_an_idle_pass_asks_cheap_questions_only(world: World) -> None:
    for queue in QUEUES:
        world.cluster.writer.insert_rows(queue.path, [{b"$tablet_index": 1, b"data": b"x"}] * 3)
        for consumer in CONSUMERS:
            world.write_offset(consumer, queue, 1, offset=yson.Uint64(2))
    controllers: list[Controller] = [*world.queues.values(), *world.consumers.values()]
    for index in range(3):
        for controller in controllers:
            await controller.do_pass(index)
    world.requests.commands.clear()
    for controller in controllers:
        await controller.do_pass(3)
    assert set(world.requests.commands) == {"execute_batch"}
