"""StateStore over the dynamic tables under `//sys/queue_agents`, whose rows the C++ agent reads and writes too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import structlog

from queue_agent.adapters.orchid import to_yson
from queue_agent.adapters.queries import quote_path
from queue_agent.adapters.yt_cluster import YtCluster
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow, QueueRow, Registration, StateRows
from queue_agent.wire import yson

log = structlog.get_logger(__name__)

Row = Mapping[str, Any]


class StateTables:
    """`ports.StateStore`.

    Args:
        cluster: where the tables are.
        root: their directory, such as `//sys/queue_agents`.
    """

    def __init__(self, cluster: YtCluster, root: str) -> None:
        self._cluster = cluster
        self._root = root

    async def read(self) -> StateRows:
        """Every row; one whose key is null or not UTF-8 is left out, with a warning."""
        tables = [self._path(name) for name in ("queues", "consumers", "consumer_registrations")]
        queries = [f"* from {quote_path(table)}" for table in tables]
        queues, consumers, registrations = await self._cluster.select_all(self._root, queries)
        return StateRows(
            queues=[read_queue(row) for row in queues if _has_key(row, "cluster", "path")],
            consumers=[read_consumer(row) for row in consumers if _has_key(row, "cluster", "path")],
            registrations=[
                read_registration(row)
                for row in registrations
                if _has_key(row, "queue_cluster", "queue_path", "consumer_cluster", "consumer_path")
            ],
        )

    async def write_objects(self, queues: Collection[QueueRow], consumers: Collection[ConsumerRow]) -> None:
        """Insert or replace whole rows; one transaction for queues, then one for consumers."""
        if queues:
            await self._cluster.insert_rows(self._path("queues"), [write_queue(row) for row in queues])
        if consumers:
            await self._cluster.insert_rows(self._path("consumers"), [write_consumer(row) for row in consumers])

    async def delete_objects(self, queues: Collection[CrossClusterRef], consumers: Collection[CrossClusterRef]) -> None:
        """Delete rows; those that are not there are no error."""
        if queues:
            await self._cluster.delete_rows(self._path("queues"), [_write_key(ref) for ref in queues])
        if consumers:
            await self._cluster.delete_rows(self._path("consumers"), [_write_key(ref) for ref in consumers])

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


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
    """A row of `consumer_registrations`; no partitions listed means all."""
    partitions = row.get("partitions")
    return Registration(
        queue=CrossClusterRef(row["queue_cluster"], row["queue_path"]),
        consumer=CrossClusterRef(row["consumer_cluster"], row["consumer_path"]),
        vital=bool(_boolean(row.get("vital"))),
        partitions=tuple(int(index) for index in partitions) if partitions else None,
    )


def _unwrap(cell: Any) -> Any:
    """Content of a one-element list; one bad row must not hide all others, so anything else is no schema."""
    if isinstance(cell, list) and len(cell) == 1:
        return cell[0]
    if not yson.is_null(cell):
        log.warning("state cell is not a list of one element", column="schema", cell=repr(cell))
    return None


def _has_key(row: Row, *columns: str) -> bool:
    if all(isinstance(row[column], str) for column in columns):
        return True
    log.warning("state row left out", key=[repr(row[column]) for column in columns])
    return False


def _write_key(ref: CrossClusterRef) -> Row:
    return {"cluster": ref.cluster, "path": ref.path}


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
