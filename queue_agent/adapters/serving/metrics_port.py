"""A port for metrics alone, so that a network can let Prometheus to them and to nothing else."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from aiohttp import web

from queue_agent.adapters.serving.console_pages import confine
from queue_agent.adapters.serving.http_server import HttpServer
from queue_agent.adapters.serving.metrics_server import MetricsServer
from queue_agent.adapters.serving.tls import ServerTls
from yt_wire.gate import Gate


class MetricsPort:
    """Serves until it is left; an async context manager.

    Args:
        metrics: what is served.
        host, port: address to listen on; with port 0 see `port`.
        gate: decides who gets in, and how long everyone stays.
        tls: for HTTPS in place of HTTP.
    """

    def __init__(self, metrics: MetricsServer, host: str, port: int, gate: Gate, tls: ServerTls | None = None) -> None:
        self._host, self._number = host, port
        application = web.Application()
        application.on_response_prepare.append(confine)
        application.add_routes(metrics.routes())
        self._server = HttpServer(application, gate, None, tls)

    async def __aenter__(self) -> Self:
        await self._server.start(self._host, self._number)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._server.stop()

    @property
    def port(self) -> int:
        """The port listened on."""
        return self._server.port
