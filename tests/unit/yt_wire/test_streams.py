"""Streams beside a request: windows, ends, and what the other side is told."""

from __future__ import annotations

import asyncio

import pytest

from yt_wire.bus import Part
from yt_wire.error import ErrorCode, YtError
from yt_wire.streams import IncomingStream, OutgoingStream

SECONDS = 5.0


async def read(stream: IncomingStream) -> list[bytes]:
    return [piece async for piece in stream]


async def test_pieces_come_in_order_and_every_one_is_told_to_be_used_up() -> None:
    positions: list[int] = []
    stream = IncomingStream(positions.append, SECONDS)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read(stream))
        stream.feed(0, [b"abc", b""])
        await asyncio.sleep(0)
        stream.feed(1, [b"d", None])
    assert reading.result() == [b"abc", b"", b"d"]
    assert positions == [3, 4, 5, 6]


async def test_what_nobody_reads_is_used_up_as_it_comes() -> None:
    positions: list[int] = []
    stream = IncomingStream(positions.append, SECONDS)
    stream.feed(0, [b"before"])
    assert positions == []
    stream.discard()
    stream.feed(1, [None])
    assert positions == [6, 7]


async def test_a_gap_a_flood_and_a_silence_end_a_stream() -> None:
    piece = bytes(64 << 20)
    gap, flood, silence = (IncomingStream(lambda _: None, 0.01) for _ in range(3))
    gap.feed(1, [b"x"])
    flood.feed(0, [piece])
    flood.feed(1, [piece, piece])
    for stream, code, message in (
        (gap, ErrorCode.PROTOCOL, "expected 0, got 1"),
        (flood, ErrorCode.PROTOCOL, "wait to be read"),
        (silence, ErrorCode.TIMEOUT, "timed out"),
    ):
        with pytest.raises(YtError, match=message) as caught:
            await read(stream)
        assert caught.value.code == code
    gap.feed(0, [b"late"])
    with pytest.raises(YtError, match="expected 0, got 1"):
        await read(gap)


class Sent:
    """What went out."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, Part]] = []

    async def send(self, number: int, part: Part) -> None:
        self.parts.append((number, part))


async def test_no_more_is_under_way_than_the_window_has_room_for() -> None:
    sent = Sent()
    stream = OutgoingStream(sent.send, 4, SECONDS)
    async with asyncio.TaskGroup() as group:
        await stream.write(b"abc")
        writing = group.create_task(stream.write(b"too large for it"))
        await asyncio.sleep(0)
        assert not writing.done()
        stream.acknowledge(3)
        await writing
        closing = group.create_task(stream.close())
        await asyncio.sleep(0)
        stream.acknowledge(19)
        for _ in range(5):  # as many turns as it would need, and more
            await asyncio.sleep(0)
        assert not closing.done(), "the end is not used up yet"
        stream.acknowledge(20)
    assert sent.parts == [(0, b"abc"), (1, b"too large for it"), (2, None)]


async def test_who_uses_nothing_up_is_not_waited_for_without_end() -> None:
    stream = OutgoingStream(Sent().send, 4, 0.01)
    await stream.write(b"abcd")
    with pytest.raises(YtError, match="write timed out") as caught:
        await stream.write(b"e")
    assert caught.value.code == ErrorCode.TIMEOUT
