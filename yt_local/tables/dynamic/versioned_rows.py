"""Rows of sorted tables with all their versions, as versioned lookups show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yt_local.schema.keys import Row
from yt_local.schema.rows import decode_values, row_mapper
from yt_local.schema.schema import TableSchema
from yt_local.store.storage import SortedVersion
from yt_wire import yson


def versioned_row(schema: TableSchema, key: Row, versions: Sequence[SortedVersion]) -> Any:
    """The row, with attributes `write_timestamps` and `delete_timestamps`.

    Args:
        schema: of the table.
        key: values of its key columns.
        versions: of the row, newest first.
    """
    width = len(key)
    to_map = row_mapper(schema.columns)
    row: dict[str, Any] = row_mapper(schema.key_columns)(key)
    values: dict[str, list[Any]] = {column.name: [] for column in schema.columns[width:]}
    for version in versions:
        if version.value is None:
            continue
        content = to_map(decode_values(version.value))
        stamp = {"timestamp": yson.Uint64(version.timestamp)}
        for position, column in enumerate(schema.columns[width:], start=width):
            if version.has_written(position):
                values[column.name].append(yson.with_attributes(content[column.name], stamp))
    attributes = {
        "write_timestamps": [yson.Uint64(version.timestamp) for version in versions if version.value is not None],
        "delete_timestamps": [yson.Uint64(version.timestamp) for version in versions if version.value is None],
    }
    return yson.with_attributes({**row, **values}, attributes)
