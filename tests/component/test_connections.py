"""Connections that send too much, too slowly, or stop in the middle."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial

import pytest
from aiohttp import web

from tests.waiting import LIMIT_SECONDS, stopped_time
from yt_local.base.faults import Faults
from yt_local.base.memory_budget import MemoryBudget
from yt_local.calls.command import Kind
from yt_local.proxy.http.connection import ConnectionServer
from yt_local.proxy.http.request import BodyTimeout, read_body
from yt_wire.error import YtError

PATIENCE = 0.2
"""Seconds for a head, and for each piece of a body."""

LINGERING = 1.0
"""Seconds in which the rest of a refused body may still come."""

BUDGET = 2 * 2**20

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Endpoint:
    """A server that answers with the size of the body, or with what is wrong with it."""

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        self.connect = connect
        self.budget = MemoryBudget(BUDGET)
        self.busy = asyncio.Event()
        self.come: Callable[[], int] = lambda: 0
        """Bytes of the present body that have come."""
        self.release = asyncio.Event()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/wait":
            self.busy.set()
            await self.release.wait()
        try:
            with self.budget.lease() as lease:
                encoding = request.headers.get("Content-Encoding", "")
                kind: Kind = "tabular" if request.path == "/rows" else "null"
                self.come = lambda: request.content.total_bytes
                body = await read_body(request.content, encoding, kind, lease, PATIENCE)
                return web.Response(text=str(len(body)))
        except BodyTimeout as error:
            response = web.Response(status=408, text=error.message)
            response.force_close()
            return response
        except YtError as error:
            return web.Response(status=400, text=f"{error.code} {error.message}")

    def is_idle(self) -> bool:
        """Whether nothing is held."""
        with self.budget.lease() as lease:
            lease.grow(BUDGET)
        return True


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with AsyncExitStack() as stack:

        async def connect() -> Streams:
            reader, writer = await asyncio.open_connection("127.0.0.1", runner.addresses[0][1])
            stack.callback(writer.close)
            return reader, writer

        endpoint = Endpoint(connect)
        server = ConnectionServer(
            endpoint.answer,
            Faults(()),
            endpoint.budget,
            max_connections=3,
            head_seconds=PATIENCE,
            lingering_time=LINGERING,
            auto_decompress=False,
        )
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield endpoint


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Wait until the other side has closed without a word."""
    async with asyncio.timeout(LIMIT_SECONDS):
        try:
            return await reader.read() == b""
        except ConnectionError:
            return True


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, str]:
    """Status and text of the next answer."""
    async with asyncio.timeout(LIMIT_SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        [length] = [line.split()[1] for line in head.splitlines() if line.lower().startswith("content-length")]
        return int(head.split()[1]), (await reader.readexactly(int(length))).decode()


def request(path: str = "/", body: bytes = b"", length: int | None = None, *headers: str) -> bytes:
    lines = [f"PUT {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.parametrize("beginning", [b"G", b"GET / HTTP/1.1\r\n", request()[:-2]])
async def test_half_a_head_is_not_waited_for_for_ever(endpoint: Endpoint, beginning: bytes) -> None:
    reader, writer = await endpoint.connect()
    writer.write(beginning)
    assert await is_closed(reader)
    assert endpoint.is_idle()


async def test_a_head_that_comes_a_byte_at_a_time_has_no_more_time_than_another(endpoint: Endpoint) -> None:
    reader, writer = await endpoint.connect()

    writer.write(b"GET / HTTP/1.1\r\nX-Long: ")

    async def drip() -> None:
        while True:
            writer.write(b"x")
            await asyncio.sleep(PATIENCE / 10)  # as slowly as the attacker likes

    async with asyncio.TaskGroup() as group:
        dripping = group.create_task(drip())
        assert await is_closed(reader)
        dripping.cancel()


async def test_half_a_body_is_answered_and_ends_the_connection(endpoint: Endpoint) -> None:
    reader, writer = await endpoint.connect()
    writer.write(request(body=b"half", length=8))
    status, text = await answer_of(reader)
    assert (status, "No more of the request body" in text) == (408, True)
    assert await is_closed(reader)
    assert endpoint.is_idle()


async def test_a_body_that_takes_long_but_comes_is_read(endpoint: Endpoint) -> None:
    reader, writer = await endpoint.connect()
    with stopped_time() as time:
        writer.write(request(length=20))
        for number in range(20):
            writer.write(b"x")
            await time.until(partial(lambda count: endpoint.come() == count, number + 1))
            await time.advance(PATIENCE * 0.9)
        assert await answer_of(reader) == (200, "20")


async def test_a_body_of_which_a_piece_comes_too_late_is_refused(endpoint: Endpoint) -> None:
    reader, writer = await endpoint.connect()
    with stopped_time() as time:
        writer.write(request(body=b"half", length=8))
        await time.until(lambda: endpoint.come() == 4)
        await time.advance(PATIENCE * 1.1)
        assert (await answer_of(reader))[0] == 408


async def test_a_connection_is_kept_between_requests_and_before_the_first(endpoint: Endpoint) -> None:
    reader, writer = await endpoint.connect()
    with stopped_time() as time:
        await time.advance(PATIENCE * 1.5)
        for body in (b"", b"abc", b""):
            writer.write(request(body=body)[:10])
            await asyncio.sleep(0)
            writer.write(request(body=body)[10:])
            assert await answer_of(reader) == (200, str(len(body)))
            await time.advance(PATIENCE * 1.5)


async def test_a_request_sent_ahead_does_not_end_the_one_before_it(endpoint: Endpoint) -> None:
    reader, writer = await endpoint.connect()
    writer.write(request("/wait"))
    await endpoint.busy.wait()
    writer.write(request("/", b"abc")[:10])
    with stopped_time() as time:
        await time.advance(PATIENCE * 1.5)
    endpoint.release.set()
    assert await answer_of(reader) == (200, "0")
    writer.write(request("/", b"abc")[10:])
    assert await answer_of(reader) == (200, "3")


async def test_requests_sent_ahead_do_not_fill_the_memory(endpoint: Endpoint) -> None:
    reader, writer = await endpoint.connect()
    writer.write(request("/wait"))
    await endpoint.busy.wait()
    writer.write(b"GET / HTTP/1.1\r\nX-Long: ")
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            for _ in range(2 * BUDGET // 2**16):
                writer.write(b"x" * 2**16)
                await writer.drain()
    except ConnectionError:
        pass
    assert await is_closed(reader)
    endpoint.release.set()
    assert endpoint.is_idle()


async def test_what_all_connections_hold_together_is_limited(endpoint: Endpoint) -> None:
    with endpoint.budget.lease() as others:
        others.grow(BUDGET - 2**20)
        reader, writer = await endpoint.connect()
        writer.write(request("/rows", b"x" * (2**20 + 1)))
        status, text = await answer_of(reader)
        assert (status, text[:4]) == (400, "108 ")
    reader, writer = await endpoint.connect()
    writer.write(request("/rows", b"x" * (2**20 + 1)))
    assert await answer_of(reader) == (200, str(2**20 + 1))
    assert endpoint.is_idle()


async def test_what_is_left_of_a_refused_body_counts_for_nothing(endpoint: Endpoint) -> None:
    reader, writer = await endpoint.connect()
    with endpoint.budget.lease() as others:
        others.grow(BUDGET - 2**20)
        writer.write(request("/rows", b"x" * (2**20 + 1), 2 * BUDGET))
        assert (await answer_of(reader))[0] == 400
        writer.write(b"x" * (2 * BUDGET - 2**20 - 1))
        await writer.drain()
        writer.write(request("/rows", b"abc"))
        assert await answer_of(reader) == (200, "3")
    assert endpoint.is_idle()


@pytest.mark.parametrize("compress", [False, True])
async def test_a_body_is_limited_by_what_it_is_for(endpoint: Endpoint, compress: bool) -> None:
    endpoint.budget.limit = 2**30
    body = bytes(16 * 2**20 + 1)
    sent = gzip.compress(body, 1) if compress else body
    headers = ["Content-Encoding: gzip"] if compress else []
    for path, status in (("/rows", 200), ("/", 400)):
        reader, writer = await endpoint.connect()
        writer.write(request(path, sent, None, *headers))
        assert (await answer_of(reader))[0] == status
        writer.close()


async def test_connections_that_are_too_many_are_closed_at_once(endpoint: Endpoint) -> None:
    kept = [await endpoint.connect() for _ in range(3)]
    for reader, writer in kept:
        writer.write(request())
        assert await answer_of(reader) == (200, "0")
    reader, _ = await endpoint.connect()
    assert await is_closed(reader)
    kept[0][1].close()
    while True:
        reader, writer = await endpoint.connect()
        writer.write(request())
        try:
            assert await answer_of(reader) == (200, "0")
        except (asyncio.IncompleteReadError, ConnectionError):
            continue
        break
