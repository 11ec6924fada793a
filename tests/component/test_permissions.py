"""An agent whose user is no superuser: what docs/running.md grants is enough, and what is lacking is said clearly."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters

AGENT: Final = "queue_agent"
QUEUE: Final = "//home/queue"
OTHER: Final = "//home/other"
CONSUMER: Final = "//home/consumer"

GRANTS: Final[Mapping[str, Sequence[str]]] = {
    "//sys/queue_agents": ["read", "write"],
    "//home": ["read", "write"],
}
"""What docs/running.md says the agent needs."""


@dataclass(frozen=True)
class World:
    """A cluster with closed doors, root, and an agent that has just the keys it needs."""

    agent: RunningAgent
    root: User

    async def deny(self, path: str, *permissions: str) -> None:
        entry = {"action": "deny", "subjects": [AGENT], "permissions": list(permissions)}
        await self.root.set(f"{path}/@acl/begin", entry)

    async def relent(self, path: str) -> None:
        await self.root.run("remove", path=f"{path}/@acl/0")

    async def queue(self, path: str = QUEUE) -> Any:
        return await self.agent.find_queue("hume", path)

    async def alerts(self) -> Any:
        return await self.agent.alerts()

    async def lower_row_index(self) -> Any:
        return (await self.queue())["partitions"][0].get("lower_row_index")

    async def goes_on(self, path: str = OTHER) -> None:
        """Wait until a queue has been looked at three times more, without an error."""
        start = (await self.queue(path))["pass_index"]
        await eventually(
            lambda: self.queue(path), lambda queue: queue["pass_index"] >= start + 3 and queue["error"] is None
        )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    token_file = tmp_path / "token"
    token_file.write_text("agents-token")
    headers = {"Authorization": "OAuth roots-token"}
    tokens = {"roots-token": "root", "agents-token": AGENT}
    async with (
        LocalClusters({"hume": 0}, tokens=tokens, require_token=True) as clusters,
        aiohttp.ClientSession(headers=headers) as session,
    ):
        address = clusters.addresses["hume"]
        root = User(session, "hume", address)
        await root.run("remove_member", group="superusers", member=AGENT)
        await root.set("//home/@acl", [])
        for path, permissions in GRANTS.items():
            entry = {"action": "allow", "subjects": [AGENT], "permissions": permissions}
            await root.set(f"{path}/@acl/end", entry)
        for path in (QUEUE, OTHER):
            await root.create_queue(path)
            await root.insert(path, [{"data": "x"}] * 5)
        await root.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
        await root.create_consumer(CONSUMER, QUEUE)
        await root.advance(CONSUMER, QUEUE, 0, 1)
        async with running_agent(
            session,
            {"hume": address},
            clusters={"hume": {"proxy": address, "token_file": str(token_file), "discover_proxies": False}},
            queue_agent={"controller": {"enable_automatic_trimming": True}},
        ) as agent:
            world = World(agent, root)
            await eventually(world.queue, lambda queue: queue["error"] is None)
            await eventually(lambda: world.queue(OTHER), lambda queue: queue["error"] is None)
            yield world


async def test_what_is_granted_is_enough_for_everything(world: World) -> None:
    await eventually(world.lower_row_index, lambda index: index == 1)
    await world.root.advance(CONSUMER, QUEUE, 0, 3)
    await eventually(world.lower_row_index, lambda index: index == 3)
    await world.root.create_queue("//home/new")
    await eventually(lambda: world.queue("//home/new"), lambda queue: queue["error"] is None)
    assert await world.alerts() == {}
    assert not (await world.queue())["status"].get("alerts")
    journal = "//sys/queue_agents/trim_journal/@chunk_row_count"
    await eventually(lambda: world.root.run("get", path=journal), lambda count: count["value"] == 2)


async def test_a_queue_that_may_not_be_trimmed_has_an_alert_and_keeps_its_rows(world: World) -> None:
    await eventually(world.lower_row_index, lambda index: index == 1)
    await world.deny(QUEUE, "write")
    await world.root.advance(CONSUMER, QUEUE, 0, 4)
    found = await eventually(world.queue, lambda queue: bool(queue["status"].get("alerts")))
    alert = found["status"]["alerts"]["queue_agent_queue_controller_trim_failed"]
    assert f'Access denied for user "{AGENT}": "write" permission for node {QUEUE}' in str(alert)
    assert found["error"] is None
    assert await world.lower_row_index() == 1
    await world.goes_on()
    await world.relent(QUEUE)
    await eventually(world.lower_row_index, lambda index: index == 4)
    await eventually(world.queue, lambda queue: not queue["status"].get("alerts"))


async def test_a_consumer_that_may_not_be_read_stops_trimming_and_says_why(world: World) -> None:
    await eventually(world.lower_row_index, lambda index: index == 1)
    await world.deny(CONSUMER, "read")
    found = await eventually(world.queue, lambda queue: bool(queue["status"].get("alerts")))
    assert f'read\\" permission for node {CONSUMER} is denied' in json.dumps(found["status"]["alerts"])
    await world.root.advance(CONSUMER, QUEUE, 0, 4)
    await world.goes_on()
    assert await world.lower_row_index() == 1
    await world.relent(CONSUMER)
    await eventually(world.lower_row_index, lambda index: index == 4)


async def test_state_tables_that_may_not_be_written_are_an_alert(world: World) -> None:
    await world.deny("//sys/queue_agents/queues", "write")
    await world.root.create_queue("//home/late")
    alerts = await eventually(world.alerts, bool)
    assert "cypress_synchronizer_pass_failed" in alerts
    assert "Access denied" in str(alerts)
    await world.goes_on()
    await world.relent("//sys/queue_agents/queues")
    await eventually(lambda: world.queue("//home/late"), lambda queue: queue["error"] is None)
    await eventually(world.alerts, lambda found: found == {})


async def test_state_tables_that_may_not_be_read_are_an_alert_and_the_known_is_served_on(world: World) -> None:
    await world.deny("//sys/queue_agents", "read")
    alerts = await eventually(world.alerts, lambda found: "queue_agent_pass_failed" in found)
    assert "Access denied" in str(alerts["queue_agent_pass_failed"])
    await world.goes_on()
    await world.relent("//sys/queue_agents")
    await eventually(world.alerts, lambda found: found == {})


async def test_a_revoked_token_is_an_alert_until_there_is_another(world: World, tmp_path: Path) -> None:
    await world.root.set(f"//sys/users/{AGENT}/@banned", True)
    alerts = await eventually(world.alerts, lambda found: "queue_agent_pass_failed" in found)
    assert "banned" in str(alerts["queue_agent_pass_failed"])
    await world.root.set(f"//sys/users/{AGENT}/@banned", False)
    await eventually(world.alerts, lambda found: found == {})
    (tmp_path / "token").write_text("no-token")
    alerts = await eventually(world.alerts, lambda found: "queue_agent_pass_failed" in found)
    assert "Token is missing" in str(alerts["queue_agent_pass_failed"])
    (tmp_path / "token").write_text("agents-token")
    await eventually(world.alerts, lambda found: found == {})
