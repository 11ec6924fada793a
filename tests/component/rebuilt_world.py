"""A queue that is resharded or re-created under a consumer, and what agents say of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

import aiohttp

from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED

LEDGER: Final = "//sys/queue_agents/consumer_ledger"
QUEUE: Final = "//tmp/q"
CONSUMER: Final = "//tmp/c"


class World:
    """A queue with a vital consumer that has read all of it, and an agent that may be started again."""

    def __init__(self, session: aiohttp.ClientSession, clusters: LocalClusters) -> None:
        self._session = session
        self._clusters = clusters
        self.proxy = f"http://{clusters.addresses['pythia']}"
        self.user = User(session, "pythia", clusters.addresses["pythia"])

    @classmethod
    async def begun(cls, session: aiohttp.ClientSession, clusters: LocalClusters) -> World:
        """All of it, but for the agent."""
        world = cls(session, clusters)
        await world.user.create_queue(QUEUE)
        await world.user.create_consumer(CONSUMER, QUEUE)
        await world.write(10)
        await world.user.advance(CONSUMER, QUEUE, 0, 10)
        return world

    async def start(self, stack: AsyncExitStack, **options: Any) -> RunningAgent:
        return await stack.enter_async_context(
            running_agent(self._session, self._clusters.addresses, membership={"lease": 2000}, **options)
        )

    async def kept(self) -> Any:
        """Verdicts on partitions that outlive the agent."""
        tables = self._clusters.cluster("pythia").tables
        return {row["verdict"] for row in tables.select_rows(UNLIMITED, f"verdict from [{LEDGER}]")}

    async def kept_offsets(self) -> Mapping[int, int]:
        """By partition, as they outlive the agent."""
        tables = self._clusters.cluster("pythia").tables
        rows = tables.select_rows(UNLIMITED, f"partition_index, state from [{LEDGER}]")
        return {row["partition_index"]: row["state"].get(b"offset") for row in rows}

    async def write(self, count: int, tablet: int = 0) -> None:
        await self.user.insert(QUEUE, [{"data": "x", "$tablet_index": tablet}] * count)

    async def reshard(self, partitions: int, agent: RunningAgent | None = None) -> None:
        """With an agent: once that has seen that no partition can be read."""
        await self.user.run("unmount_table", path=QUEUE)
        if agent is not None:
            await eventually(lambda: verdict(agent), says("unreadable"))
        await self.user.run("reshard_table", path=QUEUE, tablet_count=partitions)
        await self.user.run("mount_table", path=QUEUE)

    async def recreate(self) -> None:
        await self.user.run("remove", path=QUEUE)
        await self.user.create_queue(QUEUE)


async def verdict(agent: RunningAgent) -> Any:
    """On the consumer."""
    document = await agent.find_consumer("pythia", CONSUMER)
    return None if document is None else document["status"].get("queues", {}).get(f"pythia:{QUEUE}")


async def alerts(agent: RunningAgent) -> Any:
    """Of the queue."""
    document = await agent.find_queue("pythia", QUEUE)
    return None if document is None else document["status"]["alerts"]


def says(word: str) -> Any:
    return lambda found: found.get("verdict") == word
