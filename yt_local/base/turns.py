"""Long work by turns: what one request asks for never keeps others waiting for long.

Work is an ordinary function. It runs on the thread of the clusters, which owns their state, but on a stack of its own:
where it says `give_way` it is put aside once its turn is over, and other requests are answered before it goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, Final, TypeVar, cast

from greenlet import getcurrent, greenlet

from yt_wire.error import ErrorCode, YtError

TURN_SECONDS: Final = 0.01
"""Of one piece of work before all others that are ready go on."""

MAX_SECONDS: Final = 60.0
"""From the beginning of a piece of work to its end, with what it waits for others."""

_ASIDE_THREADS: Final = 2

T = TypeVar("T")


class _Work(greenlet):
    """A stack of its own, which knows when its turn is over."""

    turn_end = 0.0


class Turns:
    """Takes care that work goes on one piece after the other, in turn."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def run(self, work: Callable[[], T], max_seconds: float = MAX_SECONDS) -> T:
        """Do the work, by turns if it takes longer than one.

        Raises:
            YtError: what the work raises; 3 if it has not ended in time.
        """
        end = time.monotonic() + max_seconds
        stack = _Work(work)
        resume = stack.switch
        try:
            while True:
                async with self._turn:
                    now = time.monotonic()
                    if now > end:
                        raise YtError(f"The request was given up after {max_seconds:g} s", ErrorCode.TIMEOUT)
                    stack.turn_end = now + TURN_SECONDS
                    returned = resume()
                if stack.dead:
                    return cast(T, returned)
                resume = stack.switch
                if returned is None:
                    await asyncio.sleep(0)
                else:
                    resume = await _outcome(stack, returned)
        finally:
            stack.throw()  # gives up what has not come to its end


def give_way() -> None:
    """Let others go on if this turn is over; does nothing in work that is not done by turns."""
    stack = getcurrent()
    if isinstance(stack, _Work) and time.monotonic() > stack.turn_end:
        assert stack.parent is not None
        stack.parent.switch(None)


def aside(function: Callable[[], T]) -> T:
    """What a function returns that touches nothing of the clusters, run in a thread, while others go on."""
    stack = getcurrent()
    if not isinstance(stack, _Work):
        return function()
    assert stack.parent is not None
    outcome = stack.parent.switch(function)
    return cast(T, outcome)


async def _outcome(stack: _Work, function: Callable[[], Any]) -> Callable[[], Any]:
    """What goes on with the work once the function has ended in its thread."""
    try:
        outcome = await asyncio.get_running_loop().run_in_executor(_threads(), function)
    except Exception as error:  # noqa: BLE001 - it is raised in the work
        return partial(stack.throw, error)
    return partial(stack.switch, outcome)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_ASIDE_THREADS, "beside local clusters")
