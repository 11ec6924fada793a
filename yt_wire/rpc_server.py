"""The listening side: services by name, their methods by name."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self, TypeAlias

from yt_wire import rpc
from yt_wire.connection import Connection, ConnectionLimits, Handler, Reply, random_guid
from yt_wire.error import ErrorCode, YtError
from yt_wire.gate import Gate, Port, Visitor
from yt_wire.guid import Guid
from yt_wire.proto.rpc_pb2 import TReqDiscover, TRspDiscover
from yt_wire.scope import TaskScope

Services: TypeAlias = Mapping[str, Mapping[str, Handler]]
"""Handlers by service and method; every service answers `Discover` by itself."""

DISCOVER: Final = "Discover"


class RpcServer:
    """Answers requests while it is entered.

    Args:
        listeners: bound sockets, see `gate.bind`; leaving closes them.
        gate: decides who gets in, and how long everyone stays.
        new_guid: ids of connections.
    """

    def __init__(
        self,
        services: Services,
        listeners: Sequence[socket.socket],
        gate: Gate,
        limits: ConnectionLimits | None = None,
        new_guid: Callable[[], Guid] = random_guid,
    ) -> None:
        self._services = services
        self._listeners = listeners
        self._gate = gate
        self._limits = limits or ConnectionLimits()
        self._new_guid = new_guid
        self._scope = TaskScope()
        self._port: Port | None = None

    async def __aenter__(self) -> Self:
        self._port = self._gate.open(self._listeners, self._welcome)
        await self._scope.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._port is not None
        self._port.close()
        await self._scope.__aexit__(kind, error, traceback)

    @property
    def address(self) -> str:
        """`host:port` as bound, IPv6 in brackets; the first one if the host name has several."""
        assert self._port is not None
        return self._port.address

    async def _welcome(self, peer: socket.socket, visitor: Visitor) -> None:
        await welcome(peer, visitor, self._scope, self._new_guid(), self._handle, self._limits)

    async def _handle(self, request: rpc.Request) -> Reply:
        return await answer(self._services, request)


async def welcome(
    peer: socket.socket,
    visitor: Visitor,
    scope: TaskScope,
    connection_id: Guid,
    handle: Handler,
    limits: ConnectionLimits,
) -> None:
    """Serve a peer that a gate has let in, until it leaves or the scope ends; OSError if it has left already."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limits.buffer_size, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, peer)
    visitor.attach(transport)
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    try:
        Connection(reader, writer, connection_id, handle, limits, visitor).start(scope)
    except YtError:  # it came while we were leaving
        visitor.leave()


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
