"""A few requests at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeVar

from queue_agent.adapters.cluster.light_commands import output_of
from queue_agent.errors import ClusterError

Outcome = TypeVar("Outcome")

_CONCURRENCY: Final = 4


async def all_at_once(requests: Sequence[Coroutine[Any, Any, Outcome]]) -> list[Outcome]:
    """Answers to a few requests, sent at the same time; the first failure is raised."""
    if len(requests) == 1:
        return [await requests[0]]
    slots = asyncio.Semaphore(_CONCURRENCY)

    async def send(request: Coroutine[Any, Any, Outcome]) -> Outcome | ClusterError:
        async with slots:
            try:
                return await request
            except ClusterError as error:
                return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(send(request)) for request in requests]
    return [output_of(task.result()) for task in tasks]
