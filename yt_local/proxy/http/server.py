"""The HTTP proxy of a local cluster."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from typing import Any, Final

import structlog
from aiohttp import web

from yt_local.base.memory_budget import MAX_HELD_BYTES, STREAM_BYTES, Lease, MemoryBudget
from yt_local.calls.command import Body, Rows, Stream
from yt_local.calls.envelope import enveloped
from yt_local.cluster import Cluster
from yt_local.formats.formats import JSON_FORMAT
from yt_local.formats.row_output import blocks_of
from yt_local.identity.authentication import Unauthenticated, UserRefused
from yt_local.proxy.http.api_versions import APIS, ApiCommand, NoSuchCommand
from yt_local.proxy.http.browsers import AllowedBrowsers, is_unmarked_view
from yt_local.proxy.http.compression import UnsupportedEncoding, answer_encoding, compressed
from yt_local.proxy.http.connection import ConnectionServer, error_response
from yt_local.proxy.http.connection_faults import ConnectionDropped, answer_faultily, hang_up
from yt_local.proxy.http.control_api import PREFIX as CONTROL_PREFIX
from yt_local.proxy.http.control_api import ControlApi
from yt_local.proxy.http.disposition import binary_type, content_disposition
from yt_local.proxy.http.endpoints import Endpoints
from yt_local.proxy.http.request import (
    BodyCut,
    BodyTimeout,
    BrokenBody,
    body_pieces,
    input_row_format,
    no_pieces,
    output_format,
    read_body,
    read_input,
    read_parameters,
    write_header,
)
from yt_local.proxy.http.streaming import send_pieces
from yt_local.security.permissions import UNLIMITED
from yt_local.session import Session
from yt_wire import http
from yt_wire.address import reachable_address
from yt_wire.error import ErrorCode, YtError

MAX_HEADER_BYTES: Final = 8 * 2**20
"""Clients send whole queries in one header."""

_COMMAND_PATH: Final = re.compile(r"/api/(?P<version>[^/]*)/(?P<name>[^/]*)")
_COMMAND_NAME: Final = re.compile(r"[A-Za-z_]+")

log = structlog.get_logger(__name__)


class HttpProxy:
    """Serves one cluster at one address.

    Args:
        listener: a socket that listens there; whoever made it closes it.
        max_connections: at a time.
    """

    def __init__(self, listener: socket.socket, max_connections: int) -> None:
        self._socket = listener
        self._max_connections = max_connections
        self._runner: web.ServerRunner | None = None
        self._cluster: Cluster | None = None

    @property
    def address(self) -> str:
        """`host:port` at which this machine reaches it."""
        return reachable_address(self._socket)

    async def serve(self, cluster: Cluster, browsers: AllowedBrowsers, *, test_controls: bool) -> None:
        """Answer requests from now on, those to `/test/...` only if wanted."""
        self._cluster = cluster
        budget = MemoryBudget(MAX_HELD_BYTES)
        server = ConnectionServer(
            _Handling(cluster, budget, browsers, ControlApi(cluster) if test_controls else None).handle,
            cluster.faults,
            budget,
            self._max_connections,
            auto_decompress=False,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            access_log=None,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1)
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket).start()

    async def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.faults.clear()  # requests that are held up would hold up the end
        if self._runner is not None:
            await self._runner.cleanup()


class _Handling:
    """Requests to one cluster."""

    def __init__(
        self, cluster: Cluster, budget: MemoryBudget, browsers: AllowedBrowsers, control_api: ControlApi | None
    ) -> None:
        self._cluster = cluster
        self._browsers = browsers
        self._budget = budget
        self._control_api = control_api
        self._endpoints = Endpoints(cluster)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if (reason := self._browsers.refusal(request)) is not None:
            response = error_response(YtError(reason, ErrorCode.AUTHORIZATION), status=403)
            response.force_close()  # whatever stands in its body is not read
            return response
        if request.method == "OPTIONS":
            return web.Response(headers=self._browsers.answer_headers(request))
        answer = await self._answered(request)
        if not answer.prepared:
            answer.headers.update(self._browsers.answer_headers(request))
        return answer

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._route(request)
        except (ConnectionDropped, BodyCut, ConnectionError):  # by a fault, or by whoever asked
            return hang_up(request)
        except YtError as error:
            return self._refusal(error)
        except RecursionError:
            return error_response(YtError("What the request asks for is nested too deeply"))
        except Exception:  # a bug: clients would take a bare 500 for a reason to try again for minutes
            log.exception("request crashed", cluster=self._cluster.name, path=request.path)
            return error_response(YtError(f"Internal error of the local cluster, see its log ({request.path})"))

    async def _route(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if (asked := _COMMAND_PATH.fullmatch(path)) is not None:
            served = self._find_command(asked["version"], asked["name"], request)
            if served.command.is_volatile and is_unmarked_view(request):
                message = f'A page in a browser may not have "{served.name}" executed by GET'
                return error_response(YtError(message, ErrorCode.AUTHORIZATION), status=403)
            with self._budget.lease() as lease:
                return await self._execute(served, request, lease)
        if self._control_api and path.startswith(CONTROL_PREFIX):
            identity = self._cluster.authenticator.identify(request.headers)
            if not self._cluster.session_of(identity.principal).access.unlimited:
                raise YtError(f'User "{identity.user}" may not control this cluster', ErrorCode.AUTHORIZATION)
            with self._budget.lease() as lease:
                body = await read_body(request.content, "", "null", lease)
                found = self._control_api.answer(request.method, path, request.query, body)
                return web.Response(body=JSON_FORMAT.write_node(found), content_type=JSON_FORMAT.mime_type)
        match path:
            case "/api":
                return _json(list(APIS))
            case "/api/v3" | "/api/v4":
                return _json([served.describe() for served in APIS[path.rpartition("/")[2]].values()])
        if (answer := self._endpoints.find_answer(path, request)) is not None:
            return answer
        return error_response(YtError(f"Unknown path {request.path}"), status=404)

    def _find_command(self, version: str, name: str, request: web.BaseRequest) -> ApiCommand:
        """The command a request is about.

        Raises:
            NoSuchCommand: there is none.
            YtError: the version is not known, or whoever asks is not.
        """
        if version not in APIS:
            raise YtError(f'Unsupported API version "{request.path}"')
        if not _COMMAND_NAME.fullmatch(name):
            raise NoSuchCommand(f'Malformed command name "{name}"')
        served = APIS[version].get(name.lower())
        if served is None:
            self._cluster.authenticator.identify(request.headers)
            raise NoSuchCommand(f'Command "{name.lower()}" is not registered')
        return served

    async def _execute(self, served: ApiCommand, request: web.BaseRequest, lease: Lease) -> web.StreamResponse:
        headers, command = request.headers, served.command
        cluster, session = self._cluster, Session(UNLIMITED)
        # Clients that do not know yet where to go may ask for that much.
        if command.name != "discover_proxies":
            session = cluster.session_of(cluster.authenticator.identify(headers).principal)
        encoding = headers.get("Content-Encoding", "").lower()
        is_post = request.method == "POST"
        data = b""
        if is_post:
            data = await read_body(request.content, "", "null", lease)
            if data and encoding not in ("", "identity"):
                raise YtError("Content-Encoding not supported in POST body")
        elif command.takes_pieces:
            lease.grow(STREAM_BYTES)
        else:
            data = await read_body(request.content, encoding, command.input_type, lease)
        parameters = read_parameters(command, request.query_string, headers, data if is_post else b"")

        def body() -> Body:
            if command.takes_pieces:
                pieces = no_pieces() if is_post else body_pieces(request.content, encoding)
                return Body(pieces=pieces, row_format=input_row_format(parameters, headers))
            return read_input(command, parameters, headers, b"" if is_post else data)

        async def answer(*, whole: bool = True) -> web.StreamResponse:
            try:
                return await self._answer(session, served, parameters, body, request, whole=whole)
            except BodyCut as error:
                raise ConnectionDropped from error
            except YtError as error:
                return self._refusal(error)

        with enveloped(cluster, session, command.name, parameters, ConnectionDropped) as envelope:
            if envelope.fault is None:
                response = await answer(whole=False)
            else:
                response = await answer_faultily(envelope.fault, request, answer)
        envelope.logged.status = response.status
        envelope.logged.error_code = int(response.headers.get(http.RESPONSE_CODE, 0))
        return response

    async def _answer(
        self,
        session: Session,
        served: ApiCommand,
        parameters: Mapping[str, Any],
        body: Callable[[], Body],
        request: web.BaseRequest,
        *,
        whole: bool,
    ) -> web.StreamResponse:
        command = served.command
        answer_format = output_format(command, parameters, request.headers)
        encoding = answer_encoding(request.headers.get("Accept-Encoding"))
        answer = await self._cluster.execute(session, command, served.adapt(parameters), body())
        headers = {http.PROXY: self._cluster.http_address, "Cache-Control": "no-store"}
        headers |= {"Content-Encoding": encoding, "Vary": "Content-Encoding"}
        headers |= self._browsers.answer_headers(request)
        disposition = content_disposition(command, parameters)
        if disposition is not None:
            headers["Content-Disposition"] = disposition
        told = answer.response_parameters if isinstance(answer, (Rows, Stream)) else {}
        headers[http.RESPONSE_PARAMETERS] = write_header(request.headers, told)
        if isinstance(answer, Stream):
            if answer.tag is not None:
                headers["ETag"] = str(answer.tag)
                with ExitStack() as unneeded:
                    unneeded.enter_context(closing(answer.pieces))
                    if answer.tag.is_known(request.headers.get("If-None-Match")):
                        return web.Response(status=304, headers=headers)
                    unneeded.pop_all()
            binary = command.output_type == "binary"
            pieces = answer.pieces if binary else answer_format.encode_rows(answer.pieces, answer.shape)
            content_type = binary_type(disposition) if binary else answer_format.mime_type
            with closing(answer.pieces):
                pieces = compressed(encoding, pieces)
                headers["Content-Type"] = content_type
                if whole:
                    return web.Response(body=b"".join(pieces), headers=headers)
                return await send_pieces(request, pieces, headers)
        if isinstance(answer, Rows):
            parts = []
            for piece in compressed(encoding, answer_format.encode_rows(blocks_of(answer.rows), answer.shape)):
                parts.append(piece)
                await asyncio.sleep(0)  # others may have their turn
        elif served.output_type == "null":
            return web.Response(headers=headers)
        else:
            node = served.answer(parameters, answer)
            parts = list(compressed(encoding, [answer_format.write_node(node)]))
        content = b"".join(parts)
        return web.Response(body=content, content_type=answer_format.mime_type, headers=headers)

    def _refusal(self, error: YtError) -> web.Response:
        """The error with the status that tells clients what kind it is of."""
        match error:
            case Unauthenticated():
                response = error_response(error, status=401)
                response.headers["WWW-Authenticate"] = f'OAuth realm="{self._cluster.name}"'
                return response
            case UserRefused():
                return error_response(error, status=403)
            case BrokenBody():
                response = error_response(error, status=408 if isinstance(error, BodyTimeout) else 400)
                response.force_close()
                return response
            case UnsupportedEncoding():
                return error_response(error, status=415)
            case NoSuchCommand():
                return error_response(error, status=404)
        return error_response(error)


def _json(value: Any) -> web.Response:
    return web.Response(text=json.dumps(value), content_type="application/json")
