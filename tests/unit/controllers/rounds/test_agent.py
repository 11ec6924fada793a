"""Passes over objects and tables, driven by hand against fakes of the ports."""

from __future__ import annotations

from datetime import timedelta

import pytest

from queue_agent.controllers.rounds.agent import Agent, Fleets
from queue_agent.controllers.status.board import AGENT
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.observed import ObjectRevisions
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ClusterUnavailable
from queue_agent.ports.cluster import Permit
from tests.unit.controllers.agent_world import (
    CONSUMER,
    QUEUE,
    QUEUE_ATTRIBUTES,
    START,
    FakeQueue,
    World,
    leadership,
    look,
)
from tests.unit.controllers.still_rounds import still_fleet, still_rounds
from yt_wire.error import YtError


async def test_read_rows_are_trimmed_and_all_is_published(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await look(queue, consumer)
    await queue.do_pass(1)
    assert world.pythia.trims == [("1-2-3-4", 0, 42)]
    assert world.trim_alert() is None
    assert world.position()["partition_count"] == 1
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
    for index in range(2):
        await consumer.do_pass(index)
        await queue.do_pass(index)
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
    await look(queue, consumer)
    world.clock.time += timedelta(seconds=61)
    await consumer.do_pass(1)
    await queue.do_pass(1)
    assert world.pythia.trims == []
    assert "state tables were read last" in str(world.trim_alert())
    world.board.finish_pass(AGENT, 1, world.clock.now(), None)
    await queue.do_pass(2)
    assert world.pythia.trims == [("1-2-3-4", 0, 42)]


async def test_nothing_is_trimmed_by_a_vital_consumer_that_was_not_looked_at_for_long(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await look(queue, consumer)
    world.clock.time += timedelta(seconds=11)
    await queue.do_pass(1)
    assert world.pythia.trims == []
    assert "was looked at last" in str(world.trim_alert())
    await consumer.do_pass(1)
    await queue.do_pass(2)
    assert world.pythia.trims == [("1-2-3-4", 0, 42)]


async def test_a_refused_trim_is_an_alert_until_it_succeeds(world: World) -> None:
    queue, consumer = world.queue_controller(), world.consumer_controller()
    await look(queue, consumer)
    trim_rows = world.pythia.trim_rows

    async def refuse(object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
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
    error = world.position()["error"]
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
    assert world.position()["error"]["message"].startswith("Queue is banned")


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
