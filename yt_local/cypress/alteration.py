"""Altering tables: which schemas may follow a schema, and what becomes of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from yt_local.rows.computed_columns import validate_computed_columns
from yt_local.schema.aggregates import validate_aggregates
from yt_local.schema.keys import KeyEncoder, Row
from yt_local.schema.schema import CUMULATIVE_DATA_WEIGHT, TIMESTAMP, Column, TableSchema, parse_schema
from yt_local.schema.schema_compatibility import check_compatible
from yt_local.store.model import TableState
from yt_local.store.storage import SortedVersion
from yt_wire import yson
from yt_wire.error import YtError

_SYSTEM_COLUMNS = frozenset({TIMESTAMP, CUMULATIVE_DATA_WEIGHT})


@dataclass(frozen=True, slots=True)
class RowConversion:
    """How stored rows of a table are brought to its new schema."""

    key_suffix: bytes
    """What stored keys get behind them."""

    values: Callable[[Row], Row]
    """Stored values by the old schema to those by the new one; columns that are new are null."""

    written: Callable[[bytes], bytes]
    """The same for `SortedVersion.written`."""


def altered_table_state(old: TableState, schema: yson.Yson | None, dynamic: bool | None) -> TableState:
    """What a table is to become; YtError if no table can be so. None leaves schema or mode as it is."""
    becomes_dynamic = old.dynamic if dynamic is None else dynamic
    new = old.schema
    if schema is not None:
        new = parse_schema(schema)
        if becomes_dynamic and new.is_sorted:
            new = replace(new, unique_keys=True)
    if becomes_dynamic:
        validate_dynamic_schema(new)
    else:
        validate_computed_columns(new)
    return TableState(new, becomes_dynamic, weak=old.weak and schema is None and not becomes_dynamic)


def validate_dynamic_schema(schema: TableSchema) -> None:
    """YtError unless a dynamic table can have the schema, its expressions and aggregate functions included."""
    schema.validate_dynamic()
    validate_computed_columns(schema)
    validate_aggregates(schema)


def check_alteration(old: TableSchema, new: TableSchema) -> None:
    """YtError unless rows written by the old schema are rows of the new one.

    Optional columns may be added, key columns behind the others; value columns may change places, and required ones
    become optional.
    """
    if old.is_sorted != new.is_sorted:
        raise YtError("Cannot change schema: a sorted dynamic table cannot become ordered, nor an ordered one sorted")
    columns = {column.name: column for column in new.columns}
    for column in old.columns:
        if column.name not in columns:
            raise YtError(f'Cannot remove column "{column.name}" from a strict schema')
        _check_column(column, columns[column.name])
    known = {column.name for column in old.columns}
    for column in new.columns:
        if column.name not in known and column.required:
            raise YtError(f'Cannot insert a new required column "{column.name}" into non-empty schema')
    keys = old.key_columns
    if any(
        before.name != after.name or before.sort_order != after.sort_order
        for before, after in zip(keys, new.key_columns, strict=False)
    ) or any(column.name in known for column in new.key_columns[len(keys) :]):
        raise YtError("Cannot change schema: key columns may only be added behind those there are")


def check_static_alteration(old: TableState, new: TableState) -> None:
    """YtError unless the rows of a static table, whatever they are, are rows of what it is to become, in its order.

    Key columns may be dropped from the end of the key, or be added to it if they are new.
    """
    check_compatible(old.schema, new.schema)
    before = [(column.name, column.sort_order) for column in old.schema.key_columns]
    after = [(column.name, column.sort_order) for column in new.schema.key_columns]
    width = min(len(before), len(after))
    known = {column.name for column in old.schema.columns}
    if before[:width] != after[:width] or any(name in known for name, _ in after[width:]):
        raise YtError("Cannot change schema: rows of the table are not sorted by the new key columns")
    if new.schema.unique_keys and (not old.schema.unique_keys or len(after) < len(before)):
        raise YtError('Cannot change schema: keys need not be unique, so "unique_keys" cannot be "true"')


def added_system_columns(old: TableSchema, new: TableSchema) -> set[str]:
    """System columns the new schema has and the old one has not."""
    names = {column.name for column in new.columns} - {column.name for column in old.columns}
    return names & _SYSTEM_COLUMNS


def conversion(old: TableSchema, new: TableSchema) -> RowConversion:
    """How rows get from one schema to another that `check_alteration` lets pass."""
    stored = [column.name for column in old.columns if column.name not in _SYSTEM_COLUMNS]
    positions = [
        stored.index(column.name) if column.name in stored else None
        for column in new.columns
        if column.name not in _SYSTEM_COLUMNS
    ]
    added_keys = new.key_columns[len(old.key_columns) :]

    def written(columns: bytes) -> bytes:
        bits = int.from_bytes(columns)
        moved = (
            1 << position for position, before in enumerate(positions) if before is not None and bits >> before & 1
        )
        return SortedVersion.pack_columns(sum(moved))

    return RowConversion(
        key_suffix=KeyEncoder(added_keys).encode([None] * len(added_keys)),
        values=lambda row: tuple(None if position is None else row[position] for position in positions),
        written=written,
    )


def _check_column(old: Column, new: Column) -> None:
    if new.required and not old.required:
        raise YtError(f'Cannot make column "{old.name}" required')
    if replace(new, required=old.required, composite=old.composite) != replace(old, lock=new.lock, group=new.group):
        raise YtError(f'Cannot change column "{old.name}" but its place, its "required", "lock" and "group"')
    if old.composite != new.composite:
        raise YtError(f'Type mismatch for column "{old.name}"')
