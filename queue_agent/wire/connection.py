"""One bus connection with RPC messages on it, the same for both roles."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from queue_agent.wire import bus, rpc
from queue_agent.wire.bus import Part
from queue_agent.wire.error import ErrorCode, YtError
from queue_agent.wire.guid import Guid
from queue_agent.wire.proto.rpc_pb2 import TRequestHeader
from queue_agent.wire.scope import TaskScope
from queue_agent.wire.streams import IncomingStream, OutgoingStream, Streams

STREAM_LIMIT: Final = 1 << 18
"""Bytes that wait between socket and decoder; give it to asyncio when making the streams."""

_STREAM_WINDOW: Final = 16 << 20
_STREAM_TIMEOUT: Final = 60_000_000
"""Microseconds; like the window, what a caller gets that asks for streams and nothing in particular."""

log = structlog.get_logger(__name__)


class HangUp(Exception):
    """A handler raises it to end the connection without an answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler answers: a serialized message and attachments."""

    body: bytes = b""
    attachments: Sequence[Part] = ()


Handler = Callable[[rpc.Request], Awaitable[Reply]]
"""Answers one request; a YtError it raises is the answer as well, after HangUp there is none."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a peer may ask of one connection."""

    max_packet_size: int = bus.DEFAULT_MAX_PACKET_SIZE
    """Bytes; a larger packet ends the connection before it is read."""

    max_concurrent_requests: int = 1000
    """Requests above that are answered with error 108."""


def random_guid() -> Guid:
    """A guid nobody else has."""
    return Guid.from_bytes(os.urandom(16))


