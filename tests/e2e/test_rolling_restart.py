"""Three agents are restarted one after the other, and nobody who asks for a status notices."""

from __future__ import annotations

import asyncio
import signal
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from tests.e2e.agent_processes import CLUSTER, AgentProcess, Stage, running_stage

PERIOD: Final = 1.0
LOAD: Final = 0.5
"""Seconds a loaded machine may add to two periods; more if it adds more to one while nothing happens."""

CALM_SECONDS: Final = 5.0


class Watcher:
    """Asks again and again, and remembers what was wrong."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.stopped = False
        self.answers = 0
        self.failures: list[object] = []
        self.instants: dict[str, set[datetime]] = defaultdict(set)

    async def ask_master(self, queues: Sequence[str]) -> None:
        """As users do, by the cluster, which asks any of the agents."""
        while not self.stopped:
            for queue in queues:
                try:
                    answer = await self.stage.user.run("get", path=f"{queue}/@queue_status")
                except AssertionError as error:
                    self.failures.append(str(error))
                else:
                    if "partition_count" not in answer["value"]:
                        self.failures.append(answer)
                    self.answers += 1
                await asyncio.sleep(0.01)

    async def look_at_passes(self, queue: str, agents: Sequence[AgentProcess]) -> None:
        """Collect the instants of a queue's passes, from whichever agent is there."""
        key = quote(f"{CLUSTER}:{queue}", safe="")
        while not self.stopped:
            for agent in agents:
                url = URL(f"{agent.url}/orchid/queue_agent/queues/{key}/pass_instant", encoded=True)
                try:
                    async with self.stage.session.get(url, timeout=aiohttp.ClientTimeout(5)) as response:
                        if response.status == 200:
                            self.instants[queue].add(datetime.fromisoformat(await response.json()))
                            break
                except (aiohttp.ClientError, TimeoutError):
                    continue
            await asyncio.sleep(0.15)

    def longest_gap(self) -> float:
        """Seconds between two passes of a queue."""
        return max(
            (after - before).total_seconds()
            for instants in self.instants.values()
            for before, after in pairwise(sorted(instants))
        )


async def test_no_status_fails_and_no_pass_is_missed(tmp_path: Path) -> None:
    async with running_stage(tmp_path, agent_count=3, queue_count=60) as stage, asyncio.TaskGroup() as group:
        watcher = Watcher(stage)
        group.create_task(watcher.ask_master(stage.queues))
        for number, queue in enumerate(stage.queues[:15]):
            agents = [stage.agents[(number + offset) % 3] for offset in range(3)]
            group.create_task(watcher.look_at_passes(queue, agents))
        await asyncio.sleep(CALM_SECONDS)
        calm = watcher.longest_gap()
        for agent in stage.agents:
            agent.send(signal.SIGTERM)
            assert await agent.ended(15) == 0
            agent.start()
            await stage.all_served(agent, 30)
            await asyncio.sleep(2 * PERIOD)
        watcher.stopped = True
    assert not watcher.failures
    assert watcher.answers > 500
    assert watcher.longest_gap() < 2 * PERIOD + max(LOAD, calm - PERIOD)
