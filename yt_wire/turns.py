"""Work that peers ask for, a little in every turn of the event loop, and one address after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

PER_ITERATION: Final = 16
"""Requests that begin in one turn of the loop: about 10 ms of work, after which everything else gets its turn."""


class Turns:
    """Hands out turns: however much some peers ask for, the loop stays free for others.

    Args:
        per_iteration: turns in one iteration of the event loop.
    """

    def __init__(self, per_iteration: int = PER_ITERATION) -> None:
        self._per_iteration = per_iteration
        self._left = per_iteration
        self._is_scheduled = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, address: str) -> None:
        """Wait for a turn; addresses take them one after the other."""
        if self._left and not self._waiting:
            self._left -= 1
            self._schedule()
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        self._schedule()
        await turn

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_iteration)

    def _begin_iteration(self) -> None:
        self._is_scheduled = False
        self._left = self._per_iteration
        while self._left and self._waiting:
            address = next(iter(self._waiting))
            queue = self._waiting.pop(address)
            turn = queue.popleft()
            if queue:
                self._waiting[address] = queue  # behind the others
            if not turn.done():  # whoever waited may have left
                turn.set_result(None)
                self._left -= 1
        if self._left < self._per_iteration or self._waiting:
            self._schedule()
