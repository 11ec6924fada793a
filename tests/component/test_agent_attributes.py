"""Attributes that agents answer for, read with others: of one node, and of all in a directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest

from tests.component.orchid_peers import STATUS, Tree, serving
from tests.component.running_agent import User, running_agent
from yt_local.runner import LocalClusters

NAMES = ["queue_status", "queue_consumer_status", "type"]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def start(stack: AsyncExitStack, agents: list[str]) -> tuple[User, LocalClusters, aiohttp.ClientSession]:
    clusters = await stack.enter_async_context(LocalClusters({"hume": 0}, agents))
    session = await stack.enter_async_context(aiohttp.ClientSession())
    return User(session, "hume", clusters.addresses["hume"]), clusters, session


async def answered(user: User, command: str, path: str, **options: Any) -> Any:
    return (await user.run(command, path=path, attributes=NAMES, **options))["value"]


async def test_named_ones_are_asked_for_in_listings_too(stack: AsyncExitStack) -> None:
    tree = Tree({"queue_agent": {"queues": {"hume://tmp/d/q": {"status": STATUS}}, "consumers": {}}})
    server = await stack.enter_async_context(serving(tree))
    user, _, _ = await start(stack, [server.address])
    await user.create_queue("//tmp/d/q")
    await user.run("create", type="map_node", path="//tmp/d/empty")
    expected = {"queue_status": STATUS, "type": "table"}
    [empty, queue] = await answered(user, "list", "//tmp/d")
    assert empty == {"$value": "empty", "$attributes": {"type": "map_node"}}
    assert queue == {"$value": "q", "$attributes": expected}
    assert (await answered(user, "get", "//tmp/d"))["$value"]["q"]["$attributes"] == expected
    assert (await answered(user, "get", "//tmp/d/q"))["$attributes"] == expected
    assert await answered(user, "get", "//tmp/d/q/@") == expected
    asked = len(tree.asked)
    unfiltered = (await user.run("get", path="//tmp/d/q/@"))["value"]
    assert unfiltered["queue_status"] is None
    assert len(tree.asked) == asked


async def test_a_listing_fails_with_the_answer_for_one_of_its_nodes(stack: AsyncExitStack) -> None:
    server = await stack.enter_async_context(serving(Tree({"queue_agent": {"queues": {}}})))
    user, clusters, session = await start(stack, [server.address])
    await user.create_queue("//tmp/d/q")
    url = f"http://{clusters.addresses['hume']}/api/v4/list"
    async with session.post(url, json={"path": "//tmp/d", "attributes": NAMES}) as response:
        assert response.status == 400
        assert "Error resolving path //queue_agent/queues/" in await response.text()


async def test_an_agent_knows_no_producers(stack: AsyncExitStack) -> None:
    user, clusters, session = await start(stack, [])
    agent = await stack.enter_async_context(running_agent(session, clusters.addresses))
    await user.run("create", type="queue_producer", path="//tmp/p")
    await user.set("//sys/clusters/hume/queue_agent/stages/production", {"addresses": [agent.rpc_address]})
    url = f"http://{clusters.addresses['hume']}/api/v4/get"
    async with session.post(url, json={"path": "//tmp/p/@queue_producer_status"}) as response:
        error = await response.json()
    assert error["code"] == 500
    [cause] = error["inner_errors"]
    assert (cause["code"], cause["message"]) == (500, 'Node /queue_agent has no child with key "producers"')
