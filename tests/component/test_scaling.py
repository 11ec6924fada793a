"""What whole agents answer to autoscalers about consumers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import aiohttp
import pytest

from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters

QUEUE: Final = "pythia://tmp/q"
SCALING: Final = "/api/v1/consumers/pythia/tmp%2Fc/scaling"


@pytest.fixture
async def agent() -> AsyncIterator[RunningAgent]:
    """It leads a consumer with 30 rows to read in one partition, and 5 in the other."""
    async with LocalClusters({"pythia": 0}) as clusters, aiohttp.ClientSession() as session:
        user = User(session, "root", clusters.addresses["pythia"])
        await user.create_queue("//tmp/q", tablet_count=2)
        await user.create_consumer("//tmp/c", "//tmp/q")
        rows: list[Mapping[str, Any]] = [
            {"$tablet_index": index, "data": "x"} for index, count in ((0, 30), (1, 5)) for _ in range(count)
        ]
        await user.insert("//tmp/q", rows)
        async with running_agent(session, clusters.addresses) as agent:
            yield agent


async def test_each_partition_counts_up_to_the_target(agent: RunningAgent) -> None:
    async def find() -> Any:
        status, document = await agent.get(f"{SCALING}?queue={QUEUE}&target_rows=10")
        return document if status == 200 and document["value"] else None

    found = await eventually(find, lambda found: found["partitions_with_rows"] == 2)
    assert (found["value"], found["active"], found["excluded"]) == (15, True, {})
    status, document = await agent.get(f"{SCALING}?queue={QUEUE}&target_rows=10&activation_rows=30")
    assert (status, document["active"]) == (200, False)


async def test_what_nobody_knows_is_unavailable_and_never_0(agent: RunningAgent) -> None:
    async def find() -> Any:
        return await agent.find_consumer("pythia", "//tmp/c")

    await eventually(find, lambda found: "queues" in found["status"])
    assert (await agent.get(f"{SCALING}?queue=pythia://tmp/other&target_rows=10"))[0] == 404
    for query in (f"queue={QUEUE}", f"queue={QUEUE}&target_rows=0", f"queue={QUEUE}&target_rows=many"):
        assert (await agent.get(f"{SCALING}?{query}"))[0] == 400


async def test_rows_of_an_unmounted_queue_are_unknown() -> None:
    async with LocalClusters({"pythia": 0}) as clusters, aiohttp.ClientSession() as session:
        user = User(session, "root", clusters.addresses["pythia"])
        await user.create_queue("//tmp/q")
        await user.create_consumer("//tmp/c", "//tmp/q")
        await user.run("unmount_table", path="//tmp/q")
        async with running_agent(session, clusters.addresses) as agent:

            async def find() -> Any:
                return await agent.get(f"{SCALING}?queue={QUEUE}&target_rows=10")

            await eventually(find, lambda answer: bool(answer[0] == 503))
