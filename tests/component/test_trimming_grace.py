"""Rows that a slow reader has not read, when an agent starts: they go after a grace, and not before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

import aiohttp
import pytest

from queue_agent.cli.references import parse_table
from queue_agent.cli.trim_plan import fetch_plan
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters

QUEUE: Final = "//tmp/q"
VITAL: Final = "//tmp/vital"
SLOW: Final = "//tmp/slow"
LONG: Final = 600_000
SHORT: Final = 3_000


class World:
    """Ten rows, of which a vital consumer has read eight and a slow reader three."""

    def __init__(self, session: aiohttp.ClientSession, clusters: LocalClusters) -> None:
        self.session = session
        self.clusters = clusters
        self.user = User(session, "hume", clusters.addresses["hume"])

    async def start(self, stack: AsyncExitStack, grace: int, **options: Any) -> RunningAgent:
        controller = {"enable_automatic_trimming": True, "trimming_grace": grace}
        agent = running_agent(self.session, self.clusters.addresses, queue_agent={"controller": controller}, **options)
        return await stack.enter_async_context(agent)

    async def trimmed(self) -> int:
        infos = await self.user.run("get_tablet_infos", path=QUEUE, tablet_indexes=[0])
        count: int = infos["tablets"][0]["trimmed_row_count"]
        return count


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with LocalClusters({"hume": 0}) as clusters, aiohttp.ClientSession() as session:
        world = World(session, clusters)
        user = world.user
        await user.create_queue(QUEUE, auto_trim_config={"enable": True})
        await user.insert(QUEUE, [{"data": "x"}] * 10)
        await user.create_consumer(VITAL, QUEUE)
        await user.create_consumer(SLOW, QUEUE, vital=False)
        await user.create_consumer("//tmp/never_began", QUEUE, vital=False)
        await user.advance(VITAL, QUEUE, 0, 8)
        await user.advance(SLOW, QUEUE, 0, 3)
        yield world


async def constraint(agent: RunningAgent) -> Any:
    document = await agent.find_queue("hume", QUEUE)
    trim = ((document or {}).get("partitions") or [{}])[0].get("trim") or {}
    return trim.get("constraint") or {}


async def grace_of(agent: RunningAgent) -> Any:
    return await eventually(lambda: constraint(agent), lambda found: found.get("kind") == "grace")


async def test_what_a_slow_reader_has_not_read_stays_and_every_surface_says_so(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack, LONG)
        held = await grace_of(agent)
        assert (held["subject"], held["row_index"], held["held_row_count"]) == (f"hume:{SLOW}", 3, 5)
        assert held["message"].startswith("until 20")
        await eventually(world.trimmed, lambda count: count == 3)
        plan = await fetch_plan(agent.origin, parse_table(f"hume:{QUEUE}", "QUEUE"), None)
        assert plan["partitions"][0]["constraint"]["kind"] == "grace"
        assert plan["partitions"][0]["target"] in (3, None), "as its latest pass has seen the queue"

        async def forecast() -> Any:
            document = await agent.find_consumer("hume", SLOW)
            queues = ((document or {}).get("status") or {}).get("queues") or {}
            return (queues.get(f"hume:{QUEUE}") or {}).get("time_to_loss") or {}

        found = await eventually(forecast, lambda found: found.get("cause") == "grace")
        assert 0 < found["value"] <= LONG / 1000

        async def told() -> Any:
            return (await agent.get("/api/v1/events?kind=grace"))[1]["events"]

        [event] = await eventually(told, bool)
        assert event["consumer"] == f"hume:{SLOW}"
        assert event["details"] == {"until": held["message"].removeprefix("until ")}
        await world.user.advance(SLOW, QUEUE, 0, 6)
        await eventually(world.trimmed, lambda count: count == 6)
        await world.user.set("//sys/queue_agents/config", {"queue_agent": {"controller": {"trimming_grace": 0}}})
        await eventually(world.trimmed, lambda count: count == 8)


@pytest.mark.slow
async def test_each_agent_that_starts_waits_and_then_trims(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack, SHORT)
        await grace_of(agent)
        await eventually(world.trimmed, lambda count: count == 8)
        await world.user.advance(VITAL, QUEUE, 0, 9)
        await eventually(world.trimmed, lambda count: count == 9)
        assert (await constraint(agent)).get("kind") != "grace", "it trims without a silence"
    await world.user.advance(VITAL, QUEUE, 0, 10)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack, LONG)
        await grace_of(agent)
        assert await world.trimmed() == 9


async def test_whoever_only_observes_shows_the_same(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack, LONG, trimming="observe")
        assert (await grace_of(agent))["row_index"] == 3
        _, answer = await agent.get("/api/v1/events?kind=grace")
        assert answer["events"] == [], "it will not trim"
