"""HTTP/1.1 requests whose trailers are read: a streamed answer that broke off says so only there."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import h11
from multidict import CIMultiDict
from yarl import URL

from queue_agent.ports.cluster import Permit

_READ_SIZE = 1 << 18
MAX_HEADER_SIZE = 1 << 20
"""Bytes; an error with all its causes travels in a header."""

_MAX_IDLE_PER_ORIGIN = 64
"""As many as there may be requests when there is much to do; a new connection costs more than a request."""


_OWN_HEADERS: Final = "X-YT-"

_MAX_IDLE_SECONDS: Final = 15.0
"""Less than servers and what is before them wait: what they close at the moment of a request takes it along."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    """Of any case; trailers are among them and win."""

    body: bytes

    @property
    def is_a_strangers(self) -> bool:
        """Whether it refuses, and nothing in it says that a proxy of YTsaurus has written it.

        So does who has taken the place of a proxy: an address that went to another pod, a balancer without a backend.
        """
        return self.status >= 400 and not any(name.upper().startswith(_OWN_HEADERS) for name in self.headers)


class NotConnected(ConnectionError):
    """There is no connection: nothing of the request has been sent."""


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: URL
    headers: Mapping[str, str]
    body: bytes | None
    repeatable: bool
    permit: Permit | None = None


_DELIVER: Final = struct.pack("ii", 0, 0)
_DISCARD: Final = struct.pack("ii", 1, 0)
"""What is not sent when a connection is closed is not sent at all."""


class TrailerHttp:
    """A client for few, large answers; keeps some connections open for the next request.

    Args:
        tls: for `https`.
        connect_timeout: seconds for one TCP connection and its TLS handshake.
        request_timeout: seconds from sending a request to the end of the answer.
    """

    def __init__(self, tls: ssl.SSLContext | None, *, connect_timeout: float, request_timeout: float) -> None:
        self._tls = tls
        self._connect_timeout = connect_timeout
        self._request_timeout = request_timeout
        self._idle: dict[URL, list[_Connection]] = defaultdict(list)

    async def request(
        self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None, *, repeatable: bool
    ) -> HttpAnswer:
        """Send a request, and read the answer to its end.

        Args:
            repeatable: it may be sent again when a connection that was idle breaks before the answer.

        Raises:
            NotConnected: no connection.
            OSError: the connection broke.
            TimeoutError: the answer was not there in time.
            h11.RemoteProtocolError: the answer is no HTTP, or ends early.
        """
        async with asyncio.timeout(self._request_timeout):
            return await self._request(_Request(method, url, headers, body, repeatable))

    async def request_permitted(
        self, permit: Permit, method: str, url: URL, headers: Mapping[str, str], body: bytes | None
    ) -> HttpAnswer:
        """Send a request once, as long as that is permitted.

        Nothing is awaited between the question whether it is and the sending; and what could not be sent in the time
        that is allowed will not be sent any more, not even by the operating system.

        Raises:
            ActionRefused: it is not permitted any more.
        """
        async with asyncio.timeout(min(self._request_timeout, permit.seconds)):
            return await self._request(_Request(method, url, headers, body, repeatable=False, permit=permit))

    async def _request(self, request: _Request) -> HttpAnswer:
        connection = self._take_idle(request.url.origin())
        if connection is not None:
            try:
                return await self._exchange(connection, request)
            except (OSError, h11.RemoteProtocolError):
                # A server may close a connection that was idle at any time, but it may also have got the request.
                if connection.answered or not request.repeatable:
                    raise
        connection = await self._connect(request.url)
        return await self._exchange(connection, request)

    def close(self) -> None:
        """Close the idle connections; call it when no request is under way."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    def _take_idle(self, origin: URL) -> _Connection | None:
        connections = self._idle[origin]
        earliest = asyncio.get_running_loop().time() - _MAX_IDLE_SECONDS
        while connections:
            connection = connections.pop()
            if connection.usable and connection.idle_since >= earliest:
                return connection
            connection.close()
        return None

    async def _connect(self, url: URL) -> _Connection:
        tls = self._tls if url.scheme == "https" else None
        try:
            async with asyncio.timeout(self._connect_timeout):
                reader, writer = await asyncio.open_connection(url.host, url.port, ssl=tls)
        except TimeoutError as error:
            raise NotConnected(f"no connection in {self._connect_timeout:g} s") from error
        except OSError as error:
            raise NotConnected(words_of(error)) from error
        return _Connection(reader, writer)

    async def _exchange(self, connection: _Connection, request: _Request) -> HttpAnswer:
        finished = False
        try:
            await connection.send(request)
            answer = await connection.receive()
            # To whom a connection leads is decided when it is made: the next may lead to a proxy.
            finished = not answer.is_a_strangers
            return answer
        finally:
            idle = self._idle[request.url.origin()]
            if finished and connection.reset() and len(idle) < _MAX_IDLE_PER_ORIGIN:
                idle.append(connection)
            else:
                connection.close()


