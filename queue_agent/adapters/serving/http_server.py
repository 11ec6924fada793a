"""HTTP by aiohttp for peers that a gate lets in. The gate hears what they do, and ends what takes too much."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import RequestHandler

from queue_agent.adapters.serving.console_pages import SECURITY_HEADERS
from queue_agent.adapters.serving.tls import ServerTls
from yt_wire.error import ErrorCode, YtError
from yt_wire.gate import Gate, Port, Porter, Visitor
from yt_wire.seats import Phase
from yt_wire.sparse_log import SparseLog

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BODY_BYTES: Final = 1 << 16
"""Of a request: policies are much smaller."""

MAX_LINE_BYTES: Final = 8190
"""Of an address, and of a header."""

_LINGERING_SECONDS: Final = 2.0
"""In which the rest of a body is read that nobody asked for, so that the answer gets through."""

_SHUTDOWN_SECONDS: Final = 5.0
"""For answers under way when the server stops."""

_HANDSHAKE_SECONDS: Final = 20.0
"""The gate ends those that take as long as no request may."""

_GOODBYE_SECONDS: Final = 2.0
"""For the end of TLS after the last answer."""

_NEVER: Final = 1e9
"""Seconds: aiohttp ends no idle connections, the gate does."""

_HEAD_COST: Final = 2
"""Bytes that each byte of a head takes: it is kept as bytes and as text."""

_MESSAGE_COST: Final = 2 << 10
"""Bytes that a parsed request takes beside those that came."""

_BODY_BUFFERS: Final = 3
"""aiohttp buffers a body up to twice the largest size, beside the one that is put together."""


class HttpServer:
    """Serves an application from `start` to `stop`.

    Args:
        application: its handlers are cancelled when who asked has left.
        gate: decides who gets in, and how long everyone stays.
        porter: answers at the gate; see `Porter`. With TLS it is of no use: nothing is answered in plain text.
        tls: for HTTPS.
    """

    def __init__(
        self, application: web.Application, gate: Gate, porter: Porter | None, tls: ServerTls | None = None
    ) -> None:
        self._gate = gate
        self._porter = porter if tls is None else None
        self._tls = tls
        self._runner = web.AppRunner(application, shutdown_timeout=_SHUTDOWN_SECONDS)
        self._server: _Server | None = None
        self._port: Port | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen; OSError if that is not possible."""
        await self._runner.setup()
        made = self._runner.server
        assert made is not None
        self._server = _Server(
            made.request_handler,
            request_factory=made.request_factory,
            handler_cancellation=True,
            access_log=None,
            logger=_logger(self._gate.log),
            lingering_time=_LINGERING_SECONDS,
            keepalive_timeout=_NEVER,
            auto_decompress=False,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
        )
        self._port = await self._gate.listen(host, port, self._welcome, self._porter)

    async def stop(self) -> None:
        if self._port is not None:
            self._port.close()
        if self._server is not None:
            self._server.pre_shutdown()
            await self._server.shutdown(_SHUTDOWN_SECONDS)
        await self._runner.cleanup()

    @property
    def port(self) -> int:
        """The port listened on."""
        assert self._port is not None
        return self._port.number

    async def _welcome(self, peer: socket.socket, visitor: Visitor) -> None:
        server = self._server
        assert server is not None
        loop = asyncio.get_running_loop()
        if self._tls is not None:
            # asyncio shows no transport before the handshake is done, and meanwhile the gate must be able to end it.
            visitor.attach(_Handshake(peer))
        transport, _ = await loop.connect_accepted_socket(
            lambda: server.connection(visitor),
            peer,
            ssl=None if self._tls is None else self._tls.context(),
            ssl_handshake_timeout=None if self._tls is None else _HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=None if self._tls is None else _GOODBYE_SECONDS,
        )
        visitor.attach(transport)


class _Handshake(asyncio.WriteTransport):
    """A connection whose handshake is under way: there is nothing to be done with it but to end it."""

    def __init__(self, peer: socket.socket) -> None:
        super().__init__()
        self._peer = peer

    def abort(self) -> None:
        """Have the handshake fail."""
        with contextlib.suppress(OSError):  # it has ended by itself
            self._peer.shutdown(socket.SHUT_RDWR)


