"""A tree that is served to masters, and clients and relays that do what they like."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import pytest

from queue_agent.adapters.serving.orchid import OrchidServer
from queue_agent.core.values.encoding import Unsigned
from tests.waiting import LIMIT_SECONDS, until
from yt_wire import bus, orchid, rpc
from yt_wire.error import ErrorCode, YtError
from yt_wire.gate import Gate, bind
from yt_wire.guid import Guid
from yt_wire.orchid import resolve
from yt_wire.proto.rpc_pb2 import TRequestHeader
from yt_wire.rpc_client import parse_address
from yt_wire.scope import TaskScope
from yt_wire.seats import Limits

QUEUE = "primary://tmp/q"
STATUS = {"write_row_count_rate": 1.5, "partition_count": 2, "tid": Unsigned(7), "alerts": {}}


class Tree:
    """Serves plain values; a key of `gates` is answered when its event is set."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.gates: dict[str, asyncio.Event] = {}
        self.waiting: list[str] = []
        self.asked: list[str] = []

    async def get(self, path: Sequence[str]) -> Any:
        last = path[-1] if path else ""
        self.asked.append(last)
        if last in self.gates:
            self.waiting.append(last)
            try:
                await self.gates[last].wait()
            finally:
                self.waiting.remove(last)
        match last:
            case "unmapped":
                raise YtError("Object is not mapped", ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED, {"object": "o"})
            case "bug":
                raise ZeroDivisionError
        return resolve(self.value, path)

    async def list(self, path: Sequence[str]) -> list[str]:
        return list(await self.get(path))

    async def attributes(self, path: Sequence[str]) -> Mapping[str, Any]:
        await self.get(path)
        return {"depth": len(path)}


def make_tree() -> Tree:
    return Tree(
        {
            "queue_agent": {"queues": {QUEUE: {"status": STATUS, "partitions": [{"error": None}]}}},
            "ключ/сложный": {"日本": "値"},
            "numbers": {str(number): number for number in range(200)},
        }
    )


def roomy_gate() -> Gate:
    """For tests that are about something else than limits."""
    return Gate(Limits(1000, 1000, 1 << 30, math.inf, math.inf, math.inf), buffers=None)


@asynccontextmanager
async def serving(tree: Tree, address: str = "127.0.0.1:0") -> AsyncIterator[OrchidServer]:
    host, port = parse_address(address)
    async with roomy_gate() as gate, OrchidServer(tree, await bind(host, port), gate) as server:
        yield server


async def failure_of(call: Awaitable[Any]) -> YtError:
    async with asyncio.timeout(LIMIT_SECONDS):
        with pytest.raises(YtError) as caught:
            await call
    return caught.value


class Relay:
    """Passes bytes on to a server until the connections are cut; new ones may be made afterwards."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._scope = TaskScope()
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        await self._scope.__aenter__()
        self._listener = await asyncio.start_server(
            lambda reader, writer: void(self._scope.start(self._join(reader, writer))), "127.0.0.1", 0
        )
        self.address = f"127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._listener.close()
        self.cut()
        await self._scope.__aexit__(None, None, None)

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target_reader, target_writer = await asyncio.open_connection(*parse_address(self._target))
        self._writers += [writer, target_writer]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pump(reader, target_writer))
            group.create_task(self._pump(target_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.transport.abort()


def void(_: object) -> None:
    """A callback for accepted connections must not give back anything that can be awaited."""


async def dead_address() -> str:
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return f"127.0.0.1:{port}"


class RawPeer:
    """A client that speaks packets and sends no handshake unless told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._decoder = bus.Decoder()

    async def receive(self) -> bus.Packet | None:
        """The next packet, None once the server has hung up."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while (packet := self._decoder.next_packet()) is None:
                try:
                    data = await self._reader.read(1 << 16)
                except ConnectionResetError:
                    return None
                if not data:
                    return None
                self._decoder.feed(data)
            return packet

    async def receive_response(self) -> rpc.Response:
        packet = await self.receive()
        assert packet is not None
        message = rpc.decode_message(packet.parts)
        assert isinstance(message, rpc.Response)
        return message

    def send(self, header: TRequestHeader, body: bytes, attachments: Sequence[bus.Part] = ()) -> None:
        self.writer.write(bus.encode_message(bytes(16), rpc.encode_request(header, body, attachments)))


@asynccontextmanager
async def raw_peer(address: str) -> AsyncIterator[RawPeer]:
    reader, writer = await asyncio.open_connection(*parse_address(address))
    try:
        yield RawPeer(reader, writer)
    finally:
        writer.transport.abort()
        await until(lambda: writer.transport.get_extra_info("socket").fileno() < 0)


def header_of(number: int, method: str = "Execute", service: str = orchid.SERVICE, **fields: Any) -> TRequestHeader:
    return TRequestHeader(request_id=rpc.to_proto_guid(Guid(number, 1)), service=service, method=method, **fields)
