"""What the notes on the C++ agent tell of rare situations, shown with fakes of the ports."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.consumers.multi_consumer_controller import MultiConsumerController
from queue_agent.controllers.rounds.agent import Agent, Fleets
from queue_agent.controllers.status.board import Board
from queue_agent.core.consumers.consumer_snapshots import QueueRowAnswers, build_sub_snapshot
from queue_agent.core.queues.snapshots import ConsumerPartition, OffsetsRead, QueuePartition, QueueView, Role
from queue_agent.core.state.rows import ConsumerNameRow, ConsumerRow, Registration, StateRows
from queue_agent.core.values.observed import ConsumerOffset, ObjectRevisions
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ClusterUnavailable
from tests.unit.controllers.agent_world import (
    CONSUMER,
    QUEUE,
    QUEUE_ATTRIBUTES,
    START,
    FakeQueue,
    FakeStore,
    World,
    leadership,
    look,
)
from tests.unit.controllers.still_rounds import still_fleet, still_rounds
from tests.unit.core.consumers.test_multi_consumers import MULTI_SCHEMA

MINUTE = timedelta(minutes=1)


def change_attributes(world: World, **attributes: Any) -> None:
    world.pythia.attributes[QUEUE.path] = {**QUEUE_ATTRIBUTES, "attribute_revision": 9, **attributes}
    world.pythia.revisions = ObjectRevisions({QUEUE.path: 9}, {})


async def test_before_its_first_pass_a_consumer_says_so(world: World) -> None:
    world.consumer_controller()
    status = world.board.consumer_status(CONSUMER)
    assert status is not None
    assert status["error"]["message"] == "Consumer is not processed yet"


class NotingBoard(Board):
    """Notes in which order it is filled."""

    def __init__(self, world: World) -> None:
        super().__init__("agent-1", world.clock)
        self.notes: list[str] = []

    def put_registrations(self, registrations: Collection[Registration]) -> None:
        self.notes.append("registrations")
        super().put_registrations(registrations)

    def put_rows(self, rows: StateRows) -> None:
        self.notes.append("rows")
        super().put_rows(rows)


class WithoutMappings(FakeStore):
    """The table of replicated tables cannot be read."""

    async def read(self) -> StateRows:
        return replace(await super().read(), mappings=None)


async def agent_pass(world: World) -> NotingBoard:
    """One pass over the store of a world, with a board of its own."""
    board = NotingBoard(world)
    async with still_rounds() as rounds:
        fleets = Fleets(still_fleet(rounds), still_fleet(rounds), still_fleet(rounds))
        await Agent(
            "production", world.store, board, fleets, leadership(), world.clock, world.origins, world.observer
        ).do_pass(0)
        assert fleets.queues.running == {QUEUE: Role.LEADING}
    return board


async def test_registrations_are_known_before_the_rows_that_may_turn_trimming_on(
    world: World,
) -> None:
    assert (await agent_pass(world)).notes == ["registrations", "rows"]


async def test_a_mapping_of_replicated_tables_that_can_not_be_read_fails_no_pass(
    world: World,
) -> None:
    world.store = WithoutMappings(world.store.queues, world.store.consumers, world.store.registrations)
    assert (await agent_pass(world)).find_queue_row(QUEUE) is not None


async def test_a_banned_queue_is_not_trimmed(world: World) -> None:
    queue = world.queue_controller()
    await look(queue, world.consumer_controller())
    change_attributes(world, queue_agent_banned=True)
    await world.synchronize()
    await queue.do_pass(1)
    assert world.pythia.trims == []
    assert world.trim_alert() is None


async def test_a_queue_in_error_has_the_alert_though_it_does_not_ask_for_trimming(world: World) -> None:
    change_attributes(world, auto_trim_config={"enable": False})
    await world.synchronize()
    queue = world.queue_controller()
    world.pythia.broken = ClusterUnavailable("pythia does not answer", 105)
    await queue.do_pass(0)
    assert "Trimming iteration skipped due to queue error" in str(world.trim_alert())
    world.pythia.broken = None
    await queue.do_pass(1)
    assert world.trim_alert() is None


async def test_an_alert_of_a_trimming_iteration_stays_until_the_next_one(world: World) -> None:
    world.context.config = ControllerConfig(enable_automatic_trimming=True, trimming_period=timedelta(seconds=3))
    queue = world.queue_controller()
    for index in range(3):
        await queue.do_pass(index)
    assert "missing registered vital consumer" in str(world.trim_alert())
    await look(world.queue_controller(Role.FOLLOWING), world.consumer)
    for index in range(3, 5):
        await queue.do_pass(index)
        assert world.trim_alert() is not None
    await queue.do_pass(5)
    assert world.trim_alert() is None
    assert world.pythia.trims == [("1-2-3-4", 0, 42)]


async def test_a_table_that_is_gone_is_an_error_while_its_row_remains(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await queue.do_pass(0)
    await consumer.do_pass(0)
    world.pythia.broken = ClusterError("Node //tmp/q has no child", 500)
    for index in (1, 2):
        await queue.do_pass(index)
        await consumer.do_pass(index)
        assert world.queue_error() == "Node //tmp/q has no child"
        assert world.position()["error"]["message"] == "Node //tmp/q has no child"
        assert "due to queue error" in str(world.trim_alert())
    assert world.pythia.trims == []


async def test_a_cluster_whose_attributes_can_not_be_had_is_an_alert_and_its_rows_stay(world: World) -> None:
    before = world.store.queues[QUEUE]
    change_attributes(world)

    async def fail(path: str, names: Collection[str]) -> Any:
        raise ClusterUnavailable("pythia does not answer", 105)

    world.pythia.get_attributes = fail  # type: ignore[method-assign] # the list of objects is still to be had
    await world.synchronizer.do_pass(1)
    alert = world.board.alerts()["cypress_synchronizer_unable_to_fetch_attributes"]
    assert (alert["code"], alert["message"]) == (3001, "Error fetching attributes from clusters")
    assert alert["inner_errors"][0]["attributes"]["cluster"] == "pythia"
    assert world.store.queues[QUEUE] == before


async def rates(world: World) -> Any:
    partitions = world.board.queue_partitions(QUEUE)
    assert partitions is not None
    return partitions[0]["write_row_count_rate"]


async def test_the_rate_of_a_frozen_partition_fades_and_is_not_forgotten(world: World) -> None:
    queue = world.queue_controller()
    await queue.do_pass(0)
    world.clock.time += MINUTE
    world.pythia.queues[QUEUE.path] = FakeQueue(["mounted"], {0: (0, 160)})
    await queue.do_pass(1)
    before = await rates(world)
    assert before["current"] == 1.0
    world.clock.time += MINUTE
    world.pythia.queues[QUEUE.path] = FakeQueue(["frozen"], {0: (0, 160)})
    await queue.do_pass(2)
    after = await rates(world)
    assert after["current"] == 0.0
    assert 0 < after["1m_raw"] < before["1m_raw"]


async def test_rates_of_a_consumer_start_anew_after_a_pass_that_could_not_tell(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await queue.do_pass(0)

    async def read_up_to(offset: int) -> float:
        world.hume.offsets[CONSUMER.path, QUEUE] = {0: offset}
        await consumer.do_pass(0)
        await queue.do_pass(0)
        world.clock.time += MINUTE
        await consumer.do_pass(0)
        rate: float = world.position()["read_row_count_rate"]["current"]
        return rate

    assert [await read_up_to(0), await read_up_to(30)] == [0.0, 0.5]
    world.hume.broken = ClusterUnavailable("hume does not answer", 105)
    await consumer.do_pass(0)
    assert "error" in world.position()
    world.hume.broken = None
    assert [await read_up_to(60), await read_up_to(90)] == [0.0, 0.5]


def test_weights_that_disagree_give_a_negative_one() -> None:
    partition = QueuePartition("t", "mounted", None, None, 0, 5, START, Counters(), 100, 20)
    view = QueueView(
        [partition], has_timestamp_column=True, has_cumulative_data_weight_column=True, seen_at=START, asked=1
    )
    offsets = {0: ConsumerOffset(0, 3, 0, {"cumulative_data_weight": 500})}
    [position] = build_sub_snapshot(None, view, [OffsetsRead(offsets, 0)], QueueRowAnswers(), START).partitions
    assert isinstance(position, ConsumerPartition)
    assert position.unread_data_weight == -400


class ForgetfulStore(FakeStore):
    """Names cannot be written."""

    async def write_consumer_names(self, names: Collection[ConsumerNameRow]) -> None:
        raise ClusterUnavailable("no state", 105)


async def test_names_of_a_multi_consumer_that_can_not_be_recorded_are_an_alert(world: World) -> None:
    ref = CrossClusterRef("hume", "//tmp/multi")
    row = ConsumerRow(ref, row_revision=1, object_type="table", schema=MULTI_SCHEMA, queue_agent_stage="production")
    world.board.put_multi_consumer_rows([row])
    world.hume.names[ref.path] = {"a", "b"}
    controller = MultiConsumerController(ref, ForgetfulStore(), world.context, world.origins)
    await controller.do_pass(0)
    alerts = world.board.multi_consumers()[ref].alerts
    [alert] = alerts.values()
    assert (alert.code, alert.message) == (3060, "Multi consumer controller pass failed")
    assert alert.inner_errors[0].message == "Error while synchronizing multi_consumer_names table"
    controller = MultiConsumerController(ref, world.store, world.context, world.origins)
    await controller.do_pass(0)
    assert world.board.multi_consumers()[ref].alerts == {}
    assert {name.name for name in world.store.names} == {"a", "b"}
