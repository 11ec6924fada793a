"""Rows that agents trim before somebody has read them: what is published, against a count at the cluster itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

import aiohttp
import pytest

from tests.component.counted_rows import Counted
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_local.tables.dynamic.tables import DynamicTables

QUEUE: Final = "//tmp/q"
READER: Final = "//tmp/reader"
VITAL: Final = "//tmp/vital"
PARTITIONS: Final = 2
JOURNAL: Final = "//sys/queue_agents/trim_journal"


class World:
    """A queue, a vital consumer that lets rows go, and a reader that is not vital."""

    def __init__(self, session: aiohttp.ClientSession, clusters: LocalClusters) -> None:
        self.session = session
        self.clusters = clusters
        self.user = User(session, "hume", clusters.addresses["hume"])
        self.counted = [Counted() for _ in range(PARTITIONS)]

    async def start(self, stack: AsyncExitStack, **config: Any) -> RunningAgent:
        agent = running_agent(
            self.session,
            self.clusters.addresses,
            rpc={"host": "127.0.0.1", "port": 0, "advertised_host": "127.0.0.1"},
            membership={"lease": 2000},
            queue_agent_sharding_manager={"pass_period": 100},
            trimming="allowed",
            queue_agent={"controller": {"enable_automatic_trimming": True, **config}},
        )
        return await stack.enter_async_context(agent)

    async def write(self, index: int, count: int) -> None:
        await self.user.insert(QUEUE, [{"data": "x" * 20, "$tablet_index": index} for _ in range(count)])
        self.counted[index].end += count

    async def read(self, index: int, offset: int) -> None:
        """The reader commits; it may step back."""
        await self.user.advance(READER, QUEUE, index, offset)
        counted = self.counted[index]
        counted.offset = offset
        counted.committed.update(range(offset))

    async def let_go(self, index: int, offset: int) -> None:
        """The vital consumer commits, and agents trim."""
        await self.user.advance(VITAL, QUEUE, index, offset)

    async def trimmed(self) -> list[int]:
        return [one.start for one in self.counted]

    def weight(self) -> int:
        """Of all rows that were ever written to partition 0."""
        query = f"max([$cumulative_data_weight]) as weight from [{QUEUE}] where [$tablet_index] = 0 group by 1 as g"
        [row] = self.clusters.cluster("hume").tables.select_rows(UNLIMITED, query)
        return int(row["weight"])

    async def journal(self) -> list[Any]:
        return list(self.clusters.cluster("hume").tables.select_rows(UNLIMITED, f"* from [{JOURNAL}]"))


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        world = World(await stack.enter_async_context(aiohttp.ClientSession()), clusters)
        await world.user.create_queue(QUEUE, tablet_count=PARTITIONS)
        await world.user.create_consumer(VITAL, QUEUE)
        await world.user.create_consumer(READER, QUEUE, vital=False)
        await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
        trim_rows = DynamicTables.trim_rows

        def trim(tables: DynamicTables, access: Any, path: str, index: int, to: int) -> None:
            trim_rows(tables, access, path, index, to)
            world.counted[index].trimmed(to)

        monkeypatch.setattr(DynamicTables, "trim_rows", trim)
        yield world


async def verdict(agent: RunningAgent, consumer: str = READER) -> Any:
    document = await agent.find_consumer("hume", consumer)
    queues = ((document or {}).get("status") or {}).get("queues") or {}
    found = queues.get(f"hume:{QUEUE}") or {}
    return found if "lost_row_count" in found else None


async def seen(world: World, agent: RunningAgent) -> None:
    """Until the leader of the reader, which the agent asks, has polled it as it is now."""
    unread = sum(one.end - max(one.start, one.offset) for one in world.counted)
    await eventually(lambda: verdict(agent), lambda found: found.get("drainable_row_count") == unread)


def total(found: Any) -> int:
    return int(found["lost_row_count"] + found["possibly_lost_row_count"])


async def test_rows_trimmed_by_the_agent_are_counted_to_the_row_with_their_weight_and_cause(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await world.write(0, 100)
        for offset in (3, 6, 9):  # so the most that it reads at once is known
            await world.read(0, offset)
            await seen(world, agent)
        await world.let_go(0, 60)
        await eventually(world.trimmed, lambda starts: starts[0] == 60)
        found = await eventually(lambda: verdict(agent), lambda found: total(found) > 0)
        assert (found["lost_row_count"], found["possibly_lost_row_count"]) == (60 - 9 - 2 * 3, 2 * 3)
        weight = world.weight() // 100
        assert found["lost_data_weight"] == weight * found["lost_row_count"]
        loss = found["loss"]
        assert (loss["cause"], loss["subject"], loss["row_count"]) == ("vital_trimming", f"hume:{VITAL}", 60 - 9)
        assert loss["data_weight"] == found["lost_data_weight"]
        rows = await eventually(world.journal, bool)
        [loser] = rows[0]["losers"]
        assert (loser[b"consumer"], loser[b"offset"]) == (f"hume:{READER}".encode(), 9)


async def test_a_commit_right_before_a_trim_loses_nothing(world: World) -> None:
    """Though the agent has not polled it: the offset is read again before rows go."""
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await world.write(0, 500)
        await world.read(0, 1)
        await seen(world, agent)
        for row in range(50, 500, 50):
            await world.read(0, row)
            await world.let_go(0, row)
            await eventually(world.trimmed, lambda starts: starts[0] == row)  # noqa: B023 - awaited here
        await seen(world, agent)
        assert total(await verdict(agent)) == 0


async def test_a_reader_whose_offset_has_not_moved_since_a_reshard_is_asked_and_loses_nothing(world: World) -> None:
    """The one who trims cannot tell whether the offset is one of other rows; the one who judges can."""
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await world.write(0, 10)
        await world.read(0, 10)
        await world.let_go(0, 1)
        await eventually(world.trimmed, lambda starts: starts[0] == 1)
        await seen(world, agent)
        await world.user.run("unmount_table", path=QUEUE)
        await world.user.run("reshard_table", path=QUEUE, tablet_count=PARTITIONS + 1)
        await world.user.run("mount_table", path=QUEUE)
        await eventually(lambda: verdict(agent, VITAL), lambda found: found.get("verdict") == "resharded")
        await world.let_go(0, 6)
        await eventually(world.trimmed, lambda starts: starts[0] == 6)
        rows = await eventually(world.journal, lambda rows: len(rows) == 2)
        assert [(one[b"consumer"], one[b"offset"]) for one in rows[1]["losers"]] == [(f"hume:{READER}".encode(), 10)]
        await world.write(0, 5)
        await world.read(0, 12)
        await seen(world, agent)
        assert total(await verdict(agent)) == 0
        _, page = await agent.get("/api/v1/events?kind=trim")
        assert page["events"] == []
