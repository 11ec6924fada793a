"""Local clusters, and the parts of an agent that find out what is on them, driven by hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.state.state_setup import StateSetup
from queue_agent.adapters.state.state_tables import StateTable, StateTables
from queue_agent.config.clusters import ClusterConfig
from queue_agent.config.passes import ControllerConfig, CypressSynchronizerConfig
from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.rounds.agent import Agent, Fleets
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.controllers.state.discovery import Synchronizer
from queue_agent.controllers.status.board import Board
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.migration import plan_migration
from queue_agent.core.state.rows import ConsumerRow, QueueRow
from queue_agent.ports.cluster import Cluster
from queue_agent.ports.passes import PassScope
from tests.unguarded import always_the_keeper, unguarded_context
from tests.unit.controllers.still_rounds import still_fleet, still_rounds
from yt_local.runner import LocalClusters

ROOT: Final = "//sys/queue_agents"
QUEUE_SCHEMA: Final = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]


ADDRESS: Final = "agent-1:9030"


class StoppedClock:
    """`ports.Clock` that never moves."""

    def now(self) -> datetime:
        return datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)


class Passes:
    """Hears of passes, and does not care."""

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        pass


class World:
    """Clusters `pythia`, which holds the state, and `hume`; an agent of stage `production` that watches both.

    Controllers of objects do nothing by themselves: what runs can be seen in `fleets`.
    """

    def __init__(
        self,
        clusters: Mapping[str, YtCluster],
        rounds: Rounds,
        root: str = ROOT,
        registrations: StateTable | None = None,
    ) -> None:
        self.pythia, self.hume = clusters["pythia"], clusters["hume"]
        self.clusters: dict[str, Cluster] = dict(clusters)
        clock, passes = StoppedClock(), Passes()
        self.origins = Origins(Process("agent-1", 481, 7), "Control:0", random.Random(1))
        self.store = StateTables(self.pythia, root, registrations)
        self.board = Board("agent-1", clock)
        self.written = asyncio.Event()
        self.synchronizer = Synchronizer(
            self.clusters,
            CypressSynchronizerConfig(policy="watching"),
            self.store,
            self.board,
            self.written,
            clock,
            self.origins,
            passes,
            always_the_keeper,
        )
        leadership = Leadership(ADDRESS, timedelta(seconds=15))
        self.fleets = Fleets(still_fleet(rounds), still_fleet(rounds), still_fleet(rounds))
        self.agent = Agent("production", self.store, self.board, self.fleets, leadership, clock, self.origins, passes)
        self.context = unguarded_context(self.board, self.clusters, clock, passes, ControllerConfig())

    async def passes(self) -> None:
        """One pass of the synchronizer, one of the agent, to which everything is mapped."""
        await self.synchronizer.do_pass(0)
        rows = await self.store.read()
        tables = {*(row.queue for row in rows.queues), *(row.consumer for row in rows.consumers)}
        await self.store.write_hosts(dict.fromkeys(tables, ADDRESS))
        await self.agent.do_pass(0)

    async def queue_rows(self) -> dict[str, QueueRow]:
        """By `cluster:path`."""
        return {str(row.queue): row for row in (await self.store.read()).queues}

    async def consumer_rows(self) -> dict[str, ConsumerRow]:
        """By `cluster:path`."""
        return {str(row.consumer): row for row in (await self.store.read()).consumers}

    def running(self) -> dict[str, Role]:
        """Every controller of a queue or consumer."""
        both = {**self.fleets.queues.running, **self.fleets.consumers.running}
        return {str(ref): role for ref, role in both.items()}

    async def end(self) -> None:
        """Stop all controllers."""
        for fleet in (self.fleets.queues, self.fleets.consumers, self.fleets.multi_consumers):
            await fleet.match({})


@asynccontextmanager
async def open_clusters() -> AsyncIterator[dict[str, YtCluster]]:
    """Clients of two local clusters."""
    async with AsyncExitStack() as stack:
        local = await stack.enter_async_context(LocalClusters({"pythia": 0, "hume": 0}))
        yield {
            name: await stack.enter_async_context(YtCluster(name, ClusterConfig(proxy=address)))
            for name, address in local.addresses.items()
        }


@asynccontextmanager
async def open_world(clusters: Mapping[str, YtCluster], **options: Any) -> AsyncIterator[World]:
    async with still_rounds() as rounds:
        world = World(clusters, rounds, **options)
        yield world
        await world.end()


async def migrate(cluster: YtCluster, root: str, version: int) -> None:
    """Make state tables, or migrate those there are."""
    setup = StateSetup(cluster, root)
    for step in plan_migration(await setup.look(), version):
        await setup.do(step)


async def create_table(cluster: YtCluster, path: str, schema: Any, **attributes: Any) -> str:
    """A mounted dynamic table; its id."""
    attributes = {"dynamic": True, "schema": schema, **attributes}
    created = await cluster.execute(
        "create", {"type": "table", "path": path, "attributes": attributes, "recursive": True}
    )
    await cluster.execute("mount_table", {"path": path})
    return str(created["node_id"])


async def create_queue(cluster: YtCluster, path: str, **attributes: Any) -> str:
    return await create_table(cluster, path, QUEUE_SCHEMA, **attributes)


async def create_consumer(cluster: YtCluster, path: str) -> None:
    await cluster.execute("create", {"type": "queue_consumer", "path": path, "recursive": True})


async def register(cluster: YtCluster, queue: str, consumer: str, *, vital: bool = True) -> None:
    """Register by rich paths, as seen from a cluster."""
    await cluster.execute("register_queue_consumer", {"queue_path": queue, "consumer_path": consumer, "vital": vital})


async def set_attribute(cluster: YtCluster, path: str, name: str, value: Any) -> None:
    await cluster.execute("set", {"path": f"{path}/@{name}"}, value)


async def remove(cluster: YtCluster, path: str) -> None:
    await cluster.execute("remove", {"path": path, "recursive": True})
