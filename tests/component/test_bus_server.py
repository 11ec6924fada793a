"""The RPC port of an agent, byte by byte: who speaks the protocol is answered, and nobody is harmed by who does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from queue_agent.adapters.serving.orchid import OrchidServer
from tests.component.orchid_peers import (
    Tree,
    header_of,
    make_tree,
    raw_peer,
    roomy_gate,
    serving,
)
from tests.waiting import until
from yt_local.queues.orchid_gateway import OrchidGateway
from yt_wire import bus, orchid, rpc, yson
from yt_wire.connection import ConnectionLimits, Reply
from yt_wire.error import ErrorCode
from yt_wire.gate import bind
from yt_wire.guid import Guid
from yt_wire.orchid import Verb
from yt_wire.proto.rpc_pb2 import TReqDiscover, TRequestHeader, TRspDiscover
from yt_wire.proto.ypath_pb2 import TReqExecute, TReqGet, TReqList, TRspGet, TYPathHeaderExt
from yt_wire.rpc_client import RpcClient
from yt_wire.rpc_server import RpcServer


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


async def test_java_gets_acks_and_answers_without_any_handshake(server: OrchidServer) -> None:
    async with raw_peer(server.address) as peer:
        for number in range(1, 4):
            packet_id = bytes([number] * 16)
            header = header_of(number, "Discover", request_codec=0, response_codec=0)
            parts = rpc.encode_request(header, TReqDiscover().SerializeToString())
            peer.writer.write(bus.encode_message(packet_id, parts, request_ack=True))
            assert await peer.receive() == bus.Packet(bus.PacketType.ACK, packet_id)
            response = await peer.receive_response()
            assert response.request_id == Guid(number, 1)
            assert response.header.HasField("codec")
            assert TRspDiscover.FromString(response.body_part or b"").up


async def test_acks_come_in_order_and_do_not_wait_for_answers(server: OrchidServer, tree: Tree) -> None:
    tree.gates["1"] = asyncio.Event()
    request = orchid.encode_request(Verb.GET, "//numbers/1")
    async with raw_peer(server.address) as peer:
        for number in range(1, 4):
            parts = rpc.encode_request(header_of(number), TReqExecute().SerializeToString(), request)
            peer.writer.write(bus.encode_message(bytes([number] * 16), parts, request_ack=True))
        for number in range(1, 4):
            assert await peer.receive() == bus.Packet(bus.PacketType.ACK, bytes([number] * 16))
        tree.gates["1"].set()
        for _ in range(3):
            assert (await peer.receive_response()).error is None


async def test_the_server_answers_a_handshake_and_only_then_sends_one(server: OrchidServer) -> None:
    async with raw_peer(server.address) as peer:
        peer.send(header_of(1, "Discover"), b"")
        assert (await peer.receive_response()).error is None
        peer.writer.write(bus.encode_handshake(Guid(1, 2)))
        packet = await peer.receive()
        assert packet is not None
        assert bus.is_handshake(packet)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (header_of(1, service="Nobody"), ErrorCode.NO_SUCH_SERVICE),
        (header_of(1, "Nothing"), ErrorCode.NO_SUCH_METHOD),
        (header_of(1, "Discover", request_codec=4), ErrorCode.PROTOCOL),
        (header_of(1, "Discover", response_codec=4), ErrorCode.PROTOCOL),
        (header_of(1, "Execute"), ErrorCode.PROTOCOL),
    ],
)
async def test_a_request_that_can_not_be_served_gets_its_error_and_nothing_else(
    server: OrchidServer, header: TRequestHeader, code: int
) -> None:
    async with raw_peer(server.address) as peer:
        peer.send(header, b"")
        response = await peer.receive_response()
        assert response.error is not None
        assert response.error.code == code
        assert response.body_part is None
        peer.send(header_of(2, "Discover"), b"")
        assert (await peer.receive_response()).error is None


async def ask_inside(address: str, header: TRequestHeader, body: bytes) -> rpc.Response:
    async with RpcClient(orchid.SERVICE, 5) as client:
        attachments = rpc.encode_request(header, body)
        response = await client.call(address, orchid.METHOD, b"", attachments, time_limit=10)
    return orchid.decode_response(response.attachments)


def inner_header(method: str, path: bytes, *, mutating: bool = False, **fields: Any) -> TRequestHeader:
    header = TRequestHeader(service="any", method=method, **fields)
    extension = header.Extensions[TYPathHeaderExt.ypath_header_ext]
    extension.target_path = path
    extension.mutating = mutating
    return header


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (inner_header("Set", b"//a", mutating=True), "Orchid nodes are read-only"),
        (inner_header("Frobnicate", b"//a"), "Method Frobnicate is not supported"),
        (TRequestHeader(service="", method="Get"), "YPath request has no path"),
        (inner_header("Get", b"//\xff"), r"Error resolving path //\\udcff"),
        (inner_header("Get", b"//numbers", request_codec=4), "Codec 4 is not supported"),
    ],
)
async def test_what_is_wrong_inside_is_told_inside(server: OrchidServer, header: TRequestHeader, message: str) -> None:
    response = await ask_inside(server.address, header, b"")
    assert response.error is not None
    assert response.error.message == message.replace(r"\\", "\\")
    assert response.body_part is None


async def test_an_inner_request_with_codecs_is_answered_bare(server: OrchidServer) -> None:
    header = inner_header("Get", b"//numbers/5", request_codec=0, response_codec=0)
    response = await ask_inside(server.address, header, TReqGet().SerializeToString())
    assert yson.loads(TRspGet.FromString(response.body_part or b"").value) == 5


async def test_limits_cut_maps_and_listings_and_say_so(server: OrchidServer) -> None:
    response = await ask_inside(server.address, inner_header("Get", b"//numbers"), TReqGet(limit=2).SerializeToString())
    value = orchid.decode_value(Verb.GET, response)
    assert (dict(value), yson.attributes_of(value)) == ({"0": 0, "1": 1}, {"incomplete": True})
    response = await ask_inside(
        server.address, inner_header("List", b"//numbers"), TReqList(limit=2).SerializeToString()
    )
    value = orchid.decode_value(Verb.LIST, response)
    assert (list(value), yson.attributes_of(value)) == (["0", "1"], {"incomplete": True})
    response = await ask_inside(
        server.address, inner_header("Get", b"//numbers"), TReqGet(limit=200).SerializeToString()
    )
    assert not yson.attributes_of(orchid.decode_value(Verb.GET, response))


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: agent\r\n\r\n" + bytes(36),
        bytes(100),
        bus.encode_message(bytes(16), []),
        bus.encode_message(bytes(16), [None]),
        bus.encode_message(bytes(16), [b"rpci"]),
        bus.encode_message(bytes(16), [b"rpci\xff\xff\xff"]),
        bus.encode_message(bytes(16), [b"rpcp\x00"]),
        bus.encode_message(bus.HANDSHAKE_PACKET_ID, [b"bush\x0a\x00"]),
        bus.encode_message(bytes(16), [b"rpci\x0a\x00\x12\x01S\x1a\x01M"]),
    ],
)
async def test_garbage_ends_its_connection_and_no_other(
    server: OrchidServer, gateway: OrchidGateway, garbage: bytes
) -> None:
    assert await gateway.get([server.address], "//numbers/1") == 1
    async with raw_peer(server.address) as peer:
        peer.writer.write(garbage)
        assert await peer.receive() is None
    assert await gateway.get([server.address], "//numbers/2") == 2


async def test_a_service_name_that_is_not_utf8_gets_an_error(server: OrchidServer) -> None:
    async with raw_peer(server.address) as peer:
        peer.writer.write(bus.encode_message(bytes(16), [b"rpci\x12\x01\xff\x1a\x01\xfe", bytes(8)]))
        error = (await peer.receive_response()).error
    assert error is not None
    assert error.code == ErrorCode.NO_SUCH_SERVICE


async def test_a_packet_above_the_limit_is_refused_before_it_is_read(
    server: OrchidServer, gateway: OrchidGateway
) -> None:
    packet = bus.encode_message(bytes(16), rpc.encode_request(header_of(1), bytes(2 << 20)))
    async with raw_peer(server.address) as peer:
        peer.writer.write(packet[:100])
        assert await peer.receive() is None
    assert await gateway.get([server.address], "//numbers/1") == 1


async def test_a_client_that_leaves_takes_its_requests_along(server: OrchidServer, tree: Tree) -> None:
    tree.gates["1"] = asyncio.Event()
    async with raw_peer(server.address) as peer:
        peer.send(header_of(1), b"", orchid.encode_request(Verb.GET, "//numbers/1"))
        await until(lambda: "1" in tree.waiting)
    await until(lambda: not tree.waiting)


async def test_a_cancelation_stops_its_request_and_an_unknown_one_nothing(server: OrchidServer, tree: Tree) -> None:
    tree.gates["1"] = asyncio.Event()
    async with raw_peer(server.address) as peer:
        peer.send(header_of(1), b"", orchid.encode_request(Verb.GET, "//numbers/1"))
        await until(lambda: "1" in tree.waiting)
        for number in (5, 1):
            peer.writer.write(bus.encode_message(bytes(16), rpc.encode_cancelation(header_of(number))))
        await until(lambda: not tree.waiting)
        peer.send(header_of(2, "Discover"), b"")
        assert (await peer.receive_response()).request_id == Guid(2, 1)


async def test_requests_above_the_limit_are_refused_while_the_others_go_on() -> None:
    gate = asyncio.Event()

    async def wait(request: rpc.Request) -> Reply:
        await gate.wait()
        return Reply(b"done")

    limits = ConnectionLimits(max_concurrent_requests=2)
    async with (
        roomy_gate() as entrance,
        RpcServer({"S": {"Wait": wait}}, await bind("127.0.0.1", 0), entrance, limits) as server,
        raw_peer(server.address) as peer,
    ):
        for number in range(3):
            peer.send(header_of(number, "Wait", "S"), b"")
        refused = await peer.receive_response()
        assert refused.request_id == Guid(2, 1)
        assert refused.error is not None
        assert refused.error.code == ErrorCode.REQUEST_QUEUE_SIZE_LIMIT_EXCEEDED
        gate.set()
        assert [(await peer.receive_response()).body for _ in range(2)] == [b"done"] * 2


async def test_large_answers_arrive_whole_beside_small_ones(gateway: OrchidGateway) -> None:
    large = {"large": "x" * (20 << 20), "small": 1}
    async with serving(Tree(large)) as server, asyncio.TaskGroup() as group:
        calls = [group.create_task(gateway.get([server.address], "//large")) for _ in range(3)]
        assert await gateway.get([server.address], "//small") == 1
    assert all(call.result() == large["large"] for call in calls)
