"""The HTTP proxy of a local cluster."""

from __future__ import annotations

import json
import re
import socket
from typing import Any, Final

import structlog
from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_server import Server

from queue_agent.local_cluster.authentication import Unauthenticated, UserRefused
from queue_agent.local_cluster.cluster import Cluster
from queue_agent.local_cluster.commands.command import Command, Rows
from queue_agent.local_cluster.request import (
    UnsupportedEncoding,
    header_format,
    output_format,
    read_body,
    read_input,
    read_parameters,
)
from queue_agent.wire import http
from queue_agent.wire.error import YtError

MAX_HEADER_BYTES: Final = 8 * 2**20
"""Clients send whole queries in one header."""

_COMMAND_NAME: Final = re.compile(r"[a-z_]+")
_VERSION: Final = "local"

log = structlog.get_logger(__name__)


class HttpProxy:
    """Serves one cluster at one address.

    Args:
        listener: a socket that listens there; whoever made it closes it.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._socket = listener
        self._runner: web.ServerRunner | None = None

    @property
    def address(self) -> str:
        """`host:port`."""
        host, port = self._socket.getsockname()[:2]
        return f"{host}:{port}"

    async def serve(self, cluster: Cluster) -> None:
        """Answer requests from now on."""
        server = _Server(
            _Handling(cluster).handle,
            auto_decompress=False,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            access_log=None,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1)
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


class _Handling:
    """Requests to one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._route(request)
        except UnsupportedEncoding as error:
            return error_response(error, status=415)
        except Unauthenticated as error:
            response = error_response(error, status=401)
            response.headers["WWW-Authenticate"] = f'OAuth realm="{self._cluster.name}"'
            return response
        except UserRefused as error:
            return error_response(error, status=403)
        except YtError as error:
            return error_response(error)
        except Exception:  # a bug: clients would take a bare 500 for a reason to try again for minutes
            log.exception("request crashed", cluster=self._cluster.name, path=request.path)
            return error_response(YtError(f"Internal error of the local cluster, see its log ({request.path})"))

    async def _route(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if path.startswith(http.COMMAND_PREFIX):
            name = path.removeprefix(http.COMMAND_PREFIX).lower()
            command = self._cluster.commands.get(name) if _COMMAND_NAME.fullmatch(name) else None
            if command is None:
                return error_response(YtError(f'Unknown command "{name}"'), status=404)
            return await self._execute(command, request)
        match path:
            case "/api":
                return _json(["v3", "v4"])
            case "/api/v4":
                return _json([command.describe() for command in self._cluster.commands.values()])
            case "/hosts":
                return _json([self._cluster.http_address])
            case "/auth/whoami":
                identity = self._cluster.authenticator.identify(request.headers)
                return _json({"login": identity.user, "realm": identity.realm, "csrf_token": ""})
            case "/ping":
                return web.Response()
            case "/version":
                return web.Response(text=_VERSION)
        return error_response(YtError(f"Unknown path {request.path}"), status=404)

    async def _execute(self, command: Command, request: web.BaseRequest) -> web.StreamResponse:
        headers = request.headers
        cluster = self._cluster
        # Clients that do not know yet where to go may ask for that much.
        if command.name != "discover_proxies":
            cluster = cluster.acting_as(cluster.authenticator.identify(headers).user)
        data = await read_body(request.content.iter_any(), headers.get("Content-Encoding", "").lower())
        parameters = read_parameters(command, request.query_string, headers, data)
        body = read_input(command, parameters, headers, data)
        answer_format = output_format(command, parameters, headers)
        answer = await cluster.execute(command, parameters, body)
        if isinstance(answer, Rows):
            content = answer_format.write_rows(answer.rows)
        else:
            content = answer_format.write_node(answer)
        return web.Response(
            body=content,
            content_type=answer_format.mime_type,
            headers={
                http.RESPONSE_PARAMETERS: header_format(headers).write_node({}).decode().strip(),
                http.PROXY: self._cluster.http_address,
                "Cache-Control": "no-store",
            },
        )


class _Handler(RequestHandler):
    """Answers malformed requests with error documents too."""

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


class _Server(Server):
    def __call__(self) -> RequestHandler:
        return _Handler(self, loop=self._loop, **self._kwargs)


def error_response(error: YtError, status: int = 400) -> web.Response:
    """An error as document and as headers, each enough for a client."""
    return web.Response(
        status=status,
        text=error.to_json(),
        content_type="application/json",
        headers=http.error_headers(error),
    )


def _json(value: Any) -> web.Response:
    return web.Response(text=json.dumps(value), content_type="application/json")
