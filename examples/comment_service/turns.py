"""Writers of one topic take turns within a process: their transactions would only undo each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from examples.comment_service.failures import Unavailable


class Turns:
    """Saves work and no more: other processes write, too, and it is the cluster that detects conflicts.

    Args:
        patience: seconds that somebody waits for his turn.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, topic_id: str) -> AsyncIterator[None]:
        """Wait until it is one's turn; those who come first are first.

        Raises:
            Unavailable: it has not come in time.
        """
        lock = self._locks.get(topic_id)
        if lock is None:
            self._locks[topic_id] = lock = asyncio.Lock()
        try:
            async with asyncio.timeout(self._patience):
                await lock.acquire()
        except TimeoutError as error:
            raise Unavailable(f"Too many write to topic {topic_id} at once") from error
        try:
            yield
        finally:
            lock.release()
