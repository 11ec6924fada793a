"""One bus connection with RPC messages on it, the same for both roles."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog

from yt_wire import bus, rpc
from yt_wire.bus import Part
from yt_wire.error import ErrorCode, YtError
from yt_wire.gate import Visitor
from yt_wire.guid import Guid
from yt_wire.proto.rpc_pb2 import TRequestHeader
from yt_wire.scope import TaskScope
from yt_wire.seats import Phase
from yt_wire.streams import IncomingStream, OutgoingStream, Streams

STREAM_LIMIT: Final = 1 << 18
"""Bytes that wait between socket and decoder; give it to asyncio when making the streams."""

_REQUEST_COST: Final = 4 << 10
"""Bytes that a request under way takes beside those that came: a task, headers, what the handler needs."""

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

    max_queued_bytes: int = 32 << 20
    """While answers of more than that wait for the peer to read them, no further ones are made."""

    buffer_size: int = STREAM_LIMIT
    """Bytes that are read at once; up to three times as many wait while the peer does not read what it is sent."""


def random_guid() -> Guid:
    """A guid nobody else has."""
    return Guid.from_bytes(os.urandom(16))


class Connection:
    """One TCP connection; `start` comes first.

    Args:
        connection_id: what a handshake says.
        handle: answers requests of the peer; None for a client, which is not to be asked anything.
        visitor: hears what the peer does, and ends the connection when it must; None for a client, which has chosen its
            peer itself.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection_id: Guid,
        handle: Handler | None,
        limits: ConnectionLimits,
        visitor: Visitor | None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._connection_id = connection_id
        self._handle = handle
        self._limits = limits
        self._visitor = visitor
        self._log = log if visitor is None else visitor.log
        self._has_spoken = False
        self._drain_count = 0
        self._request_bytes = 0
        self._queued_bytes = 0
        self._has_room = asyncio.Event()
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
            self._end()
            raise
        task.add_done_callback(lambda _: self._end())  # a task cancelled before its first step cleans up nothing

    def close(self) -> None:
        """Leave; everything under way in either direction ends."""
        self._is_closed = True
        self._writer.transport.abort()

    def _end(self) -> None:
        self.close()
        if self._visitor is not None:
            self._visitor.leave()

    async def _run(self) -> None:
        cause: Exception | None = None
        try:
            _keep_alive(self._writer)
            async with asyncio.TaskGroup() as group:
                try:
                    await self._read(group)
                except (YtError, OSError) as error:
                    cause = error
                    self._log.info("connection broken", peer=self._peer, error=repr(error))
                self._is_closed = True
                for task in self._serving:
                    task.cancel()
        except OSError as error:  # it was ended before it began
            cause = error
        except Exception:  # noqa: BLE001 - a bug: logged, and the other connections go on
            self._log.exception("connection crashed", peer=self._peer)
        finally:
            self.close()
            self._fail_calls(cause)
            try:
                await self._writer.wait_closed()
            except OSError as error:  # how the socket ended does not matter any more
                _forget_frames(error)
            _forget_frames(cause)

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
        while data := await self._reader.read(self._limits.buffer_size):
            self._decoder.feed(data)
            has_packet = False
            while (packet := self._decoder.next_packet()) is not None:
                self._has_spoken = has_packet = True
                if self._visitor is not None:
                    await self._visitor.turn()
                if self._writer.is_closing():  # asyncio writes a log line for everything that would still be sent
                    return
                if packet.type is bus.PacketType.MESSAGE:
                    self._accept(packet, group)
            self._note(restart=has_packet)
            if self._handle is not None:
                # A client that sends without reading gets no further than our buffer of acknowledgements. The client
                # itself must not wait here: with both sides waiting to be read, neither would read.
                await self._drain()

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
                self._request_bytes += (cost := _REQUEST_COST + _size(packet.parts))
                task.add_done_callback(partial(self._served, cost))
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

    def _served(self, cost: int, task: asyncio.Task[None]) -> None:
        del self._serving[task]
        self._request_bytes -= cost
        self._note()

    async def _serve(self, request: rpc.Request) -> None:
        try:
            await self._wait_for_room()
            parts = await self._answer(request)
        except HangUp:
            self.close()
            return
        except Exception:  # noqa: BLE001 - a bug: logged, and the other requests go on being served
            self._log.exception("request crashed", service=request.header.service, method=request.header.method)
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
        size = _size(parts)
        self._queued_bytes += size
        try:
            # One at a time: a large answer waits for the peer to read the one before, not in memory behind it.
            async with self._writing:
                self._write(parts)
                await self._drain()
        finally:
            self._queued_bytes -= size
            self._has_room.set()

    async def _wait_for_room(self) -> None:
        while self._queued_bytes > self._limits.max_queued_bytes:
            self._has_room.clear()
            await self._has_room.wait()

    async def _drain(self) -> None:
        transport = self._writer.transport
        if transport.get_write_buffer_size() <= transport.get_write_buffer_limits()[0]:
            await self._writer.drain()
            return
        self._drain_count += 1
        self._note()
        try:
            await self._writer.drain()
        finally:
            self._drain_count -= 1
            self._note()

    def _note(self, *, restart: bool = False) -> None:
        """Have the gate know what the peer does, and what that costs."""
        if self._visitor is None:
            return
        held = self._decoder.size + self._request_bytes + self._queued_bytes
        held += self._writer.transport.get_write_buffer_size()
        held += sum(streams.incoming.unread_bytes for streams in self._streams.values())
        if not self._has_spoken:
            phase = Phase.OPENING
        elif self._drain_count:
            phase = Phase.READING
            held += 2 * self._limits.buffer_size  # what may have come since
        elif self._serving:
            phase = Phase.SERVED
        else:
            phase = Phase.SENDING if self._decoder.size else Phase.IDLE
        self._visitor.update(phase, held, restart=restart and phase in (Phase.SENDING, Phase.IDLE))

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


def _size(parts: Sequence[Part]) -> int:
    return sum(len(part) for part in parts if part)


def _forget_frames(error: BaseException | None) -> None:
    """Have an error not keep alive what it came by: it would keep this connection, which keeps the error."""
    if error is not None:
        error.__traceback__ = None
