"""Streams of attachments that go along with one request: bounded by a window, ended by a null part."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from yt_wire.bus import Part
from yt_wire.error import ErrorCode, YtError

_MAX_UNREAD_BYTES: Final = 128 << 20
"""Of one stream; clients that keep to a window stay far below."""


class IncomingStream:
    """What the caller sends; may be read once, or discarded.

    Args:
        feedback: tells the caller how much was used up.
        seconds: to wait for the next piece.
    """

    def __init__(self, feedback: Callable[[int], None], seconds: float) -> None:
        self._feedback = feedback
        self._seconds = seconds
        self._parts: deque[Part] = deque()
        self._arrived = asyncio.Event()
        self._next_number = 0
        self._unread = 0
        self._position = 0
        self._is_discarded = False
        self._failure: YtError | None = None

    @property
    def unread_bytes(self) -> int:
        """Of what has come and was not read."""
        return self._unread

    def feed(self, sequence_number: int, parts: Sequence[Part]) -> None:
        """Take what has come; the stream fails if something is missing before it, or nobody could ask for as much."""
        if self._failure is not None:
            return
        if sequence_number != self._next_number:
            self._fail(
                f"Invalid attachments stream sequence number: expected {self._next_number}, got {sequence_number}"
            )
            return
        self._next_number += 1
        self._parts.extend(parts)
        self._unread += sum(map(_size, parts))
        if self._unread > _MAX_UNREAD_BYTES:
            self._fail(f"More than {_MAX_UNREAD_BYTES} bytes of a stream wait to be read")
            return
        self._arrived.set()
        if self._is_discarded:
            self.discard()

    def _fail(self, reason: str) -> None:
        """End the stream for whoever reads it; other requests of the connection have no part in it."""
        self._failure = YtError(reason, ErrorCode.PROTOCOL)
        self._parts.clear()
        self._arrived.set()

    def discard(self) -> None:
        """Use up whatever comes: callers end streams that nobody reads, too, and wait until that was noticed."""
        self._is_discarded = True
        while self._parts:
            self._take()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces up to the end; YtError 3 if the next one does not come in time, 101 if the stream has failed."""
        while (part := await self._next()) is not None:
            yield part

    async def _next(self) -> Part:
        while not self._parts:
            if self._failure is not None:
                raise self._failure
            self._arrived.clear()
            await _in_time(self._arrived, self._seconds, "Attachments stream read timed out")
        return self._take()

    def _take(self) -> Part:
        part = self._parts.popleft()
        size = _size(part)
        self._unread -= size
        self._position += size
        self._feedback(self._position)
        return part


class OutgoingStream:
    """What the caller is sent.

    Args:
        send: sends a piece by its number, once the connection takes it.
        window: bytes that may be under way.
        seconds: to wait for the caller to use up something.
    """

    def __init__(self, send: Callable[[int, Part], Awaitable[None]], window: int, seconds: float) -> None:
        self._send = send
        self._window = window
        self._seconds = seconds
        self._moved = asyncio.Event()
        self._count = 0
        self._sent = 0
        self._acknowledged = 0

    def acknowledge(self, position: int) -> None:
        """Note how much the caller has used up."""
        self._acknowledged = max(self._acknowledged, position)
        self._moved.set()

    async def write(self, piece: bytes) -> None:
        """Send a piece as soon as the window has room for it, or is empty; YtError 3 if that takes too long."""
        await self._put(piece)

    async def close(self) -> None:
        """End the stream and wait until the caller has used up all of it: only then may it be answered."""
        await self._put(None)
        await self._wait_for(lambda under_way: under_way == 0)

    async def end(self) -> None:
        """End the stream without waiting, for there is more to come from the caller."""
        await self._put(None)

    async def _put(self, part: Part) -> None:
        size = _size(part)
        await self._wait_for(lambda under_way: under_way == 0 or under_way + size <= self._window)
        self._sent += size
        self._count += 1
        await self._send(self._count - 1, part)

    async def _wait_for(self, is_enough: Callable[[int], bool]) -> None:
        while not is_enough(self._sent - self._acknowledged):
            self._moved.clear()
            await _in_time(self._moved, self._seconds, "Attachments stream write timed out")


@dataclass(frozen=True, slots=True)
class Streams:
    """Both directions of one request."""

    incoming: IncomingStream
    outgoing: OutgoingStream


def _size(part: Part) -> int:
    return len(part) if part else 1


async def _in_time(event: asyncio.Event, seconds: float, message: str) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError as error:
        raise YtError(message, ErrorCode.TIMEOUT) from error
