"""Whether a row of the state tables describes something that can be served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queue_agent.core.state.replication import CHAOS, REPLICATED_TYPES, find_mapping_error
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow
from queue_agent.core.values.error_info import ErrorInfo, Origin

FAMILY = "ordered_dynamic_table"
"""The only kind of queue there is, replicated ones included."""

_Column = tuple[Any, Any, bool, Any]
"""Name, type, whether required, sort order."""

_KEY_COLUMNS: list[_Column] = [
    ("queue_cluster", "string", True, "ascending"),
    ("queue_path", "string", True, "ascending"),
    ("partition_index", "uint64", True, "ascending"),
]
_OFFSET_COLUMN: _Column = ("offset", "uint64", True, None)
_META_COLUMN: _Column = ("meta", "any", False, None)
_OFFSET_SCHEMAS = ([*_KEY_COLUMNS, _OFFSET_COLUMN, _META_COLUMN], [*_KEY_COLUMNS, _OFFSET_COLUMN])
_MULTI_CONSUMER_COLUMN: _Column = ("queue_consumer_name", "string", True, "ascending")


def find_queue_row_error(row: QueueRow, origin: Origin, mapping: MappingRow | None = None) -> ErrorInfo | None:
    """Why no controller can be made for the queue; None if one can.

    Args:
        row: the queue's.
        origin: of errors.
        mapping: the queue's row in the replicated table mapping; of no account unless the queue is replicated.
    """
    synchronization_error = _find_synchronization_error(row)
    if synchronization_error is not None:
        return origin.error("Queue synchronization error", inner_errors=[synchronization_error])
    if row.row_revision is None:
        return origin.error("Queue is not in-sync yet")
    if row.object_type is None:
        return origin.error("Object type is not known yet")
    if row.object_type in REPLICATED_TYPES:
        if mapping is None:
            return origin.error("No replicated table mapping row is known for replicated queue")
        mapping_error = find_mapping_error(mapping, row.object_type, origin)
        if mapping_error is not None:
            return mapping_error
    elif row.object_type != "table":
        return origin.error(f'Invalid queue object type "{row.object_type}"')
    if row.dynamic is not True or (row.sorted is not False and row.object_type != CHAOS):
        return origin.error(
            "Only ordered dynamic tables are supported as queues, found object of type "
            f'"{row.object_type}" with dynamic={_flag(row.dynamic)} and sorted={_flag(row.sorted)} instead'
        )
    return None


def find_consumer_row_error(row: ConsumerRow, origin: Origin, mapping: MappingRow | None = None) -> ErrorInfo | None:
    """Why the consumer cannot be looked at; None if it can. Arguments as for a queue."""
    error = find_consumer_object_error(row, origin, mapping)
    return _find_schema_error(row, origin) if error is None else error


def find_consumer_object_error(row: ConsumerRow, origin: Origin, mapping: MappingRow | None = None) -> ErrorInfo | None:
    """Why a consumer or multi-consumer cannot be looked at, its schema aside. Arguments as for a queue."""
    synchronization_error = _find_synchronization_error(row)
    if synchronization_error is not None:
        return origin.error("Consumer synchronization failed", inner_errors=[synchronization_error])
    if row.row_revision is None:
        return origin.error("Consumer is not in-sync yet")
    if row.object_type is None:
        return origin.error("Consumer object type is not known yet")
    if row.schema is None:
        return origin.error("Consumer schema is not known yet")
    if row.object_type not in REPLICATED_TYPES:
        return None
    if mapping is None:
        return origin.error("No replicated table mapping row is known for replicated consumer")
    return find_mapping_error(mapping, row.object_type, origin)


def is_multi_consumer(row: ConsumerRow) -> bool:
    """Whether the table holds offsets of several named consumers."""
    if row.schema is None:
        return False
    attributes = getattr(row.schema, "attributes", {})
    columns = _columns(row)
    return (
        bool(attributes.get("unique_keys"))
        and attributes.get("strict", True)
        and columns[:1] == [_MULTI_CONSUMER_COLUMN]
        and columns[1:] in _OFFSET_SCHEMAS
    )


def has_meta_column(row: ConsumerRow) -> bool:
    """Whether the consumer keeps meta information beside its offsets; the row must be free of errors."""
    return any(name == "meta" for name, *_ in _columns(row))


def _find_synchronization_error(row: QueueRow | ConsumerRow) -> ErrorInfo | None:
    if row.synchronization_error is None:
        return None
    error = ErrorInfo.from_map(row.synchronization_error)
    return error if error.code != 0 else None


def _find_schema_error(row: ConsumerRow, origin: Origin) -> ErrorInfo | None:
    attributes = getattr(row.schema, "attributes", {})
    if not attributes.get("unique_keys"):
        return origin.error(
            "Consumer schema must have unique keys, schema does not", attributes={"actual_schema": row.schema}
        )
    expected = [*_KEY_COLUMNS, _OFFSET_COLUMN, _META_COLUMN]
    columns = _columns(row)
    if row.consumer.name and columns[:1] == [_MULTI_CONSUMER_COLUMN]:
        columns = columns[1:]
    if attributes.get("strict", True) and columns in _OFFSET_SCHEMAS:
        return None
    return origin.error(
        "Table schema is not recognized as a valid consumer schema",
        attributes={
            "expected_schema": [_column_map(*column) for column in expected],
            "actual_schema": row.schema,
        },
    )


def _columns(row: ConsumerRow) -> list[_Column]:
    """Of a schema; one that is no list has none, and what is no column has no name."""
    columns = row.schema if isinstance(row.schema, list) else []
    return [
        (column.get("name"), column.get("type"), bool(column.get("required")), column.get("sort_order"))
        if isinstance(column, Mapping)
        else (None, None, False, None)
        for column in columns
    ]


def _column_map(name: str, column_type: str, required: bool, sort_order: str | None) -> dict[str, object]:
    column: dict[str, object] = {"name": name, "type": column_type, "required": required}
    return column if sort_order is None else {**column, "sort_order": sort_order}


def _flag(value: bool | None) -> str:
    return "#" if value is None else f"%{str(value).lower()}"
