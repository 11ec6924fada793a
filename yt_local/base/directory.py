"""The clusters of one process, as they know each other under `//sys/clusters`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yt_wire.error import ErrorCode, YtError

if TYPE_CHECKING:
    from yt_local.cluster import Cluster


class ClusterDirectory:
    """Clusters by name; the first one is home to what they share, such as registrations.

    Who asks for a cluster in order to work with it gets a YtError while that one is turned off.
    """

    def __init__(self) -> None:
        self._clusters: dict[str, Cluster] = {}

    def add(self, cluster: Cluster) -> None:
        self._clusters[cluster.name] = cluster

    def find(self, name: str) -> Cluster | None:
        cluster = self._clusters.get(name)
        return _reached(cluster) if cluster else None

    def known(self, name: str) -> Cluster | None:
        """A cluster whether it is turned off or not, for those who ask what it has done."""
        return self._clusters.get(name)

    @property
    def home(self) -> Cluster:
        return _reached(next(iter(self._clusters.values())))

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self._clusters.values())


def _reached(cluster: Cluster) -> Cluster:
    if cluster.faults.is_off:
        raise YtError(f'Cluster "{cluster.name}" is not available', ErrorCode.UNAVAILABLE)
    return cluster
