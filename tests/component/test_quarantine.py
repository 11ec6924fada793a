"""A dead vital consumer gets notice, and holds the rows of its queue no longer, as a whole agent sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Final

import aiohttp
import pytest

from queue_agent.cli.references import parse_table
from queue_agent.cli.trim_plan import fetch_plan
from queue_agent.core.group.sharding import Rendezvous
from queue_agent.core.values.refs import CrossClusterRef
from tests.component.running_agent import MovableClock, RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire.farm_hash import fingerprint

QUEUE: Final = "//tmp/q"
DEAD: Final = "//tmp/dead"
LIVE: Final = "//tmp/live"
SHORT: Final = {"after": "7d", "notice": 1500, "max_rows_per_hour": 3_600_000}
ADVERTISED: Final = {"host": "127.0.0.1", "port": 0, "advertised_host": "127.0.0.1"}
LONG: Final = {**SHORT, "notice": 86_400_000}


class World:
    """A queue of 100 rows: one vital consumer has read 4 of them, and is dead; the other has read all."""

    def __init__(self, stack: AsyncExitStack, session: aiohttp.ClientSession, clusters: LocalClusters) -> None:
        self.stack = stack
        self.session = session
        self.clusters = clusters
        self.user = User(session, "hume", clusters.addresses["hume"])
        self.clock = MovableClock()

    async def start(self, **options: Any) -> RunningAgent:
        return await self.stack.enter_async_context(
            running_agent(
                self.session,
                self.clusters.addresses,
                clock=self.clock,
                membership={"lease": 2000},
                queue_agent={"controller": {"enable_automatic_trimming": True}},
                **options,
            )
        )

    async def trimmed(self) -> int:
        infos = await self.user.run("get_tablet_infos", path=QUEUE, tablet_indexes=[0])
        count: int = infos["tablets"][0]["trimmed_row_count"]
        return count

    async def kept(self) -> Any:
        """Verdicts on the dead consumer that outlive the agent."""
        query = f'verdict from [//sys/queue_agents/consumer_ledger] where consumer_path = "{DEAD}"'
        return {row["verdict"] for row in self.clusters.cluster("hume").tables.select_rows(UNLIMITED, query)}

    async def let_die(self, agent: RunningAgent) -> None:
        """Until the agent knows the pace of the consumer, and eight days more."""
        for target in (1, 2, 4):
            await self.user.advance(DEAD, QUEUE, 0, target)
            await eventually(
                lambda: verdict(agent),
                lambda found: found.get("drainable_row_count") == 100 - target,  # noqa: B023 - awaited here
            )
        await eventually(self.trimmed, lambda count: count == 4)
        self.clock.offset += timedelta(days=8)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        world = World(stack, session, clusters)
        user = world.user
        await user.create_queue(QUEUE, auto_trim_config={"enable": True}, queue_agent_quarantine={"enable": True})
        await user.create_consumer(DEAD, QUEUE)
        await user.create_consumer(LIVE, QUEUE)
        await user.insert(QUEUE, [{"data": "x", "$tablet_index": 0} for _ in range(100)])
        await user.advance(LIVE, QUEUE, 0, 100)
        yield world


async def status(agent: RunningAgent) -> Any:
    document = await agent.find_queue("hume", QUEUE)
    return (document or {}).get("status") or {}


async def states(agent: RunningAgent) -> Any:
    return [one["state"] for one in (await status(agent)).get("quarantines", ())]


async def verdict(agent: RunningAgent) -> Any:
    document = await agent.find_consumer("hume", DEAD)
    return ((document or {}).get("status", {}).get("queues") or {}).get(f"hume:{QUEUE}") or {}


async def events(agent: RunningAgent) -> Any:
    kinds = "quarantine_announced,quarantine_started,quarantine_ended"
    found = (await agent.get(f"/api/v1/events?kind={kinds}&since=2020-01-01T00:00:00Z"))[1]["events"]
    return [(one["kind"], one["reason"]) for one in reversed(found)]


@pytest.mark.slow
async def test_its_rows_go_after_the_notice_until_it_reads_again_and_every_surface_says_so(world: World) -> None:
    agent = await world.start(quarantine=SHORT)
    await world.let_die(agent)
    await eventually(lambda: states(agent), lambda found: found == ["started"])
    await eventually(world.trimmed, lambda count: count == 100)
    [alert] = (await status(agent))["alerts"]["queue_agent_quarantine"]["inner_errors"]
    assert alert["message"] == f'Rows that vital consumer "hume:{DEAD}" has not read are trimmed: it is in quarantine'
    found = await eventually(
        lambda: verdict(agent),
        lambda found: (found.get("loss") or {}).get("row_count") == 96 and found["verdict"] == "losing",
    )
    assert found["loss"]["cause"] == "quarantine"
    assert found["loss"]["lost_row_count"] == 96
    assert found["reason"].endswith("it is in quarantine")
    assert found["action"] == f"queue-agent consumer protect hume:{QUEUE} hume:{DEAD}"
    await world.user.advance(DEAD, QUEUE, 0, 100)
    await eventually(lambda: states(agent), lambda found: found == [])
    told = await eventually(lambda: events(agent), lambda found: len(found) == 3)
    assert [kind for kind, _ in told] == ["quarantine_announced", "quarantine_started", "quarantine_ended"]
    assert told[2][1] == "The consumer has committed"
    assert "queue_agent_quarantine" not in (await status(agent))["alerts"]
    await world.user.insert(QUEUE, [{"data": "x", "$tablet_index": 0} for _ in range(10)])
    await world.user.advance(LIVE, QUEUE, 0, 110)
    await world.user.advance(DEAD, QUEUE, 0, 105)
    await eventually(world.trimmed, lambda count: count == 105)


async def test_it_waits_through_the_notice_and_is_protected_meanwhile(world: World) -> None:
    agent = await world.start(quarantine=LONG)
    await world.let_die(agent)
    await eventually(lambda: states(agent), lambda found: found == ["announced"])
    found = await eventually(
        lambda: verdict(agent), lambda found: (found.get("time_to_loss") or {}).get("cause") == "quarantine"
    )
    assert 23 * 3600 < found["time_to_loss"]["value"] <= 24 * 3600
    plan = await fetch_plan(agent.origin, parse_table(f"hume:{QUEUE}", "QUEUE"), None)
    assert plan["partitions"][0]["constraint"]["subject"] == f"hume:{DEAD}"
    assert plan["partitions"][0]["target"] is None
    await world.user.set(f"{DEAD}/@queue_agent_protected", {f"hume:{QUEUE}": "2026-05-01T00:00:00Z"})
    await eventually(lambda: states(agent), lambda found: found == [])
    told = await eventually(lambda: events(agent), lambda found: len(found) == 2)
    assert told[1] == ("quarantine_ended", "The consumer is protected")
    assert await world.trimmed() == 4


@pytest.mark.slow
async def test_another_agent_goes_on_and_without_the_section_everything_is_held(world: World) -> None:
    async with AsyncExitStack() as stack:
        world.stack, outer = stack, world.stack
        agent = await world.start(quarantine=LONG)
        await world.let_die(agent)
        await eventually(lambda: states(agent), lambda found: found == ["announced"])
        await eventually(world.kept, lambda verdicts: b"stopped" in verdicts)  # the agent ends without a farewell
        world.stack = outer
    async with AsyncExitStack() as stack:
        world.stack = stack
        agent = await world.start()
        await eventually(lambda: verdict(agent), lambda found: bool((found.get("price") or {}).get("dead")))
        assert await states(agent) == []
        world.stack = outer
    agent = await world.start(quarantine=LONG)
    await eventually(lambda: states(agent), lambda found: found == ["announced"])
    told = await events(agent)
    assert [kind for kind, _ in told] == ["quarantine_announced"], "it has notice already"
    assert await world.trimmed() == 4


async def test_the_only_vital_consumer_and_a_queue_that_does_not_allow_it_are_left_alone(world: World) -> None:
    await world.user.run("unregister_queue_consumer", queue_path=QUEUE, consumer_path=LIVE)
    agent = await world.start(quarantine=SHORT)
    await world.let_die(agent)
    await eventually(lambda: verdict(agent), lambda found: bool((found.get("price") or {}).get("dead")))
    assert await states(agent) == []
    assert await events(agent) == []
    assert await world.trimmed() == 4


@pytest.mark.slow
async def test_the_agent_of_the_queue_knows_what_another_agent_judges(world: World) -> None:
    user = world.user
    await user.run("unregister_queue_consumer", queue_path=QUEUE, consumer_path=DEAD)
    agents = [
        await world.start(quarantine=SHORT, queue_agent_sharding_manager={"pass_period": 100}, rpc=ADVERTISED)
        for _ in range(2)
    ]
    rendezvous = Rendezvous(fingerprint)
    members = rendezvous.hash_members([agent.rpc_address for agent in agents])
    owner = rendezvous.choose(CrossClusterRef("hume", QUEUE), members)
    names = (f"//tmp/dead{number}" for number in range(1000))
    dead = next(name for name in names if rendezvous.choose(CrossClusterRef("hume", name), members) != owner)
    await user.create_consumer(dead, QUEUE)
    [leader] = [agent for agent in agents if agent.rpc_address == owner]
    [judge] = [agent for agent in agents if agent is not leader]

    async def roles() -> Any:
        documents = [await leader.find_queue("hume", QUEUE), await judge.find_consumer("hume", dead)]
        return [(one or {}).get("role") for one in documents]

    await eventually(roles, lambda found: found == ["leading", "leading"])
    for target in (1, 2, 4):
        await user.advance(dead, QUEUE, 0, target)
        await eventually(world.trimmed, lambda count: count == target)  # noqa: B023 - awaited here
    world.clock.offset += timedelta(days=8)
    await eventually(world.trimmed, lambda count: count == 100)
    assert await roles() == ["leading", "leading"]

    async def loss() -> Any:
        document = await judge.find_consumer("hume", dead)
        return ((document or {}).get("status", {}).get("queues") or {}).get(f"hume:{QUEUE}", {}).get("loss") or {}

    found = await eventually(loss, lambda found: found.get("row_count") == 96)
    assert found["cause"] == "quarantine"
