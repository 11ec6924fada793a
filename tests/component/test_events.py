"""The record of events of a whole agent on a local cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp
import pytest

from queue_agent.cli.events import fetch_events, render_events
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters

EVENTS: Final = "//sys/queue_agents/consumer_events"
QUEUE: Final = "//tmp/q"
CONSUMER: Final = "//tmp/c"


class World:
    """A queue with a vital consumer that reads all, and one that is not vital and reads less."""

    def __init__(self, session: aiohttp.ClientSession, clusters: LocalClusters) -> None:
        self.session = session
        self.clusters = clusters
        self.user = User(session, "hume", clusters.addresses["hume"])

    async def start(self, stack: AsyncExitStack) -> RunningAgent:
        agent = running_agent(
            self.session,
            self.clusters.addresses,
            rpc={"host": "127.0.0.1", "port": 0, "advertised_host": "127.0.0.1"},
            membership={"lease": 2000},
            queue_agent_sharding_manager={"pass_period": 100},
            trimming="allowed",
            queue_agent={"controller": {"enable_automatic_trimming": True}},
        )
        return await stack.enter_async_context(agent)

    async def lose(self) -> None:
        """The vital consumer passes rows that the other has not read."""
        await self.user.insert(QUEUE, [{"data": "x", "$tablet_index": 0} for _ in range(100)])
        await self.user.advance("//tmp/v", QUEUE, 0, 90)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        world = World(await stack.enter_async_context(aiohttp.ClientSession()), clusters)
        await world.user.create_queue(QUEUE, auto_trim_config={"enable": True})
        await world.user.create_consumer("//tmp/v", QUEUE)
        await world.user.create_consumer(CONSUMER, QUEUE, vital=False)
        yield world


async def events(agent: RunningAgent, **query: str) -> list[Any]:
    status, page = await agent.get(f"/api/v1/events?{urlencode(query)}")
    assert status == 200, page
    return list(page["events"])


def unread(consumer: Any) -> int | None:
    queue = (consumer["status"].get("queues") or {}).get(f"hume:{QUEUE}") or {}
    found: int | None = queue.get("drainable_row_count")
    return found


async def begun(world: World, agent: RunningAgent) -> None:
    """Until the consumer has been seen to read."""
    await world.user.insert(QUEUE, [{"data": "x", "$tablet_index": 0} for _ in range(10)])
    for target in (1, 2, 4):
        await world.user.advance(CONSUMER, QUEUE, 0, target)
        await eventually(
            lambda: agent.find_consumer("hume", CONSUMER),
            lambda found: unread(found) == 10 - target,  # noqa: B023 - awaited here
        )


async def test_a_loss_by_trimming_is_told_with_its_loser_by_every_agent_and_after_restarts(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await begun(world, agent)
        await world.lose()
        found = await eventually(
            lambda: events(agent), lambda found: {"trim", "loss"} <= {one["kind"] for one in found}
        )
        trim = next(one for one in found if one["kind"] == "trim")
        assert (trim["queue"], trim["consumer"]) == (f"hume:{QUEUE}", f"hume:{CONSUMER}")
        assert trim["subject"] == "hume://tmp/v"
        assert trim["details"]["offset"] == 4
        loss = next(one for one in found if one["kind"] == "loss")
        assert (loss["details"]["cause"], loss["subject"]) == ("vital_trimming", "hume://tmp/v")
        assert [one["instant"] for one in found] == sorted((one["instant"] for one in found), reverse=True)
        assert {one["kind"] for one in await events(agent, kind="loss", queue=f"hume:{QUEUE}")} == {"loss"}
        assert await events(agent, consumer="hume://tmp/v", kind="loss,trim") == []
    async with AsyncExitStack() as stack:
        other = await world.start(stack)
        again = await events(other, kind="loss,trim")
        assert again == [one for one in found if one["kind"] in ("loss", "trim")], "in the table, reported once"
        page = await fetch_events(other.origin, {"kind": "loss,trim"})
        [*_, last] = render_events(page)
        assert "loss" in last or "trim" in last


async def test_pages_go_back_in_time_and_miss_nothing(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await begun(world, agent)
        await world.lose()
        found = await eventually(
            lambda: events(agent), lambda found: {"trim", "loss"} <= {one["kind"] for one in found}
        )
        pages: list[Any] = []
        query: dict[str, str] = {"limit": "1"}
        while True:
            _, page = await agent.get(f"/api/v1/events?{urlencode(query)}")
            pages += page["events"]
            if page["next"] is None:
                break
            query["before"] = page["next"]
        assert [one for one in pages if one in found] == found


async def test_without_the_table_the_agent_tells_what_it_has_noticed(world: World) -> None:
    await world.user.run("remove", path=EVENTS)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await begun(world, agent)
        await world.lose()
        await eventually(lambda: events(agent), lambda found: {"trim", "loss"} <= {one["kind"] for one in found})
        _, page = await agent.get("/api/v1/events")
        assert page["persisted"] is False
        await eventually(agent.alerts, lambda alerts: "queue_agent_consumer_events_failed" in alerts)
