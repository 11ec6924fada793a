"""Streams of tables and files over RPC that do not go as they should."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import pytest

from tests.component.rpc_calls import Caller, StreamingCall, calling
from yt_local.base.memory_budget import MAX_HELD_BYTES, STREAM_BYTES
from yt_local.calls.rowsets import pack_refs
from yt_local.runner import LocalClusters
from yt_wire import rpc
from yt_wire.error import ErrorCode
from yt_wire.proto import api_pb2 as api

TABLE: Final = "//tmp/t"
FILE: Final = "//tmp/f"
GET: Final = api.TReqGetNode(path="//tmp/@key")


@pytest.fixture
async def caller(clusters: LocalClusters) -> AsyncIterator[Caller]:
    async with calling(clusters.rpc_addresses["pythia"]) as caller:
        await caller.call(api.TReqCreateNode(path=TABLE, type=401))
        await caller.call(api.TReqCreateNode(path=FILE, type=400))
        yield caller


async def content(caller: Caller) -> bytes:
    reading = await caller.stream(api.TReqReadFile(path=FILE))
    await reading.send()
    pieces = [piece async for piece in reading.streams.incoming]
    await reading.end()
    return b"".join(pieces[1:])  # without the first piece, which is the header


async def test_as_many_read_as_want_to_and_as_many_write_as_there_is_room_for(caller: Caller) -> None:
    room = MAX_HELD_BYTES // STREAM_BYTES
    readers = [await caller.stream(api.TReqReadFile(path=FILE)) for _ in range(room + 1)]
    for reader in readers:
        assert await anext(aiter(reader.streams.incoming))
    *writers, last = [await caller.stream(api.TReqWriteFile(path=FILE)) for _ in range(room)]
    assert (await last.refusal()).code == ErrorCode.REQUEST_QUEUE_SIZE_LIMIT_EXCEEDED  # requests of readers count, too
    assert not any(call.outcome.done() for call in (*readers, *writers))


async def test_a_gap_in_a_stream_ends_its_call_alone(caller: Caller) -> None:
    writing, other = [await caller.stream(api.TReqWriteFile(path=FILE)) for _ in range(2)]
    caller.connection._write(rpc.encode_payload(writing.header, 5, b"abc"))
    error = await writing.refusal()
    assert error.code == ErrorCode.PROTOCOL and "expected 0, got 5" in error.message
    await other.send(b"kept")
    await other.end()
    assert await content(caller) == b"kept"


@pytest.mark.parametrize("way", ["the caller leaves", "the call is called off"])
async def test_of_what_is_broken_off_nothing_stays(clusters: LocalClusters, caller: Caller, way: str) -> None:
    async with calling(clusters.rpc_addresses["pythia"]) as writer:
        writing = await writer.stream(api.TReqWriteFile(path=FILE))
        await writing.streams.outgoing.write(b"begun")
        await anext(aiter(writing.streams.incoming), None)  # its end: the other side is there
        if way == "the caller leaves":
            writer.connection.close()
            assert (await writing.refusal()).code == ErrorCode.TRANSPORT
        else:
            writing.outcome.cancel()
            await writer.call(GET)
    assert await content(caller) == b""
    # Nor does a lock: somebody else writes.
    again = await caller.stream(api.TReqWriteFile(path=FILE))
    await again.send(b"again")
    await again.end()
    assert await content(caller) == b"again"


@pytest.mark.parametrize(
    "block", [b"", b"\xff" * 30, pack_refs([b""]), pack_refs([b"\xff", bytes(8)]), pack_refs([b"", b"\1" + bytes(7)])]
)
async def test_blocks_that_are_none_are_refused(caller: Caller, block: bytes) -> None:
    writing = await caller.stream(api.TReqWriteTable(path=TABLE))
    await writing.send(pack_refs([b"", b"\1" + bytes(15)]), block)
    assert (await writing.refusal()).code == ErrorCode.PROTOCOL
    response = await caller.call(api.TReqGetNode(path=f"{TABLE}/@row_count"))
    assert rpc.parse(api.TRspGetNode, response.body).value == b"\2\0"


async def test_who_may_not_write_is_not_told_the_schema(caller: Caller) -> None:
    attributes = rpc.to_proto_attributes({"name": "jane"})
    await caller.call(api.TReqCreateObject(type=501, attributes=attributes))
    await caller.call(api.TReqSetNode(path=f"{TABLE}/@inherit_acl", value=b"%false"))
    writing: StreamingCall = await caller.stream(api.TReqWriteTable(path=TABLE), user="jane")
    assert (await writing.refusal()).code == ErrorCode.AUTHORIZATION
    assert not writing.streams.incoming._parts
