"""Schemas of tables as messages."""

from __future__ import annotations

from yt_local.calls.wire_types import LOGICAL, PHYSICAL
from yt_local.schema.schema import Column, TableSchema
from yt_wire import yson
from yt_wire.proto.api_pb2 import TColumnSchema, TTableSchema

_SORT_ORDERS = {"ascending": 0, "descending": 1}


def schema_message(schema: TableSchema) -> TTableSchema:
    """All there is to say of a schema."""
    return TTableSchema(
        columns=[_column_message(column) for column in schema.columns],
        strict=schema.strict,
        unique_keys=schema.unique_keys,
    )


def _column_message(column: Column) -> TColumnSchema:
    message = TColumnSchema(
        name=column.name,
        type=PHYSICAL[column.physical_type],
        logical_type=LOGICAL[column.type],
        required=column.required,
        lock=column.lock,
        expression=column.expression,
        aggregate=column.aggregate,
        group=column.group,
        max_inline_hunk_size=column.max_inline_hunk_size,
        type_v3=yson.dumps(column.type_v3),
    )
    if column.sort_order is not None:
        message.sort_order = _SORT_ORDERS[column.sort_order]
    return message
