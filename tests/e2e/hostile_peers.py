"""Peers that mean harm, as a process of their own: `python -m tests.e2e.hostile_peers HTTP_PORT BUS_PORT ...`.

They connect to loopback alone. What they do is bounded: so many connections, made again when the agent ends them, for
so many seconds. They leave the processor to others: in earnest they would have one of their own.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import random
import select
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final

from tests.waiting import LIMIT_SECONDS
from yt_wire import bus, orchid, rpc
from yt_wire.guid import Guid
from yt_wire.orchid import Verb
from yt_wire.proto.rpc_pb2 import TRequestHeader

LOOPBACK: Final = "127.0.0.1"

_DRIP_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 1.0
_BATCH: Final = 50
"""Connections begun between two looks at those there are."""

_LEAST_PRIORITY: Final = 19
_RECEIVE_BUFFER: Final = 4096
_TLS_HELLO: Final = bytes.fromhex("16030102000100 01fc0303") + bytes(500)
_HEAD: Final = b"GET /orchid HTTP/1.1\r\nHost: agent\r\nX-A: "


@dataclass(frozen=True)
class Attack:
    """What one connection does after it was made; it never reads."""

    data: bytes
    drips: bool = False
    """A byte at a time."""


@dataclass(frozen=True)
class Orders:
    """What one process does."""

    http_port: int
    bus_port: int
    queue: str
    """`cluster:path` of a queue there are statuses of."""

    connections: int
    """To each port."""

    seconds: float
    """At least."""

    addresses: int
    """How many of loopback's addresses they come from."""

    process: int
    """Tells the addresses of processes apart."""

    ended: int = 0
    """Go on until the agent has ended so many connections, for `most_seconds` at most."""

    most_seconds: float = LIMIT_SECONDS

    def source(self, number: int) -> str:
        """An address of theirs."""
        return f"127.1.{self.process}.{1 + number % self.addresses}"


def http_attacks(queue: str) -> Mapping[str, Attack]:
    """By name, for the port of HTTP."""
    get = f"GET /orchid/queue_agent/queues HTTP/1.1\r\nHost: agent\r\nX-Queue: {queue}\r\n\r\n".encode()
    cluster, _, path = queue.partition(":")
    plan = f"POST /api/v1/queues/{cluster}/{path.lstrip('/').replace('/', '%2F')}/trim-plan HTTP/1.1\r\nHost: agent\r\n"
    return {
        "nothing": Attack(b""),
        "half a head": Attack(_HEAD),
        "a head by bytes": Attack(_HEAD * 100, drips=True),
        "a long head": Attack(b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 8000) for n in range(100))),
        "no body": Attack(plan.encode() + b"Content-Length: 1000000000\r\n\r\n"),
        "half a body": Attack(plan.encode() + b"Content-Length: 1000000000\r\n\r\n" + b" " * 200_000),
        "requests, never read": Attack(get * 200),
        "metrics, never read": Attack(b"GET /metrics HTTP/1.1\r\nHost: agent\r\n\r\n" * 50),
        "noise": Attack(random.Random(1).randbytes(2000)),
        "TLS": Attack(_TLS_HELLO),
    }


