"""Whether rows written by one schema are rows of another, without a look at them."""

from __future__ import annotations

from dataclasses import replace

from yt_local.schema.column_types import SIMPLE_TYPES
from yt_local.schema.schema import Column, TableSchema
from yt_wire.error import YtError


def check_compatible(old: TableSchema, new: TableSchema) -> None:
    """YtError unless every row of the old schema is one of the new one, whatever the order of rows."""
    columns = {column.name: column for column in new.columns}
    for column in old.columns:
        other = columns.get(column.name)
        if other is not None:
            _check_column(column, other)
        elif new.strict:
            raise YtError(f'Column "{column.name}" is found in input schema but is missing in output schema')
        elif column.composite is not None:
            raise YtError(f'Column "{column.name}" of complex type is missing in strict part of output schema')
    if new.strict and not old.strict:
        raise YtError("Incompatible strictness: input schema is not strict while output schema is")
    known = {column.name for column in old.columns}
    for column in new.columns:
        if column.name in known:
            continue
        if not old.strict and column.type != "any":
            raise YtError(f'Column "{column.name}" is missing in strict part of input schema')
        if column.required:
            raise YtError(f'Required column "{column.name}" is missing in input schema')


def _check_column(old: Column, new: Column) -> None:
    if new.required and not old.required:
        raise YtError(f'Column "{new.name}" is optional in input schema and required in output schema')
    if new.type == "any" and new.composite is None:
        return
    if old.composite != new.composite and replace(old, required=False).type_v3 != replace(new, required=False).type_v3:
        raise YtError(f'Column "{new.name}" has different types in input and output schemas')
    if old.type != new.type and not _is_wider(old.type, new.type):
        raise YtError(
            f'Column "{new.name}" of type "{old.type}" in input schema is not compatible with type "{new.type}" in'
            " output schema"
        )
    if old.expression != new.expression:
        raise YtError(f'Column "{new.name}" is computed in another way in output schema')


def _is_wider(old: str, new: str) -> bool:
    """Whether a type takes all values of another one, as `int64` does those of `int32`."""
    if old == "utf8" and new == "string":
        return True
    integers = ("int", "uint")
    if not (old.startswith(integers) and new.startswith(integers)):
        return False
    before, after = SIMPLE_TYPES[old], SIMPLE_TYPES[new]
    if before.physical != after.physical:
        return False
    assert before.minimum is not None and before.maximum is not None, "numbers of whole types have bounds"
    assert after.minimum is not None and after.maximum is not None
    return after.minimum <= before.minimum and before.maximum <= after.maximum
