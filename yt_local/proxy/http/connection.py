"""Connections to a proxy: what is not HTTP, what does not end, and what must not be answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import StreamReader, web
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_server import Server

from yt_local.base.faults import Faults
from yt_local.base.memory_budget import MemoryBudget
from yt_wire import http
from yt_wire.error import YtError

HEAD_SECONDS: Final = 30.0
"""From the first byte of a request to the end of its headers."""


class ConnectionServer(Server):
    """Makes connections.

    Args:
        handler: answers requests.
        faults: of the cluster, which may be turned off.
        budget: for what is not yet handled.
        max_connections: those beyond are closed at once.
        head_seconds: see `HEAD_SECONDS`.
        options: of aiohttp's own connections.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        faults: Faults,
        budget: MemoryBudget,
        max_connections: int,
        head_seconds: float = HEAD_SECONDS,
        **options: Any,
    ) -> None:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            connection = request.protocol
            assert isinstance(connection, _Connection)
            connection.begin_request()
            return await handler(request)

        super().__init__(handle, **options)
        self.faults = faults
        self.budget = budget
        self.max_connections = max_connections
        self.head_seconds = head_seconds

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(RequestHandler):
    """Answers malformed requests with error documents too, and ends when it is fed without end."""

    def __init__(self, server: ConnectionServer, **options: Any) -> None:
        super().__init__(server, **options)
        self._server = server
        self._newest_body: StreamReader = EMPTY_PAYLOAD
        self._unhandled = server.budget.lease()
        self._head_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._server.faults.is_off or len(self._server.connections) > self._server.max_connections:
            self._abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._unhandled.clear()
        self._stop_waiting_for_head()

    def data_received(self, data: bytes) -> None:
        if self._server.faults.is_off:
            self._abort()
            return
        in_body = not self._newest_body.is_eof()
        super().data_received(data)
        if self._messages:
            self._newest_body = self._messages[-1][1]
        if in_body or not data:
            return
        try:
            self._unhandled.grow(len(data))
        except YtError:
            self._abort()
            return
        if self._messages:
            self._stop_waiting_for_head()
        elif self._head_deadline is None:
            self._wait_for_head()

    def begin_request(self) -> None:
        """Note that a request is being handled, and what is known of its body with it."""
        if not self._messages:
            self._unhandled.clear()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        response = error_response(YtError(f"Malformed HTTP request: {message or exc}"), status=status)
        response.force_close()
        return response

    def _wait_for_head(self) -> None:
        self._head_deadline = self._loop.call_later(self._server.head_seconds, self._end_waiting_for_head)

    def _end_waiting_for_head(self) -> None:
        if self._current_request is None and not self._messages:
            self.force_close()
        else:  # the time begins when the request before it has been answered
            self._wait_for_head()

    def _stop_waiting_for_head(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


def error_response(error: YtError, status: int = 400) -> web.Response:
    """An error as document and as headers, each enough for a client."""
    return web.Response(
        status=status,
        text=error.to_json(),
        content_type="application/json",
        headers=http.error_headers(error),
    )
