"""Queues whose rows the cluster itself trims by age, as an agent tells of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from tests.component.running_agent import User, eventually, running_agent
from yt_local.base.clock import Clock
from yt_local.runner import LocalClusters

QUEUE, CONSUMER = "//tmp/q", "//tmp/c"


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def test_lower_bounds_move_and_consumers_have_lost_rows(stack: AsyncExitStack) -> None:
    clock = Clock()
    clusters = await stack.enter_async_context(LocalClusters({"hume": 0}, clock=clock))
    session = await stack.enter_async_context(aiohttp.ClientSession())
    user = User(session, "hume", clusters.addresses["hume"])
    await user.create_queue(QUEUE, min_data_versions=0, max_data_ttl=3_600_000)
    await user.create_consumer(CONSUMER, QUEUE)
    await user.insert(QUEUE, [{"data": "x"}] * 5)
    await user.advance(CONSUMER, QUEUE, 0, 2)
    agent = await stack.enter_async_context(running_agent(session, clusters.addresses))

    def bounds(queue: Any) -> Any:
        return [
            (partition.get("lower_row_index"), partition.get("upper_row_index")) for partition in queue["partitions"]
        ]

    await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: bounds(queue) == [(0, 5)])
    clock.advance(timedelta(hours=2))
    await user.insert(QUEUE, [{"data": "y"}])
    await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: bounds(queue) == [(5, 6)])

    def positions(consumer: Any) -> list[tuple[str, int]]:
        partitions = [partition for queue in consumer["partitions"].values() for partition in queue]
        return [(partition.get("disposition"), partition.get("next_row_index")) for partition in partitions]

    await eventually(
        lambda: agent.find_consumer("hume", CONSUMER), lambda consumer: positions(consumer) == [("expired", 2)]
    )
