"""What signals mean to a run: the first asks for its end after the present batch, the second is the end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def stopping(stop: Event, say: Callable[[str], object]) -> Iterator[None]:
    """Let signals set an event; afterwards they mean what they meant before.

    Args:
        stop: is set by the first one.
        say: gets that message.
    """

    def receive(number: int, _: object) -> None:
        if stop.is_set():
            sys.exit(128 + number)
        say("stopping after the present batch; a second signal stops at once")
        stop.set()

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, receive)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
