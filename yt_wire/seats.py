"""Which peers are connected, whose turn it is, and who has to leave: decisions alone, without sockets."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias


class Phase(enum.Enum):
    """What a connection is doing."""

    OPENING = enum.auto()
    """No whole message has come from it yet: no handshake, no head of a request."""

    SENDING = enum.auto()
    """Part of a message has come."""

    READING = enum.auto()
    """Answers are ready, and the peer does not take them."""

    IDLE = enum.auto()
    """Nothing is under way."""

    SERVED = enum.auto()
    """The server works on a request."""


class Reason(enum.StrEnum):
    """Why the server ends a connection."""

    FULL = "there are too many connections"
    ADDRESS_FULL = "there are too many connections from this address"
    DESCRIPTORS = "file descriptors have run out"
    MEMORY = "incomplete messages and unread answers take too much memory"
    NO_MESSAGE = "a message did not come in time"
    NOT_READ = "an answer was not read in time"
    IDLE = "nothing has happened on it for too long"


@dataclass(frozen=True, slots=True)
class Limits:
    """What all peers together, and each address, may take of a server."""

    max_connections: int
    """At a time."""

    max_connections_per_address: int
    """At a time, from one IP address."""

    max_held_bytes: int
    """Bytes of incomplete messages, of requests under way and of answers that were not read yet. One connection that
    holds more alone may go on: otherwise its answer could never be given."""

    message_seconds: float
    """From the start of a message to its end; for the first one from the start of the connection."""

    answer_seconds: float
    """From the moment an answer fills the socket to the moment the peer has read it."""

    idle_seconds: float
    """Between messages; `math.inf` to keep connections for ever."""


class Seat:
    """The place of one connection."""

    __slots__ = ("address", "held", "phase", "since")

    def __init__(self, address: str, since: float) -> None:
        self.address = address
        self.phase = Phase.OPENING
        self.since = since
        """When the phase began, in seconds of the loop's clock."""

        self.held = 0
        """In bytes."""


Departure: TypeAlias = tuple[Seat, Reason]
"""A connection that is no longer counted and has to be closed."""

_OPENING_SHARE: Final = 4
"""One of so many seats is for newcomers: the newest of them are heard before others ask for their seat."""

_UNPROVEN, _PEERS_TURN, _OUR_TURN = range(3)
_RANKS: Final[Mapping[Phase, int]] = {
    Phase.OPENING: _UNPROVEN,
    Phase.SENDING: _PEERS_TURN,
    Phase.READING: _PEERS_TURN,
    Phase.IDLE: _PEERS_TURN,
    Phase.SERVED: _OUR_TURN,
}


class _Party:
    """Seats of one address, or of all: by rank, those first whose phase began first."""

    __slots__ = ("count", "held", "ranks")

    def __init__(self) -> None:
        self.ranks: tuple[dict[Seat, None], ...] = ({}, {}, {})
        self.count = 0
        self.held = 0

    def __contains__(self, seat: Seat) -> bool:
        return seat in self.ranks[_RANKS[seat.phase]]

    def __iter__(self) -> Iterator[Seat]:
        return itertools.chain(*self.ranks)

    def add(self, seat: Seat) -> None:
        self.ranks[_RANKS[seat.phase]][seat] = None
        self.count += 1
        self.held += seat.held

    def remove(self, seat: Seat) -> None:
        del self.ranks[_RANKS[seat.phase]][seat]
        self.count -= 1
        self.held -= seat.held

    def has_many_unproven(self, limit: int) -> bool:
        """Whether newcomers take more than their share of so many seats, or there is nobody else."""
        return len(self.ranks[_UNPROVEN]) > limit // _OPENING_SHARE or self.count == len(self.ranks[_UNPROVEN])

    def to_spare(self, limit: int) -> Seat:
        """Who of so many is asked first to leave, those first whose phase began first."""
        unproven, peers_turn, our_turn = self.ranks
        rank = unproven if self.has_many_unproven(limit) else peers_turn or our_turn
        return next(iter(rank))


