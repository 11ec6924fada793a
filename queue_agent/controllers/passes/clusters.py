"""The clusters an agent knows."""

from __future__ import annotations

from collections.abc import Mapping

from queue_agent.errors import ClusterError
from queue_agent.ports.cluster import Cluster
from queue_agent.ports.exports import ExportCluster

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
