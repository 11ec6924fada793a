"""Waiting for conditions, and a time that passes only when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

LIMIT_SECONDS: Final = 240
"""For whatever a test waits for: on no machine does it take so long, unless it never comes."""


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - conditions of all kinds, most over fakes that know no events
            await asyncio.sleep(0.001)


class StoppedTime:
    """The time of an event loop, which passes only by `advance`.

    Limits of time are then tested exactly: neither a busy machine nor a slow one comes near them. Sockets work as ever.
    """

    def __init__(self, now: float) -> None:
        self._now = now

    def __call__(self) -> float:
        return self._now

    async def advance(self, seconds: float) -> None:
        """Let time pass, and what is due happen."""
        await self._settle()
        self._now += seconds
        await self._settle()

    @staticmethod
    async def _settle() -> None:
        for _ in range(5):  # what was woken goes on in the next turn, and may wake something else
            await asyncio.sleep(0)

    @staticmethod
    async def until(condition: Callable[[], bool]) -> None:
        """Wait for a condition that needs no time of the loop; pytest's own limit ends it."""
        while not condition():  # noqa: ASYNC110 - sockets tell nobody
            await asyncio.sleep(0)


@contextmanager
def stopped_time() -> Iterator[StoppedTime]:
    """Stop the time of the running loop."""
    loop = asyncio.get_running_loop()
    time = StoppedTime(loop.time())
    loop.time = time  # type: ignore[method-assign] # asyncio asks the loop for each of its timers
    try:
        yield time
    finally:
        del loop.time  # the method is there again
