"""Rows that agents trim before somebody has committed them, while agents are killed: against a count at the cluster."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import pytest
from yarl import URL

from tests.component.counted_rows import Counted
from tests.component.running_agent import eventually
from tests.e2e.agent_processes import CLUSTER, CONSUMER, AgentProcess, Stage, running_stage
from yt_local.tables.dynamic.tables import DynamicTables

SECONDS: Final = float(os.environ.get("LOSSES_SECONDS", "60"))
"""How long agents are killed; `LOSSES_SECONDS=3600` goes on for an hour."""

SEED: Final = int(os.environ.get("LOSSES_SEED", "20251"))
LEASE: Final = 2.0
READER: Final = "//tmp/reader"
QUEUE: Final = "//tmp/queue-0"
PARTITIONS: Final = 2
_AWAY: Final = (0.0, 2 * LEASE)
"""Seconds that a killed agent is away."""


class World:
    """A queue, a vital consumer that lets rows go, a reader that is not vital, and two agents."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.counted = [Counted() for _ in range(PARTITIONS)]
        self.kills = 0

    async def write(self, index: int, count: int) -> None:
        await self.stage.user.insert(QUEUE, [{"data": "x" * 20, "$tablet_index": index} for _ in range(count)])
        self.counted[index].end += count

    async def read(self, index: int, offset: int) -> None:
        """The reader commits."""
        await self.stage.user.advance(READER, QUEUE, index, offset)
        self.counted[index].offset = offset
        self.counted[index].committed.update(range(offset))

    async def let_go(self, index: int, offset: int) -> None:
        """The vital consumer commits, and an agent trims."""
        await self.stage.user.advance(CONSUMER, QUEUE, index, offset)

        async def start() -> int:
            return self.counted[index].start

        await eventually(start, lambda found: found >= offset)

    async def kill_now_and_then(self, chance: random.Random, stop: asyncio.Event) -> None:
        """kill -9 of one agent or of both, at any moment, and back a while later."""
        while not stop.is_set():
            await asyncio.sleep(chance.uniform(0.0, 2 * LEASE))  # when it is killed is luck on purpose
            victims = chance.sample(self.stage.agents, chance.choice([1, 1, 2]))
            for agent in victims:
                agent.kill()
                self.kills += 1
            await asyncio.sleep(chance.uniform(*_AWAY))  # how long they are away
            for agent in victims:
                agent.start()

    async def told(self) -> Any:
        """What an agent that answers publishes of the reader; None: none does."""
        for agent in self.stage.agents:
            found = await self._ask(agent)
            if found is not None:
                return found
        return None

    async def _ask(self, agent: AgentProcess) -> Any:
        url = URL(f"{agent.url}/api/v1/consumers/{CLUSTER}/{quote(READER, safe='')}", encoded=True)
        try:
            async with self.stage.session.get(url, timeout=aiohttp.ClientTimeout(3)) as response:
                document = await response.json() if response.status == 200 else {}
        except (aiohttp.ClientError, TimeoutError):
            return None
        found = ((document.get("status") or {}).get("queues") or {}).get(f"{CLUSTER}:{QUEUE}") or {}
        return found if "trimmed_uncommitted_row_count" in found else None


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    controller = {"pass_period": 200, "enable_automatic_trimming": True, "trimming_grace": 0}
    sections: dict[str, Any] = {"queue_agent": {"pass_period": 200, "controller": controller}, "trimming": "allowed"}
    async with running_stage(tmp_path, 2, 1, LEASE, **sections) as stage:
        world = World(stage)
        trim_rows = DynamicTables.trim_rows

        def trim(tables: DynamicTables, access: Any, path: str, index: int, to: int) -> None:
            trim_rows(tables, access, path, index, to)
            world.counted[index].trimmed(to)

        monkeypatch.setattr(DynamicTables, "trim_rows", trim)
        await stage.user.run("unmount_table", path=QUEUE)
        await stage.user.run("reshard_table", path=QUEUE, tablet_count=PARTITIONS)
        await stage.user.run("mount_table", path=QUEUE)
        await stage.user.create_consumer(READER, QUEUE, vital=False)
        yield world


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 600)
async def test_every_row_trimmed_uncommitted_is_counted_whoever_is_killed(world: World) -> None:
    """The reader commits whether its rows are still there or not, and never while a trim is under way."""
    chance = random.Random(SEED)
    for index in range(PARTITIONS):
        await world.write(index, 10)
        await world.read(index, 1)
    await eventually(world.told, lambda found: found["drainable_row_count"] == 18)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.kill_now_and_then(chance, stop))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            index = chance.randrange(PARTITIONS)
            one = world.counted[index]
            await world.write(index, chance.randrange(1, 60))
            if chance.random() < 0.6:
                await world.read(index, chance.randrange(max(one.offset, one.start), one.end + 1))
            await world.let_go(index, chance.randrange(one.start, one.end + 1))
            if chance.random() < 0.5:
                await world.read(index, one.end)
        stop.set()
    for agent in world.stage.agents:
        agent.kill()
        agent.start()
    lost = sum(one.lost for one in world.counted)
    assert lost > 0
    assert world.kills > 0
    drainable = sum(one.end - max(one.start, one.offset) for one in world.counted)
    found = await eventually(
        world.told,
        lambda found: (found["trimmed_uncommitted_row_count"], found["drainable_row_count"]) == (lost, drainable),
    )
    assert found["lost_row_count"] + found["possibly_lost_row_count"] == lost
