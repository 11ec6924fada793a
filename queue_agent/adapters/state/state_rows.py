"""Rows of the state tables as values of `core.state.rows`, and back: the columns are those of the C++ agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from queue_agent.adapters.serving.orchid import to_yson
from queue_agent.core.state.replication import replicas_of
from queue_agent.core.state.rows import ConsumerNameRow, ConsumerRow, MappingRow, QueueRow, Registration
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import UnexpectedError
from yt_wire import yson

log = structlog.get_logger(__name__)

Row = Mapping[str, Any]
"""Values by column name."""


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
        **write_key(row.queue),
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
    """A row of `consumers`; columns an older table lacks are null, and so is a schema that cannot be unwrapped."""
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
        **write_key(row.consumer),
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
        # A consumer that cannot be named can still be vital: it is kept, and as nobody has seen it nothing is trimmed.
        consumer=CrossClusterRef(
            _name(row["consumer_cluster"]),
            _name(row["consumer_path"]),
            "" if yson.is_null(row.get("consumer_name")) else _name(row["consumer_name"]),
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
        **write_key(row.table),
        "revision": _unsigned(row.revision),
        "object_type": row.object_type,
        "meta": to_yson(row.meta),
        "synchronization_error": to_yson(row.synchronization_error),
        "replica_list": None if row.meta is None else [str(replica.table) for replica in replicas_of(row)],
    }


def unreadable_queue(row: Row, error: UnexpectedError) -> QueueRow:
    """What stands for a row of `queues` that cannot be read: its error."""
    return QueueRow(CrossClusterRef(row["cluster"], row["path"]), synchronization_error=_error_map(error))


def unreadable_consumer(row: Row, error: UnexpectedError) -> ConsumerRow:
    """What stands for a row of `consumers` that cannot be read: its error."""
    return ConsumerRow(CrossClusterRef(row["cluster"], row["path"]), synchronization_error=_error_map(error))


def unreadable_mapping(row: Row, error: UnexpectedError) -> MappingRow:
    """What stands for a row of `replicated_table_mapping` that cannot be read: its error."""
    return MappingRow(CrossClusterRef(row["cluster"], row["path"]), synchronization_error=_error_map(error))


def unreadable_registration(row: Row, error: UnexpectedError) -> Registration:
    """What stands for a registration that cannot be read: a vital consumer nobody sees, so that nothing is trimmed."""
    return Registration(
        CrossClusterRef(row["queue_cluster"], row["queue_path"]), CrossClusterRef("", "unreadable"), vital=True
    )


def _error_map(error: UnexpectedError) -> Mapping[str, Any]:
    return {"code": error.code, "message": error.message, "attributes": {}}


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


def has_key(row: Row, *columns: str) -> bool:
    """Whether the columns hold text; a row where they do not is useless, and reported."""
    if all(isinstance(row[column], str) for column in columns):
        return True
    log.warning("state row left out", key=[repr(row[column]) for column in columns])
    return False


def write_key(ref: CrossClusterRef) -> Row:
    """Key of a queue, consumer or replicated table."""
    return {"cluster": ref.cluster, "path": ref.path}


def write_name_key(consumer: CrossClusterRef) -> Row:
    """Key of a consumer in a multi-consumer."""
    return {**write_key(consumer), "name": consumer.name}


def _integer(value: Any) -> int | None:
    return None if yson.is_null(value) else int(value)


def _unsigned(value: int | None) -> int | None:
    return None if value is None else yson.Uint64(value)


def _boolean(value: Any) -> bool | None:
    return None if yson.is_null(value) else bool(value)


def _text(value: Any) -> str | None:
    """One that is not UTF-8 is of no use, and counts as null."""
    return None if yson.is_null(value) or isinstance(value, yson.UNDECODABLE) else str(value)


def _mapping(value: Any) -> Row | None:
    return value if isinstance(value, Mapping) else None
