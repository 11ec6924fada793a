"""An agent stops or dies, and whoever asks for what it leads is answered long before others lead it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any, Final

import pytest

from queue_agent.controllers.status.stand_ins import LEADER_SILENT
from queue_agent.core.group.sharding import Rendezvous
from queue_agent.core.values.refs import CrossClusterRef
from tests.component.running_agent import eventually
from tests.e2e.agent_processes import CLUSTER, CONSUMER, AgentProcess, Stage, running_stage
from yt_wire.farm_hash import fingerprint

LEASE: Final = 100.0
"""So long that nobody takes over what the silent agent leads, however busy the machine is."""


async def shared_out(stage: Stage) -> dict[str, set[str]]:
    """What each agent leads, by its user, once all agents count and nothing moves any more."""
    rendezvous = Rendezvous(fingerprint)
    members = rendezvous.hash_members([agent.address for agent in stage.agents])
    hosts = {path: rendezvous.choose(CrossClusterRef(CLUSTER, path), members) for path in (*stage.queues, CONSUMER)}
    wanted = {agent.user: {path for path, host in hosts.items() if host == agent.address} for agent in stage.agents}

    async def led() -> dict[str, set[str]]:
        return {agent.user: await stage.led_by(agent) for agent in stage.agents}

    await eventually(led, lambda found: found == wanted)
    return wanted


async def read(stage: Stage, path: str, attribute: str) -> Any:
    return (await stage.user.run("get", path=f"{path}/@{attribute}"))["value"]


async def check_stood_in_for(stage: Stage, paths: set[str], leader: AgentProcess) -> None:
    """All that a silent agent leads is answered for, by others who say so."""
    for path in paths - {CONSUMER}:
        await stage.user.insert(path, [{"data": "x", "$tablet_index": 0}] * 2)
        status = await read(stage, path, "queue_status")
        assert status["partition_count"] == 1
        assert leader.address in status["alerts"][LEADER_SILENT]["message"]
        assert [one["consumer"] for one in status["registrations"]] == [f"{CLUSTER}:{CONSUMER}"]
        await eventually(
            lambda path=path: read(stage, path, "queue_partitions"),  # type: ignore[misc] # a default that is bound
            lambda partitions: [one["upper_row_index"] for one in partitions] == [2],
        )
    if CONSUMER in paths:
        status = await read(stage, CONSUMER, "queue_consumer_status")
        assert leader.address in status["alerts"][LEADER_SILENT]["message"]
        assert status["queues"].keys() == {f"{CLUSTER}:{queue}" for queue in stage.queues}
        partitions = await read(stage, CONSUMER, "queue_consumer_partitions")
        assert {one["next_row_index"] for [one] in partitions.values()} == {0}


@pytest.mark.slow
async def test_what_a_silent_agent_leads_is_answered_for(tmp_path: Path) -> None:
    async with running_stage(tmp_path, 3, 6, LEASE) as stage:
        led = await shared_out(stage)
        first, second = sorted(stage.agents, key=lambda agent: (CONSUMER in led[agent.user], len(led[agent.user])))[1:]
        second.send(signal.SIGSTOP)
        await check_stood_in_for(stage, led[second.user], second)
        second.send(signal.SIGCONT)

        async def alerts() -> Any:
            found = [await read(stage, path, "queue_status") for path in led[second.user] - {CONSUMER}]
            return {name for status in found for name in status["alerts"]}

        await eventually(alerts, lambda found: LEADER_SILENT not in found)
        first.kill()
        await check_stood_in_for(stage, led[first.user], first)
        assert len(await stage.members()) == 3, "somebody has taken over, so the reads above say nothing"
