"""StateStore over the dynamic tables under `//sys/queue_agents`, whose rows the C++ agent reads and writes too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import structlog

from queue_agent.adapters.orchid import to_yson
from queue_agent.adapters.queries import quote_path
from queue_agent.adapters.shared_values import SharedValues
from queue_agent.adapters.yt_cluster import YtCluster
from queue_agent.core.family import is_multi_consumer
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.replication import REPLICATED_TYPES, replicas_of
from queue_agent.core.rows import (
    ConsumerNameRow,
    ConsumerRow,
    HostVersion,
    MappingRow,
    ObjectHosts,
    QueueRow,
    Registration,
    StateRows,
)
from queue_agent.errors import ClusterError, ObjectNotFound
from queue_agent.wire import yson

log = structlog.get_logger(__name__)

Row = Mapping[str, Any]


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
            self._queues: _Form(read_queue, ("cluster", "path")),
            self._consumers: _Form(read_consumer, ("cluster", "path")),
            self._registrations: _Form(read_registration, ("queue_cluster", "queue_path")),
            self._mapping: _Form(read_mapping, ("cluster", "path")),
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
        await _delete(self._queues, [_write_key(ref) for ref in queues])
        await _delete(self._consumers, [_write_key(ref) for ref in consumers])
        await _delete(self._mapping, [_write_key(ref) for ref in mappings])

    async def write_consumer_names(self, names: Collection[ConsumerNameRow]) -> None:
        """Insert or replace rows."""
        await _insert(
            self._names,
            [{**_write_name(row.consumer), "queue_agent_stage": row.queue_agent_stage} for row in names],
        )

    async def delete_consumer_names(self, names: Collection[CrossClusterRef]) -> None:
        """Delete rows; those that are not there are no error."""
        await _delete(self._names, [_write_name(name) for name in names])

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

    def read_all(self, rows: Sequence[Row]) -> Sequence[Any]:
        values = SharedValues()
        return [self.read(values.share(row)) for row in rows if _has_key(row, *self.key)]


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
    multi = any(is_multi_consumer(row) for row in consumers)
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


def read_queue(row: Row) -> QueueRow:
    """A row of `queues`; columns an older table lacks are null."""
    return QueueRow(
        queue=CrossClusterRef(row["cluster"], row["path"]),
        row_revision=_integer(row.get("row_revision")),
        revision=_integer(row.get("revision")),
        object_type=_text(row.get("object_type")),
        dynamic=_boolean(row.get("dynamic")),
        sorted=_boolean(row.get("sorted")),
        auto_trim_config=_mapping(row.get("auto_trim_config")),
        static_export_config=_mapping(row.get("static_export_config")),
        queue_agent_stage=_text(row.get("queue_agent_stage")),
        object_id=_text(row.get("object_id")),
        queue_agent_banned=_boolean(row.get("queue_agent_banned")),
        synchronization_error=_mapping(row.get("synchronization_error")),
        queue_profiling_tag=_text(row.get("queue_profiling_tag")),
    )


def write_queue(row: QueueRow) -> Row:
    """All columns, nulls included."""
    return {
        **_write_key(row.queue),
        "row_revision": _unsigned(row.row_revision),
        "revision": _unsigned(row.revision),
        "object_type": row.object_type,
        "dynamic": row.dynamic,
        "sorted": row.sorted,
        "auto_trim_config": to_yson(row.auto_trim_config),
        "static_export_config": to_yson(row.static_export_config),
        "queue_agent_stage": row.queue_agent_stage,
        "object_id": row.object_id,
        "queue_agent_banned": row.queue_agent_banned,
        "synchronization_error": to_yson(row.synchronization_error),
        "queue_profiling_tag": row.queue_profiling_tag,
    }


def read_consumer(row: Row) -> ConsumerRow:
    """A row of `consumers`; columns an older table lacks are null, and so is a schema that can not be unwrapped."""
    return ConsumerRow(
        consumer=CrossClusterRef(row["cluster"], row["path"]),
        row_revision=_integer(row.get("row_revision")),
        revision=_integer(row.get("revision")),
        object_type=_text(row.get("object_type")),
        treat_as_queue_consumer=_boolean(row.get("treat_as_queue_consumer")),
        schema=_unwrap(row.get("schema")),
        queue_agent_stage=_text(row.get("queue_agent_stage")),
        queue_agent_banned=_boolean(row.get("queue_agent_banned")),
        synchronization_error=_mapping(row.get("synchronization_error")),
        queue_consumer_profiling_tag=_text(row.get("queue_consumer_profiling_tag")),
    )


def write_consumer(row: ConsumerRow) -> Row:
    """All columns, nulls included; a cell of type `any` carries no attributes, so the schema is put into a list."""
    return {
        **_write_key(row.consumer),
        "row_revision": _unsigned(row.row_revision),
        "revision": _unsigned(row.revision),
        "object_type": row.object_type,
        "treat_as_queue_consumer": row.treat_as_queue_consumer,
        "schema": None if row.schema is None else [to_yson(row.schema)],
        "queue_agent_stage": row.queue_agent_stage,
        "queue_agent_banned": row.queue_agent_banned,
        "synchronization_error": to_yson(row.synchronization_error),
        "queue_consumer_profiling_tag": row.queue_consumer_profiling_tag,
    }


def read_registration(row: Row) -> Registration:
    """A row of `consumer_registrations`; no partitions listed means all, and older tables hold no consumer names."""
    return Registration(
        queue=CrossClusterRef(row["queue_cluster"], row["queue_path"]),
        # A consumer that can not be named can still be vital: it is kept, and as nobody has seen it nothing is trimmed.
        consumer=CrossClusterRef(
            _name(row["consumer_cluster"]), _name(row["consumer_path"]), _text(row.get("consumer_name")) or ""
        ),
        vital=bool(_boolean(row.get("vital"))),
        partitions=_indexes(row.get("partitions")),
    )


def read_mapping(row: Row) -> MappingRow:
    """A row of `replicated_table_mapping`."""
    return MappingRow(
        table=CrossClusterRef(row["cluster"], row["path"]),
        revision=_integer(row.get("revision")),
        object_type=_text(row.get("object_type")),
        meta=_mapping(row.get("meta")),
        synchronization_error=_mapping(row.get("synchronization_error")),
    )


def write_mapping(row: MappingRow) -> Row:
    """All columns, nulls included; `replica_list` is what proxies find the table of a replica by."""
    return {
        **_write_key(row.table),
        "revision": _unsigned(row.revision),
        "object_type": row.object_type,
        "meta": to_yson(row.meta),
        "synchronization_error": to_yson(row.synchronization_error),
        "replica_list": None if row.meta is None else [str(replica.table) for replica in replicas_of(row)],
    }


def read_consumer_name(row: Row) -> ConsumerNameRow:
    """A row of `multi_consumer_names`."""
    return ConsumerNameRow(
        CrossClusterRef(row["cluster"], row["path"], row["name"]), _text(row.get("queue_agent_stage"))
    )


def read_host(row: Row) -> tuple[CrossClusterRef, str] | None:
    """A row of `queue_agent_object_mapping`; None if it does not name an object."""
    try:
        return CrossClusterRef.parse(row["object"]), row["host"]
    except ValueError:
        log.warning("state row left out", key=[row["object"]])
        return None


def _unwrap(cell: Any) -> Any:
    """Content of a one-element list; one bad row must not hide all others, so anything else is no schema."""
    if isinstance(cell, list) and len(cell) == 1:
        return cell[0]
    if not yson.is_null(cell):
        log.warning("state cell is not a list of one element", column="schema", cell=repr(cell))
    return None


def _indexes(cell: Any) -> tuple[int, ...] | None:
    """Partition indexes; what makes no sense is taken for all partitions, so that no vital consumer is overlooked."""
    if isinstance(cell, list) and all(isinstance(index, int) for index in cell):
        return tuple(int(index) for index in cell) or None
    if not yson.is_null(cell):
        log.warning("state cell is not a list of numbers", column="partitions", cell=repr(cell))
    return None


def _name(cell: Any) -> str:
    return cell if isinstance(cell, str) else repr(cell)


def _has_key(row: Row, *columns: str) -> bool:
    if all(isinstance(row[column], str) for column in columns):
        return True
    log.warning("state row left out", key=[repr(row[column]) for column in columns])
    return False


def _write_key(ref: CrossClusterRef) -> Row:
    return {"cluster": ref.cluster, "path": ref.path}


def _write_name(consumer: CrossClusterRef) -> Row:
    return {**_write_key(consumer), "name": consumer.name}


def _integer(value: Any) -> int | None:
    return None if yson.is_null(value) else int(value)


def _unsigned(value: int | None) -> int | None:
    return None if value is None else yson.Uint64(value)


def _boolean(value: Any) -> bool | None:
    return None if yson.is_null(value) else bool(value)


def _text(value: Any) -> str | None:
    return None if yson.is_null(value) else str(value)


def _mapping(value: Any) -> Row | None:
    return value if isinstance(value, Mapping) else None