class Connection:
    """One TCP connection; `start` comes first.

    Args:
        connection_id: what a handshake says.
        handle: answers requests of the peer; None for a client, which is not to be asked anything.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection_id: Guid,
        handle: Handler | None,
        limits: ConnectionLimits,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._connection_id = connection_id
        self._handle = handle
        self._limits = limits
        self._decoder = bus.Decoder(limits.max_packet_size)
        self._writing = asyncio.Lock()
        self._packet_count = 0
        self._is_closed = False
        self._with_checksums = False
        self._sent_handshake = False
        self._handshaken: asyncio.Future[YtError | None] = asyncio.get_running_loop().create_future()
        self._calls: dict[Guid, asyncio.Future[rpc.Response | YtError]] = {}
        self._serving: dict[asyncio.Task[None], Guid] = {}
        self._streams: dict[Guid, Streams] = {}

    @property
    def is_closed(self) -> bool:
        """Whether calls are sure to fail."""
        return self._is_closed

    def start(self, scope: TaskScope) -> None:
        """Read and answer until the peer leaves or breaks the protocol, or the scope ends; YtError 100 if it has."""
        try:
            task = scope.start(self._run())
        except YtError:
            self.close()
            raise
        task.add_done_callback(lambda _: self.close())  # a task cancelled before its first step cleans up nothing

    def close(self) -> None:
        """Leave; everything under way in either direction ends."""
        self._is_closed = True
        self._writer.transport.abort()

    async def _run(self) -> None:
        cause: Exception | None = None
        try:
            _keep_alive(self._writer)
            async with asyncio.TaskGroup() as group:
                try:
                    await self._read(group)
                except (YtError, OSError) as error:
                    cause = error
                    log.info("connection broken", peer=self._peer, error=repr(error))
                self._is_closed = True
                for task in self._serving:
                    task.cancel()
        finally:
            self.close()
            self._fail_calls(cause)
            with contextlib.suppress(OSError):  # how the socket ended does not matter any more
                await self._writer.wait_closed()

    async def handshake(self) -> None:
        """As a client: introduce ourselves and wait for the server to do so; YtError 100 if it never will."""
        self._sent_handshake = True
        self._writer.write(bus.encode_handshake(self._connection_id))
        if (error := await self._handshaken) is not None:
            raise error

    async def call(self, header: TRequestHeader, body: bytes, attachments: Sequence[Part] = ()) -> rpc.Response:
        """Send a request and wait for its response; a caller that stops waiting calls the request off.

        Args:
            header: with a request id that is not in use.

        Raises:
            YtError: code 100 if the connection ends first, else what the peer answered.
        """
        if self._is_closed:
            raise self._closed_error(None)
        request_id = rpc.from_proto_guid(header.request_id)
        answer: asyncio.Future[rpc.Response | YtError] = asyncio.get_running_loop().create_future()
        self._calls[request_id] = answer
        try:
            await self._send(rpc.encode_request(header, body, attachments))
            outcome = await answer
        except OSError as error:
            raise self._closed_error(error) from error
        except asyncio.CancelledError:
            if not self._is_closed:
                self._write(rpc.encode_cancelation(header))
            raise
        finally:
            del self._calls[request_id]
        failure = outcome if isinstance(outcome, YtError) else outcome.error
        if failure is not None:
            raise failure
        assert isinstance(outcome, rpc.Response)
        return outcome

    @property
    def _peer(self) -> str:
        return str(self._writer.get_extra_info("peername"))

    async def _read(self, group: asyncio.TaskGroup) -> None:
        while data := await self._reader.read(STREAM_LIMIT):
            self._decoder.feed(data)
            while (packet := self._decoder.next_packet()) is not None:
                if packet.type is bus.PacketType.MESSAGE:
                    self._accept(packet, group)
            if self._handle is not None:
                # A client that sends without reading gets no further than our buffer of acknowledgements. The client
                # itself must not wait here: with both sides waiting to be read, neither would read.
                await self._writer.drain()

    def _accept(self, packet: bus.Packet, group: asyncio.TaskGroup) -> None:
        self._with_checksums = packet.has_checksums
        if packet.ack_requested:
            self._writer.write(bus.encode_ack(packet.packet_id, with_checksum=self._with_checksums))
        if bus.is_handshake(packet):
            self._accept_handshake(packet)
            return
        match rpc.decode_message(packet.parts):
            case rpc.Request() as request if len(self._serving) >= self._limits.max_concurrent_requests:
                error = YtError("Request queue size limit exceeded", ErrorCode.REQUEST_QUEUE_SIZE_LIMIT_EXCEEDED)
                self._write(rpc.encode_error_response(request.header, error))
            case rpc.Request() as request:
                if request.header.HasField("server_attachments_streaming_parameters"):
                    request = self._with_streams(request)
                task = group.create_task(self._serve(request))
                self._serving[task] = request.request_id
                task.add_done_callback(self._serving.pop)
            case rpc.Cancelation(request_id):
                for task, serving_id in self._serving.items():
                    if serving_id == request_id:
                        task.cancel()
            case rpc.StreamPayload(request_id, sequence_number, attachments):
                if (streams := self._streams.get(request_id)) is not None:
                    streams.incoming.feed(sequence_number, attachments)
            case rpc.StreamFeedback(request_id, read_position):
                if (streams := self._streams.get(request_id)) is not None:
                    streams.outgoing.acknowledge(read_position)
            case rpc.Response() as response:
                answer = self._calls.get(response.request_id)
                if answer is not None and not answer.done():
                    answer.set_result(response)

    def _accept_handshake(self, packet: bus.Packet) -> None:
        bus.decode_handshake(packet)
        if not self._sent_handshake:
            self._sent_handshake = True
            self._writer.write(bus.encode_handshake(self._connection_id, with_checksums=self._with_checksums))
        if not self._handshaken.done():
            self._handshaken.set_result(None)

    def _with_streams(self, request: rpc.Request) -> rpc.Request:
        header, wanted = request.header, request.header.server_attachments_streaming_parameters

        def feedback(position: int) -> None:
            self._write(rpc.encode_feedback(header, position))

        async def send(sequence_number: int, part: Part) -> None:
            try:
                await self._send(rpc.encode_payload(header, sequence_number, part))
            except OSError as error:  # the reader sees the end of the connection, too
                raise HangUp from error

        streams = Streams(
            IncomingStream(feedback, (wanted.read_timeout or _STREAM_TIMEOUT) / 1_000_000),
            OutgoingStream(
                send, wanted.window_size or _STREAM_WINDOW, (wanted.write_timeout or _STREAM_TIMEOUT) / 1_000_000
            ),
        )
        self._streams[request.request_id] = streams
        return replace(request, streams=streams)

    async def _serve(self, request: rpc.Request) -> None:
        try:
            parts = await self._answer(request)
        except HangUp:
            self.close()
            return
        except Exception:  # a bug: say so loudly, keep the other requests served
            log.exception("request crashed", service=request.header.service, method=request.header.method)
            parts = rpc.encode_error_response(request.header, YtError("Internal server error"))
        finally:
            self._streams.pop(request.request_id, None)
        with contextlib.suppress(OSError):  # the reader sees the end of the connection, too
            await self._send(parts)

    async def _answer(self, request: rpc.Request) -> list[Part]:
        try:
            if self._handle is None:
                raise YtError("Service is not registered", ErrorCode.NO_SUCH_SERVICE)
            reply = await self._handle(request)
        except YtError as error:
            return rpc.encode_error_response(request.header, error)
        return rpc.encode_response(request.header, reply.body, reply.attachments)

    def _write(self, parts: Sequence[Part]) -> None:
        self._packet_count += 1
        # The high half tells it apart from the id that marks a handshake.
        packet_id = struct.pack("<QQ", self._packet_count, 1)
        self._writer.write(bus.encode_message(packet_id, parts, with_checksums=self._with_checksums))

    async def _send(self, parts: Sequence[Part]) -> None:
        # One at a time: a large answer waits for the peer to read the one before, not in memory behind it.
        async with self._writing:
            self._write(parts)
            await self._writer.drain()

    def _fail_calls(self, cause: Exception | None) -> None:
        if not self._handshaken.done():
            self._handshaken.set_result(self._closed_error(cause))
        for answer in self._calls.values():
            if not answer.done():
                answer.set_result(self._closed_error(cause))

    def _closed_error(self, cause: Exception | None) -> YtError:
        inner_errors = [] if cause is None else [cause if isinstance(cause, YtError) else YtError(str(cause))]
        return YtError(f"Connection to {self._peer} is closed", ErrorCode.TRANSPORT, inner_errors=inner_errors)


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    # The bus has no pings of its own: without this a peer that lost its power stays connected for ever.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
