"""The state tables, and the document that changes the configuration."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Protocol

from queue_agent.core.state.rows import (
    ConsumerNameRow,
    ConsumerRow,
    HostVersion,
    MappingRow,
    ObjectHosts,
    QueueRow,
    Registration,
    StateRows,
)
from queue_agent.core.values.refs import CrossClusterRef


class StateStore(Protocol):
    """The dynamic state tables; raises `ClusterError` like a cluster."""

    async def read(self) -> StateRows:
        """Every row of all tables; see there which tables need not be read."""
        ...

    async def read_registrations(self) -> Sequence[Registration]:
        """Every registration, as `read` has them; the same sequence as before if nothing has changed."""
        ...

    async def read_hosts_stamp(self) -> Hashable:
        """What is another after every write to the mapping of objects to agents."""
        ...

    async def read_host_versions(self, tables: Collection[CrossClusterRef]) -> Mapping[CrossClusterRef, HostVersion]:
        """Who leads these tables now; those not mapped are absent."""
        ...

    async def write_objects(
        self, queues: Collection[QueueRow], consumers: Collection[ConsumerRow], mappings: Collection[MappingRow] = ()
    ) -> None:
        """Insert or replace whole rows."""
        ...

    async def delete_objects(
        self,
        queues: Collection[CrossClusterRef],
        consumers: Collection[CrossClusterRef],
        mappings: Collection[CrossClusterRef] = (),
    ) -> None: ...

    async def write_consumer_names(self, names: Collection[ConsumerNameRow]) -> None: ...

    async def delete_consumer_names(self, names: Collection[CrossClusterRef]) -> None: ...


class HostStore(Protocol):
    """The state table that says which agent leads which object; raises `ClusterError` like a cluster."""

    async def write_hosts(self, hosts: ObjectHosts) -> None:
        """Insert or replace rows, in one transaction."""
        ...

    async def delete_hosts(self, tables: Collection[CrossClusterRef]) -> None:
        """Delete rows; those that are not there are no error."""
        ...


class ConfigSource(Protocol):
    """Where the dynamic configuration is kept; raises `ClusterError` like a cluster."""

    async def find(self) -> Any:
        """The document as it is now, of plain Python values, not checked in any way; None if there is none."""
        ...
