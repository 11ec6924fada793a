"""Rows of the log a replicated table keeps: what was written, in the form in which replicas get it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from yt_local.rows.row_codec import PartialRow
from yt_local.schema.keys import Row
from yt_local.schema.rows import MISSING, row_mapper
from yt_local.schema.schema import CUMULATIVE_DATA_WEIGHT, TABLET_INDEX, TIMESTAMP, Column, TableSchema
from yt_local.tables.dynamic.open_tables import Table
from yt_local.tables.dynamic.tablet_transaction import Deletion, Insertion

_FIXED_WIDTH = 2
"""The change and the columns it names, in front of the values."""

_SYSTEM_COLUMNS = frozenset({TABLET_INDEX, TIMESTAMP, CUMULATIVE_DATA_WEIGHT})


class Change(enum.IntFlag):
    """What was done to a row of a sorted table; a replica has to do the same."""

    INSERT = 0
    UPDATE = 1
    AGGREGATE = 2
    DELETE = 4


def changed_row(change: Change, values: PartialRow) -> Row:
    """A row of the log of a sorted table: the change, which columns it names, and all values of the row or key."""
    named = sum(1 << position for position, value in enumerate(values) if value is not MISSING)
    return (int(change), b"%x" % named, *(None if value is MISSING else value for value in values))


def requests_of(
    rows: Sequence[Row], schema: TableSchema, tablet_index: int, replica: Table
) -> Iterable[Insertion | Deletion]:
    """What a replica is asked to write, in order.

    Args:
        rows: of one transaction in the log of one tablet.
        schema: of the replicated table.
        tablet_index: of the tablet.
        replica: the table to write to.
    """
    if not schema.is_sorted:
        return [Insertion(replica, _appended(rows, schema, tablet_index))]
    return [
        Deletion(replica, named)
        if change & Change.DELETE
        else Insertion(replica, named, bool(change & Change.UPDATE), bool(change & Change.AGGREGATE))
        for change, named in _changes(rows, schema)
    ]


def _appended(rows: Sequence[Row], schema: TableSchema, tablet_index: int) -> list[Mapping[bytes, Any]]:
    to_map = row_mapper([column for column in schema.columns if column.name not in _SYSTEM_COLUMNS])
    return [{**_by_bytes(to_map(row)), TABLET_INDEX.encode(): tablet_index} for row in rows]


def _changes(rows: Sequence[Row], schema: TableSchema) -> Iterable[tuple[Change, list[Mapping[bytes, Any]]]]:
    computed = {column.name for column in schema.columns if column.expression is not None}
    for number, group in groupby(rows, key=lambda row: row[0]):
        assert isinstance(number, int)
        change = Change(number)
        columns = schema.key_columns if change & Change.DELETE else schema.columns
        for width, alike in groupby(group, key=lambda row: len(row) - _FIXED_WIDTH):
            known = columns[:width]  # the table may have got more since
            yield change, [_named(row, known, row_mapper(known), computed) for row in alike]


def _named(row: Row, columns: Sequence[Column], to_map: Any, computed: set[str]) -> Mapping[bytes, Any]:
    _, mask, *values = row
    assert isinstance(mask, bytes)
    named = int(mask, 16)
    row_map = to_map(values)
    return {
        column.name.encode(): row_map[column.name]
        for position, column in enumerate(columns)
        if named >> position & 1 and column.name not in computed
    }


def _by_bytes(row: Mapping[str, Any]) -> dict[bytes, Any]:
    return {name.encode(): value for name, value in row.items()}
