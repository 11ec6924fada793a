"""What peers that mean harm can do to the agent's ports, one guard after the other; all at once are in `tests/e2e`."""

from __future__ import annotations

import asyncio
import gc
import gzip
import math
import socket
import weakref
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import pytest
import structlog
from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from structlog.testing import capture_logs

from queue_agent.adapters.serving.http_server import HttpServer
from queue_agent.adapters.serving.liveness import Liveness
from queue_agent.adapters.serving.orchid import OrchidServer
from tests.component.orchid_peers import RawPeer, Tree, header_of, raw_peer
from tests.waiting import LIMIT_SECONDS, stopped_time, until
from yt_wire import bus, orchid, rpc
from yt_wire.connection import Connection
from yt_wire.gate import Buffers, Gate, bind
from yt_wire.guid import Guid
from yt_wire.orchid import Verb
from yt_wire.rpc_client import RpcClient
from yt_wire.seats import Limits
from yt_wire.sparse_log import SparseLog
from yt_wire.turns import PER_ITERATION

NEVER: Final = Limits(100, 100, 64 << 20, math.inf, math.inf, math.inf)
SOON: Final = 0.2
HANDSHAKE: Final = bus.encode_handshake(Guid(1, 2))
LARGE: Final = 1 << 20
PIECE: Final = 1 << 16
GET: Final = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
POST: Final = b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
LIVE: Final = b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n"


def limits(
    *,
    connections: int = 100,
    held: int = 64 << 20,
    message: float = math.inf,
    answer: float = math.inf,
    idle: float = math.inf,
) -> Limits:
    return Limits(connections, connections, held, message, answer, idle)


class Ports:
    """Both servers behind one gate."""

    def __init__(self, gate: Gate, tree: Tree, application: Application, bus_address: str, http_port: int) -> None:
        self.gate = gate
        self.tree = tree
        self.application = application
        self.bus_address = bus_address
        self.http_port = http_port
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self, data: bytes, *, to_bus: bool = False) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = self.bus_address.partition(":")
        # The socket keeps little: what the peer does not read stays at the server.
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.setblocking(False)
        await asyncio.get_running_loop().sock_connect(peer, (host, int(port) if to_bus else self.http_port))
        reader, writer = await asyncio.open_connection(sock=peer, limit=1024)
        self._writers.append(writer)
        writer.write(data)
        return reader, writer

    async def disconnect(self) -> None:
        """Have all peers leave."""
        for writer in self._writers:
            writer.transport.abort()
        await until(lambda: all(writer.get_extra_info("socket").fileno() < 0 for writer in self._writers))
        self._writers.clear()

    async def get(self, request: bytes) -> bytes:
        reader, _ = await self.connect(request)
        async with asyncio.timeout(LIMIT_SECONDS):
            return await reader.readuntil(b"\r\n\r\n")


class Application:
    """Handlers that take long, or answer much."""

    def __init__(self) -> None:
        self.slow = asyncio.Event()
        self.slow_count = 0
        self.large_count = 0
        self.errors: list[BaseException] = []

    def make(self) -> web.Application:
        application = web.Application()
        application.add_routes(
            [web.get("/large", self._large), web.get("/slow", self._slow), web.post("/body", self._body)]
        )
        return application

    async def _large(self, request: web.Request) -> web.StreamResponse:
        self.large_count += 1
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(LARGE // PIECE):
            await response.write(bytes(PIECE))
        return response

    async def _slow(self, request: web.Request) -> web.Response:
        self.slow_count += 1
        try:
            await self.slow.wait()
        finally:
            self.slow_count -= 1
        return web.Response()

    async def _body(self, request: web.Request) -> web.Response:
        return web.Response(body=await request.read())


@asynccontextmanager
async def ports(limits: Limits) -> AsyncIterator[Ports]:
    tree, application = Tree({"large": "x" * LARGE, "number": 1}), Application()
    async with (
        Gate(limits, Buffers(receive=16 << 10, send=16 << 10)) as gate,
        OrchidServer(tree, await bind("127.0.0.1", 0), gate) as server,
    ):
        http = HttpServer(application.make(), gate, Liveness(tuple, gate.log).answer_at_once)
        await http.start("127.0.0.1", 0)
        world = Ports(gate, tree, application, server.address, http.port)
        try:
            yield world
        finally:
            await world.disconnect()
            await http.stop()


async def ends(reader: asyncio.StreamReader) -> None:
    """Wait until the server has ended a connection."""
    async with asyncio.timeout(LIMIT_SECONDS):
        try:
            while await reader.read(1 << 16):
                pass
        except ConnectionResetError:
            pass


@pytest.mark.parametrize("data", [b"", HANDSHAKE[:20], HANDSHAKE + HANDSHAKE[:60]])
async def test_a_packet_on_the_bus_has_to_come_in_time(data: bytes) -> None:
    async with ports(limits(message=SOON)) as world:
        reader, _ = await world.connect(data, to_bus=True)
        await ends(reader)


@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1\r\nHost:", POST, POST + b"x" * 500, GET + POST])
async def test_a_request_over_http_has_to_come_in_time_head_and_body(data: bytes) -> None:
    async with ports(limits(message=SOON)) as world:
        with capture_logs() as logs:
            reader, _ = await world.connect(data)
            await ends(reader)
        assert [log["event"] for log in logs if log["log_level"] == "error"] == []


async def test_dripping_bytes_gains_no_time() -> None:
    async with ports(limits(message=1)) as world:
        connections = [await world.connect(b"", to_bus=to_bus) for to_bus in (False, True)]
        async with asyncio.timeout(LIMIT_SECONDS), asyncio.TaskGroup() as group:
            drips = [
                group.create_task(drip(writer, data))
                for (_, writer), data in zip(connections, (b"GET /", HANDSHAKE), strict=True)
            ]
            for reader, _ in connections:
                await ends(reader)
            for task in drips:
                task.cancel()


async def drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    for byte in data * 1000:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.05)  # as slowly as the attacker likes


