"""Calls to an RPC proxy, message by message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from google.protobuf.message import Message

from tests.waiting import LIMIT_SECONDS
from yt_wire import rpc
from yt_wire.connection import Connection, ConnectionLimits, random_guid
from yt_wire.error import YtError
from yt_wire.proto.rpc_pb2 import TCredentialsExt, TRequestHeader
from yt_wire.rpc_client import parse_address
from yt_wire.scope import TaskScope
from yt_wire.streams import Streams


@dataclass(frozen=True)
class StreamingCall:
    """A call under way, seen from its caller: what comes in is what the proxy sends."""

    header: TRequestHeader
    streams: Streams
    outcome: asyncio.Task[YtError | None]

    async def send(self, *pieces: bytes) -> None:
        """All there is to send."""
        for piece in pieces:
            await self.streams.outgoing.write(piece)
        await self.streams.outgoing.end()

    async def end(self) -> None:
        """Wait for the answer, which says that all went well."""
        if (error := await self.outcome) is not None:
            raise error

    async def refusal(self) -> YtError:
        error = await self.outcome
        assert error is not None
        return error


class Caller:
    """Calls methods of one proxy over one connection."""

    def __init__(self, connection: Connection, scope: TaskScope) -> None:
        self.connection = connection
        self._scope = scope

    async def call(self, request: Message, *attachments: bytes, **options: str | None) -> rpc.Response:
        async with asyncio.timeout(LIMIT_SECONDS):
            return await self.connection.call(_header(request, **options), request.SerializeToString(), attachments)

    async def stream(self, request: Message, **options: str | None) -> StreamingCall:
        """Begin a call with streams beside it."""
        header = _header(request, **options)
        header.server_attachments_streaming_parameters.window_size = 1 << 20
        streams = self.connection._with_streams(rpc.Request(header, None)).streams
        assert streams is not None

        async def outcome() -> YtError | None:
            try:
                await self.connection.call(header, request.SerializeToString())
            except YtError as error:
                return error
            return None

        task = self._scope.start(outcome())
        await asyncio.sleep(0)  # pieces come behind the request
        return StreamingCall(header, streams, task)

    async def refusal(self, request: Message, *attachments: bytes, **options: Any) -> YtError:
        with pytest.raises(YtError) as caught:
            await self.call(request, *attachments, **options)
        return caught.value


def _header(
    request: Message,
    service: str | None = "ApiService",
    method: str | None = None,
    user: str | None = None,
    token: str | None = None,
) -> TRequestHeader:
    header = TRequestHeader(
        request_id=rpc.to_proto_guid(random_guid()),
        service=service,
        method=method or request.DESCRIPTOR.name.removeprefix("TReq"),
        user=user,
    )
    if token is not None:
        header.Extensions[TCredentialsExt.credentials_ext].token = token
    return header


@asynccontextmanager
async def calling(address: str) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection(*parse_address(address))
    async with TaskScope() as scope:
        connection = Connection(reader, writer, random_guid(), None, ConnectionLimits(), None)
        connection.start(scope)
        await connection.handshake()
        yield Caller(connection, scope)
