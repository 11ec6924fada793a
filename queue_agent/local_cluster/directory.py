"""The clusters of one process, as they know each other under `//sys/clusters`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queue_agent.local_cluster.cluster import Cluster


class ClusterDirectory:
    """Clusters by name; the first one is home to what they share, such as registrations."""

    def __init__(self) -> None:
        self._clusters: dict[str, Cluster] = {}

    def add(self, cluster: Cluster) -> None:
        self._clusters[cluster.name] = cluster

    def find(self, name: str) -> Cluster | None:
        return self._clusters.get(name)

    @property
    def home(self) -> Cluster:
        return next(iter(self._clusters.values()))

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self._clusters.values())
