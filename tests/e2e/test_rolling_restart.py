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
import pytest
from yarl import URL

from tests.component.running_agent import eventually
from tests.e2e.agent_processes import CLUSTER, END_SECONDS, AgentProcess, Stage, running_stage

LEASE: Final = 20.0
"""So long that a machine that is busy with something else does not look as if one had to end."""

QUEUES: Final = 30
WATCHED: Final = 10
"""Queues whose passes are looked at."""


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
                await asyncio.sleep(0.05)

    async def look_at_passes(self, queue: str, agents: Sequence[AgentProcess]) -> None:
        """Collect the instants of a queue's passes, from whichever agent is there."""
        key = quote(f"{CLUSTER}:{queue}", safe="")
        while not self.stopped:
            for agent in agents:
                url = URL(f"{agent.url}/orchid/queue_agent/queues/{key}/pass_instant", encoded=True)
                try:
                    async with self.stage.session.get(url, timeout=aiohttp.ClientTimeout(LEASE)) as response:
                        if response.status == 200:
                            self.instants[queue].add(datetime.fromisoformat(await response.json()))
                            break
                except (aiohttp.ClientError, TimeoutError):
                    continue
            await asyncio.sleep(0.3)

    async def get_answers(self, count: int) -> None:
        """Wait until so many questions of users have been answered, from now on."""
        wanted = self.answers + count

        async def so_far() -> int:
            return self.answers

        await eventually(so_far, lambda answers: answers >= wanted)

    def longest_gap(self) -> float:
        """Seconds between two passes of a queue."""
        return max(
            (after - before).total_seconds()
            for instants in self.instants.values()
            for before, after in pairwise(sorted(instants))
        )


@pytest.mark.slow
async def test_no_status_fails_and_no_queue_waits_for_a_lease_to_end(tmp_path: Path) -> None:
    async with running_stage(tmp_path, 3, QUEUES, LEASE) as stage, asyncio.TaskGroup() as group:
        watcher = Watcher(stage)
        group.create_task(watcher.ask_master(stage.queues))
        for number, queue in enumerate(stage.queues[:WATCHED]):
            agents = [stage.agents[(number + offset) % 3] for offset in range(3)]
            group.create_task(watcher.look_at_passes(queue, agents))
        for number, agent in enumerate(stage.agents):
            agent.send(signal.SIGTERM)
            assert await agent.ended(END_SECONDS) == 0
            await stage.all_served(stage.agents[number - 1], END_SECONDS)
            agent.start()
            await stage.all_served(agent, END_SECONDS)
            await watcher.get_answers(QUEUES)
        watcher.stopped = True
    assert not watcher.failures
    # What an agent leaves without a word is taken over when its lease has ended; else within a pass or two.
    assert watcher.longest_gap() < LEASE / 2
