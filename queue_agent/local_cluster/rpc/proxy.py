"""The RPC proxy of a local cluster: connections at one address."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from queue_agent.local_cluster.address import reachable_address
from queue_agent.local_cluster.cluster import Cluster
from queue_agent.local_cluster.memory_budget import MAX_HELD_BYTES, STREAM_BYTES, MemoryBudget
from queue_agent.local_cluster.rpc.services import API_METHODS, services
from queue_agent.wire import rpc
from queue_agent.wire.connection import STREAM_LIMIT, Connection, ConnectionLimits, HangUp, Reply, random_guid
from queue_agent.wire.error import YtError
from queue_agent.wire.rpc_server import Services, answer
from queue_agent.wire.scope import TaskScope

MAX_PACKET_BYTES: Final = 128 << 20
"""Of one request, as of one over HTTP."""


class RpcProxy:
    """Serves one cluster at one address.

    Args:
        listener: a socket that listens there; whoever made it closes it.
        max_connections: at a time; those beyond are closed at once.
    """

    def __init__(self, listener: socket.socket, max_connections: int) -> None:
        self._socket = listener
        self._max_connections = max_connections
        self._limits = ConnectionLimits(max_packet_size=MAX_PACKET_BYTES)
        self._connections: set[Connection] = set()
        self._scope = TaskScope()
        self._server: asyncio.Server | None = None
        self._cluster: Cluster | None = None
        self._services: Services = {}
        self._budget = MemoryBudget(MAX_HELD_BYTES)

    @property
    def address(self) -> str:
        """`host:port` at which this machine reaches it."""
        return reachable_address(self._socket)

    async def serve(self, cluster: Cluster) -> None:
        """Answer requests from now on."""
        self._cluster = cluster
        self._services = services(cluster)
        self._server = await asyncio.start_server(self._accept, sock=self._socket, limit=STREAM_LIMIT)
        await self._scope.__aenter__()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._scope.__aexit__(None, None, None)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._cluster is not None
        self._connections = {connection for connection in self._connections if not connection.is_closed}
        connection = Connection(reader, writer, random_guid(), self._answer, self._limits)
        if self._cluster.faults.is_off or len(self._connections) >= self._max_connections:
            connection.close()
            return
        self._connections.add(connection)
        try:
            connection.start(self._scope)
        except YtError:  # it came while we were leaving
            connection.close()

    async def _answer(self, request: rpc.Request) -> Reply:
        assert self._cluster is not None
        if self._cluster.faults.is_off:
            raise HangUp
        with self._budget.lease() as lease:
            lease.grow(_held_bytes(request))
            return await answer(self._services, request)


def _held_bytes(request: rpc.Request) -> int:
    method = API_METHODS.get(request.header.method)
    if method is not None and method.takes_pieces:
        return STREAM_BYTES
    return sum(len(part) for part in (request.body_part, *request.attachments) if part)