def bus_attacks(queue: str) -> Mapping[str, Attack]:
    """By name, for the port of the bus."""
    handshake = bus.encode_handshake(Guid(1, 2))
    frame = bus.encode_message(bytes(16), [b"rpci" + bytes(900_000)])
    return {
        "nothing": Attack(b""),
        "half a handshake": Attack(handshake[: len(handshake) // 2]),
        "a handshake by bytes": Attack(handshake * 10, drips=True),
        "a handshake alone": Attack(handshake),
        "a frame held": Attack(handshake + frame[:-1]),
        "no frame": Attack(handshake + frame[:60]),
        "requests, never read": Attack(handshake + b"".join(_bus_request(number, queue) for number in range(500))),
        "noise": Attack(random.Random(2).randbytes(2000)),
        "TLS": Attack(_TLS_HELLO),
    }


def _bus_request(number: int, queue: str) -> bytes:
    header = TRequestHeader(request_id=rpc.to_proto_guid(Guid(number, 1)), service=orchid.SERVICE, method=orchid.METHOD)
    path = orchid.join_path(["queue_agent", "queues", queue, "status"])
    parts = rpc.encode_request(header, b"", orchid.encode_request(Verb.GET, path))
    return bus.encode_message(struct.pack("<QQ", number + 1, 1), parts, request_ack=True)


class _Peer:
    """One connection, and those that take its place."""

    def __init__(self, target: int, source: str, attack: Attack) -> None:
        self.target = target
        self.source = source
        self.attack = attack
        self.socket: socket.socket | None = None
        self.position = 0

    def connect(self) -> socket.socket:
        made = self.socket = socket.socket()
        self.position = 0
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        made.bind((self.source, 0))
        with suppress(BlockingIOError):
            made.connect((LOOPBACK, self.target))
        return made

    def send(self) -> bool:
        """Send what the peer takes; returns whether there is more."""
        assert self.socket is not None
        end = self.position + 1 if self.attack.drips else len(self.attack.data)
        with suppress(BlockingIOError):
            self.position += self.socket.send(self.attack.data[self.position : end])
        return self.position < end and not self.attack.drips


class Attackers:
    """All connections of a process."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._poll = select.epoll()
        self._peers: dict[int, _Peer] = {}
        self._later: list[tuple[float, _Peer]] = []
        self._made: Counter[str] = Counter()

    def run(self) -> Mapping[str, int]:
        """Attack until time is up; returns how often what happened."""
        began = time.monotonic()
        waiting = list(self._all())
        waiting.reverse()
        drip_at = time.monotonic() + _DRIP_SECONDS
        while self._goes_on((now := time.monotonic()) - began):
            for _ in range(min(_BATCH, len(waiting))):
                self._connect(waiting.pop())
            for file, events in self._poll.poll(0.005 if waiting else 0.05):
                self._react(file, events)
            if now >= drip_at:
                drip_at = now + _DRIP_SECONDS
                for peer in [peer for peer in self._peers.values() if peer.attack.drips]:
                    self._guarded(peer, peer.send)
            due = [peer for moment, peer in self._later if moment <= now]
            self._later = [(moment, peer) for moment, peer in self._later if moment > now]
            waiting[:0] = due
        return {**self._made, "open at the end": len(self._peers)}

    def _goes_on(self, seconds: float) -> bool:
        orders = self._orders
        has_begun = self._made["ended by the agent"] >= orders.ended
        return seconds < (orders.seconds if has_begun else orders.most_seconds)

    def _all(self) -> Iterator[_Peer]:
        orders = self._orders
        targets = (
            (orders.http_port, list(http_attacks(orders.queue).values())),
            (orders.bus_port, list(bus_attacks(orders.queue).values())),
        )
        for number in range(orders.connections):
            for port, attacks in targets:
                yield _Peer(port, orders.source(number), attacks[number % len(attacks)])

    def _connect(self, peer: _Peer) -> None:
        try:
            made = peer.connect()
        except OSError as error:
            self._made[f"not made: {errno.errorcode.get(error.errno or 0, 'error')}"] += 1
            self._drop(peer)
            return
        self._made["made"] += 1
        self._peers[made.fileno()] = peer
        self._poll.register(made, select.EPOLLOUT | select.EPOLLRDHUP)

    def _react(self, file: int, events: int) -> None:
        peer = self._peers[file]
        if events & (select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP):
            self._made["ended by the agent"] += 1
            self._drop(peer)
        elif events & select.EPOLLOUT and self._guarded(peer, peer.send) is False:
            self._poll.modify(file, select.EPOLLRDHUP)

    def _guarded(self, peer: _Peer, send: Callable[[], bool]) -> bool | None:
        try:
            return send()
        except OSError:
            self._made["ended by the agent"] += 1
            self._drop(peer)
            return None

    def _drop(self, peer: _Peer) -> None:
        if peer.socket is not None:
            self._peers.pop(peer.socket.fileno(), None)
            peer.socket.close()
            peer.socket = None
        self._later.append((time.monotonic() + _RETRY_SECONDS, peer))


def command(orders: Orders) -> list[str]:
    """What starts a process that obeys; it ends by itself, and prints what happened as JSON."""
    return [sys.executable, "-m", "tests.e2e.hostile_peers", json.dumps(asdict(orders))]


def split(orders: Orders, processes: int) -> Iterator[Orders]:
    """The same with the connections shared by several processes."""
    for process in itertools.islice(itertools.count(orders.process), processes):
        share = {"connections": orders.connections // processes, "ended": orders.ended // processes}
        yield Orders(**{**asdict(orders), "process": process, **share})


if __name__ == "__main__":
    os.nice(_LEAST_PRIORITY)
    print(json.dumps(Attackers(Orders(**json.loads(sys.argv[1]))).run()))
