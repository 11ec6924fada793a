"""A few at a time, so that a burst of work neither fills memory nor delays everything else."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

Work = Callable[[], Coroutine[Any, Any, None]]

LEAST_WIDTH: Final = 6

LONG_TURN_SECONDS: Final = 0.003
"""Of the event loop; whoever wants something of this process waits for several turns."""


class Lane:
    """Does what is put into it, in that order.

    As many pieces are under way as the event loop can serve without delay: few when each takes processor time, many
    when they mostly wait for answers.

    Args:
        tasks: owns the tasks; one for each piece of work that is under way, none for those that wait.
        width: how many pieces are under way at most, unless some take long.
        patience: seconds after which another piece may begin beside one that takes so long.
        overflow: how many such pieces there may be beyond the width. There is a limit, for what takes long may do so
            because there is too much of it.
    """

    def __init__(self, tasks: asyncio.TaskGroup, width: int, patience: float, overflow: int) -> None:
        self._tasks = tasks
        self._width = min(width, LEAST_WIDTH)
        self._most = width
        self._patience = patience
        self._overflow = overflow
        self._under_way = 0
        self._overdue = 0
        self._waiting: deque[Work] = deque()
        self._nothing_waits = asyncio.Event()
        self._nothing_waits.set()
        self._time = asyncio.get_running_loop().time

    @property
    def full(self) -> bool:
        """Whether what is put in now has to wait."""
        return not self._has_room or bool(self._waiting)

    async def caught_up(self) -> None:
        """Return when nothing has to wait."""
        await self._nothing_waits.wait()

    def put(self, work: Work) -> None:
        """Have something done; it may begin at once, in a task of its own."""
        self._waiting.append(work)
        self._nothing_waits.clear()
        self._begin()

    def stop(self) -> None:
        """Begin nothing more; what is under way goes on."""
        self._waiting.clear()
        self._nothing_waits.set()
        self._width = self._most = self._overflow = 0

    @property
    def _has_room(self) -> bool:
        return self._under_way < self._width + min(self._overdue, self._overflow)

    def _begin(self) -> None:
        while self._has_room and self._waiting:
            self._under_way += 1
            self._tasks.create_task(self._do(self._waiting.popleft(), self._time()))
        if not self._waiting:
            self._nothing_waits.set()

    async def _do(self, work: Work, begun: float) -> None:
        self._adapt(self._time() - begun)
        overdue = False

        def let_another_in() -> None:
            nonlocal overdue
            overdue = True
            self._overdue += 1
            self._begin()

        timer = asyncio.get_running_loop().call_later(self._patience, let_another_in)
        try:
            await work()
        finally:
            timer.cancel()
            self._under_way -= 1
            self._overdue -= overdue
            self._begin()

    def _adapt(self, turn_seconds: float) -> None:
        """A task begins one turn of the loop after it was made."""
        if turn_seconds > LONG_TURN_SECONDS:
            self._width = max(min(LEAST_WIDTH, self._most), self._width - 1)
        elif self._waiting and self._width < self._most:
            self._width += 1
            self._begin()
