"""Whom a gate lets in while more come than it has room for."""

from __future__ import annotations

import asyncio
import math
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.waiting import LIMIT_SECONDS
from yt_wire.gate import Gate, Port, Visitor
from yt_wire.seats import Limits

LOOPBACK: Final = "127.0.0.1"
ROOM: Final = 100
CROWD: Final = 200
MOST_CLOSING: Final = 64
FEW_FILES: Final = 306
ROOM_WITH_FEW_FILES: Final = FEW_FILES // 4
QUESTION, ANSWER = b"alive?", b"yes"


@pytest.fixture
async def gate() -> AsyncIterator[Gate]:
    limits = Limits(
        max_connections=ROOM,
        max_connections_per_address=ROOM,
        max_held_bytes=1 << 20,
        message_seconds=math.inf,
        answer_seconds=math.inf,
        idle_seconds=math.inf,
    )
    async with Gate(limits, None) as gate:
        yield gate


@pytest.fixture
async def port(gate: Gate) -> AsyncIterator[Port]:
    port = await gate.listen(LOOPBACK, 0, _welcome, _answer)
    yield port
    port.close()


@pytest.fixture
def peers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


async def _welcome(connection: socket.socket, visitor: Visitor) -> None:
    transport, _ = await asyncio.get_running_loop().connect_accepted_socket(asyncio.Protocol, connection)
    visitor.attach(transport)


def _answer(head: bytes) -> bytes | None:
    return ANSWER if head == QUESTION else None


def _connect(port: Port, peers: ExitStack, first: bytes = b"") -> socket.socket:
    peer = peers.enter_context(socket.create_connection((LOOPBACK, port.number)))
    peer.sendall(first)
    return peer


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def _until_there_are(gate: Gate, count: int, *, waiting: bool) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while [visitor.is_waiting for visitor in gate.visitors].count(waiting) < count:  # noqa: ASYNC110 - a gate has no event for it
            await asyncio.sleep(0)


async def test_a_newcomer_that_has_to_leave_is_answered_if_it_has_just_asked(
    gate: Gate, port: Port, peers: ExitStack
) -> None:
    early = _connect(port, peers)
    await _until_there_are(gate, 1, waiting=True)
    early.sendall(QUESTION)
    for _ in range(CROWD):
        _connect(port, peers)
    gate.accept(port, port.listeners[0])  # before the loop can tell that the first one has asked
    early.settimeout(10)
    assert early.recv(len(ANSWER)) == ANSWER


async def test_a_crowd_takes_few_descriptors_beyond_those_of_connections(
    gate: Gate, port: Port, peers: ExitStack
) -> None:
    for _ in range(ROOM):
        _connect(port, peers, b"x")
    await _until_there_are(gate, ROOM, waiting=False)
    for _ in range(CROWD):
        _connect(port, peers, b"x")
    before = _open_files()
    gate.accept(port, port.listeners[0])  # transports that were ended are closed by the loop, which does not run yet
    assert _open_files() - before <= MOST_CLOSING
    assert gate.connection_count == ROOM


async def test_connections_that_are_ended_while_they_are_being_made_count_until_they_are_closed(
    gate: Gate, peers: ExitStack
) -> None:
    may_go_on = asyncio.Event()

    async def slow(connection: socket.socket, visitor: Visitor) -> None:
        await may_go_on.wait()
        await _welcome(connection, visitor)

    port = await gate.listen(LOOPBACK, 0, slow)
    for _ in range(ROOM):
        _connect(port, peers, b"x")
    await _until_there_are(gate, ROOM, waiting=False)
    for _ in range(CROWD):
        _connect(port, peers, b"x")
    before = _open_files()
    for _ in range(CROWD):
        await asyncio.sleep(0)  # an iteration of the loop
    assert _open_files() - before <= MOST_CLOSING
    may_go_on.set()
    async with asyncio.timeout(LIMIT_SECONDS):
        while _open_files() > before:  # noqa: ASYNC110 - a gate has no event for it
            await asyncio.sleep(0)
    port.close()


async def test_descriptors_that_the_system_has_taken_away_are_not_handed_out_until_the_next_sweep(
    gate: Gate, port: Port
) -> None:
    with ExitStack() as gone:  # tests before this one may have left half of the few files open
        for _ in range(ROOM):
            _connect(port, gone, b"x")
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, most))
    try:
        gate.accept(port, port.listeners[0])
        assert gate.connection_count == ROOM_WITH_FEW_FILES
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
