"""What is done by permission is done while the permission lasts, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import aiohttp
import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ActionRefused, ClusterUnavailable
from tests.component.running_agent import User
from tests.waiting import LIMIT_SECONDS
from yt_local.runner import LocalClusters


@dataclass
class Permit:
    """`ports.Permit` that can be taken back."""

    seconds: float = 5.0
    granted: bool = True
    asked: int = field(default=0, init=False)

    def check(self) -> None:
        self.asked += 1
        if not self.granted:
            raise ActionRefused("Not any more")


@pytest.fixture
async def clusters() -> AsyncIterator[LocalClusters]:
    async with LocalClusters({"pythia": 0}, test_controls=True) as clusters:
        async with aiohttp.ClientSession() as session:
            user = User(session, "pythia", clusters.addresses["pythia"])
            await user.create_queue("//tmp/q")
            await user.insert("//tmp/q", [{"data": "x", "$tablet_index": 0}] * 5)
        yield clusters


@pytest.fixture
async def cluster(clusters: LocalClusters) -> AsyncIterator[YtCluster]:
    async with AsyncExitStack() as stack:
        config = ClusterConfig(proxy=clusters.addresses["pythia"], discover_proxies=False)
        yield await stack.enter_async_context(YtCluster("pythia", config))


def trims(clusters: LocalClusters) -> list[int]:
    """The trims that the cluster has been asked for."""
    requests = clusters.cluster("pythia").requests.find()
    return [int(one.parameters["trimmed_row_count"]) for one in requests if one.command == "trim_rows"]


async def test_a_trim_is_sent_only_while_it_is_permitted(clusters: LocalClusters, cluster: YtCluster) -> None:
    object_id = str(await cluster.get("//tmp/q/@id"))
    permit = Permit()
    await cluster.trim_rows(object_id, 0, 1, permit)
    await cluster.trim_rows(object_id, 0, 2, permit)
    assert (trims(clusters), permit.asked) == ([1, 2], 2)
    permit.granted = False
    with pytest.raises(ActionRefused):
        await cluster.trim_rows(object_id, 0, 3, permit)
    assert trims(clusters) == [1, 2]


async def test_a_trim_is_given_up_in_the_time_allowed_and_the_connection_is_reset() -> None:
    closed = asyncio.Event()
    endings: list[Exception | bytes] = []

    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            while data := await reader.read(1000):
                assert b"trim" in data
            endings.append(b"")
        except ConnectionResetError as error:
            endings.append(error)
        writer.transport.abort()
        closed.set()

    async with await asyncio.start_server(keep_silent, "127.0.0.1", 0) as server, AsyncExitStack() as stack:
        port = server.sockets[0].getsockname()[1]
        config = ClusterConfig(proxy=f"127.0.0.1:{port}", discover_proxies=False)
        cluster = await stack.enter_async_context(YtCluster("pythia", config))
        with pytest.raises(ClusterUnavailable, match=r"no answer in 0\.2 s"):
            await cluster.trim_rows("1-2-3-4", 0, 1, Permit(seconds=0.2))
        async with asyncio.timeout(LIMIT_SECONDS):
            await closed.wait()
    assert isinstance(endings[0], ConnectionResetError)
