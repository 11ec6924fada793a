"""Consumers that share a table, from the table to what is published."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.consumers.multi_consumer_controller import MultiConsumerController
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.refs import CrossClusterRef
from tests.component.discovery_world import ROOT, World, create_queue, create_table, open_clusters, open_world, remove
from yt_wire import yson

QUEUE = "//home/q"
CONSUMER = "//home/c"
QUEUE_REF = CrossClusterRef("pythia", QUEUE)
CONSUMER_REF = CrossClusterRef("hume", CONSUMER)


MULTI_CONSUMER_SCHEMA = yson.with_attributes(
    [
        {"name": "queue_consumer_name", "type": "string", "sort_order": "ascending", "required": True},
        {"name": "queue_cluster", "type": "string", "sort_order": "ascending", "required": True},
        {"name": "queue_path", "type": "string", "sort_order": "ascending", "required": True},
        {"name": "partition_index", "type": "uint64", "sort_order": "ascending", "required": True},
        {"name": "offset", "type": "uint64", "required": True},
        {"name": "meta", "type": "any"},
    ],
    {"strict": True, "unique_keys": True},
)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_clusters() as clusters, open_world(clusters) as world:
        yield world


def offset_row(name: str, offset: int) -> dict[str, Any]:
    return {
        "queue_consumer_name": name,
        "queue_cluster": "pythia",
        "queue_path": QUEUE,
        "partition_index": yson.Uint64(0),
        "offset": yson.Uint64(offset),
    }


async def test_every_consumer_in_a_multi_consumer_is_served(world: World) -> None:
    await create_queue(world.pythia, QUEUE)
    await world.pythia.insert_rows(QUEUE, [{"$tablet_index": 0, "data": "x"}] * 5)
    await create_table(world.hume, CONSUMER, MULTI_CONSUMER_SCHEMA, treat_as_queue_consumer=True)
    await world.hume.insert_rows(CONSUMER, [offset_row("a", 2), offset_row("b", 4)])
    registration = {
        "queue_cluster": "pythia",
        "queue_path": QUEUE,
        "consumer_cluster": "hume",
        "consumer_path": CONSUMER,
        "consumer_name": "a",
        "vital": True,
    }
    await world.pythia.insert_rows(f"{ROOT}/consumer_registrations", [registration])
    await world.passes()
    assert world.fleets.multi_consumers.running == {CONSUMER_REF: Role.LEADING}
    assert world.fleets.consumers.running == {}
    multi_consumer = MultiConsumerController(CONSUMER_REF, world.store, world.context, world.origins)
    await multi_consumer.do_pass(0)
    await world.passes()
    named = [CONSUMER_REF._replace(name=name) for name in "ab"]
    assert world.fleets.consumers.running == dict.fromkeys(named, Role.LEADING)

    await QueueController(QUEUE_REF, Role.LEADING, world.context, world.origins).do_pass(0)
    for ref in named:
        await ConsumerController(ref, Role.LEADING, world.context, world.origins).do_pass(0)
    status = world.board.multi_consumer_status(CONSUMER_REF)
    assert status is not None
    assert status["queue_consumer_names"] == ["a", "b"]
    assert status["alerts"] == {}
    assert status["consumers"]["a"]["queues"][str(QUEUE_REF)]["partition_count"] == 1
    assert status["consumers"]["b"]["queues"] == {}
    partitions = world.board.multi_consumer_partitions(CONSUMER_REF)
    assert partitions is not None
    [partition] = partitions["consumers"]["a"][str(QUEUE_REF)]
    assert (partition["next_row_index"], partition["unread_row_count"]) == (2, 3)

    await world.hume.delete_rows(
        CONSUMER, [{name: value for name, value in offset_row("b", 4).items() if name != "offset"}]
    )
    await multi_consumer.do_pass(1)
    await world.passes()
    assert list(world.fleets.consumers.running) == named[:1]
    await remove(world.hume, CONSUMER)
    await world.passes()
    await world.passes()
    assert world.fleets.multi_consumers.running == {}
    assert await world.consumer_rows() == {}


async def test_names_of_a_multi_consumer_that_can_not_be_read_stay_known(world: World) -> None:
    await create_table(world.hume, CONSUMER, MULTI_CONSUMER_SCHEMA, treat_as_queue_consumer=True)
    await world.hume.insert_rows(CONSUMER, [offset_row("a", 2)])
    await world.passes()
    controller = MultiConsumerController(CONSUMER_REF, world.store, world.context, world.origins)
    await controller.do_pass(0)
    await world.hume.execute("unmount_table", {"path": CONSUMER})
    await controller.do_pass(1)
    status = world.board.multi_consumer_status(CONSUMER_REF)
    assert status is not None
    assert status["error"]["message"] == "Error while selecting from user table"
    alert = status["alerts"]["queue_agent_multi_consumer_controller_pass_failed"]
    assert alert["message"] == "Multi consumer controller pass failed"
    await world.passes()
    assert list(world.fleets.consumers.running) == [CONSUMER_REF._replace(name="a")]
    await world.hume.execute("mount_table", {"path": CONSUMER})
    await controller.do_pass(2)
    status = world.board.multi_consumer_status(CONSUMER_REF)
    assert status is not None
    assert (status["alerts"], "error" in status) == ({}, False)


async def test_a_banned_multi_consumer_is_not_looked_at(world: World) -> None:
    await create_table(
        world.hume, CONSUMER, MULTI_CONSUMER_SCHEMA, treat_as_queue_consumer=True, queue_agent_banned=True
    )
    await world.passes()
    controller = MultiConsumerController(CONSUMER_REF, world.store, world.context, world.origins)
    await controller.do_pass(0)
    status = world.board.multi_consumer_status(CONSUMER_REF)
    assert status is not None
    assert status["error"]["message"] == 'Multi consumer is banned by "queue_agent_banned" attribute'
    assert status["error"]["attributes"]["banned_since"] == "2025-01-23T13:42:21.000000Z"
