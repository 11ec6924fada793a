"""HTTP requests to the proxies of one cluster. Nothing here sends a request twice that may be done once only."""

from __future__ import annotations

import io
import ssl
from collections.abc import Mapping
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
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit_per_host=_CONNECTION_LIMIT, ssl=self._tls or True),
            timeout=aiohttp.ClientTimeout(
                total=self._config.request_timeout.total_seconds(),
                sock_connect=self._config.connect_timeout.total_seconds(),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=MAX_HEADER_SIZE,
            max_field_size=MAX_HEADER_SIZE,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()
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
        assert self._session is not None, "use the transport as a context manager"
        # aiohttp warns of large bodies given as bytes, which it writes in one go.
        data = io.BytesIO(body) if body is not None and len(body) > _MAX_BYTES_BODY else body
        async with self._session.request(
            method, url, headers=headers, data=data, allow_redirects=False, middlewares=(SendOnce(),)
        ) as response:
            return HttpAnswer(response.status, response.headers, await response.read())


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
