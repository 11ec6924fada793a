"""What commands do for the owner of a consumer, who needs nothing but the cluster of the consumer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.cli.consumer_reset import find_clusters
from queue_agent.cli.errors import CommandError
from queue_agent.cli.init_state import StateLocation, location_in
from queue_agent.cli.options import BY_NAME
from queue_agent.cli.references import parse_object, parse_table
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ActRefused, ClusterError, ClusterUnavailable

T = TypeVar("T")


def act_as_owner(
    queue: str,
    consumer: str,
    config: Path | None,
    proxy: Sequence[str] | None,
    token_file: Path | None,
    act: Callable[[YtCluster, CrossClusterRef, CrossClusterRef, StateLocation | None], Awaitable[T]],
) -> T:
    """Do something about a consumer of a queue.

    Args:
        queue, consumer, config, proxy, token_file: as on the command line.
        act: gets the cluster of the consumer, queue and consumer, and where the audit journal is, if that is known.

    Raises:
        CommandError: it was refused, or the cluster did not do it.
    """
    pair = parse_table(queue, "QUEUE"), parse_object(consumer, "CONSUMER")
    name = pair[1].cluster
    reach = find_clusters({name}, config, proxy or (), token_file)[name]
    state = None if config is None else location_in(config, None)

    async def run() -> T:
        async with reach.open(name) as cluster:
            return await act(cluster, *pair, state)

    try:
        return asyncio.run(run())
    except (ActRefused, ClusterError) as error:
        is_lost = isinstance(error, ClusterUnavailable) and config is None and not proxy
        raise CommandError(f"{error}{BY_NAME if is_lost else ''}") from error
