"""The clusters an agent works with, and where on them its tables are."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from queue_agent.config.options import ConfigModel, Duration, RichTablePath, TablePath
from queue_agent.core.values.refs import CrossClusterRef


class HistoryTables(NamedTuple):
    """Where the history is kept: two tables of one cluster."""

    queue: CrossClusterRef
    producer: CrossClusterRef

    @classmethod
    def below(cls, cluster: str, root: str) -> HistoryTables:
        """Beside the state tables."""
        return cls(
            CrossClusterRef(cluster, f"{root}/history_queue"), CrossClusterRef(cluster, f"{root}/history_producer")
        )


class ClusterConfig(ConfigModel):
    """How to reach one cluster."""

    proxy: str
    """Address of the HTTP proxy or its balancer: `http://host:port`, `https://host`, or `host:port` for HTTP."""

    token_file: Path | None = None
    """File with the OAuth token of the agent's user; read again when it changes."""

    ca_file: Path | None = None
    """PEM file with the certificate authorities to trust for HTTPS; the system's by default."""

    discover_proxies: bool = True
    """Ask the proxy for other proxies (`/hosts`) and spread heavy requests over them."""

    request_timeout: Duration = timedelta(seconds=20)
    """Timeout of one HTTP request, up to the end of the answer."""

    connect_timeout: Duration = timedelta(seconds=5)
    """Timeout for one TCP connection."""

    retry_count: int = Field(default=2, ge=0)
    """Number of retries of a failed light request, on another proxy if there is one."""


class StateConfig(ConfigModel):
    """Location of the state tables."""

    cluster: str
    """Name of one of `clusters`."""

    root: str = "//sys/queue_agents"
    """Directory of the tables."""

    consumer_registration_table_path: RichTablePath | None = None
    """Table of registrations, which proxies write; `consumer_registrations` in `root` by default. May be a rich path
    that names one of `clusters`: `<cluster=NAME>//path`."""

    replicated_table_mapping_table_path: RichTablePath | None = None
    """Table of the replicas of replicated tables; `replicated_table_mapping` in `root` by default. May name a cluster
    as well."""

    object_mapping_table_path: RichTablePath | None = None
    """Table that maps objects to their leaders; `queue_agent_object_mapping` in `root` by default. May name a cluster
    as well. A C++ agent of another stage deletes rows of foreign objects from the table in its `root`. Beside such
    an agent, name another table of the same schema.
    """

    @property
    def hosts(self) -> CrossClusterRef:
        """Where the mapping of objects to agents is."""
        return self._table(self.object_mapping_table_path, "queue_agent_object_mapping")

    @property
    def registrations(self) -> CrossClusterRef:
        """Where registrations are."""
        return self._table(self.consumer_registration_table_path, "consumer_registrations")

    @property
    def mapping(self) -> CrossClusterRef:
        """Where the replicated table mapping is."""
        return self._table(self.replicated_table_mapping_table_path, "replicated_table_mapping")

    def _table(self, given: TablePath | None, name: str) -> CrossClusterRef:
        if given is None:
            return CrossClusterRef(self.cluster, f"{self.root}/{name}")
        return CrossClusterRef(given.cluster or self.cluster, given.path)


class HistoryConfig(ConfigModel):
    """Keeping what the agent sees in a queue; both tables are made by `queue-agent init-state --history`."""

    queue: RichTablePath | None = None
    """The queue; `history_queue` in `state.root` by default. It may name a cluster, which then also has the producer.
    """

    producer: RichTablePath | None = None
    """The producer, on the queue's cluster; `history_producer` in `state.root` by default."""

    period: Duration = timedelta(minutes=1)
    """Period of rows for each partition of each queue and consumer that this agent leads."""

    max_buffered_bytes: int = Field(default=64 << 20, ge=1 << 16)
    """Limit of bytes of unwritten rows in memory. Beyond it the agent drops the oldest."""
