"""Tasks that end with the object that owns them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from yt_wire.error import ErrorCode, YtError

T = TypeVar("T")


class TaskScope:
    """A task group whose tasks may be endless: leaving it cancels them and waits for their end.

    Unlike a TaskGroup it lets an error of its body pass as it is. A task that fails ends it as it would a TaskGroup.
    """

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_open = False

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._cancel()
        if kind is asyncio.CancelledError:
            await self._group.__aexit__(kind, error, traceback)
        else:
            await self._group.__aexit__(None, None, None)

    def start(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task of this scope; YtError 100 if the scope was not entered or is being left."""
        if not self._is_open:
            coroutine.close()
            raise YtError("Connections are closed", ErrorCode.TRANSPORT)
        task = self._group.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End all tasks now and accept no more; may be called from any task but the scope's own."""
        self._cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _cancel(self) -> None:
        self._is_open = False
        for task in self._tasks:
            task.cancel()
