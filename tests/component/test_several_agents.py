"""Agents in one process that share a stage, on one local cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from queue_agent.cli.agents import change_ban, fetch_agents, render_agents
from queue_agent.cli.init_state import StateLocation
from queue_agent.cli.reach import Reach
from queue_agent.config.clusters import ClusterConfig
from queue_agent.core.group.sharding import Rendezvous
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from tests.waiting import LIMIT_SECONDS
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire.farm_hash import fingerprint

ROOT = "//sys/queue_agents"
QUEUES = [f"//tmp/q{number}" for number in range(30)]
LEASE = 20_000
"""In milliseconds; so long that no agent of a busy machine loses its membership."""
SHORT_LEASE = 2000
"""For tests that wait for the end of one."""

LONG_LEASE = 2000 * LIMIT_SECONDS
"""Nobody sees the end of it."""


class World:
    """A cluster with queues, and agents that come and go."""

    def __init__(self, session: aiohttp.ClientSession, clusters: LocalClusters) -> None:
        self.session = session
        self.clusters = clusters
        self.user = User(session, "pythia", clusters.addresses["pythia"])

    async def start(self, stack: AsyncExitStack, lease: int = LEASE, **options: Any) -> RunningAgent:
        agent = running_agent(
            self.session,
            self.clusters.addresses,
            period_milliseconds=100,
            membership={"lease": lease},
            rpc={"host": "127.0.0.1", "port": 0, "advertised_host": "127.0.0.1"},
            queue_agent_sharding_manager={"pass_period": 100},
            **options,
        )
        return await stack.enter_async_context(agent)

    async def hosts(self) -> Mapping[str, str]:
        """Agents of all objects, as the mapping has them."""
        rows = self.clusters.cluster("pythia").tables.select_rows(
            UNLIMITED, f"* from [{ROOT}/queue_agent_object_mapping]"
        )
        return {row["object"].decode(): row["host"].decode() for row in rows}

    async def settled(self, *agents: RunningAgent) -> Mapping[str, str]:
        """The mapping, once it is what it should be with these agents."""
        rendezvous = Rendezvous(fingerprint)
        members = rendezvous.hash_members([agent.rpc_address for agent in agents])
        wanted = {f"pythia:{path}": rendezvous.choose(CrossClusterRef("pythia", path), members) for path in QUEUES}
        return dict(await eventually(self.hosts, lambda hosts: hosts == wanted))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"pythia": 0}))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        world = World(session, clusters)
        for path in QUEUES:
            await world.user.create_queue(path)
        yield world


async def status(agent: RunningAgent, path: str) -> Any:
    return await agent.orchid("queue_agent", "queues", f"pythia:{path}", "status")


async def test_every_agent_answers_for_every_queue(world: World) -> None:
    async with AsyncExitStack() as stack:
        agents = [await world.start(stack) for _ in range(3)]
        hosts = await world.settled(*agents)
        for agent in agents:
            for path in QUEUES:
                found = await eventually(lambda: status(agent, path), lambda found: "partition_count" in found)  # noqa: B023 - awaited here
                assert found["partition_count"] == 1
            owned = await agent.orchid("queue_agent", "owned_queues")
            assert set(owned) == {name for name, host in hosts.items() if host == agent.rpc_address}
            assert set(await agent.orchid("queue_agent", "queues")) == set(hosts)
        foreign = next(name for name, host in hosts.items() if host != agents[0].rpc_address)
        error = await agents[0].orchid("queue_agent", "owned_queues", foreign, "status")
        assert (error["code"], error["inner_errors"][0]["code"]) == (105, 3104)
        assert error["inner_errors"][0]["attributes"] == {"cached_object_agent_id": hosts[foreign]}
        document = await agents[0].find_queue("pythia", foreign.removeprefix("pythia:"))
        assert document["status"]["partition_count"] == 1


async def test_an_agent_that_has_just_been_started_answers(world: World) -> None:
    async with AsyncExitStack() as stack:
        await world.settled(await world.start(stack))
        started = await world.start(stack)
        assert "partition_count" in await status(started, QUEUES[0])


async def test_the_node_of_an_agent_that_runs_is_made_again(world: World) -> None:
    async with AsyncExitStack() as stack:
        agents = [await world.start(stack) for _ in range(2)]
        await world.settled(*agents)
        node = f"{ROOT}/instances/{agents[1].rpc_address}"
        await world.user.run("remove", path=node, recursive=True)
        await eventually(lambda: world.user.run("exists", path=f"{node}/orchid"), lambda found: found["value"] is True)


async def test_agents_can_be_browsed_on_the_cluster(world: World) -> None:
    async with AsyncExitStack() as stack:
        agents = [await world.start(stack) for _ in range(2)]
        await world.settled(*agents)
        node = f"{ROOT}/instances/{agents[0].rpc_address}/orchid"
        names = (await world.user.run("list", path=f"{node}/queue_agent"))["value"]
        assert "owned_queues" in names
        active = [
            await world.user.run("get", path=f"{ROOT}/instances/{agent.rpc_address}/orchid/cypress_synchronizer/active")
            for agent in agents
        ]
        assert sorted(answer["value"] for answer in active) == [False, True]
        for key, there in (("pass_index", True), ("nonsense", False)):
            assert await world.user.run("exists", path=f"{node}/queue_agent/{key}") == {"value": there}
        tree = await world.user.run("get", path=f"{ROOT}/instances/{agents[0].rpc_address}")
        assert tree == {"value": {"orchid": None}}
        with pytest.raises(AssertionError, match="read-only"):
            await world.user.set(f"{node}/queue_agent/pass_index", 1)


async def test_a_banned_agent_leads_nothing_and_still_answers(world: World) -> None:
    async with AsyncExitStack() as stack:
        agents = [await world.start(stack) for _ in range(2)]
        await world.settled(*agents)
        await world.user.set(f"{ROOT}/instances/{agents[1].rpc_address}/@banned", True)
        await world.settled(agents[0])
        for path in QUEUES:
            await eventually(lambda: status(agents[1], path), lambda found: "partition_count" in found)  # noqa: B023 - awaited here
        await world.user.set(f"{ROOT}/instances/{agents[0].rpc_address}/@banned", True)
        alert = "queue_agent_sharding_manager_pass_failed"
        await eventually(agents[0].alerts, lambda alerts: "All active instances are banned" in str(alerts.get(alert)))
        await world.user.run("remove", path=f"{ROOT}/instances/{agents[0].rpc_address}/@banned")
        await eventually(agents[0].alerts, lambda alerts: alert not in alerts)


async def test_agents_are_listed_with_what_they_do(world: World) -> None:
    config = ClusterConfig(proxy=world.clusters.addresses["pythia"], discover_proxies=False)
    async with AsyncExitStack() as stack:
        agents = [await world.start(stack) for _ in range(2)]
        hosts = await world.settled(*agents)
        await world.user.run("create", type="map_node", path=f"{ROOT}/instances/gone:1")
        location = StateLocation("pythia", Reach(config), ROOT)
        await change_ban(location, "gone:1", banned=True)
        with pytest.raises(ClusterError, match=r"gone:11 was ever .*did you mean gone:1\?"):
            await change_ban(location, "gone:11", banned=True)
        with pytest.raises(ClusterError, match="No agent nobody:1 was ever registered"):
            await change_ban(location, "nobody:1", banned=True)
        reports = {one.address: one for one in await fetch_agents(location, datetime.now(UTC))}  # noqa: TID251 - as the command does
        for agent in agents:
            report = reports[agent.rpc_address]
            assert (report.stage, report.banned, report.error) == ("production", False, None)
            assert report.object_count == sum(host == agent.rpc_address for host in hosts.values())
            assert report.pass_lag is not None
        assert sum(report.keeps_tables for report in reports.values()) == 1
        assert [one.address for one in reports.values() if one.distributes] == [min(a.rpc_address for a in agents)]
        gone = reports["gone:1"]
        assert (gone.stage, gone.banned, gone.object_count, gone.pass_lag) == (None, True, 0, None)
        lines = render_agents(list(reports.values())).splitlines()
        assert lines[0].split() == ["AGENT", "STAGE", "STATE", "LEADS", "LAST", "PASS", "OLDEST", "OBJECT", "ALSO"]
        assert any(line.startswith("gone:1") and "gone, banned" in line for line in lines)


async def test_what_a_dead_agent_led_is_led_by_others_soon(world: World) -> None:
    async with AsyncExitStack() as stack:
        survivor = await world.start(stack, SHORT_LEASE)
        async with AsyncExitStack() as dying:
            dead = await world.start(dying, SHORT_LEASE)  # ended without a word to the cluster
            await world.settled(survivor, dead)
        await world.settled(survivor)
        for path in QUEUES:
            await eventually(lambda: status(survivor, path), lambda found: "partition_count" in found)  # noqa: B023 - awaited here
        synchronizer = await eventually(
            lambda: survivor.orchid("cypress_synchronizer"), lambda node: node["active"] is True
        )
        assert synchronizer["pass_error"]["code"] == 0


async def trimmed_partition(world: World, *agents: RunningAgent) -> Any:
    """A partition with something to trim, as the leader of its queue publishes it; None: there is none."""
    for agent in agents:
        partitions = await agent.orchid("queue_agent", "queues", f"pythia:{QUEUES[0]}", "partitions")
        if isinstance(partitions, list) and partitions and partitions[0].get("trim"):
            return partitions[0]
    return None


@pytest.mark.parametrize("lease", [SHORT_LEASE, LONG_LEASE])
async def test_a_new_leader_says_that_it_waits_before_it_trims(world: World, lease: int) -> None:
    queue = QUEUES[0]
    await world.user.set(f"{queue}/@auto_trim_config", {"enable": True})
    await world.user.create_consumer("//tmp/c", queue)
    await world.user.insert(queue, [{"data": "x", "$tablet_index": 0} for _ in range(10)])
    await world.user.advance("//tmp/c", queue, 0, 4)
    async with AsyncExitStack() as stack:
        trimming = {"queue_agent": {"controller": {"enable_automatic_trimming": True}}}
        agents = [await world.start(stack, lease, **trimming) for _ in range(2)]
        if lease == SHORT_LEASE:
            await eventually(lambda: trimmed_partition(world, *agents), lambda one: one["lower_row_index"] == 4)
            return
        waiting = await eventually(
            lambda: trimmed_partition(world, *agents),
            lambda one: "may still act" in (one["trim"]["constraint"]["message"] or ""),
        )
        assert waiting["trim"]["constraint"]["kind"] == "hand_over"
        assert waiting["lower_row_index"] == 0
