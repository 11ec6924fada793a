"""The agent's tree over the bus, as a master's gateway and peers of all kinds see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from queue_agent.adapters.serving.orchid import OrchidServer
from tests.component.orchid_peers import (
    QUEUE,
    Relay,
    Tree,
    dead_address,
    failure_of,
    make_tree,
    serving,
)
from tests.waiting import LIMIT_SECONDS, until
from yt_local.queues.orchid_gateway import OrchidGateway, order_addresses
from yt_wire import orchid, yson
from yt_wire.error import ErrorCode
from yt_wire.guid import Guid
from yt_wire.orchid import Verb, join_path
from yt_wire.rpc_client import RpcClient


@pytest.fixture
async def tree() -> Tree:
    return make_tree()


@pytest.fixture
async def server(tree: Tree) -> AsyncIterator[OrchidServer]:
    async with serving(tree) as server:
        yield server


@pytest.fixture
async def gateway() -> AsyncIterator[OrchidGateway]:
    async with OrchidGateway() as gateway:
        yield gateway


async def test_a_status_is_read_as_it_was_published(server: OrchidServer, gateway: OrchidGateway) -> None:
    status = await gateway.get([server.address], r"//queue_agent/queues/primary:\/\/tmp\/q/status")
    assert status == {"write_row_count_rate": 1.5, "partition_count": 2, "tid": 7, "alerts": {}}
    assert isinstance(status["tid"], yson.Uint64)
    assert await gateway.get([server.address], join_path(["queue_agent", "queues", QUEUE, "partitions", "0"])) == {
        "error": None
    }


async def test_keys_are_listed_and_looked_for(server: OrchidServer, gateway: OrchidGateway) -> None:
    addresses = [server.address]
    assert await gateway.list(addresses, "/") == ["queue_agent", "ключ/сложный", "numbers"]
    assert await gateway.list(addresses, "//queue_agent/queues") == [QUEUE]
    assert await gateway.exists(addresses, "//queue_agent/queues")
    assert not await gateway.exists(addresses, "//queue_agent/consumers")


async def test_keys_that_are_not_ascii_are_found_escaped_and_plain(
    server: OrchidServer, gateway: OrchidGateway
) -> None:
    assert await gateway.get([server.address], join_path(["ключ/сложный", "日本"])) == "値"
    assert await gateway.get([server.address], r"//ключ\/сложный/日本") == "値"


async def test_errors_of_the_tree_are_errors_of_resolving_the_path(
    server: OrchidServer, gateway: OrchidGateway
) -> None:
    missing = await failure_of(gateway.get([server.address], "//queue_agent/queues/x"))
    assert (missing.message, missing.code) == ("Error resolving path //queue_agent/queues/x", 500)
    [cause] = missing.inner_errors
    assert (cause.message, cause.code) == ('Node /queue_agent/queues has no child with key "x"', 500)
    for call in (gateway.get, gateway.list, gateway.exists):
        wrapped = await failure_of(call([server.address], "//queue_agent/unmapped"))
        assert (wrapped.message, wrapped.code) == ("Error resolving path //queue_agent/unmapped", 500)
        [unmapped] = wrapped.inner_errors
        assert (unmapped.message, unmapped.code) == ("Object is not mapped", 3105)
        assert unmapped.attributes == {"object": "o"}


async def test_attributes_are_read_like_nodes(server: OrchidServer, gateway: OrchidGateway) -> None:
    addresses = [server.address]
    assert await gateway.get(addresses, "//numbers/@") == {"depth": 1}
    assert await gateway.get(addresses, "//numbers/@depth") == 1
    assert await gateway.list(addresses, "//numbers/@") == ["depth"]
    assert await gateway.exists(addresses, "//numbers/@depth")
    assert not await gateway.exists(addresses, "//numbers/@x")
    assert (await failure_of(gateway.get(addresses, "//numbers/@x"))).code == 500
    assert (await failure_of(gateway.list(addresses, "//numbers/@depth"))).inner_errors[0].message.endswith("no keys")


async def test_a_path_of_something_else_is_refused_by_the_agent(server: OrchidServer, gateway: OrchidGateway) -> None:
    error = await failure_of(gateway.get([server.address], "//queue_agent/*"))
    assert error.message.startswith("Error parsing path")


async def test_a_bug_in_the_tree_fails_its_call_alone(server: OrchidServer, gateway: OrchidGateway) -> None:
    error = await failure_of(gateway.get([server.address], "//bug"))
    assert error.message == "Error executing Orchid request"
    assert await gateway.get([server.address], "//numbers/1") == 1


async def test_concurrent_calls_share_a_connection_and_do_not_mix(server: OrchidServer, tree: Tree) -> None:
    answers: dict[int, Any] = {}
    tree.gates["0"] = asyncio.Event()
    connections = 0

    def new_guid() -> Guid:
        nonlocal connections
        connections += 1
        return Guid(connections, 2)

    async def read(number: int) -> None:
        request = orchid.encode_request(Verb.GET, f"//numbers/{number}")
        response = await client.call(server.address, "Execute", b"", request, time_limit=10)
        answers[number] = orchid.decode_value(Verb.GET, orchid.decode_response(response.attachments))

    async with RpcClient(orchid.SERVICE, 5, new_guid=new_guid) as client, asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(read(number))
        await until(lambda: len(answers) == 199)  # the first waits, nobody waits for it
        tree.gates["0"].set()
    assert answers == {number: number for number in range(200)}
    assert connections == 200 + 2  # a connection and its Discover


async def test_a_restarted_server_is_found_by_the_very_next_call(tree: Tree, gateway: OrchidGateway) -> None:
    address = "127.0.0.1:0"
    for _ in range(10):
        async with serving(tree, address) as server:
            address = server.address
            assert await gateway.get([address], "//numbers/1") == 1
            assert await gateway.get([address], "//numbers/2") == 2


async def test_calls_fail_at_once_when_the_server_is_killed_under_them(tree: Tree, gateway: OrchidGateway) -> None:
    tree.gates["1"] = asyncio.Event()
    async with asyncio.TaskGroup() as group, serving(tree) as server:
        calls = [group.create_task(failure_of(gateway.get([server.address], "//numbers/1"))) for _ in range(3)]
        await until(lambda: tree.waiting == ["1", "1", "1"])
    for call in calls:
        assert call.result().message == "Error executing Orchid request"
        assert call.result().find(ErrorCode.TRANSPORT)
    assert not tree.waiting


async def test_a_call_whose_kept_connection_dies_is_repeated_on_a_new_one(
    server: OrchidServer, tree: Tree, gateway: OrchidGateway
) -> None:
    tree.gates["1"] = asyncio.Event()
    async with Relay(server.address) as relay, asyncio.TaskGroup() as group:
        await gateway.get([relay.address], "//numbers/2")
        call = group.create_task(gateway.get([relay.address], "//numbers/1"))
        await until(lambda: "1" in tree.waiting)
        relay.cut()
        await until(lambda: tree.asked.count("1") == 2)
        tree.gates["1"].set()
        assert await call == 1


async def test_no_agent_at_all_is_told_at_once(gateway: OrchidGateway) -> None:
    addresses = [await dead_address(), await dead_address()]
    error = await failure_of(gateway.get(addresses, r"//queue_agent/queues/primary:\/\/tmp\/q/status"))
    assert (error.message, error.code) == ("Error executing Orchid request", ErrorCode.GENERIC)
    assert error.attributes == {
        "path": "/status",
        "method": "Get",
        "endpoint": ", ".join(addresses),
        "remote_root": r"//queue_agent/queues/primary:\/\/tmp\/q",
    }
    [cause] = error.inner_errors
    assert cause.code == ErrorCode.UNAVAILABLE
    assert sorted(inner.attributes["address"] for inner in cause.inner_errors) == sorted(addresses)
    assert {inner.code for inner in cause.inner_errors} == {ErrorCode.TRANSPORT}


@pytest.mark.parametrize("addresses", [[], ["nonsense"], ["host:port"], ["127.0.0.1:99999"]])
async def test_addresses_that_are_none_are_an_execution_error(gateway: OrchidGateway, addresses: list[str]) -> None:
    error = await failure_of(gateway.get(addresses, "//a"))
    assert error.message == "Error executing Orchid request"


async def test_another_address_answers_for_a_dead_one(server: OrchidServer, gateway: OrchidGateway) -> None:
    addresses = [await dead_address(), server.address]
    for number in range(6):
        assert await gateway.get(addresses, f"//numbers/{number}") == number


async def test_another_address_answers_for_one_that_says_nothing(server: OrchidServer) -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with silent, asyncio.timeout(LIMIT_SECONDS), OrchidGateway(connect_timeout=2 * LIMIT_SECONDS) as gateway:
        addresses = [f"127.0.0.1:{silent.sockets[0].getsockname()[1]}", server.address]
        for _ in range(20):  # of which it is waited for once: then it is the last to be asked
            assert await gateway.get(addresses, "//numbers/1") == 1
        silent.close()


def test_addresses_take_turns_and_those_that_failed_come_last() -> None:
    assert order_addresses(["a", "b", "c"], 0, set()) == ["a", "b", "c"]
    assert order_addresses(["a", "b", "c"], 4, set()) == ["b", "c", "a"]
    assert order_addresses(["a", "b", "c"], 4, {"b"}) == ["c", "a", "b"]
    assert order_addresses(["a"], 5, {"a"}) == ["a"]
    assert order_addresses([], 5, {"a"}) == []


async def test_a_server_that_never_says_hello_is_given_up_soon() -> None:
    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(stay_silent, "127.0.0.1", 0) as silent:
        address = f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"
        async with OrchidGateway(connect_timeout=0.05) as gateway:
            error = await failure_of(gateway.get([address], "//a"))
    assert error.message == "Error executing Orchid request"
    assert error.inner_errors[0].message == f"Error connecting to {address}"


async def test_a_call_out_of_time_fails_with_code_3_and_is_called_off_at_the_server(
    server: OrchidServer, tree: Tree
) -> None:
    tree.gates["1"] = asyncio.Event()
    async with OrchidGateway(call_timeout=0.1) as gateway:
        error = await failure_of(gateway.get([server.address], "//numbers/1"))
        assert error.message == "Error executing Orchid request"
        assert error.inner_errors[0].code == ErrorCode.TIMEOUT
        await until(lambda: not tree.waiting)


async def test_closing_the_gateway_ends_calls_and_refuses_later_ones(server: OrchidServer, tree: Tree) -> None:
    tree.gates["1"] = asyncio.Event()
    async with OrchidGateway() as gateway, asyncio.TaskGroup() as group:
        call = group.create_task(failure_of(gateway.get([server.address], "//numbers/1")))
        await until(lambda: "1" in tree.waiting)
        await gateway.close()
        later = await failure_of(gateway.get([server.address], "//numbers/2"))
    assert call.result().find(ErrorCode.TRANSPORT)
    assert later.find(ErrorCode.TRANSPORT)
    await until(lambda: not tree.waiting)


async def test_an_error_of_the_body_leaves_server_and_gateway_as_it_is(tree: Tree) -> None:
    with pytest.raises(ZeroDivisionError):
        async with serving(tree) as server, OrchidGateway() as gateway:
            await gateway.get([server.address], "//numbers/1")
            raise ZeroDivisionError
