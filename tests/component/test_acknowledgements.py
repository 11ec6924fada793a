"""An acknowledged incident is not shown any more; a later one is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.acts.acknowledgement import Acknowledgement, acknowledge, plan_acknowledgement
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ActRefused
from tests.component.rebuilt_world import CONSUMER, QUEUE, World, alerts, says, verdict
from tests.component.running_agent import RunningAgent, eventually
from yt_local.queues.consumers import MULTI_CONSUMER_SCHEMA
from yt_local.runner import LocalClusters

STAGE = "//sys/clusters/pythia/queue_agent/stages/production"
ATTRIBUTE = f"{CONSUMER}/@queue_agent_acknowledged"
QUEUE_REF = CrossClusterRef("pythia", QUEUE)
OTHER_REF = CrossClusterRef("pythia", "//tmp/other")
CONSUMER_REF = CrossClusterRef("pythia", CONSUMER)


class Overtaken(YtCluster):
    """Somebody else acknowledges another queue right before the first attempt of this one."""

    other: Acknowledgement | None = None

    async def execute(self, command: str, parameters: Mapping[str, Any], value: Any = None) -> Any:
        other, self.other = self.other, None
        if other is not None:
            await acknowledge(self, other)
        return await super().execute(command, parameters, value)


class Owner:
    """Runs the command."""

    def __init__(self, cluster: YtCluster) -> None:
        self._cluster = cluster

    async def plan(
        self, consumer: CrossClusterRef = CONSUMER_REF, queue: CrossClusterRef = QUEUE_REF
    ) -> Acknowledgement:
        return await plan_acknowledgement(self._cluster, queue, consumer, datetime.now(UTC))  # noqa: TID251 - the clock of whoever runs the command

    async def acknowledge(self, consumer: CrossClusterRef = CONSUMER_REF) -> Acknowledgement:
        plan = await self.plan(consumer)
        await acknowledge(self._cluster, plan)
        return plan


@pytest.fixture
async def world(clusters: LocalClusters) -> AsyncIterator[World]:
    async with aiohttp.ClientSession() as session:
        yield await World.begun(session, clusters)


@asynccontextmanager
async def begun(world: World) -> AsyncIterator[tuple[RunningAgent, Owner]]:
    """An agent that answers for statuses."""
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await world.user.set(STAGE, {"addresses": [agent.rpc_address]})
        config = ClusterConfig(proxy=world.proxy)
        yield agent, Owner(await stack.enter_async_context(YtCluster("pythia", config)))


async def test_a_reshard_is_told_until_it_is_acknowledged_and_the_next_one_again(world: World) -> None:
    async with begun(world) as (agent, owner):
        await eventually(lambda: verdict(agent), says("ok"))
        assert (await owner.acknowledge()).told == ()
        await world.reshard(2)
        await world.write(5, 1)
        found = await eventually(lambda: verdict(agent), says("resharded"))
        plan = await owner.acknowledge()
        assert (plan.told, plan.notes) == ((f"The queue was resharded at {found['rebuild']['time']}",), ())
        await eventually(lambda: verdict(agent), lambda now: now.get("rebuild", "?") is None)
        await eventually(lambda: alerts(agent), lambda found: "queue_agent_queue_resharded" not in found)
        assert (await owner.acknowledge()).told == ()
        await eventually(world.kept, lambda kept: b"not_started" in kept)
    async with begun(world) as (agent, owner):
        await eventually(lambda: verdict(agent), says("not_started"))
        await world.reshard(3)
        await eventually(lambda: verdict(agent), says("resharded"))


async def test_each_of_several_consumers_in_a_table_is_acknowledged_by_itself(world: World) -> None:
    several, a, b = "//tmp/m", *(CrossClusterRef("pythia", "//tmp/m", name) for name in "ab")
    await world.user.run(
        "create", type="table", path=several,
        attributes={"dynamic": True, "schema": MULTI_CONSUMER_SCHEMA, "treat_as_queue_consumer": True},
    )  # fmt: skip
    await world.user.run("mount_table", path=several)
    for one in (a, b):
        rich = f"<queue_consumer_name={one.name}>{several}"
        await world.user.run("register_queue_consumer", queue_path=QUEUE, consumer_path=rich, vital=False)
        await world.user.advance(rich, QUEUE, 0, 10)
    async with begun(world) as (agent, owner):

        async def of(ref: CrossClusterRef) -> object:
            status, document = await agent.get(f"/api/v1/consumers/pythia/{quote(several, safe='')}?name={ref.name}")
            return document["status"].get("queues", {}).get(str(QUEUE_REF)) if status == 200 else None

        await eventually(lambda: of(a), says("ok"))
        await eventually(lambda: of(b), says("ok"))
        await world.reshard(2)
        await world.write(5, 1)
        await eventually(lambda: of(a), says("resharded"))
        await owner.acknowledge(a)
        await eventually(lambda: of(a), lambda now: now.get("rebuild", "?") is None)
        await eventually(lambda: of(b), says("resharded"))


async def test_two_people_at_once_lose_nothing(world: World) -> None:
    async with begun(world) as (agent, owner):
        await eventually(lambda: verdict(agent), says("ok"))
        await world.reshard(2)
        await world.write(5, 1)
        await eventually(lambda: verdict(agent), says("resharded"))
        plan = await owner.plan()
        overtaken = Overtaken("pythia", ClusterConfig(proxy=world.proxy))
        overtaken.other = replace(plan, queue=OTHER_REF)
        async with overtaken:
            await acknowledge(overtaken, plan)
    kept = (await world.user.run("get", path=ATTRIBUTE))["value"]
    assert kept == {str(QUEUE_REF): plan.until, str(OTHER_REF): plan.until}


async def test_an_attribute_that_makes_no_sense_is_named_and_left_alone(world: World) -> None:
    await world.user.set(ATTRIBUTE, 5)
    async with begun(world) as (agent, owner):
        await eventually(lambda: verdict(agent), says("ok"))
        await world.reshard(2)
        await world.write(5, 1)
        await eventually(lambda: verdict(agent), says("resharded"))
        with pytest.raises(ActRefused, match=r'"queue_agent_acknowledged" of pythia://tmp/c makes no sense.*got 5'):
            await owner.plan()
    assert (await world.user.run("get", path=ATTRIBUTE))["value"] == 5


async def test_a_queue_that_it_is_not_registered_with_is_named(world: World) -> None:
    async with begun(world) as (agent, owner):
        await eventually(lambda: verdict(agent), says("ok"))
        with pytest.raises(ActRefused, match="no registration of pythia://tmp/c with pythia://tmp/other"):
            await owner.plan(queue=CrossClusterRef("pythia", "//tmp/other"))