async def test_idle_connections_end_and_those_at_work_do_not() -> None:
    async with ports(limits(idle=SOON)) as world, RpcClient(orchid.SERVICE, 5) as client:
        working, _ = await world.connect(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        await client.call(world.bus_address, "Discover", b"", time_limit=5)
        idle, _ = await world.connect(HANDSHAKE, to_bus=True)
        await ends(idle)
        await until(lambda: world.gate.connection_count == 1)
        world.application.slow.set()
        assert (await working.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")


async def test_a_peer_that_does_not_read_is_given_few_answers_and_left_in_the_end() -> None:
    async with ports(limits(answer=SOON)) as world:
        await world.connect(GET * 100)
        async with raw_peer(world.bus_address) as peer:
            ask_for_large(peer, 100)
            await until(lambda: world.gate.connection_count == 2)
            await until(lambda: world.gate.connection_count == 0)
        assert world.application.large_count <= 2
        assert len(world.tree.asked) <= 7


async def test_an_answer_taken_a_little_at_a_time_has_no_more_time_than_any_other() -> None:
    async with ports(limits(answer=1)) as world:
        reader, _ = await world.connect(GET)
        with suppress(ConnectionResetError):
            async with asyncio.timeout(LIMIT_SECONDS):
                while await reader.read(2048):  # noqa: ASYNC110 - slow on purpose
                    await asyncio.sleep(0.02)
        assert world.gate.connection_count == 0


async def test_a_compressed_body_is_not_made_large() -> None:
    body = gzip.compress(bytes(100_000))
    head = f"POST /body HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with ports(NEVER) as world:
        assert f"Content-Length: {len(body)}".encode() in await world.get(head + body)


def ask_for_large(peer: RawPeer, count: int) -> None:
    peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
    for number in range(count):
        peer.send(header_of(number), b"", orchid.encode_request(Verb.GET, "//large"))


async def test_frames_that_are_held_take_no_more_than_the_limit_of_all() -> None:
    frame = bus.encode_message(bytes(16), [b"rpci" + bytes(900_000)])[:-1]
    async with ports(limits(held=4 << 20)) as world:
        writers = [(await world.connect(HANDSHAKE + frame, to_bus=True))[1] for _ in range(20)]
        async with asyncio.timeout(LIMIT_SECONDS):
            for writer in writers:
                try:
                    await writer.drain()
                except ConnectionError:
                    continue
        await until(lambda: world.gate.connection_count <= 4)
        assert world.gate.held_bytes <= 4 << 20


async def test_heads_that_are_held_count_too() -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 8000) for n in range(60))
    async with ports(limits(held=4 << 20)) as world:
        for _ in range(20):
            await world.connect(head)
        await until(lambda: 0 < world.gate.connection_count <= 5 and world.gate.held_bytes > 2 << 20)
        assert world.gate.held_bytes <= 4 << 20