class _Connection:
    """One connection, for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = self._new_protocol()
        self._forgets_after = 0
        self.answered = False
        """Whether any byte of the present answer has come."""

        self.idle_since = 0.0
        """When it became idle last, on the clock of the loop."""

    @staticmethod
    def _new_protocol() -> h11.Connection:
        return h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_SIZE)

    @property
    def usable(self) -> bool:
        return not (self._writer.is_closing() or self._reader.at_eof())

    async def send(self, request: _Request) -> None:
        self.answered = False
        fields = [("Host", request.url.authority), *request.headers.items()]
        if request.body is not None:
            fields.append(("Content-Length", str(len(request.body))))
        # h11 wants bytes where a value is more than ASCII; parameters are bytes mapped to Latin-1.
        encoded = [(name.encode("ascii"), value.encode("latin-1")) for name, value in fields]
        head = h11.Request(method=request.method, target=request.url.raw_path_qs, headers=encoded)
        data = [self._protocol.send(head)]
        if request.body:
            data.append(self._protocol.send(h11.Data(data=request.body)))
        data.append(self._protocol.send(h11.EndOfMessage()))
        whole = b"".join(part for part in data if part)
        self._forget_when_late(0.0 if request.permit is None else request.permit.seconds)
        if request.permit is not None:
            request.permit.check()
        self._writer.write(whole)
        await self._writer.drain()

    def _forget_when_late(self, seconds: float) -> None:
        """Have the system drop what it cannot deliver for so long, even while this process is stopped; 0: never."""
        milliseconds = round(seconds * 1000)
        if milliseconds != self._forgets_after:
            self._forgets_after = milliseconds
            opened = self._writer.get_extra_info("socket")
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DISCARD if milliseconds else _DELIVER)
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)

    async def receive(self) -> HttpAnswer:
        status = 0
        headers: CIMultiDict[str] = CIMultiDict()
        body: list[bytes] = []
        while True:
            event = self._protocol.next_event()
            match event:
                case h11.NEED_DATA:
                    data = await self._reader.read(_READ_SIZE)
                    self.answered = self.answered or bool(data)
                    self._protocol.receive_data(data)
                case h11.Response():
                    status = event.status_code
                    headers.extend(_decoded(event))
                    if "Transfer-Encoding" not in headers and "Content-Length" not in headers:
                        raise h11.RemoteProtocolError("the answer does not tell where it ends")
                case h11.Data():
                    body.append(bytes(event.data))
                case h11.EndOfMessage():
                    headers.update(_decoded(event))
                    return HttpAnswer(status, headers, b"".join(body))
                case h11.ConnectionClosed():
                    raise h11.RemoteProtocolError("the connection was closed before the answer")
                case _:
                    pass  # an informational response: the real one follows

    def reset(self) -> bool:
        """Make ready for the next request; False if the connection cannot be used again."""
        if self._protocol.our_state is not h11.DONE or self._protocol.their_state is not h11.DONE:
            return False
        if self._protocol.trailing_data[0]:
            return False
        self._protocol.start_next_cycle()
        self.idle_since = asyncio.get_running_loop().time()
        return True

    def close(self) -> None:
        self._writer.transport.abort()  # nothing is left to be sent, and a TLS peer may be slow to say goodbye


def _decoded(event: h11.Response | h11.EndOfMessage) -> CIMultiDict[str]:
    return CIMultiDict((name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers)


def words_of(error: BaseException) -> str:
    """An error's own words; some have none but their name."""
    return str(error) or type(error).__name__