class Seats:
    """All connections of a server, on any number of ports.

    A newcomer always gets a seat. A peer that has done nothing yet makes room for it, unless those are few: then the
    address with the most connections gives up one of them. Who takes much loses first, and takes nothing from others.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.capacity = limits.max_connections
        """Connections at a time; less than the limits allow where file descriptors are scarce."""

        self._all = _Party()
        self._parties: dict[str, _Party] = {}
        self._by_size: list[dict[_Party, None]] = []
        """Parties by how many connections they have, less one."""

    @property
    def count(self) -> int:
        return self._all.count

    @property
    def held(self) -> int:
        """Bytes held by all together."""
        return self._all.held

    def admit(self, address: str, now: float) -> tuple[Seat, Sequence[Departure]]:
        """Give a newcomer a seat; returns also who has to leave for it."""
        departures: list[Departure] = []
        party = self._parties.get(address)
        limit = min(self._limits.max_connections_per_address, self.capacity)
        if party is not None and party.count >= limit:
            departures.append(self._dismiss(party.to_spare(limit), Reason.ADDRESS_FULL))
        departures += self.shed(self.count + 1 - self.capacity, Reason.FULL)
        seat = Seat(address, now)
        self._add(seat)
        return seat, departures

    def shed(self, count: int, reason: Reason) -> Sequence[Departure]:
        """Have so many leave, or as many as there are."""
        return [self._dismiss(self._to_spare(), reason) for _ in range(min(count, self.count))]

    def update(self, seat: Seat, phase: Phase, held: int, now: float, *, restart: bool = False) -> Sequence[Departure]:
        """Note what a connection does and holds; returns who has to leave because all of them hold too much.

        Args:
            restart: the phase begins at this moment even if it is the same as before: a message has ended, and the next
                one begun.
        """
        if phase is seat.phase and held == seat.held and not restart:
            return ()
        if seat not in self._all:
            return ()  # it has been dismissed, which its connection does not know yet
        if phase is not seat.phase or restart:
            self.remove(seat)
            seat.phase, seat.since = phase, now
            self._add(seat)
        for every in (self._all, self._parties[seat.address]):
            every.held += held - seat.held
        seat.held = held
        return self._spare_memory(seat)

    def remove(self, seat: Seat) -> None:
        """Forget a connection that has ended; one that is not there is fine."""
        if seat not in self._all:
            return
        party = self._parties[seat.address]
        self._unlist(party)
        for every in (self._all, party):
            every.remove(seat)
        if party.count:
            self._list(party)
        else:
            del self._parties[seat.address]

    def overdue(self, now: float) -> Sequence[Departure]:
        """Have those leave whose time is up."""
        limits = self._limits
        seconds = {
            Phase.OPENING: (limits.message_seconds, Reason.NO_MESSAGE),
            Phase.SENDING: (limits.message_seconds, Reason.NO_MESSAGE),
            Phase.READING: (limits.answer_seconds, Reason.NOT_READ),
            Phase.IDLE: (limits.idle_seconds, Reason.IDLE),
        }
        late = [
            (seat, seconds[seat.phase][1])
            for rank in (_UNPROVEN, _PEERS_TURN)
            for seat in self._all.ranks[rank]
            if now - seat.since > seconds[seat.phase][0]
        ]
        return [self._dismiss(seat, reason) for seat, reason in late]

    def _spare_memory(self, newest: Seat) -> Sequence[Departure]:
        departures: list[Departure] = []
        while self.held > self._limits.max_held_bytes:
            greediest = max(self._parties.values(), key=lambda party: party.held - newest.held * (newest in party))
            others = [seat for seat in greediest if seat.held and seat is not newest]
            if not others:
                break
            departures.append(self._dismiss(max(others, key=lambda seat: seat.held), Reason.MEMORY))
        return departures

    def _add(self, seat: Seat) -> None:
        party = self._parties.setdefault(seat.address, _Party())
        if party.count:
            self._unlist(party)
        for every in (self._all, party):
            every.add(seat)
        self._list(party)

    def _list(self, party: _Party) -> None:
        while len(self._by_size) < party.count:
            self._by_size.append({})
        self._by_size[party.count - 1][party] = None

    def _unlist(self, party: _Party) -> None:
        del self._by_size[party.count - 1][party]
        while self._by_size and not self._by_size[-1]:
            self._by_size.pop()

    def _to_spare(self) -> Seat:
        if self._all.has_many_unproven(self.capacity):
            return next(
                next(iter(party.ranks[_UNPROVEN]))
                for parties in reversed(self._by_size)
                for party in parties
                if party.ranks[_UNPROVEN]
            )
        return next(iter(self._by_size[-1])).to_spare(self.capacity)

    def _dismiss(self, seat: Seat, reason: Reason) -> Departure:
        self.remove(seat)
        return seat, reason
