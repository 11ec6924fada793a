"""Three agents are restarted one after the other, and nobody who asks for a status notices."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.component.running_agent import eventually
from tests.e2e.agent_processes import CONSUMER, AgentProcess, Stage, running_stage
from tests.waiting import LIMIT_SECONDS

LEASE: Final = 2.0 * LIMIT_SECONDS
"""Longer than a test waits: nothing is taken over because one has ended."""

QUEUES: Final = 30


class Watcher:
    """Asks again and again, and remembers what was wrong."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.stopped = False
        self.answers = 0
        self.failures: list[object] = []

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

    async def get_answers(self, count: int) -> None:
        """Wait until so many questions of users have been answered, from now on."""
        wanted = self.answers + count

        async def so_far() -> int:
            return self.answers

        await eventually(so_far, lambda answers: answers >= wanted)


async def all_led(stage: Stage, agents: Sequence[AgentProcess]) -> None:
    """Wait until some agents lead everything between them."""

    async def led() -> set[str]:
        return {path for agent in agents for path in await stage.led_by(agent)}

    await eventually(led, lambda found: found == {*stage.queues, CONSUMER})


@pytest.mark.slow
async def test_no_status_fails_and_no_queue_waits_for_a_lease_to_end(tmp_path: Path) -> None:
    async with running_stage(tmp_path, 3, QUEUES, LEASE) as stage, asyncio.TaskGroup() as group:
        watcher = Watcher(stage)
        group.create_task(watcher.ask_master(stage.queues))
        for agent in stage.agents:
            others = [one for one in stage.agents if one is not agent]
            agent.send(signal.SIGTERM)
            assert await agent.ended() == 0
            await all_led(stage, others)
            for one in others:
                await stage.all_served(one)
            agent.start()
            await stage.all_served(agent)
            await all_led(stage, stage.agents)
            await watcher.get_answers(QUEUES)
        watcher.stopped = True
    assert not watcher.failures
