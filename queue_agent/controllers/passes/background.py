"""Passes in the background of everything else, with a last one at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NoReturn


@asynccontextmanager
async def in_background(
    run_passes: Callable[[], Coroutine[Any, Any, NoReturn]],
    finish: Callable[[], Awaitable[None]],
    seconds: float,
    given_up: Callable[[], None],
) -> AsyncIterator[None]:
    """Have passes done while entered, and at the end what is left to do.

    Args:
        run_passes: the passes; cancelled on leaving.
        finish: called afterwards.
        seconds: so long may `finish` take.
        given_up: called if it takes longer.
    """
    try:
        async with asyncio.TaskGroup() as group:
            passes = group.create_task(run_passes())
            try:
                yield
            finally:
                passes.cancel()
    finally:
        try:
            async with asyncio.timeout(seconds):
                await finish()
        except TimeoutError:
            given_up()
