"""A vital consumer that nobody runs any more, as a whole agent with its clock set sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Final

import aiohttp
import pytest

from tests.component.running_agent import MovableClock, RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters

QUEUE: Final = "//tmp/q"
DEAD: Final = "//tmp/dead"


class World:
    """A queue with a vital consumer that has read 4 of 100 rows, and an agent whose clock is moved by hand."""

    def __init__(self, user: User, agent: RunningAgent, clock: MovableClock) -> None:
        self.user = user
        self.agent = agent
        self.clock = clock

    async def dead(self) -> list[Any] | None:
        document = await self.agent.find_queue("hume", QUEUE)
        found: list[Any] | None = ((document or {}).get("status") or {}).get("dead_vital_consumers")
        return found

    async def events(self, kind: str) -> Any:
        return (await self.agent.get(f"/api/v1/events?kind={kind}&since=2020-01-01T00:00:00Z"))[1]["events"]

    async def verdict(self, consumer: str = DEAD) -> Any:
        """Of the agent as the leader of the consumer; a follower begins again when it comes to lead."""
        document = await self.agent.find_consumer("hume", consumer)
        if document is None or document["role"] != "leading":
            return {}
        return (document["status"].get("queues") or {}).get(f"hume:{QUEUE}") or {}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        user = User(session, "hume", clusters.addresses["hume"])
        await user.create_queue(QUEUE, auto_trim_config={"enable": True})
        await user.create_consumer(DEAD, QUEUE)
        clock = MovableClock()
        agent = await stack.enter_async_context(
            running_agent(
                session,
                clusters.addresses,
                clock=clock,
                queue_agent={"controller": {"enable_automatic_trimming": True}},
            )
        )
        world = World(user, agent, clock)
        await user.insert(QUEUE, [{"data": "x", "$tablet_index": 0} for _ in range(100)])
        for target in (1, 2, 4):
            await user.advance(DEAD, QUEUE, 0, target)
            await eventually(world.verdict, lambda found: found.get("drainable_row_count") == 100 - target)  # noqa: B023 - awaited here
        yield world


async def test_a_dead_vital_consumer_is_found_and_priced_until_it_reads(world: World) -> None:
    assert await eventually(world.dead, lambda found: True) == []
    world.clock.offset += timedelta(hours=23)
    stopped = await eventually(world.verdict, lambda found: found.get("price") is not None)
    assert stopped["verdict"] == "stopped"
    assert (stopped["price"]["dead"], stopped["price"]["held_row_count"]) == (False, 96)
    assert await world.dead() == []
    world.clock.offset += timedelta(hours=2)
    [dead] = await eventually(world.dead, bool)
    assert dead["consumer"] == f"hume:{DEAD}"
    assert dead["held_row_count"] == 96
    assert dead["held_data_weight"] == 96 * 18
    assert dead["silent"] >= 24 * 3600
    [event] = await eventually(lambda: world.events("dead"), bool)
    assert (event["queue"], event["consumer"]) == (f"hume:{QUEUE}", f"hume:{DEAD}")
    assert event["details"]["held_row_count"] == 96
    await world.user.advance(DEAD, QUEUE, 0, 50)
    assert await eventually(world.dead, lambda found: found == []) == []
    [event] = await eventually(lambda: world.events("revived"), bool)
    assert event["consumer"] == f"hume:{DEAD}"
    assert len(await world.events("dead")) == 1


async def test_two_that_are_dead_do_not_hide_each_other_and_nobody_is_who_cannot_be_read(world: World) -> None:
    await world.user.create_consumer("//tmp/free", QUEUE, vital=False)
    await world.user.create_consumer("//tmp/new", QUEUE)
    await eventually(lambda: world.verdict("//tmp/new"), lambda found: found.get("verdict") == "not_started")
    await world.user.advance(DEAD, QUEUE, 0, 50)
    await eventually(world.verdict, lambda found: found.get("drainable_row_count") == 50)
    world.clock.offset += timedelta(hours=25)
    first, second = f"hume:{DEAD}", "hume://tmp/new"
    found = await eventually(world.dead, lambda found: len(found) == 2 and all(one["also_held_by"] for one in found))
    assert {one["consumer"]: one["also_held_by"] for one in found} == {first: [second], second: [first]}
    held = {one["consumer"]: one["held_row_count"] for one in found}
    assert held[first] == 50
    assert held[second] in range(96, 101), "as many as were not trimmed before there was the second one"
    assert (await world.verdict("//tmp/free"))["price"] is None
    await world.user.advance(DEAD, QUEUE, 0, 100)
    [left] = await eventually(world.dead, lambda found: [one["also_held_by"] for one in found] == [[]])
    assert left["consumer"] == second
    await world.user.run("unmount_table", path=QUEUE)
    await eventually(lambda: world.verdict("//tmp/new"), lambda found: found.get("verdict") == "unreadable")
    assert await eventually(world.dead, lambda found: found == []) == []
