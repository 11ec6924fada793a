"""StateStore over the dynamic tables under `//sys/queue_agents`, whose rows the C++ agent reads and writes too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final

import structlog

from queue_agent.adapters.cluster.queries import quote_path
from queue_agent.adapters.cluster.shared_values import SharedValues
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.state.state_rows import (
    Row,
    has_key,
    read_consumer,
    read_consumer_name,
    read_host,
    read_mapping,
    read_queue,
    read_registration,
    unreadable_consumer,
    unreadable_mapping,
    unreadable_queue,
    unreadable_registration,
    write_consumer,
    write_key,
    write_mapping,
    write_name_key,
    write_queue,
)
from queue_agent.core.state.family import is_multi_consumer
from queue_agent.core.state.replication import REPLICATED_TYPES
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
from queue_agent.errors import ClusterError, ObjectNotFound, UnexpectedError
from queue_agent.isolation import isolate
from yt_wire import yson

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StateTable:
    """One table."""

    cluster: YtCluster
    path: str


class StateTables:
    """`ports.StateStore`; tables of every version of the state can be read and written.

    Args:
        cluster: where the tables are.
        root: their directory, such as `//sys/queue_agents`.
        registrations: `consumer_registrations` in `root` by default.
        mapping: `replicated_table_mapping` in `root` by default.
        hosts: `queue_agent_object_mapping` in `root` by default.
    """

    def __init__(
        self,
        cluster: YtCluster,
        root: str,
        registrations: StateTable | None = None,
        mapping: StateTable | None = None,
        hosts: StateTable | None = None,
    ) -> None:
        self._queues, self._consumers, self._names = (
            StateTable(cluster, f"{root}/{name}") for name in ("queues", "consumers", "multi_consumer_names")
        )
        self._hosts = hosts or StateTable(cluster, f"{root}/queue_agent_object_mapping")
        self._registrations = registrations or StateTable(cluster, f"{root}/consumer_registrations")
        self._mapping = mapping or StateTable(cluster, f"{root}/replicated_table_mapping")
        self._forms: Mapping[StateTable, _Form] = {
            self._queues: _Form(read_queue, ("cluster", "path"), unreadable_queue),
            self._consumers: _Form(read_consumer, ("cluster", "path"), unreadable_consumer),
            self._registrations: _Form(read_registration, ("queue_cluster", "queue_path"), unreadable_registration),
            self._mapping: _Form(read_mapping, ("cluster", "path"), unreadable_mapping),
            self._names: _Form(read_consumer_name, ("cluster", "path", "name")),
            self._hosts: _Form(read_host, ("object", "host")),
        }
        self._contents: dict[StateTable, _Content] = {}
        self._kinds: _Kinds | None = None
        self._object_hosts: tuple[Sequence[Any], ObjectHosts] = (), {}
        self._hosts_tablet_count = 1
        self._last: StateRows | None = None

    async def read(self) -> StateRows:
        """Every row; one whose key is null or not UTF-8 is left out, with a warning.

        The tables of replicated and of multi-consumers are read only if there are any of these, and may be missing.
        As long as nothing changes, it is the same object that is returned.
        """
        tables = [self._queues, self._consumers, self._registrations, self._hosts]
        queues, consumers, registrations, hosts = await self._select(tables)
        if self._object_hosts[0] is not hosts:
            self._object_hosts = hosts, dict(host for host in hosts if host is not None)
        if self._kinds is None or self._kinds.queues is not queues or self._kinds.consumers is not consumers:
            self._kinds = _find_kinds(queues, consumers)
        rows = StateRows(
            queues,
            consumers,
            registrations,
            await self._read_mappings() if self._kinds.replicated else (),
            await self._read_names() if self._kinds.multi else (),
            self._object_hosts[1],
        )
        if self._last is None or not _are_same(rows, self._last):
            self._last = rows
        return self._last

    async def read_registrations(self) -> Sequence[Registration]:
        """Every registration; the same sequence as before if nothing has changed."""
        [registrations] = await self._select([self._registrations])
        return registrations

    async def write_objects(
        self, queues: Collection[QueueRow], consumers: Collection[ConsumerRow], mappings: Collection[MappingRow] = ()
    ) -> None:
        """Insert or replace whole rows; a transaction for each table. Columns an older table lacks are not written."""
        await _insert(self._queues, [write_queue(row) for row in queues])
        await _insert(self._consumers, [write_consumer(row) for row in consumers])
        await _insert(self._mapping, [write_mapping(row) for row in mappings])

    async def delete_objects(
        self,
        queues: Collection[CrossClusterRef],
        consumers: Collection[CrossClusterRef],
        mappings: Collection[CrossClusterRef] = (),
    ) -> None:
        """Delete rows; those that are not there are no error."""
        await _delete(self._queues, [write_key(ref) for ref in queues])
        await _delete(self._consumers, [write_key(ref) for ref in consumers])
        await _delete(self._mapping, [write_key(ref) for ref in mappings])

    async def write_consumer_names(self, names: Collection[ConsumerNameRow]) -> None:
        """Insert or replace rows."""
        await _insert(
            self._names,
            [{**write_name_key(row.consumer), "queue_agent_stage": row.queue_agent_stage} for row in names],
        )

    async def delete_consumer_names(self, names: Collection[CrossClusterRef]) -> None:
        """Delete rows; those that are not there are no error."""
        await _delete(self._names, [write_name_key(name) for name in names])

    async def read_hosts_stamp(self) -> Hashable:
        """When the tablets of the mapping were written last."""
        while True:
            asked = self._hosts_tablet_count
            self._hosts_tablet_count = 1  # if this fails there may be fewer than before
            count, times = await self._hosts.cluster.get_write_times(self._hosts.path, asked)
            self._hosts_tablet_count = count
            if count == asked:
                return tuple(times)

    async def read_host_versions(self, tables: Collection[CrossClusterRef]) -> Mapping[CrossClusterRef, HostVersion]:
        """Who leads these tables now, and since which write."""
        keys: list[Row] = [{"object": str(table)} for table in tables]
        rows = await self._hosts.cluster.lookup_versioned(self._hosts.path, keys) if keys else []
        found: dict[CrossClusterRef, HostVersion] = {}
        for row in rows:
            attributes = yson.attributes_of(row)
            written = max(map(int, attributes.get("write_timestamps", ())), default=0)
            deleted = max(map(int, attributes.get("delete_timestamps", ())), default=0)
            versions = row.get("host")
            if written > deleted and versions:  # the newest comes first
                found[CrossClusterRef.parse(row["object"])] = HostVersion(str(versions[0]), written)
        return found

    async def write_hosts(self, hosts: ObjectHosts) -> None:
        """Insert or replace rows, in one transaction."""
        await _insert(self._hosts, [{"object": str(table), "host": host} for table, host in hosts.items()])

    async def delete_hosts(self, tables: Collection[CrossClusterRef]) -> None:
        """Delete rows; those that are not there are no error."""
        await _delete(self._hosts, [{"object": str(table)} for table in tables])

    async def _read_mappings(self) -> Sequence[MappingRow] | None:
        try:
            [rows] = await self._select([self._mapping])
        except ObjectNotFound:
            return ()
        except ClusterError as error:
            log.warning("replicated table mapping not read", error=str(error))
            return None
        return rows

    async def _read_names(self) -> Sequence[ConsumerNameRow]:
        try:
            [rows] = await self._select([self._names])
        except ObjectNotFound:
            return ()
        return rows

    async def _select(self, tables: Sequence[StateTable]) -> list[Sequence[Any]]:
        """All rows of each table, the same sequence as before where nothing has changed.

        One request after the other only where clusters differ.
        """
        result: dict[StateTable, Sequence[Any]] = {}
        for cluster in dict.fromkeys(table.cluster for table in tables):
            here = [table for table in tables if table.cluster is cluster]
            old = [self._contents.get(table, _NOTHING) for table in here]
            answers = await cluster.select_all_if_changed(
                here[0].path,
                {f"* from {quote_path(table.path)}": one.digest for table, one in zip(here, old, strict=True)},
            )
            for table, one, (digest, rows) in zip(here, old, answers, strict=True):
                content = one if rows is None else _Content(digest, self._forms[table].read_all(rows))
                self._contents[table] = content
                result[table] = content.rows
        return [result[table] for table in tables]


@dataclass(frozen=True, slots=True)
class _Form:
    """How rows of a table are read."""

    read: Callable[[Row], Any]
    key: tuple[str, ...]
    """Columns without which a row is of no use."""

    unreadable: Callable[[Row, UnexpectedError], Any] | None = None
    """What stands for a row that cannot be read; without it there is nothing."""

    def read_all(self, rows: Sequence[Row]) -> Sequence[Any]:
        values = SharedValues()
        return [one for row in rows if has_key(row, *self.key) for one in self._read(row, values)]

    def _read(self, row: Row, values: SharedValues) -> Sequence[Any]:
        subject = ":".join(str(row[column]) for column in self.key)
        value = isolate("state_tables", subject, lambda: self.read(values.share(row)))
        if not isinstance(value, UnexpectedError):
            return [value]
        return [] if self.unreadable is None else [self.unreadable(row, value)]


@dataclass(frozen=True, slots=True)
class _Content:
    """Of a table when it was read last."""

    digest: bytes | None
    rows: Sequence[Any]


_NOTHING: Final = _Content(None, ())


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Whether there are objects of kinds that need further tables."""

    queues: Sequence[QueueRow]
    consumers: Sequence[ConsumerRow]
    replicated: bool
    multi: bool


def _find_kinds(queues: Sequence[QueueRow], consumers: Sequence[ConsumerRow]) -> _Kinds:
    types = {*(row.object_type for row in queues), *(row.object_type for row in consumers)}
    # An unknown type might be one: then a table is read that there may be no need for.
    multi = any(
        isolate("state_tables", row.consumer, partial(is_multi_consumer, row)) is not False for row in consumers
    )
    return _Kinds(queues, consumers, bool(types & REPLICATED_TYPES), multi)


def _are_same(left: StateRows, right: StateRows) -> bool:
    """Whether both hold the very same sequences."""
    return all(getattr(left, one.name) is getattr(right, one.name) for one in fields(StateRows))


async def _insert(table: StateTable, rows: Sequence[Row]) -> None:
    """Write the columns the table has; others that a newer agent may have written stay as they are."""
    if rows:
        columns = {column.name for column in await table.cluster.get_columns(table.path)}
        known = [{name: value for name, value in row.items() if name in columns} for row in rows]
        await table.cluster.insert_rows(table.path, known, update=True)


async def _delete(table: StateTable, keys: Sequence[Row]) -> None:
    if keys:
        await table.cluster.delete_rows(table.path, keys)
