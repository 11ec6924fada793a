"""An HTTP proxy between an agent and a cluster that behaves badly on demand."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp import web

from queue_agent.adapters.cluster.http_transport import SendOnce
from yt_wire import http

_HOP_BY_HOP: Final = frozenset({"host", "connection", "transfer-encoding", "content-length", "trailer", "te"})


class Kind(enum.Enum):
    """Ways to behave badly."""

    SLOW = "slow"
    """The right answer, after a while."""

    HELD = "held"
    """The right answer, once the fault is over."""

    ERROR = "error"
    """HTTP status 500, without an error document."""

    HALF = "half"
    """The first half of the right answer, then the connection is closed."""

    CLOSED = "closed"
    """The connection is closed without an answer."""

    LOST = "lost"
    """The cluster carries the request out; the connection is closed without its answer."""

    SILENT = "silent"
    """No answer, until whoever asked gives up."""

    DOUBLED = "doubled"
    """The request is sent twice, the second time after a while; the answer is that to the second one."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Which requests go wrong, and how."""

    kind: Kind
    about: str = ""
    """Text to be found in the parameters or the body, such as a path; batches that hold it are concerned as a whole."""

    command: str = ""
    """Name of the command; empty: any."""

    seconds: float = 0.0
    """Of delay, for slow and doubled ones."""

    over: asyncio.Event = field(default_factory=asyncio.Event)

    def concerns(self, command: str, content: bytes) -> bool:
        return self.command in ("", command) and self.about.encode() in content


class FaultyProxy:
    """Passes requests on to a cluster while it is entered.

    Args:
        target: `host:port` of the cluster's proxy.
    """

    def __init__(self, target: str) -> None:
        self._target = f"http://{target}"
        self._faults: list[Fault] = []
        self.hits = 0
        """Requests that went wrong so far."""

        self._left: int | None = None
        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            application, access_log=None, max_line_size=1 << 20, max_field_size=1 << 20, shutdown_timeout=0.1
        )
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(auto_decompress=False, max_field_size=1 << 20, max_line_size=1 << 20)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._runner.cleanup()
        await self._session.close()

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"127.0.0.1:{self._runner.addresses[0][1]}"

    @asynccontextmanager
    async def fault(
        self, kind: Kind, *, about: str = "", command: str = "", seconds: float = 0.0
    ) -> AsyncIterator[None]:
        """Behave badly for a while."""
        fault = Fault(kind, about, command, seconds)
        self._faults.append(fault)
        try:
            yield
        finally:
            self._faults.remove(fault)
            fault.over.set()

    @asynccontextmanager
    async def dying(self, requests: int) -> AsyncIterator[None]:
        """Pass on so many requests, the last of them without an answer, and no more for a while.

        To the cluster it is as if whoever asks had been killed.
        """
        self._left = requests
        try:
            yield
        finally:
            self._left = None

    @property
    def is_dead(self) -> bool:
        """Whether that many requests have come."""
        return self._left is not None and self._left <= 0

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if self._left is not None:
            was_dead, self._left = self.is_dead, self._left - 1
            if was_dead:
                return _hang_up(request, web.Response())
            answer = await self._pass_on(request, body)
            return _hang_up(request, answer) if self.is_dead else answer
        command = request.path.removeprefix(http.COMMAND_PREFIX)
        content = request.headers.get(http.PARAMETERS, "").encode("latin-1") + body
        fault = next((fault for fault in self._faults if fault.concerns(command, content)), None)
        if fault is None:
            return await self._pass_on(request, body)
        self.hits += 1
        match fault.kind:
            case Kind.SLOW:
                await asyncio.sleep(fault.seconds)  # the fault
                return await self._pass_on(request, body)
            case Kind.HELD:
                await fault.over.wait()
                return await self._pass_on(request, body)
            case Kind.ERROR:
                return web.Response(status=500, text="Internal server error")
            case Kind.HALF:
                return await self._cut(request, await self._pass_on(request, body))
            case Kind.CLOSED:
                return _hang_up(request, web.Response())
            case Kind.LOST:
                return _hang_up(request, await self._pass_on(request, body))
            case Kind.DOUBLED:
                await self._pass_on(request, body)
                await asyncio.sleep(fault.seconds)  # the fault
                return await self._pass_on(request, body)
            case Kind.SILENT:
                await asyncio.Event().wait()
                raise AssertionError("nobody sets it")

    async def _pass_on(self, request: web.Request, body: bytes) -> web.Response:
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        url = self._target + request.raw_path
        async with self._session.request(
            request.method, url, headers=headers, data=body, middlewares=(SendOnce(),)
        ) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
            return web.Response(status=answer.status, headers=kept, body=await answer.read())

    async def _cut(self, request: web.Request, whole: web.Response) -> web.StreamResponse:
        content = whole.body
        assert isinstance(content, bytes)
        whole.headers.popall("Content-Length", None)
        half = web.StreamResponse(status=whole.status, headers=whole.headers)
        half.content_length = len(content)
        await half.prepare(request)
        await half.write(content[: len(content) // 2])
        return _hang_up(request, half)


def _hang_up(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return response
