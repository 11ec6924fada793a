"""Ports for what a test starts, where it has to say which: nobody else can have them, between two starts neither."""

from __future__ import annotations

import atexit
import random
import socket
from collections import deque
from typing import Final

_PORTS: Final = range(20000, 32768)
"""Below those that systems give to connections."""

_MOST: Final = 60
"""Ports that are reserved at a time: more than any test needs. After that the oldest is free again."""

_held: Final[deque[socket.socket]] = deque()


@atexit.register
def _close() -> None:
    for one in _held:
        one.close()


def reserved_port(following: int = 0) -> int:
    """A port of the loopback interface.

    A socket is bound to it that does not listen. Linux lets a server listen beside such a socket if both allow
    addresses to be reused, as the servers of asyncio and of Go do.

    Args:
        following: how many ports after it are reserved as well.
    """
    while True:
        first = random.choice(_PORTS)
        held = [_hold(port) for port in range(first, first + following + 1)]
        got = [one for one in held if one is not None]
        if len(got) == len(held):
            _held.extend(got)
            while len(_held) > _MOST:
                _held.popleft().close()
            return first
        for one in got:
            one.close()


def _hold(port: int) -> socket.socket | None:
    held = socket.socket()
    try:
        held.bind(("127.0.0.1", port))
    except OSError:
        held.close()
        return None
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return held
