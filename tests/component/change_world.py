"""A cluster, and an agent's controllers for objects on it, each pass of which is compared with a full one."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.rounds.round_member import Controller, FirstAnswer
from queue_agent.controllers.status.board import Board
from queue_agent.core.consumers.consumer_snapshots import (
    QueueRowAnswers,
    build_consumer_snapshot,
    build_sub_snapshot,
    find_readings,
    find_view_of_queue,
    rows_to_read,
)
from queue_agent.core.queues.queue_snapshots import (
    DATA_WEIGHT_COLUMN,
    TIMESTAMP_COLUMN,
    QueueObservation,
    banned_queue_snapshot,
    build_queue_snapshot,
    data_weight_rows,
    find_schema_error,
    readable_partition_indexes,
)
from queue_agent.core.queues.snapshots import ConsumerSnapshot, OffsetsRead, QueueSnapshot, QueueView, Role, SubSnapshot
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration, StateRows
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.observed import Poll, Watch
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import PassScope
from tests.component.full_passes import assert_same_consumer, assert_same_queue, forget_consumer, forget_queue
from tests.unguarded import unguarded_context
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire import yson

NAME: Final = "hume"
START: Final = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
QUEUES: Final = [CrossClusterRef(NAME, f"//tmp/q{index}") for index in range(3)]
CONSUMERS: Final = [CrossClusterRef(NAME, f"//tmp/c{index}") for index in range(2)]
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
    """The agent's; does not move during a step."""

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
        self.context = unguarded_context(self.board, {NAME: self.adapter}, self.clock, Observer(), ControllerConfig())
        self.queue_rows: dict[CrossClusterRef, QueueRow] = {}
        self.registrations: set[Registration] = set()
        for ref in QUEUES:
            self.create_queue(ref, 2, list(COLUMNS))
        for ref in CONSUMERS:
            self.cluster.cypress.create(
                UNLIMITED,
                ref.path,
                "table",
                {"dynamic": True, "treat_as_queue_consumer": True, "schema": CONSUMER_SCHEMA},
            )
            self.cluster.tablets.mount(UNLIMITED, ref.path)
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
        object_id = self.cluster.cypress.create(UNLIMITED, ref.path, "table", attributes)
        self.cluster.tablets.mount(UNLIMITED, ref.path)
        self.queue_rows[ref] = QueueRow(
            ref, row_revision=1, object_type="table", dynamic=True, sorted=False, object_id=object_id
        )

    def put_rows(self) -> None:
        consumers = [ConsumerRow(ref, 1, object_type="table", schema=CONSUMER_SCHEMA) for ref in CONSUMERS]
        self.board.put_registrations(sorted(self.registrations))
        self.board.put_rows(StateRows(list(self.queue_rows.values()), consumers, sorted(self.registrations)))

    def tablet_count(self, ref: CrossClusterRef) -> int:
        return int(self.cluster.cypress.get(UNLIMITED, f"{ref.path}/@tablet_count"))

    def bounds(self, ref: CrossClusterRef, partition: int) -> tuple[int, int]:
        [info] = self.cluster.tables.tablet_infos(ref.path, [partition])
        return info["trimmed_row_count"], info["total_row_count"]

    def write_offset(self, consumer: CrossClusterRef, queue: CrossClusterRef, partition: int, **values: Any) -> None:
        self.cluster.writer.insert_rows(UNLIMITED, consumer.path, [{**offset_key(queue, partition), **encoded(values)}])

    async def do_passes(self) -> None:
        """A pass of every object, change-driven and in full, and whether they are the same."""
        self.pass_index += 1
        polls = await self.look(self.queues)
        for queue in QUEUES:
            previous = forget_queue(self.board.all_queues[queue])
            await self.do_pass(self.queues[queue], polls.get(queue))
            full_queue = self.full_queues[queue] = await self.look_at_queue(previous)
            assert_same_queue(self.board.all_queues[queue], full_queue, self.clock.time)
        polls = await self.look(self.consumers)
        for consumer in CONSUMERS:
            before = forget_consumer(self.board.all_consumers[consumer])
            await self.do_pass(self.consumers[consumer], polls.get(consumer))
            full_consumer = await self.look_at_consumer(before)
            assert_same_consumer(self.board.all_consumers[consumer], full_consumer, self.clock.time)

    async def look(self, controllers: Mapping[CrossClusterRef, Controller]) -> Mapping[CrossClusterRef, FirstAnswer]:
        """What a round asks first, for some of the objects; the others have passes of their own."""
        watches = {
            ref: controller.find_watch() for ref, controller in controllers.items() if self.random.random() < 0.8
        }
        asked = {ref: watch for ref, watch in watches.items() if watch is not None}
        return dict(zip(asked, await self.adapter.poll_all([*asked.values()]), strict=True)) if asked else {}

    async def do_pass(self, controller: Controller, answer: FirstAnswer) -> None:
        if isinstance(answer, Poll) and controller.pass_quietly(self.pass_index, answer, self.clock.now()):
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
        return build_queue_snapshot(
            previous, row, registrations, now, self.board.next_moment(), now, origin, observation
        )

    async def observe(self, row: QueueRow, previous: QueueSnapshot, origin: Origin) -> QueueObservation:
        path = row.queue.path
        try:
            await self.adapter.poll(Watch(path))
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
        positions: dict[CrossClusterRef, SubSnapshot] = {}
        for queue in sorted({one.queue for one in registrations}):
            try:
                positions[queue] = await self.compare(previous, queue, origin)
            except ClusterError as error:
                positions[queue] = origin.cluster_error(error)
        return build_consumer_snapshot(previous, previous.row, registrations, now, positions)

    async def compare(self, previous: ConsumerSnapshot, queue: CrossClusterRef, origin: Origin) -> SubSnapshot:
        view = find_view_of_queue(queue, self.full_queues[queue], origin)
        if not isinstance(view, QueueView):
            return view
        old = None if previous.view is None else previous.view.queues.get(queue)
        await self.adapter.poll(Watch(previous.ref.path))
        partition_counts = {queue: len(view.partitions)}
        offsets = (await self.adapter.read_consumer_offsets(previous.ref.path, partition_counts, with_meta=True))[queue]
        readings = find_readings(old, view, OffsetsRead(offsets, self.board.next_moment()))
        rows = rows_to_read(old, view, readings[0].offsets)
        found: dict[str, Mapping[tuple[int, int], int]] = {TIMESTAMP_COLUMN: {}, DATA_WEIGHT_COLUMN: {}}
        for column, wanted in ((TIMESTAMP_COLUMN, rows.timestamps), (DATA_WEIGHT_COLUMN, rows.data_weights)):
            if wanted:
                found |= await self.adapter.select_row_values(queue.path, [column], wanted)
        answers = QueueRowAnswers(found[TIMESTAMP_COLUMN], found[DATA_WEIGHT_COLUMN])
        return build_sub_snapshot(old, view, readings, answers, self.clock.now())


def offset_key(queue: CrossClusterRef, partition: int) -> dict[bytes, Any]:
    return {
        b"queue_cluster": queue.cluster.encode(),
        b"queue_path": queue.path.encode(),
        b"partition_index": yson.Uint64(partition),
    }


def encoded(values: Mapping[str, Any]) -> dict[bytes, Any]:
    return {name.encode(): value for name, value in values.items()}
