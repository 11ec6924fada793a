"""The clusters of one process, as they know each other under `//sys/clusters`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from yt_local.cypress.resolver import Resolver
from yt_local.security.permissions import Permissions
from yt_local.store.state import ClusterState
from yt_local.tables.dynamic.table_writer import TableWriter
from yt_local.tables.dynamic.tables import DynamicTables
from yt_wire.error import ErrorCode, YtError


class KnownCluster(Protocol):
    """What clusters use of each other."""

    name: str
    state: ClusterState
    resolver: Resolver
    permissions: Permissions
    tables: DynamicTables
    writer: TableWriter

    @property
    def is_off(self) -> bool:
        """Whether it answers nobody now."""
        ...


class ClusterDirectory:
    """Clusters by name; the first one is home to what they share, such as registrations.

    Who asks for a cluster in order to work with it gets a YtError while that one is turned off.
    """

    def __init__(self) -> None:
        self._clusters: dict[str, KnownCluster] = {}

    def add(self, cluster: KnownCluster) -> None:
        self._clusters[cluster.name] = cluster

    def find(self, name: str) -> KnownCluster | None:
        cluster = self._clusters.get(name)
        return _reached(cluster) if cluster else None

    def known(self, name: str) -> KnownCluster | None:
        """A cluster whether it is turned off or not, for those who ask what it has done."""
        return self._clusters.get(name)

    @property
    def home(self) -> KnownCluster:
        return _reached(next(iter(self._clusters.values())))

    def __iter__(self) -> Iterator[KnownCluster]:
        return iter(self._clusters.values())


def _reached(cluster: KnownCluster) -> KnownCluster:
    if cluster.is_off:
        raise YtError(f'Cluster "{cluster.name}" is not available', ErrorCode.UNAVAILABLE)
    return cluster
