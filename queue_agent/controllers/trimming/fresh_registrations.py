"""Registrations as they are right before a trim: one reading of the table for all queues that ask at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from queue_agent.core.state.rows import Registration
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.ports.state import StateStore

ByQueue = Mapping[CrossClusterRef, Sequence[Registration]]


class FreshRegistrations:
    """`ports.RegistrationGuard` over the state tables.

    A reading that has begun says nothing of a registration made since. So whoever asks gets the answer of one that
    begins later. There is never more than one under way.

    Args:
        store: the state tables.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._reading = asyncio.Lock()
        self._begun = 0
        self._answered = 0
        """Number of the reading that `_answer` is of."""

        self._answer: ByQueue | ClusterError = {}
        self._last: tuple[Sequence[Registration], ByQueue] = (), {}

    async def read(self) -> ByQueue:
        """All registrations by queue; see the port."""
        begun = self._begun
        async with self._reading:
            if self._answered <= begun:
                self._begun += 1
                self._answer = await self._read()
                self._answered = self._begun
            answer = self._answer
        if isinstance(answer, ClusterError):
            raise answer  # whoever waited for this reading need not wait for another to fail
        return answer

    async def _read(self) -> ByQueue | ClusterError:
        try:
            registrations = await self._store.read_registrations()
        except ClusterError as error:
            return error
        if registrations is not self._last[0]:
            by_queue: dict[CrossClusterRef, list[Registration]] = {}
            for registration in registrations:
                by_queue.setdefault(registration.queue, []).append(registration)
            self._last = registrations, by_queue
        return self._last[1]
