"""The listening side: services by name, their methods by name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self, TypeAlias

from queue_agent.wire import rpc
from queue_agent.wire.connection import STREAM_LIMIT, Connection, ConnectionLimits, Handler, Reply, random_guid
from queue_agent.wire.error import ErrorCode, YtError
from queue_agent.wire.guid import Guid
from queue_agent.wire.proto.rpc_pb2 import TReqDiscover, TRspDiscover
from queue_agent.wire.scope import TaskScope

Services: TypeAlias = Mapping[str, Mapping[str, Handler]]
"""Handlers by service and method; every service answers `Discover` by itself."""

DISCOVER: Final = "Discover"


class RpcServer:
    """Answers requests while it is entered; entering binds and may raise OSError.

    Args:
        port: 0 for one that is free, see `address`.
        new_guid: ids of connections.
    """

    def __init__(
        self,
        services: Services,
        host: str,
        port: int,
        limits: ConnectionLimits | None = None,
        new_guid: Callable[[], Guid] = random_guid,
    ) -> None:
        self._services = services
        self._host = host
        self._port = port
        self._limits = limits or ConnectionLimits()
        self._new_guid = new_guid
        self._scope = TaskScope()
        self._listener: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._accept, self._host, self._port, limit=STREAM_LIMIT)
        await self._scope.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._listener is not None
        self._listener.close()
        await self._scope.__aexit__(kind, error, traceback)

    @property
    def address(self) -> str:
        """`host:port` as bound, IPv6 in brackets; the first one if the host name has several."""
        assert self._listener is not None
        host, port = self._listener.sockets[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer, self._new_guid(), self._handle, self._limits)
        with contextlib.suppress(YtError):  # it came while we were leaving
            connection.start(self._scope)

    async def _handle(self, request: rpc.Request) -> Reply:
        return await answer(self._services, request)


async def answer(services: Services, request: rpc.Request) -> Reply:
    """Have the method answer that a request names; YtError 102 or 103 if there is none."""
    service, method = request.header.service, request.header.method
    methods = services.get(service)
    if methods is None:
        raise YtError("Service is not registered", ErrorCode.NO_SUCH_SERVICE, {"service": service})
    if method in methods:
        return await methods[method](request)
    if method == DISCOVER:
        rpc.parse(TReqDiscover, request.body)
        return Reply(TRspDiscover(up=True).SerializeToString())
    raise YtError("Unknown method", ErrorCode.NO_SUCH_METHOD, {"service": service, "method": method})
