"""Charts survive a restart of the agent where it keeps a history."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp
import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.history.history_reader import HistoryQueueReader
from queue_agent.cli.init_state import HistoryLocation, init_history
from queue_agent.cli.reach import Reach
from queue_agent.config.clusters import ClusterConfig, HistoryTables
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters

TABLES: Final = HistoryTables.below("hume", "//sys/queue_agents")
HISTORY: Final = TABLES.queue.path
QUEUE: Final = '//home/it\'s "quoted"'
CONSUMER: Final = "//home/reader"
OF_QUEUE: Final = {"kind": "queue", "cluster": "hume", "path": QUEUE}
OF_CONSUMER: Final = {
    "kind": "consumer", "cluster": "hume", "path": CONSUMER, "queue_cluster": "hume", "queue_path": QUEUE,
}  # fmt: skip
EARLIER: Final = timedelta(minutes=30)


class LateClock:
    """`ports.Clock` of an agent that ran half an hour ago."""

    def now(self) -> datetime:
        return datetime.now(UTC) - EARLIER  # noqa: TID251 - the clock of an agent


@dataclass(frozen=True)
class World:
    """A queue of two partitions with five rows, of which a consumer has read two; an agent has run for some passes."""

    user: User
    config: ClusterConfig
    addresses: Mapping[str, str]

    def agent(self, **options: Any) -> Any:
        return running_agent(self.user._session, self.addresses, **options)

    async def history_rows(self) -> int:
        infos = await self.user.run("get_tablet_infos", path=HISTORY, tablet_indexes=[0])
        return int(infos["tablets"][0]["total_row_count"])


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        user = User(session, "hume", clusters.addresses["hume"])
        config = ClusterConfig(proxy=clusters.addresses["hume"], discover_proxies=False)
        await user.create_queue(QUEUE, tablet_count=2)
        await user.insert(QUEUE, [{"data": "x", "$tablet_index": index % 2} for index in range(5)])
        await user.create_consumer(CONSUMER, QUEUE)
        await user.advance(CONSUMER, QUEUE, 0, 2)
        await init_history(HistoryLocation(Reach(config), TABLES), False, lambda line: None)
        world = World(user, config, clusters.addresses)
        async with world.agent(clock=LateClock(), history={"period": 50}):
            await eventually(world.history_rows, lambda count: count > 40)
        yield world


async def ask(agent: RunningAgent, parameters: Mapping[str, str]) -> Any:
    status, answer = await agent.get(f"/api/v1/series?{urlencode(parameters)}")
    assert status == 200, answer
    return answer


def known(answer: Any, name: str) -> list[Any]:
    return [value for value in answer["series"][name] if value is not None]


@pytest.mark.slow
async def test_an_agent_that_was_started_again_shows_what_was_before(world: World) -> None:
    async with world.agent(history={"period": 60_000}) as agent:
        of_queue = await eventually(lambda: ask(agent, OF_QUEUE), lambda found: found["source"] == "history")
        assert 5 in known(of_queue, "backlog_rows")
        begun = datetime.now(UTC) - EARLIER  # noqa: TID251 - as above
        assert abs(of_queue["times"][0] - begun.timestamp()) < 300
        assert of_queue["note"] is None
        of_consumer = await eventually(lambda: ask(agent, OF_CONSUMER), lambda found: found["source"] == "history")
        assert 3 in known(of_consumer, "lag_rows")


async def test_without_a_history_in_the_configuration_nobody_reads_one(world: World) -> None:
    async with world.agent() as agent:
        found = await ask(agent, OF_QUEUE)
        assert (found["source"], found["history_until"], found["note"]) == ("memory", None, None)


@pytest.mark.slow
async def test_a_history_that_cannot_be_read_is_told_and_memory_is_shown(world: World) -> None:
    await world.user.run("unmount_table", path=HISTORY)
    async with world.agent(history={"period": 60_000}) as agent:
        found = await eventually(lambda: ask(agent, OF_QUEUE), lambda found: "cannot be read" in str(found["note"]))
        assert found["source"] == "memory"


async def test_of_very_many_rows_the_newest_are_read_and_a_pass_in_two_chunks_is_left_out(world: World) -> None:
    queue, since = CrossClusterRef("hume", QUEUE), LateClock().now() - timedelta(hours=1)
    async with YtCluster("hume", world.config) as cluster:
        whole = await HistoryQueueReader(cluster, HISTORY).read_queue(queue, since)
        count = await world.history_rows()
        in_chunks = await HistoryQueueReader(cluster, HISTORY, chunk_rows=7).read_queue(queue, since)
        cut = await HistoryQueueReader(cluster, HISTORY, most_rows=count // 2, chunk_rows=7).read_queue(queue, since)
        assert (whole.is_complete, in_chunks.is_complete, cut.is_complete) == (True, True, False)
        instants = [sample.instant for sample in whole.samples]
        assert instants == sorted(set(instants))
        assert {sample.figures["backlog_rows"] for sample in whole.samples} <= {5.0, None}
        assert 0 < len(cut.samples) < len(in_chunks.samples) <= len(whole.samples)
        backlogs = {sample.instant: sample.figures["backlog_rows"] for sample in whole.samples}
        assert all(sample.figures["backlog_rows"] == backlogs[sample.instant] for sample in in_chunks.samples)
        later = await HistoryQueueReader(cluster, HISTORY, chunk_rows=7).read_queue(queue, since + timedelta(hours=2))
        assert (later.is_complete, later.samples) == (True, [])


@pytest.mark.parametrize("path", ["//home/nothing"])
async def test_a_queue_of_which_the_history_knows_nothing_has_no_past(world: World, path: str) -> None:
    async with YtCluster("hume", world.config) as cluster:
        past = await HistoryQueueReader(cluster, HISTORY).read_queue(CrossClusterRef("hume", path), LateClock().now())
        assert (past.samples, past.is_complete) == ([], True)
        with pytest.raises(ClusterError):
            await HistoryQueueReader(cluster, path).read_queue(CrossClusterRef("hume", QUEUE), LateClock().now())