async def test_a_master_and_liveness_are_answered_where_every_seat_is_taken() -> None:
    async with ports(limits(connections=20)) as world, RpcClient(orchid.SERVICE, 5) as client:
        for _ in range(60):
            await world.connect(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            await world.connect(HANDSHAKE, to_bus=True)
            await world.connect(b"")
        await until(lambda: world.application.slow_count > 10)
        assert (await world.get(LIVE)).startswith(b"HTTP/1.1 200 OK")
        # One whose request comes later than the connection.
        reader, writer = await world.connect(b"")
        await asyncio.sleep(0)
        writer.write(LIVE)
        assert (await reader.read()).endswith(b'{"status": "ok"}')
        await client.call(world.bus_address, "Discover", b"", time_limit=5)
        assert world.gate.connection_count <= 20


async def test_a_peer_that_goes_on_sending_has_its_time_for_every_message() -> None:
    async with ports(limits(message=1)) as world:
        reader, writer = await world.connect(HANDSHAKE[:10], to_bus=True)
        await until(lambda: world.gate.connection_count == 1)
        [visitor] = world.gate.visitors
        with stopped_time() as time:
            for _ in range(3):
                writer.write(HANDSHAKE[10:] + HANDSHAKE[:10])
                await time.until(lambda: visitor.seat.since == time())
                await time.advance(0.9)
        assert not reader.at_eof()
        assert world.gate.connection_count == 1


@pytest.mark.parametrize("to_bus", [False, True])
async def test_little_of_what_peers_ask_for_begins_in_one_turn_of_the_loop(to_bus: bool) -> None:
    on_bus = HANDSHAKE + b"".join(
        bus.encode_message(bytes(16), rpc.encode_request(header_of(number, service="S"), b"")) for number in range(20)
    )
    expected = 40 * (1 + (21 if to_bus else 20))  # connections, packets and requests
    begun: Counter[int] = Counter()
    turn = 0
    async with ports(NEVER) as world:
        loop, take = asyncio.get_running_loop(), world.gate.turns.take

        def count_turn() -> None:
            nonlocal turn
            turn += 1
            if begun.total() < expected:
                loop.call_soon(count_turn)

        async def counted(address: str) -> None:
            await take(address)
            begun[turn] += 1

        world.gate.turns.take = counted  # type: ignore[method-assign]
        count_turn()
        for _ in range(40):
            await world.connect(on_bus if to_bus else b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n" * 20, to_bus=to_bus)
        await until(lambda: begun.total() == expected)
    assert max(begun.values()) <= 2 * PER_ITERATION


async def test_a_handler_ends_when_whoever_asked_has_left() -> None:
    async with ports(NEVER) as world:
        _, writer = await world.connect(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        await until(lambda: world.application.slow_count == 1)
        writer.transport.abort()
        await until(lambda: world.application.slow_count == 0)


async def test_a_bug_in_one_connection_is_no_end_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(self: Connection, *_: object) -> None:
        raise ZeroDivisionError

    async with ports(NEVER) as world:
        with monkeypatch.context() as patch, capture_logs() as logs:
            patch.setattr(Connection, "_accept", crash)
            reader, _ = await world.connect(HANDSHAKE, to_bus=True)
            await ends(reader)
        assert [log["event"] for log in logs] == ["connection crashed"]
        async with RpcClient(orchid.SERVICE, 5) as client:
            await client.call(world.bus_address, "Discover", b"", time_limit=5)


@pytest.mark.parametrize("to_bus", [False, True])
@pytest.mark.parametrize("by_peer", [False, True])
async def test_ended_connections_leave_nothing_to_the_garbage_collector(
    to_bus: bool, by_peer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent freezes what is old: cycles would stay for ten minutes, with all that was received."""
    alive: weakref.WeakSet[object] = weakref.WeakSet()
    made = 0
    for kind in (Connection, RequestHandler):
        original = kind.__init__

        def remember(self: object, *args: object, original: object = original, **options: object) -> None:
            nonlocal made
            original(self, *args, **options)  # type: ignore[operator]
            alive.add(self)
            made += 1

        monkeypatch.setattr(kind, "__init__", remember)
    bus_requests = HANDSHAKE + bus.encode_message(bytes(16), [b"rpci" + bytes(90_000)])[:-1]
    data = [b"", b"nonsense" * 10, bus_requests] if to_bus else [b"", b"nonsense\r\n\r\n", POST, GET * 50]
    async with ports(limits(message=math.inf if by_peer else SOON, answer=SOON)) as world:
        gc.collect()
        gc.disable()
        try:
            for attack in data:
                await world.connect(attack, to_bus=to_bus)
            await until(lambda: made == sum(map(bool, data)))
            if by_peer:
                await world.disconnect()
            await until(lambda: world.gate.connection_count == 0)
            await until(lambda: len(alive) == 0)
        finally:
            gc.enable()


def test_the_answer_for_liveness_is_given_to_whole_requests_alone() -> None:
    liveness = Liveness(tuple, SparseLog(structlog.get_logger()))
    assert liveness.answer_at_once(LIVE) is not None
    for other in (LIVE[:-1], LIVE + LIVE, LIVE + b"x", LIVE.replace(b"GET", b"HEAD"), LIVE.replace(b"live", b"lives")):
        assert liveness.answer_at_once(other) is None


def test_an_agent_whose_passes_hang_says_at_once_that_it_does_not_live() -> None:
    hung: list[str] = ["agent"]
    liveness = Liveness(lambda: hung, SparseLog(structlog.get_logger()))
    with capture_logs() as lines:
        answer = liveness.answer_at_once(LIVE)
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert answer.endswith(b'{"status": "passes hang, or fail by a fault of the agent", "kinds": ["agent"]}')
    assert [(line["event"], line["kinds"]) for line in lines] == [
        ("passes hang, or fail by a fault of the agent", ["agent"])
    ]
    hung.clear()
    assert (liveness.answer_at_once(LIVE) or b"").startswith(b"HTTP/1.1 200 ")
