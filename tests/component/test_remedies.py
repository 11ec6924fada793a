"""What a verdict advises is typed into a shell as it is, and the problem is gone."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
import pytest

from tests.component.running_agent import MovableClock, RunningAgent, User, eventually, running_agent
from tests.pasting import paste
from yt_local.base.clock import Clock
from yt_local.runner import LocalClusters

QUEUE: Final = "//tmp/q"
FAST: Final = "//tmp/fast"
SLOW: Final = "//tmp/slow"
ROWS: Final = 100
_KNOWN_GAPS: Final = 5


class Clocks(NamedTuple):
    """Moved by hand."""

    agent: MovableClock
    cluster: Clock

    def advance(self, seconds: float) -> None:
        self.agent.offset += timedelta(seconds=seconds)
        self.cluster.advance(timedelta(seconds=seconds))


class World:
    """A queue of which a vital consumer has read nothing yet, another consumer that reads it, an agent, and a shell."""

    def __init__(self, user: User, agent: RunningAgent, clocks: Clocks, environment: dict[str, str]) -> None:
        self.user = user
        self.agent = agent
        self.clocks = clocks
        self._environment = environment

    async def write(self, count: int) -> None:
        await self.user.insert(QUEUE, [{"data": "x", "$tablet_index": 0}] * count)

    async def read(self, *offsets: int) -> None:
        """Commit one offset after the other."""
        for offset in offsets:
            await self.user.advance(SLOW, QUEUE, 0, offset)
            await eventually(self.verdict, lambda found: found["drainable_row_count"] == ROWS - offset)  # noqa: B023 - awaited here

    async def read_until_pace_is_known(self) -> int:
        """Commit row by row; the last offset. If the agent paused before a commit, no gap is learned from it."""
        offset, known_gaps = 0, 0
        while known_gaps < _KNOWN_GAPS:
            offset += 1
            await self.read(offset)
            known_gaps = (await self.verdict())["pace"]["known_gaps"]
        return offset

    async def verdict(self) -> Any:
        """On the slow consumer, by the agent that leads it."""
        document = await self.agent.find_consumer("pythia", SLOW)
        if document is None or document["role"] != "leading":
            return None
        return document["status"].get("queues", {}).get(f"pythia:{QUEUE}")

    async def last_commit(self) -> str:
        """As the agent knows it."""
        document = await self.agent.find_consumer("pythia", SLOW)
        assert document is not None
        (partition,) = document["partitions"][f"pythia:{QUEUE}"]
        return str(partition["last_consume_time"])

    async def until(self, *verdicts: str) -> Any:
        return await eventually(self.verdict, lambda found: found["verdict"] in verdicts)

    async def paste(self, command: str) -> str:
        """What a shell prints for a command."""
        return await asyncio.to_thread(paste, command, self._environment)

    async def follow_advice(self, *verdicts: str) -> str:
        """Wait for a verdict, and do what it says."""
        found = await self.until(*verdicts)
        assert found["action_is_command"], (found["reason"], found["action"], found["loss"])
        return await self.paste(found["action"])


@pytest.fixture
async def world(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clocks = Clocks(MovableClock(), Clock())
        clusters = await stack.enter_async_context(LocalClusters({"pythia": 0}, clock=clocks.cluster))
        address = clusters.addresses["pythia"]
        session = await stack.enter_async_context(aiohttp.ClientSession())
        user = User(session, "pythia", address)
        await user.create_queue(QUEUE, auto_trim_config={"enable": True}, **getattr(request, "param", {}))
        await user.create_consumer(FAST, QUEUE)
        await user.create_consumer(SLOW, QUEUE, vital=False)
        trims = {"controller": {"enable_automatic_trimming": True}}
        membership = {"lease": 3_000_000}  # or it ends when the cluster's clock is moved
        agent = running_agent(session, clusters.addresses, clock=clocks.agent, queue_agent=trims, membership=membership)
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "YT_PROXY_URL_ALIASING_CONFIG": f'{{pythia="http://{address}"}}',
        }
        world = World(user, await stack.enter_async_context(agent), clocks, environment)
        await world.write(ROWS)
        await world.until("not_started")
        yield world


async def test_an_offset_past_the_end_is_reset(world: World) -> None:
    await world.user.advance(SLOW, QUEUE, 0, 2 * ROWS)
    await eventually(world.verdict, lambda found: found["drainable_row_count"] == 0)
    world.clocks.advance(61)
    await world.follow_advice("ahead")
    found = await eventually(world.verdict, lambda found: found["verdict"] != "ahead")
    assert found["drainable_row_count"] == ROWS


async def test_a_consumer_of_a_re_created_queue_is_reset(world: World) -> None:
    await world.read(10, 20)
    await world.user.run("remove", path=QUEUE)
    await world.user.create_queue(QUEUE, auto_trim_config={"enable": True})
    await world.write(ROWS)
    await world.follow_advice("losing")  # the rows of the old queue
    found = await eventually(world.verdict, lambda found: found["rebuild"] is None)
    assert found["drainable_row_count"] == ROWS
    world.clocks.advance(31)
    await world.until("lost")


async def test_a_consumer_that_loses_rows_is_made_vital(world: World) -> None:
    await world.read(1, 2, 4)
    await world.user.advance(FAST, QUEUE, 0, ROWS)
    await world.follow_advice("losing")
    world.clocks.advance(31)
    found = await world.until("lost")
    assert found["lost_row_count"] > 0
    await world.write(ROWS)
    await world.user.advance(FAST, QUEUE, 0, 2 * ROWS)
    after = await eventually(world.verdict, lambda found: found["drainable_row_count"] == ROWS)
    assert after["trimmed_uncommitted_row_count"] == found["trimmed_uncommitted_row_count"]


@pytest.mark.slow
@pytest.mark.parametrize("world", [{"min_data_versions": 0, "max_data_ttl": 60_000}], indirect=True)
async def test_a_queue_whose_ttl_removes_unread_rows_keeps_them(world: World) -> None:
    await world.read(1, 2, 4)
    world.clocks.advance(1200)
    await world.write(1)
    await world.follow_advice("losing")
    await world.user.advance(SLOW, QUEUE, 0, ROWS)
    world.clocks.advance(1200)
    await world.until("lost")
    # Counts are published once they are written.
    found = await eventually(world.verdict, lambda found: found["trimmed_uncommitted_row_count"] > 0)
    assert found["loss"]["cause"] == "ttl"
    await world.write(1)
    after = await eventually(world.verdict, lambda found: found["drainable_row_count"] == 2)
    assert after["trimmed_uncommitted_row_count"] == found["trimmed_uncommitted_row_count"]


async def test_the_row_at_which_a_reader_is_stuck_is_shown(world: World) -> None:
    offset = await world.read_until_pace_is_known()
    for _ in range(4):
        seen = {await world.last_commit()}
        world.clocks.advance(60)
        await world.user.advance(SLOW, QUEUE, 0, offset)
        await eventually(world.last_commit, lambda found: found not in seen)  # noqa: B023 - awaited here
    shown = await world.follow_advice("stalled")
    assert "x" in shown


@pytest.mark.parametrize("path", [QUEUE, SLOW])
async def test_an_unmounted_table_is_mounted(world: World, path: str) -> None:
    await world.user.run("unmount_table", path=path)
    await world.follow_advice("unreadable")
    await world.until("not_started")


async def test_an_objective_that_makes_no_sense_is_shown(world: World) -> None:
    await world.user.set(f"{SLOW}/@queue_agent_objective", {"pythia://tmp/q": {"max_lag": "soon"}})

    async def problem() -> Any:
        _, found = await world.agent.get("/api/v1/alerts")
        return next((one for one in found["alerts"] if "objective" in (one.get("action") or "")), None)

    found = await eventually(problem, bool)
    assert "soon" in await world.paste(found["action"])
