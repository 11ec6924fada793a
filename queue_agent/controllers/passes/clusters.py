"""The clusters an agent knows, and many questions to them at once, with failures as values."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from typing import TypeVar

from queue_agent.errors import ClusterError, QueueAgentError
from queue_agent.isolation import contain
from queue_agent.ports.cluster import Cluster
from queue_agent.ports.exports import ExportCluster

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Clusters = Mapping[str, Cluster]
"""By name."""

ExportClusters = Mapping[str, ExportCluster]
"""By name: where queues are exported."""


def get_cluster(clusters: Clusters, name: str) -> Cluster:
    """The cluster of a reference; ClusterError if the agent is not configured for it."""
    cluster = clusters.get(name)
    if cluster is None:
        raise ClusterError(f'Cluster "{name}" is not known to this queue agent')
    return cluster


async def fan_out(ask: Callable[[K], Awaitable[V]], keys: Iterable[K], limit: int) -> dict[K, V | ClusterError]:
    """Ask for every key, at most `limit` at a time.

    Returns:
        For every key its answer, or the cluster's error. An error nobody expected is that of its key alone, too. What
        the agent refuses, and the end of the time for the whole call, end the call and all questions in it.
    """
    answers: dict[K, V | ClusterError] = {}
    keys = list(keys)
    if len(keys) <= 1:  # as it is with most objects: that needs no tasks
        for key in keys:
            answers[key] = await _ask(ask, key)
        return answers
    slots = asyncio.Semaphore(limit)

    async def ask_one(key: K) -> None:
        async with slots:
            answers[key] = await _ask(ask, key)

    async with asyncio.TaskGroup() as group:
        for key in keys:
            group.create_task(ask_one(key))
    return answers


async def _ask(ask: Callable[[K], Awaitable[V]], key: K) -> V | ClusterError:
    try:
        return await ask(key)
    except ClusterError as error:
        return error
    except (QueueAgentError, TimeoutError):
        raise
    except Exception as error:  # noqa: BLE001 - contained
        return contain("questions", key, error)
