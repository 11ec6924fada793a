"""The RPC proxy of a local cluster: connections at one address."""

from __future__ import annotations

import math
import socket
from typing import Final

from yt_local.base.memory_budget import MAX_HELD_BYTES, STREAM_BYTES, MemoryBudget
from yt_local.cluster import Cluster
from yt_local.commands import METHODS
from yt_local.proxy.rpc.services import services
from yt_wire import rpc
from yt_wire.address import reachable_address
from yt_wire.connection import ConnectionLimits, HangUp, Reply, random_guid
from yt_wire.gate import Gate, Port, Visitor
from yt_wire.rpc_server import Services, answer, welcome
from yt_wire.scope import TaskScope
from yt_wire.seats import Limits

MAX_PACKET_BYTES: Final = 128 << 20
"""Of one request, as of one over HTTP."""


MESSAGE_SECONDS: Final = 120.0
"""For a whole message of the largest size to come."""

ANSWER_SECONDS: Final = 600.0
"""For a client to read what it is sent: some work meanwhile on what they have read."""


class RpcProxy:
    """Serves one cluster at one address.

    Args:
        listener: a socket that listens there; whoever made it closes it.
        max_connections: at a time; whoever comes then takes the place of another.
    """

    def __init__(self, listener: socket.socket, max_connections: int) -> None:
        self._socket = listener
        self._limits = ConnectionLimits(max_packet_size=MAX_PACKET_BYTES)
        # All clients may be on one machine, and they keep idle connections for as long as they like.
        limits = Limits(max_connections, max_connections, MAX_HELD_BYTES, MESSAGE_SECONDS, ANSWER_SECONDS, math.inf)
        self._gate = Gate(limits, buffers=None)
        self._scope = TaskScope()
        self._port: Port | None = None
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
        await self._gate.__aenter__()
        await self._scope.__aenter__()
        self._port = self._gate.open([self._socket], self._welcome)

    async def stop(self) -> None:
        if self._port is not None:
            self._port.close()
            await self._scope.__aexit__(None, None, None)
            await self._gate.__aexit__(None, None, None)

    async def _welcome(self, peer: socket.socket, visitor: Visitor) -> None:
        assert self._cluster is not None
        if self._cluster.faults.is_off:
            peer.close()
            visitor.leave()
            return
        await welcome(peer, visitor, self._scope, random_guid(), self._answer, self._limits)

    async def _answer(self, request: rpc.Request) -> Reply:
        assert self._cluster is not None
        if self._cluster.faults.is_off:
            raise HangUp
        with self._budget.lease() as lease:
            lease.grow(_held_bytes(request))
            return await answer(self._services, request)


def _held_bytes(request: rpc.Request) -> int:
    method = METHODS.get(request.header.method)
    if method is not None and method.takes_pieces:
        return STREAM_BYTES
    return sum(len(part) for part in (request.body_part, *request.attachments) if part)
