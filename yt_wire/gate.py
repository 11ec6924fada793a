"""Listening sockets, and who gets in: connections of several servers under one set of limits."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import resource
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, NoReturn, Self, TypeAlias

import structlog

from yt_wire.error import YtError
from yt_wire.scope import TaskScope
from yt_wire.seats import Departure, Limits, Phase, Reason, Seat, Seats
from yt_wire.sparse_log import SparseLog
from yt_wire.turns import Turns

RESERVED_DESCRIPTORS: Final = 256
"""Left for files, and for connections of our own to clusters and other agents."""

SWEEP_SECONDS: Final = 0.5
"""Between looks at whose time is up."""

BACK_OFF_SECONDS: Final = 0.1
"""Without accepting, after the system had no resources for one more connection."""

_SHED_COUNT: Final = 16
"""Connections that are ended when descriptors still run out."""

_BACKLOG: Final = 4096
_ACCEPTS_PER_ITERATION: Final = 256
_MOST_CLOSING: Final = 64
"""Connections that were ended and still have their descriptor: the loop needs an iteration or more to close it."""

_PEEK_BYTES: Final = 2048
_OUT_OF_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_LEAST_SHARE: Final = 4
"""Where the reserve would leave too little, one of so many descriptors is for connections."""

Welcome: TypeAlias = Callable[[socket.socket, "Visitor"], Awaitable[None]]
"""Makes a transport of a socket whose first bytes can be read; may raise OSError."""

Porter: TypeAlias = Callable[[bytes], bytes | None]
"""Answers what can be answered by the first bytes alone, without any further cost; None for all else."""


@dataclass(frozen=True, slots=True)
class Buffers:
    """Bytes the system keeps for one connection. By itself it keeps megabytes for every peer that does not read."""

    receive: int
    """Also what is read at once, about."""

    send: int


class Visitor:
    """One connection, for whoever serves it."""

    def __init__(self, gate: Gate, port: Port, connection: socket.socket, seat: Seat) -> None:
        self._gate = gate
        self._socket = connection
        self._is_taken = False
        self._transport: asyncio.WriteTransport | None = None
        self.port = port
        self.seat = seat
        self.is_gone = False
        """Whether the connection has ended, or is about to."""

    @property
    def log(self) -> SparseLog:
        """For lines that peers can cause."""
        return self._gate.log

    @property
    def is_waiting(self) -> bool:
        """Whether nobody serves it yet: it costs a descriptor, and hardly anything else."""
        return not self._is_taken and not self.is_closed

    @property
    def is_closed(self) -> bool:
        """Whether the descriptor is free again, whoever has closed it."""
        return self._socket.fileno() < 0

    def attach(self, transport: asyncio.WriteTransport) -> None:
        """Say what the connection is from now on."""
        self._transport = transport
        if self.is_gone:
            transport.abort()

    def update(self, phase: Phase, held: int, *, restart: bool = False) -> None:
        """Say what the connection does and how many bytes it holds; see `Seats.update`."""
        self._gate.update(self, phase, held, restart=restart)

    async def turn(self) -> None:
        """Wait until work for this peer may begin."""
        await self._gate.turns.take(self.seat.address)

    def leave(self) -> None:
        """Say that the connection has ended."""
        self.is_gone = True
        self._gate.forget(self)

    def hear(self) -> None:
        """Answer a question that has come since the connection was accepted, if the porter can."""
        if self.is_waiting:
            _is_done(self._socket, _peek(self._socket) or b"", self.port.porter)

    def close(self) -> None:
        """End the connection, whatever it is at the moment."""
        self.is_gone = True
        if self._transport is not None:
            self._transport.abort()
        elif self.is_waiting:
            self.take_socket().close()

    def take_socket(self) -> socket.socket:
        """Hand the socket over; `attach` follows."""
        assert self.is_waiting
        self._is_taken = True
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        return self._socket


async def bind(host: str, port: int) -> list[socket.socket]:
    """Take a port at every address of a host name; nobody can connect before a gate opens. OSError if it is taken.

    Args:
        port: 0 for one that is free.
    """
    # asyncio knows how to bind; it would accept without any limit.
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, host, port, start_serving=False)
    listeners = [bound.dup() for bound in server.sockets]
    server.close()
    return listeners


class Port:
    """One server's listening sockets, until it is closed."""

    def __init__(self, gate: Gate, listeners: Sequence[socket.socket], welcome: Welcome, porter: Porter | None) -> None:
        self._gate = gate
        self.listeners = listeners
        self.welcome = welcome
        self.porter = porter
        self.is_open = True
        self.resume()

    @property
    def address(self) -> str:
        """`host:port` as bound, IPv6 in brackets; the first one if the host name has several."""
        host, port = self.listeners[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def number(self) -> int:
        """The port listened on."""
        return int(self.listeners[0].getsockname()[1])

    def resume(self) -> None:
        """Accept connections, unless the port was closed in the meantime."""
        if self.is_open:
            for listener in self.listeners:
                asyncio.get_running_loop().add_reader(listener.fileno(), self._gate.accept, self, listener)

    def pause(self) -> None:
        """Accept none until further notice."""
        for listener in self.listeners:
            asyncio.get_running_loop().remove_reader(listener.fileno())

    def close(self) -> None:
        """Accept no more, and end the connections that nobody was welcomed on yet."""
        if not self.is_open:
            return
        self.is_open = False
        self.pause()
        for listener in self.listeners:
            listener.close()
        self._gate.turn_away(self)


class Gate:
    """Lets peers in while it is entered; ports that use it are closed before it is left.

    Args:
        limits: for the connections of all its ports together.
        buffers: what the system keeps for a connection; None for what it does by itself.
    """

    def __init__(self, limits: Limits, buffers: Buffers | None) -> None:
        self._limits = limits
        self._buffers = buffers
        self._seats = Seats(limits)
        self._visitors: dict[Seat, Visitor] = {}
        self._scope = TaskScope()
        self._leaving: list[Visitor] = []
        self.turns = Turns()
        self.log = SparseLog(structlog.get_logger(__name__))

    async def __aenter__(self) -> Self:
        self._seats.capacity = self._capacity()
        await self._scope.__aenter__()
        self._scope.start(self._sweep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for visitor in list(self._visitors.values()):
            visitor.close()
        await self._scope.__aexit__(kind, error, traceback)

    @property
    def connection_count(self) -> int:
        return self._seats.count

    @property
    def visitors(self) -> Iterable[Visitor]:
        """Those who are connected."""
        return self._visitors.values()

    @property
    def held_bytes(self) -> int:
        """Of incomplete messages, requests under way and unread answers."""
        return self._seats.held

    async def listen(self, host: str, port: int, welcome: Welcome, porter: Porter | None = None) -> Port:
        """Listen at every address of a host name; OSError if that is not possible.

        Args:
            port: 0 for one that is free.
            welcome, porter: serve those who connect.
        """
        return self.open(await bind(host, port), welcome, porter)

    def open(self, listeners: Iterable[socket.socket], welcome: Welcome, porter: Porter | None = None) -> Port:
        """Listen on bound sockets, which the port will close."""
        sockets = list(listeners)
        for listener in sockets:
            listener.setblocking(False)
            if self._buffers is not None:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._buffers.receive)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._buffers.send)
            listener.listen(_BACKLOG)
        return Port(self, sockets, welcome, porter)

    def accept(self, port: Port, listener: socket.socket) -> None:
        """Let in those who wait at a listener."""
        self._resize()  # the system's limit may have been lowered since the last sweep
        for _ in range(_ACCEPTS_PER_ITERATION):
            if self._are_too_many_leaving():
                return  # the listener can still be read in the next iteration
            try:
                connection, address = listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _OUT_OF_RESOURCES:
                    self._back_off(port, error)
                    return
                self.log.info("connection failed before it was accepted", error=repr(error))
                continue
            connection.setblocking(False)
            self._meet(port, connection, str(address[0]))

    def update(self, visitor: Visitor, phase: Phase, held: int, *, restart: bool) -> None:
        """See `Visitor.update`."""
        self._dismiss(self._seats.update(visitor.seat, phase, held, self._now(), restart=restart))

    def forget(self, visitor: Visitor) -> None:
        """A connection has ended."""
        self._seats.remove(visitor.seat)
        self._visitors.pop(visitor.seat, None)

    def turn_away(self, port: Port) -> None:
        """End the connections to a port that nobody serves yet."""
        for visitor in [visitor for visitor in self._visitors.values() if visitor.port is port and visitor.is_waiting]:
            self._end(visitor)

    def _meet(self, port: Port, connection: socket.socket, address: str) -> None:
        head = _peek(connection)
        if head is not None and _is_done(connection, head, port.porter):
            connection.close()
            return
        seat, departures = self._seats.admit(address, self._now())
        self._dismiss(departures)
        visitor = self._visitors[seat] = Visitor(self, port, connection, seat)
        if head is None:
            asyncio.get_running_loop().add_reader(connection.fileno(), self._arrived, visitor, connection)
        else:
            self._usher(visitor)

    def _arrived(self, visitor: Visitor, connection: socket.socket) -> None:
        head = _peek(connection)
        if head is None:
            return
        asyncio.get_running_loop().remove_reader(connection.fileno())
        if _is_done(connection, head, visitor.port.porter):
            self._end(visitor)
        else:
            self._usher(visitor)

    def _usher(self, visitor: Visitor) -> None:
        try:
            self._scope.start(self._welcome(visitor))
        except YtError:  # it came while we were leaving
            self._end(visitor)

    async def _welcome(self, visitor: Visitor) -> None:
        await visitor.turn()
        if visitor.is_gone:
            return
        connection = visitor.take_socket()
        try:
            await visitor.port.welcome(connection, visitor)
        except OSError:  # the peer has left already
            connection.close()
            visitor.leave()
        except Exception:
            self.log.exception("connection crashed", peer=visitor.seat.address)
            connection.close()
            visitor.leave()

    def _end(self, visitor: Visitor) -> None:
        self.forget(visitor)
        visitor.close()

    def _back_off(self, port: Port, error: OSError) -> None:
        self.log.info("connections are not accepted for a moment", error=repr(error))
        self._resize()
        self._dismiss(self._seats.shed(_SHED_COUNT, Reason.DESCRIPTORS))
        port.pause()
        asyncio.get_running_loop().call_later(BACK_OFF_SECONDS, port.resume)

    def _dismiss(self, departures: Iterable[Departure]) -> None:
        for seat, reason in departures:
            visitor = self._visitors.pop(seat)
            self.log.info(f"connection ended: {reason}", peer=seat.address)
            if visitor.is_waiting:
                visitor.hear()
                visitor.close()
            else:
                visitor.close()
                self._leaving.append(visitor)

    def _are_too_many_leaving(self) -> bool:
        self._leaving = [visitor for visitor in self._leaving if not visitor.is_closed]
        return len(self._leaving) >= _MOST_CLOSING

    async def _sweep(self) -> NoReturn:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                self._resize()
                self._dismiss(self._seats.overdue(self._now()))
                self.log.flush()
            except Exception:
                self.log.exception("looking at connections crashed")

    def _resize(self) -> None:
        """Take up no more descriptors than there are, which may change while we run."""
        self._seats.capacity = self._capacity()
        self._dismiss(self._seats.shed(self._seats.count - self._seats.capacity, Reason.DESCRIPTORS))

    def _capacity(self) -> int:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        available = math.inf if files == resource.RLIM_INFINITY else files
        return int(min(self._limits.max_connections, max(available - RESERVED_DESCRIPTORS, available // _LEAST_SHARE)))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _peek(connection: socket.socket) -> bytes | None:
    """The first bytes, which stay where they are; empty if the peer has left, None if nothing has come yet."""
    try:
        return connection.recv(_PEEK_BYTES, socket.MSG_PEEK)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""


def _is_done(connection: socket.socket, head: bytes, porter: Porter | None) -> bool:
    """Whether there is nothing more to do for a peer: it has left, or was answered by the porter."""
    if not head:
        return True
    answer = None if porter is None else porter(head)
    if answer is None:
        return False
    with contextlib.suppress(OSError):  # whoever asked may have left
        connection.recv(len(head))  # else the system takes the answer back when the socket is closed
        connection.send(answer)
    return True
