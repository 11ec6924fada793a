"""Whether a row of the state tables describes something that can be served."""

from __future__ import annotations

from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.rows import ConsumerRow, QueueRow

FAMILY = "ordered_dynamic_table"
"""The only kind of queue there is, replicated ones included."""

REPLICATED_TYPES = frozenset({"replicated_table", "chaos_replicated_table"})

_KEY_COLUMNS = [
    ("queue_cluster", "string", True, "ascending"),
    ("queue_path", "string", True, "ascending"),
    ("partition_index", "uint64", True, "ascending"),
]
_OFFSET_COLUMN = ("offset", "uint64", True, None)
_META_COLUMN = ("meta", "any", False, None)
_MULTI_CONSUMER_COLUMN = ("queue_consumer_name", "string", True, "ascending")


def find_queue_row_error(row: QueueRow, origin: Origin) -> ErrorInfo | None:
    """Why no controller can be made for the queue; None if one can."""
    synchronization_error = _find_synchronization_error(row)
    if synchronization_error is not None:
        return origin.error("Queue synchronization error", inner_errors=[synchronization_error])
    if row.row_revision is None:
        return origin.error("Queue is not in-sync yet")
    if row.object_type is None:
        return origin.error("Object type is not known yet")
    if row.object_type in REPLICATED_TYPES:
        return origin.error(f'Queues of type "{row.object_type}" are not supported by this agent yet')
    if row.object_type != "table":
        return origin.error(f'Invalid queue object type "{row.object_type}"')
    if row.dynamic is not True or row.sorted is not False:
        return origin.error(
            "Only ordered dynamic tables are supported as queues, found object of type "
            f'"{row.object_type}" with dynamic={_flag(row.dynamic)} and sorted={_flag(row.sorted)} instead'
        )
    return None


def find_consumer_row_error(row: ConsumerRow, origin: Origin) -> ErrorInfo | None:
    """Why the consumer can not be looked at; None if it can."""
    synchronization_error = _find_synchronization_error(row)
    if synchronization_error is not None:
        return origin.error("Consumer synchronization failed", inner_errors=[synchronization_error])
    if row.row_revision is None:
        return origin.error("Consumer is not in-sync yet")
    if row.object_type is None:
        return origin.error("Consumer object type is not known yet")
    if row.schema is None:
        return origin.error("Consumer schema is not known yet")
    if row.object_type in REPLICATED_TYPES:
        return origin.error(f'Consumers of type "{row.object_type}" are not supported by this agent yet')
    return _find_schema_error(row, origin)


def has_meta_column(row: ConsumerRow) -> bool:
    """Whether the consumer keeps meta information beside its offsets; the row must be free of errors."""
    return any(column.get("name") == "meta" for column in row.schema)


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
    columns = [
        (column.get("name"), column.get("type"), bool(column.get("required")), column.get("sort_order"))
        for column in row.schema
    ]
    expected = [*_KEY_COLUMNS, _OFFSET_COLUMN, _META_COLUMN]
    if attributes.get("strict", True) and columns in (expected, expected[:-1]):
        return None
    if columns[:1] == [_MULTI_CONSUMER_COLUMN]:
        return origin.error("Multi-consumers are not supported by this agent yet")
    return origin.error(
        "Table schema is not recognized as a valid consumer schema",
        attributes={
            "expected_schema": [_column_map(*column) for column in expected],
            "actual_schema": row.schema,
        },
    )


def _column_map(name: str, column_type: str, required: bool, sort_order: str | None) -> dict[str, object]:
    column: dict[str, object] = {"name": name, "type": column_type, "required": required}
    return column if sort_order is None else {**column, "sort_order": sort_order}


def _flag(value: bool | None) -> str:
    return "#" if value is None else f"%{str(value).lower()}"
