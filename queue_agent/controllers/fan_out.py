"""Many questions at once, with failures as values."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import TypeVar

from queue_agent.errors import ClusterError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


async def fan_out(ask: Callable[[K], Awaitable[V]], keys: Iterable[K], limit: int) -> dict[K, V | ClusterError]:
    """Ask for every key, at most `limit` at a time.

    Returns:
        For every key its answer, or the cluster's error. Any other exception ends the call and all questions in it.
    """
    answers: dict[K, V | ClusterError] = {}
    keys = list(keys)
    if len(keys) <= 1:  # as it is with most objects: that needs no tasks
        for key in keys:
            try:
                answers[key] = await ask(key)
            except ClusterError as error:
                answers[key] = error
        return answers
    slots = asyncio.Semaphore(limit)

    async def ask_one(key: K) -> None:
        async with slots:
            try:
                answers[key] = await ask(key)
            except ClusterError as error:
                answers[key] = error

    async with asyncio.TaskGroup() as group:
        for key in keys:
            group.create_task(ask_one(key))
    return answers
