"""The calling side: connections that are made when first needed, kept, and replaced when they break."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from yt_wire import rpc
from yt_wire.bus import Part
from yt_wire.connection import STREAM_LIMIT, Connection, ConnectionLimits, random_guid
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid
from yt_wire.proto.rpc_pb2 import TReqDiscover, TRequestHeader, TRspDiscover
from yt_wire.rpc_server import DISCOVER
from yt_wire.scope import TaskScope

_ANY_PROTOCOL_VERSION: Final = -1
_MICROSECONDS: Final = 1_000_000


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[host]:port`; YtError if it is neither."""
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isascii() or not port.isdigit() or int(port) > 0xFFFF:
        raise YtError(f"Malformed network address {address!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


class RpcClient:
    """Calls one service at any number of addresses while it is entered.

    Args:
        service: asked `Discover` on every new connection.
        connect_timeout: seconds until a new connection has to be ready for its first call.
        new_guid: ids of connections and requests.
    """

    def __init__(
        self,
        service: str,
        connect_timeout: float,
        limits: ConnectionLimits | None = None,
        new_guid: Callable[[], Guid] = random_guid,
    ) -> None:
        self._service = service
        self._connect_timeout = connect_timeout
        self._limits = limits or ConnectionLimits()
        self._new_guid = new_guid
        self._scope = TaskScope()
        self._connections: dict[str, Connection] = {}
        self._opening: dict[str, asyncio.Task[Connection | YtError]] = {}

    async def __aenter__(self) -> Self:
        await self._scope.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._scope.__aexit__(kind, error, traceback)

    async def close(self) -> None:
        """End all connections and the calls on them; later calls fail."""
        await self._scope.close()

    async def call(
        self, address: str, method: str, body: bytes, attachments: Sequence[Part] = (), *, time_limit: float
    ) -> rpc.Response:
        """Call a method that may be executed twice.

        A call that goes down with a connection made for an earlier one is repeated on a new connection: the server may
        have been restarted in between.

        Args:
            time_limit: seconds, from here to the whole answer.

        Raises:
            YtError: the server's own error; code 100 if it cannot be reached or left; code 3 if time is up.
        """
        try:
            async with asyncio.timeout(time_limit):
                kept = self._connections.get(address)
                if kept is not None and not kept.is_closed:
                    try:
                        return await self._call(kept, method, body, attachments, time_limit)
                    except YtError:
                        if not kept.is_closed:
                            raise
                connection = await self._connect(address)
                return await self._call(connection, method, body, attachments, time_limit)
        except TimeoutError as error:
            raise YtError(
                "Request timed out",
                ErrorCode.TIMEOUT,
                {"address": address, "service": self._service, "method": method, "timeout": int(time_limit * 1000)},
            ) from error

    async def _call(
        self, connection: Connection, method: str, body: bytes, attachments: Sequence[Part], time_limit: float
    ) -> rpc.Response:
        header = TRequestHeader(
            request_id=rpc.to_proto_guid(self._new_guid()),
            service=self._service,
            method=method,
            timeout=int(time_limit * _MICROSECONDS),
        )
        if method == DISCOVER:
            header.protocol_version_major = header.protocol_version_minor = _ANY_PROTOCOL_VERSION
        return await connection.call(header, body, attachments)

    async def _connect(self, address: str) -> Connection:
        kept = self._connections.get(address)
        if kept is not None and not kept.is_closed:
            return kept
        # Callers share one attempt; `wait` lets each of them leave without ending it for the others.
        task = self._opening.get(address)
        if task is None:
            task = self._opening[address] = self._scope.start(self._open(address))
            task.add_done_callback(lambda _: self._opening.pop(address))
        await asyncio.wait([task])
        if task.cancelled():
            raise YtError("Connections are closed", ErrorCode.TRANSPORT)
        outcome = task.result()
        if isinstance(outcome, YtError):
            raise outcome
        return outcome

    async def _open(self, address: str) -> Connection | YtError:
        try:
            async with asyncio.timeout(self._connect_timeout):
                host, port = parse_address(address)
                reader, writer = await asyncio.open_connection(host, port, limit=STREAM_LIMIT)
                connection = Connection(reader, writer, self._new_guid(), None, self._limits, None)
                connection.start(self._scope)
                try:
                    await self._introduce(connection)
                except BaseException:
                    connection.close()
                    raise
        except (YtError, OSError) as error:
            cause = error if isinstance(error, YtError) else YtError(str(error) or "Connection timed out")
            return YtError(
                f"Error connecting to {address}", ErrorCode.TRANSPORT, {"address": address}, inner_errors=[cause]
            )
        self._connections[address] = connection
        return connection

    async def _introduce(self, connection: Connection) -> None:
        await connection.handshake()
        request = TReqDiscover().SerializeToString()
        response = await self._call(connection, DISCOVER, request, (), self._connect_timeout)
        if not rpc.parse(TRspDiscover, response.body).up:
            raise YtError("Peer is down", ErrorCode.UNAVAILABLE)