class _Server(web.Server):
    """Makes connections, and tells them when a request begins to be handled."""

    def __init__(self, handler: Handler, **options: Any) -> None:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            connection = request.protocol
            assert isinstance(connection, _Connection)
            assert isinstance(request, web.Request)
            await connection.begin_request()
            return await handler(request)

        super().__init__(handle, **options)

    def connection(self, visitor: Visitor) -> _Connection:
        """A protocol for one peer."""
        return _Connection(self, visitor, loop=self._loop, **self._kwargs)


class _Connection(RequestHandler):
    """One connection; what happens on it is noted."""

    def __init__(self, server: _Server, visitor: Visitor, **options: Any) -> None:
        super().__init__(server, **options)
        self._visitor = visitor
        self._has_spoken = False
        self._is_answering = False
        self._is_unread = False
        self._head_bytes = 0
        self._body_bytes = 0
        self._newest_body: StreamReader = EMPTY_PAYLOAD

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._newest_body = EMPTY_PAYLOAD
        self._messages.clear()
        self._visitor.leave()

    def data_received(self, data: bytes) -> None:
        in_body = not self._newest_body.is_eof()
        super().data_received(data)
        if self._messages:
            self._newest_body = self._messages[-1][1]
        if in_body:
            self._body_bytes = min(self._body_bytes + len(data), _BODY_BUFFERS * MAX_BODY_BYTES)
        else:
            self._head_bytes += len(data)
        self._note()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._is_unread = True
        self._note()

    def resume_writing(self) -> None:
        super().resume_writing()
        # A peer that takes a large answer a little at a time has as long as for any other.
        self._is_unread = self._is_answering
        self._note()

    async def begin_request(self) -> None:
        """Wait for a turn."""
        self._has_spoken = self._is_answering = True
        if not self._messages:
            self._head_bytes = 0
        self._note()
        await self._visitor.turn()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._is_answering = False
            self._is_unread = self._paused
            self._body_bytes = 0
            self._note()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        try:
            response = super().handle_error(request, status, exc, message)
        finally:
            if exc is not None:  # its frames know this connection, which knows the error
                exc.__traceback__ = None
        if isinstance(exc, HttpProcessingError):
            return _refuse(exc, response)
        return response

    def _note(self) -> None:
        if self.transport is None:
            return
        held = _HEAD_COST * self._head_bytes + self._body_bytes + _MESSAGE_COST * len(self._messages)
        held += self.transport.get_write_buffer_size()
        if not self._has_spoken:
            phase = Phase.OPENING
        elif self._is_unread:
            phase = Phase.READING
        elif not self._newest_body.is_eof():
            phase = Phase.SENDING
        elif self._is_answering or self._messages:
            phase = Phase.SERVED
        else:
            phase = Phase.SENDING if self._head_bytes else Phase.IDLE
        self._visitor.update(phase, held)


def _refuse(error: HttpProcessingError, found: web.StreamResponse) -> web.Response:
    """Answer as to other mistakes, instead of with a text that repeats what somebody has sent."""
    is_long = isinstance(error, LineTooLong)
    words = f"The address or a header is longer than {MAX_LINE_BYTES} bytes" if is_long else "The request is malformed"
    response = web.json_response(
        YtError(words, ErrorCode.GENERIC).to_map(), status=found.status, headers=SECURITY_HEADERS
    )
    response.force_close()
    return response


def _logger(log: SparseLog) -> logging.Logger:
    """Where aiohttp reports what goes wrong before a request gets to a handler."""
    logger = logging.Logger(__name__)
    logger.addHandler(_ServerLog(log))
    return logger


class _ServerLog(logging.Handler):
    """What is no HTTP, or has headers above 8 KB, is the client's fault: a line without a traceback is enough."""

    def __init__(self, log: SparseLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            self._log.info("malformed request", error=error.message)
        elif record.levelno >= logging.WARNING:
            self._log.exception("server failed", message=record.getMessage(), exc_info=record.exc_info)
