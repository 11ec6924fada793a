"""The dynamic configuration: a document in Cypress."""

from __future__ import annotations

from typing import Any

from queue_agent.adapters.cluster.plain_values import to_plain
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.errors import ObjectNotFound


class ConfigDocument:
    """`ports.ConfigSource`.

    Args:
        cluster: where the document is.
        path: of the document; any other kind of node that gives a map will do.
    """

    def __init__(self, cluster: YtCluster, path: str) -> None:
        self._cluster = cluster
        self._path = path

    async def find(self) -> Any:
        """See `ports.ConfigSource`."""
        try:
            return to_plain(await self._cluster.get(self._path))
        except ObjectNotFound:
            return None
