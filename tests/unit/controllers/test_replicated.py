"""Replicated queues and consumers, against fakes of the ports; chaos replicated ones only here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from queue_agent.config.passes import CypressSynchronizerConfig
from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.rounds.agent import Agent, Fleets
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import MappingRow, Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.observed import ObjectRevisions
from queue_agent.core.values.refs import CrossClusterRef
from tests.unit.controllers.agent_world import (
    CONSUMER,
    CONSUMER_ATTRIBUTES,
    QUEUE,
    QUEUE_ATTRIBUTES,
    FakeQueue,
    World,
    leadership,
)
from tests.unit.controllers.still_rounds import still_fleet, still_rounds

REPLICA = CrossClusterRef("hume", "//tmp/replica")
REPLICAS = {
    "1-1-1-1": {"cluster_name": "hume", "replica_path": "//tmp/lagging", "state": "enabled", "mode": "async"},
    "2-2-2-2": {"cluster_name": "hume", "replica_path": REPLICA.path, "state": "enabled", "mode": "sync"},
}
CHAOS_REPLICAS = {
    replica_id: {**replica, "content_type": content_type}
    for (replica_id, replica), content_type in zip(REPLICAS.items(), ("data", "queue"), strict=True)
}
MAPPING = CypressSynchronizerConfig(policy="watching", write_replicated_table_mapping=True)


class ReplicatedWorld(World):
    """The queue on pythia is replicated, with its synchronous replica on hume."""

    def __init__(self, rounds: Rounds) -> None:
        super().__init__()
        self.handled = True
        self.pythia.attributes[QUEUE.path] = {**QUEUE_ATTRIBUTES, "type": "replicated_table", "replicas": REPLICAS}
        del self.pythia.queues[QUEUE.path]
        self.hume.queues[REPLICA.path] = FakeQueue(["mounted"], {0: (3, 10)})
        self.synchronizer.configure(MAPPING)
        self.fleets = Fleets(still_fleet(rounds), still_fleet(rounds), still_fleet(rounds))
        self.agent = Agent(
            "production",
            self.store,
            self.board,
            self.fleets,
            leadership(),
            self.clock,
            self.origins,
            self.observer,
            lambda: self.handled,
        )

    async def passes(self) -> None:
        await self.synchronizer.do_pass(0)
        await self.agent.do_pass(0)

    def queue(self, ref: CrossClusterRef = QUEUE) -> QueueController:
        return QueueController(ref, Role.LEADING, self.context, self.origins)

    def status(self) -> Any:
        status = self.board.queue_status(QUEUE)
        assert status is not None
        return status

    async def end(self) -> None:
        for fleet in (self.fleets.queues, self.fleets.consumers, self.fleets.multi_consumers):
            await fleet.match({})


@pytest.fixture
async def world() -> AsyncIterator[ReplicatedWorld]:
    async with still_rounds() as rounds:
        world = ReplicatedWorld(rounds)
        yield world
        await world.end()


async def test_a_replicated_queue_is_looked_at_through_its_synchronous_replica(world: ReplicatedWorld) -> None:
    await world.passes()
    assert world.fleets.queues.running == {QUEUE: Role.LEADING}
    await world.queue().do_pass(0)
    assert world.status()["partition_count"] == 1
    [partition] = world.board.queue_partitions(QUEUE) or []
    assert (partition["lower_row_index"], partition["upper_row_index"]) == (3, 10)
    node = world.board.queue_node(QUEUE)
    assert node is not None
    assert node["replicated_table_mapping_row"]["object"] == str(QUEUE)
    assert node["replicated_table_mapping_row"]["meta"] == {"replicated_table_meta": {"replicas": REPLICAS}}


async def test_consumers_stand_in_a_replicated_queue_as_in_any_other(world: ReplicatedWorld) -> None:
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 4}
    await world.passes()
    await world.queue().do_pass(0)
    await ConsumerController(CONSUMER, Role.LEADING, world.context, world.origins).do_pass(0)
    partitions = world.board.consumer_partitions(CONSUMER)
    assert isinstance(partitions, dict)
    assert partitions[str(QUEUE)][0]["unread_row_count"] == 6


async def test_offsets_of_a_chaos_consumer_are_read_from_a_replica(world: ReplicatedWorld) -> None:
    world.hume.attributes[CONSUMER.path] = {
        **CONSUMER_ATTRIBUTES,
        "type": "chaos_replicated_table",
        "replication_card_id": "5-5-5-5",
        "replicas": {"3-3-3-3": {**REPLICAS["2-2-2-2"], "replica_path": "//tmp/offsets", "content_type": "data"}},
    }
    world.hume.offsets["//tmp/offsets", QUEUE] = {0: 7}
    await world.passes()
    await world.queue().do_pass(0)
    await ConsumerController(CONSUMER, Role.LEADING, world.context, world.origins).do_pass(0)
    partitions = world.board.consumer_partitions(CONSUMER)
    assert isinstance(partitions, dict)
    assert partitions[str(QUEUE)][0]["next_row_index"] == 7


async def test_a_chaos_queue_is_looked_at_through_its_synchronous_replica(world: ReplicatedWorld) -> None:
    world.pythia.attributes[QUEUE.path] = {
        **QUEUE_ATTRIBUTES,
        "type": "chaos_replicated_table",
        "sorted": None,
        "replication_card_id": "5-5-5-5",
        "replicas": CHAOS_REPLICAS,
    }
    await world.passes()
    await world.queue().do_pass(0)
    assert world.status()["partition_count"] == 1


async def test_without_a_synchronous_replica_the_queue_is_in_error(world: ReplicatedWorld) -> None:
    replicas = {"1-1-1-1": REPLICAS["1-1-1-1"]}
    world.pythia.attributes[QUEUE.path] = {**world.pythia.attributes[QUEUE.path], "replicas": replicas}
    await world.passes()
    await world.queue().do_pass(0)
    words = f'Cannot get sync client for "{QUEUE}" since there are no known sync replicas'
    assert world.status()["error"]["message"] == words


async def test_a_replicated_queue_is_not_trimmed_while_a_replica_is_not_known(world: ReplicatedWorld) -> None:
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 9}
    await world.passes()
    queue = world.queue()
    await queue.do_pass(0)
    await ConsumerController(CONSUMER, Role.LEADING, world.context, world.origins).do_pass(0)
    await queue.do_pass(1)
    assert world.pythia.trims == world.hume.trims == []
    alert = world.trim_alert()
    assert alert is not None
    assert 'missing snapshot for queue replica "hume://tmp/replica"' in str(alert)


async def test_replicated_objects_that_are_not_handled_say_so(world: ReplicatedWorld) -> None:
    world.handled = False
    world.store.registrations.clear()
    await world.passes()
    assert world.fleets.queues.running == {}
    words = 'Queues of type "replicated_table" are not handled: "handle_replicated_objects" is off in this agent'
    assert world.status() == {"error": world.status()["error"]}
    assert world.status()["error"]["message"] == words
    world.handled = True
    await world.passes()
    assert world.fleets.queues.running == {QUEUE: Role.LEADING}


async def test_a_consumer_that_is_not_handled_says_so(world: ReplicatedWorld) -> None:
    world.handled = False
    world.store.registrations.clear()
    world.hume.attributes[CONSUMER.path] = {**CONSUMER_ATTRIBUTES, "type": "replicated_table", "replicas": REPLICAS}
    await world.passes()
    assert world.fleets.consumers.running == {}
    status = world.board.consumer_status(CONSUMER)
    assert status is not None
    assert status["error"]["message"].startswith('Consumers of type "replicated_table" are not handled')
    assert world.board.consumer_partitions(CONSUMER) == []


async def test_replicas_of_a_queue_that_is_led_are_followed(world: ReplicatedWorld) -> None:
    world.hume.attributes[REPLICA.path] = {**QUEUE_ATTRIBUTES, "queue_agent_stage": "other"}
    world.hume.revisions = replace(world.hume.revisions, queues={REPLICA.path: 5})
    await world.passes()
    assert world.fleets.queues.running[REPLICA] is Role.FOLLOWING


async def test_one_broken_mapping_row_is_the_error_of_its_queue_alone(world: ReplicatedWorld) -> None:
    healthy = CrossClusterRef("pythia", "//tmp/healthy")
    world.pythia.attributes[healthy.path] = QUEUE_ATTRIBUTES
    world.pythia.revisions = ObjectRevisions({QUEUE.path: 5, healthy.path: 5}, {})
    await world.passes()
    world.store.mappings[QUEUE] = MappingRow(QUEUE, object_type="replicated_table", meta={})
    await world.agent.do_pass(1)
    assert world.fleets.queues.running == {healthy: Role.LEADING}
    assert world.status()["error"]["message"].endswith("replicated table meta cannot be null")
    await world.passes()
    assert world.fleets.queues.running == {healthy: Role.LEADING, QUEUE: Role.LEADING}


async def test_the_mapping_follows_the_replicas_though_no_revision_changes(world: ReplicatedWorld) -> None:
    await world.passes()
    world.written.clear()
    await world.synchronizer.do_pass(1)
    assert not world.written.is_set()
    row_revision = world.store.queues[QUEUE].row_revision
    switched = {**REPLICAS, "2-2-2-2": {**REPLICAS["2-2-2-2"], "mode": "async"}}
    world.pythia.attributes[QUEUE.path] = {**world.pythia.attributes[QUEUE.path], "replicas": switched}
    await world.synchronizer.do_pass(2)
    assert world.store.mappings[QUEUE].meta == {"replicated_table_meta": {"replicas": switched}}
    assert world.store.queues[QUEUE].row_revision == row_revision


async def test_a_mapping_row_that_somebody_deleted_is_made_again_and_told_of(world: ReplicatedWorld) -> None:
    await world.passes()
    world.store.mappings.clear()
    await world.synchronizer.do_pass(1)
    assert set(world.store.mappings) == {QUEUE}
    alert = world.board.alerts()["cypress_synchronizer_missing_replicated_table_mapping_objects"]
    assert alert["code"] == 3004
    assert alert["inner_errors"][0]["attributes"]["path"] == QUEUE.path
    await world.synchronizer.do_pass(2)
    assert world.board.alerts() == {}


async def test_a_mapping_row_goes_when_its_queue_is_plain_or_gone(world: ReplicatedWorld) -> None:
    await world.passes()
    world.pythia.attributes[QUEUE.path] = {**QUEUE_ATTRIBUTES, "attribute_revision": 9}
    world.pythia.revisions = ObjectRevisions({QUEUE.path: 9}, {})
    await world.passes()
    assert world.store.mappings == {}
    world.store.mappings[QUEUE] = MappingRow(QUEUE)
    world.pythia.revisions = ObjectRevisions({}, {})
    await world.passes()
    assert world.store.mappings == {}
    assert world.store.queues == {}


async def test_without_the_option_no_mapping_is_written_and_the_queue_says_it_misses_it(
    world: ReplicatedWorld,
) -> None:
    world.synchronizer.configure(CypressSynchronizerConfig(policy="watching"))
    await world.passes()
    assert world.store.mappings == {}
    assert world.status()["error"]["message"] == "No replicated table mapping row is known for replicated queue"


async def test_replicas_that_make_no_sense_are_told_where_the_queue_is_looked_at(world: ReplicatedWorld) -> None:
    world.pythia.attributes[QUEUE.path] = {**world.pythia.attributes[QUEUE.path], "replicas": {"1": 5}}
    await world.passes()
    error = ErrorInfo.from_map(world.status()["error"])
    assert error.message.endswith("meta cannot be null")
    (parsing,) = error.inner_errors
    assert parsing.message == 'Error parsing attribute "replicas"'
    assert parsing.inner_errors[0].message.startswith('Replica "1" is of an unexpected type')


async def test_a_vital_replicated_consumer_is_followed_for_the_queue_it_holds_back(world: ReplicatedWorld) -> None:
    world.handled = False
    world.pythia.attributes[QUEUE.path] = QUEUE_ATTRIBUTES
    world.hume.attributes[CONSUMER.path] = {**CONSUMER_ATTRIBUTES, "type": "replicated_table", "replicas": REPLICAS}
    assert world.store.registrations == [Registration(QUEUE, CONSUMER, vital=True)]
    await world.passes()
    assert world.fleets.queues.running == {QUEUE: Role.LEADING}
    assert world.fleets.consumers.running == {CONSUMER: Role.FOLLOWING}
