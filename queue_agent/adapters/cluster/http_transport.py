"""HTTP requests to the proxies of one cluster. Nothing here sends a request twice that may be done once only."""

from __future__ import annotations

import io
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Self

import aiohttp
import h11
from yarl import URL

from queue_agent.adapters.cluster.http_commands import Command
from queue_agent.adapters.cluster.trailer_http import MAX_HEADER_SIZE, HttpAnswer, NotConnected, TrailerHttp, words_of
from queue_agent.config.clusters import ClusterConfig
from queue_agent.ports.cluster import Permit

TRANSPORT_ERRORS: Final = (aiohttp.ClientError, OSError, h11.RemoteProtocolError)  # TimeoutError is an OSError
"""What `HttpTransport` raises when there is no answer."""

_NOT_SENT: Final = (NotConnected, aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
_MAX_REDIRECTS: Final = 3
_CONNECTION_LIMIT: Final = 32
_MAX_BYTES_BODY: Final = 1 << 20


def was_not_sent(error: Exception) -> bool:
    """Whether an error of `HttpTransport` says that no server got any of the request."""
    return isinstance(error, _NOT_SENT)


class HttpTransport:
    """Sends requests; an async context manager.

    Args:
        config: limits of time.
        tls: for `https`.
    """

    def __init__(self, config: ClusterConfig, tls: ssl.SSLContext | None) -> None:
        self._config = config
        self._tls = tls
        self._trailer_http = TrailerHttp(
            tls,
            connect_timeout=config.connect_timeout.total_seconds(),
            request_timeout=config.request_timeout.total_seconds(),
        )
        self._connections: _Connections | None = None

    async def __aenter__(self) -> Self:
        self._connections = self._new_connections()
        return self

    def _new_connections(self) -> _Connections:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit_per_host=_CONNECTION_LIMIT, ssl=self._tls or True),
            timeout=aiohttp.ClientTimeout(
                total=self._config.request_timeout.total_seconds(),
                sock_connect=self._config.connect_timeout.total_seconds(),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=MAX_HEADER_SIZE,
            max_field_size=MAX_HEADER_SIZE,
        )
        return _Connections(session)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._connections is not None
        await self._connections.session.close()
        self._trailer_http.close()

    async def send(
        self, spec: Command, url: URL, headers: Mapping[str, str], body: bytes | None, permit: Permit | None
    ) -> HttpAnswer:
        """Send a command's request, and follow redirects: a server that redirects has not carried the request out.

        Raises:
            TRANSPORT_ERRORS: there is no answer, or none that is whole.
            ActionRefused: see `TrailerHttp.request_permitted`.
        """
        for _ in range(_MAX_REDIRECTS):
            answer = await self._send(spec, url, headers, body, permit)
            if answer.status not in (307, 308) or "Location" not in answer.headers:
                return answer
            target = url.join(URL(answer.headers["Location"], encoded=True))
            if target.scheme != url.scheme:
                raise aiohttp.ClientError(f"redirected to {target}, which would change the protocol")
            url = target
        raise aiohttp.ClientError(f"redirected more than {_MAX_REDIRECTS} times")

    async def _send(
        self, spec: Command, url: URL, headers: Mapping[str, str], body: bytes | None, permit: Permit | None
    ) -> HttpAnswer:
        if permit is not None:
            return await self._trailer_http.request_permitted(permit, spec.method, url, headers, body)
        if spec.tabular:
            return await self._trailer_http.request(spec.method, url, headers, body, repeatable=spec.repeatable)
        return await self.send_once(spec.method, url, headers, body)

    async def send_once(self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> HttpAnswer:
        """Send a request whose answer is not a stream; one that is redirected is answered by that."""
        assert self._connections is not None, "use the transport as a context manager"
        connections = self._connections
        # aiohttp warns of large bodies given as bytes, which it writes in one go.
        data = io.BytesIO(body) if body is not None and len(body) > _MAX_BYTES_BODY else body
        async with (
            connections.used(),
            connections.session.request(
                method, url, headers=headers, data=data, allow_redirects=False, middlewares=(SendOnce(),)
            ) as response,
        ):
            answer = HttpAnswer(response.status, response.headers, await response.read())
            # To whom connections lead is decided when they are made, and aiohttp has taken this one back already.
            if answer.is_a_strangers and connections is self._connections:
                self._connections = self._new_connections()
                connections.given_up = True
            return answer


class _Connections:
    """Connections of one session of aiohttp; once they are given up, they are closed after the last request.

    Args:
        session: has them.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.given_up = False
        self._requests = 0

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """For the time of a request."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            if self.given_up and not self._requests:
                await self.session.close()


class SendOnce:
    """Lets aiohttp send one request once.

    By itself it sends a request of some methods, PUT among them, again when a connection breaks, though a server may
    have done what it asks for (`IDEMPOTENT_METHODS` in `aiohttp.client`, which no setting changes). Every sending goes
    through the middlewares: the second gets the error of the first.
    """

    def __init__(self) -> None:
        self._sent = False
        self._error: BaseException | None = None

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        if self._sent:
            error = self._error
            words = "the request was sent already" if error is None else words_of(error)
            raise aiohttp.ClientConnectionError(words) from error
        self._sent = True
        try:
            return await handler(request)
        except BaseException as error:
            self._error = error
            raise
