"""A few at a time, so that a burst of work neither fills memory nor delays everything else."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

Work = Callable[[], Coroutine[Any, Any, None]]


class Lane:
    """Does what is put into it, in that order.

    Args:
        tasks: owns the tasks; one for each piece of work that is under way, none for those that wait.
        width: how many pieces are under way.
        patience: seconds after which another piece may begin beside one that takes so long.
        overflow: how many such pieces there may be beyond the width. There is a limit, for what takes long may do so
            because there is too much of it.
    """

    def __init__(self, tasks: asyncio.TaskGroup, width: int, patience: float, overflow: int) -> None:
        self._tasks = tasks
        self._width = width
        self._patience = patience
        self._overflow = overflow
        self._under_way = 0
        self._overdue = 0
        self._waiting: deque[Work] = deque()

    @property
    def full(self) -> bool:
        """Whether what is put in now has to wait."""
        return not self._has_room or bool(self._waiting)

    def put(self, work: Work) -> None:
        """Have something done; it may begin at once, in a task of its own."""
        self._waiting.append(work)
        self._begin()

    def stop(self) -> None:
        """Begin nothing more; what is under way goes on."""
        self._waiting.clear()
        self._width = self._overflow = 0

    @property
    def _has_room(self) -> bool:
        return self._under_way < self._width + min(self._overdue, self._overflow)

    def _begin(self) -> None:
        while self._has_room and self._waiting:
            self._under_way += 1
            self._tasks.create_task(self._do(self._waiting.popleft()))

    async def _do(self, work: Work) -> None:
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
