"""Three agents share hundreds of queues, and whatever happens to them no queue is trimmed by two."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.agent_processes import LEASE, AgentProcess, Stage, running_stage
from yt_local.base.request_log import LoggedRequest
from yt_local.security.permissions import UNLIMITED

SEED: Final = int(os.environ.get("AGENT_FAULTS_SEED", "20251"))
ROUNDS: Final = int(os.environ.get("AGENT_FAULTS_ROUNDS", "1"))
"""Of all faults, at least; `AGENT_FAULTS_ROUNDS=10` goes on for a quarter of an hour."""

QUEUES: Final = 200
BUSY: Final = 12
"""Queues with something to be trimmed in every pass."""

WORK_PERIOD: Final = 0.15
"""Seconds from one queue that is written and read to the next."""

PAUSE: Final = LEASE / 3
"""Seconds at least between the last trim of one agent and the first of the next."""

Fault = Callable[[Stage, AgentProcess], Awaitable[None]]


async def die(stage: Stage, agent: AgentProcess) -> None:
    """kill -9, and back a moment later under the same address."""
    agent.kill()
    await asyncio.sleep(LEASE / 2)  # how long it is away
    agent.start()


async def freeze(stage: Stage, agent: AgentProcess) -> None:
    """SIGSTOP for so long that others have begun to trim when it goes on."""
    agent.send(signal.SIGSTOP)
    await asyncio.sleep(3 * LEASE)  # how long it is frozen
    agent.send(signal.SIGCONT)


async def be_cut_off(stage: Stage, agent: AgentProcess) -> None:
    """No network to the cluster for longer than a lease."""
    agent.wire.cut()
    await asyncio.sleep(1.5 * LEASE)  # how long it is cut off
    agent.wire.mend()


async def jump_forward(stage: Stage, agent: AgentProcess) -> None:
    """The cluster's clock goes forward: every membership runs out at once, while its agent goes on."""
    stage.cluster.state.clock.advance(10 * LEASE)
    await asyncio.sleep(LEASE / 2)  # agents meet the new time in different moments of a lease


async def jump_back(stage: Stage, agent: AgentProcess) -> None:
    """The cluster's clock goes back: memberships of the dead live longer."""
    stage.cluster.state.clock.advance(-2 * LEASE)
    await asyncio.sleep(LEASE / 2)  # as above


async def leave(stage: Stage, agent: AgentProcess) -> None:
    """SIGTERM, and back."""
    await stage.all_served(agent, "an earlier fault")  # it may have been started a moment ago
    agent.send(signal.SIGTERM)
    assert await agent.ended() == 0
    agent.start()


FAULTS: Final[list[Fault]] = [die, freeze, be_cut_off, jump_forward, jump_back, leave]


def check_trims(stage: Stage) -> Mapping[object, set[str]]:
    """No two agents at one queue at once, nor one soon after the other; who has trimmed each."""
    by_table: dict[object, list[LoggedRequest]] = defaultdict(list)
    for request in stage.trims.values():
        by_table[request.parameters["path"]].append(request)
    for table, requests in by_table.items():
        requests.sort(key=lambda request: request.started)
        for earlier, later in pairwise(requests):
            if earlier.user != later.user:
                assert earlier.finished is not None, (table, earlier, later)
                assert later.started - earlier.finished > PAUSE, (table, earlier, later)
    return {table: {request.user for request in requests} for table, requests in by_table.items()}


def have_several_trimmed(stage: Stage) -> bool:
    """Whether enough was trimmed, and enough queues by more than one, for the checks to say something."""
    stage.note_trims()
    trimmers = check_trims(stage)
    done = [request for request in stage.trims.values() if request.status == 200 and request.error_code == 0]
    return len(done) > QUEUES and sum(len(users) > 1 for users in trimmers.values()) > QUEUES / 10


@pytest.mark.slow
@pytest.mark.timeout(900 * ROUNDS)
async def test_no_queue_is_trimmed_by_two_and_all_are_served_whatever_happens(tmp_path: Path) -> None:
    randomness = random.Random(SEED)
    stop = asyncio.Event()
    async with running_stage(tmp_path, agent_count=3, queue_count=QUEUES) as stage, asyncio.TaskGroup() as group:
        busy, others = stage.queues[:BUSY], stage.queues[BUSY:]
        working = [group.create_task(stage.work(queues, stop, WORK_PERIOD)) for queues in (busy, others)]
        rounds = 0
        # Without faults no queue changes hands.
        while rounds < ROUNDS or not have_several_trimmed(stage):
            rounds += 1
            for fault in randomness.sample(FAULTS, len(FAULTS)):
                victim = randomness.choice(stage.agents)
                await fault(stage, victim)
                asked = randomness.choice([agent for agent in stage.agents if agent is not victim])
                await stage.all_served(asked, fault.__name__)
                check_trims(stage)
            await asyncio.sleep(1.5 * LEASE)  # so that whoever leads now trims as well
        stop.set()
        await asyncio.wait(working)
        stage.note_trims()
        check_trims(stage)
        for queue in stage.queues:
            object_id = f"#{stage.cluster.cypress.get(UNLIMITED, f'{queue}/@id')}"
            for request in stage.trims.values():
                if request.parameters["path"] == object_id:
                    read = [count for instant, count in stage.read[queue] if instant < request.started]
                    assert int(request.parameters["trimmed_row_count"]) <= max(read, default=0)
