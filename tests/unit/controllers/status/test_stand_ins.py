from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.forwarding import Silence
from queue_agent.controllers.status.stand_ins import FRESH_SECONDS, LEADER_SILENT, StandIns
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.refs import CrossClusterRef
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, World

SILENCE = Silence("qa-1:9030", 3.0)


@pytest.fixture
async def world() -> World:
    """Rows are known, and everything is led by another agent."""
    world = World()
    await world.synchronizer.do_pass(0)
    rows = await world.store.read()
    world.board.put_registrations(rows.registrations)
    world.board.put_rows(rows)
    return world


def stand_ins(world: World) -> StandIns:
    def queue(ref: CrossClusterRef, role: Role, board: Board) -> QueueController:
        assert role is Role.FOLLOWING, "whoever leads may trim"
        return QueueController(ref, role, replace(world.context, board=board), world.origins)

    def consumer(ref: CrossClusterRef, role: Role, board: Board) -> ConsumerController:
        assert role is Role.FOLLOWING, "whoever leads may write to ledgers"
        return ConsumerController(ref, role, replace(world.context, board=board), world.origins)

    return StandIns(world.board, "agent-1", queue, consumer, world.clock, world.origins)


def words(status: Any) -> str:
    return str(status["alerts"][LEADER_SILENT]["message"])


async def test_a_queue_is_looked_at_and_the_status_says_by_whom(world: World) -> None:
    node = await stand_ins(world).queue(QUEUE, SILENCE)
    assert node is not None
    assert node["status"]["partition_count"] == 1
    assert [one["consumer"] for one in node["status"]["registrations"]] == [str(CONSUMER)]
    assert words(node["status"]).startswith("Agent qa-1:9030, which leads this object, has not answered for 3.0 s")
    [partition] = node["partitions"]
    assert (partition["lower_row_index"], partition["upper_row_index"]) == (0, 100)


async def test_a_consumer_is_compared_with_its_queues(world: World) -> None:
    node = await stand_ins(world).consumer(CONSUMER, SILENCE)
    assert node is not None
    assert "qa-1:9030" in words(node["status"])
    assert "verdict" not in node["status"]["queues"][str(QUEUE)]
    [[partition]] = node["partitions"].values()
    assert (partition["next_row_index"], partition["unread_row_count"]) == (42, 58)


async def test_looks_change_nothing(world: World) -> None:
    """Neither on the cluster, nor for those who ask what this agent leads."""
    await stand_ins(world).queue(QUEUE, SILENCE)
    await stand_ins(world).consumer(CONSUMER, SILENCE)
    assert world.pythia.trims == []
    assert (world.board.all_queues, world.board.all_consumers) == ({}, {})


async def test_what_is_followed_here_is_not_looked_at_again_unless_it_is_old(world: World) -> None:
    followed = QueueController(QUEUE, Role.FOLLOWING, world.context, world.origins)
    await followed.do_pass(0)
    snapshot = world.board.find_queue(QUEUE)
    world.clock.time += timedelta(seconds=FRESH_SECONDS - 1)
    world.pythia.queues[QUEUE.path].bounds[0] = (0, 200)
    node = await stand_ins(world).queue(QUEUE, SILENCE)
    assert node is not None
    assert node["partitions"][0]["upper_row_index"] == 100
    assert f"looked at the object {FRESH_SECONDS - 1:.1f} s ago" in words(node["status"])
    assert world.board.find_queue(QUEUE) is snapshot
    world.clock.time += timedelta(seconds=2)
    node = await stand_ins(world).queue(QUEUE, SILENCE)
    assert node is not None
    assert node["partitions"][0]["upper_row_index"] == 200


async def test_what_the_tables_do_not_have_has_no_stand_in(world: World) -> None:
    unknown = CrossClusterRef("pythia", "//unknown")
    assert await stand_ins(world).queue(unknown, SILENCE) is None
    assert await stand_ins(world).consumer(unknown, SILENCE) is None
