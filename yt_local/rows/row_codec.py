"""Rows of one schema as clients send them, brought to the order of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NoReturn, TypeAlias

from yt_local.rows.computed_columns import compiled
from yt_local.rows.row_locks import LockGroups
from yt_local.schema.aggregates import merge_function
from yt_local.schema.keys import KeyEncoder, Row, Value
from yt_local.schema.rows import (
    MISSING,
    SCHEMA_VIOLATION,
    Missing,
    accepted_type,
    component_parser,
    takes_null,
    text_of_name,
    value_parser,
)
from yt_local.schema.schema import TableSchema
from yt_wire.error import YtError
from yt_wire.yson import Yson

PartialRow: TypeAlias = tuple[Value | Literal[Missing.MISSING], ...]
"""All columns of a schema, `MISSING` in the place of those the client did not name."""


class RowCodec:
    """Reads rows of one schema; make one per schema and keep it."""

    def __init__(self, schema: TableSchema) -> None:
        self.write_columns = schema.write_columns()
        self.lock_groups = LockGroups.of(schema)
        self.key_columns = schema.key_columns
        self._key_width = len(schema.key_columns)
        self._computed = [
            (position, compiled(column.expression, schema.key_columns), value_parser(column))
            for position, column in enumerate(schema.key_columns)
            if column.expression is not None
        ]
        self._computed_names = {column.name.encode() for column in schema.columns if column.expression is not None}
        self._given_width = self._key_width - len(self._computed)
        self._merges = [merge_function(column) for column in schema.columns]
        self._required = [column.required and column.sort_order is None for column in self.write_columns]
        self._plan = [(column.name.encode(), value_parser(column)) for column in self.write_columns]
        # Most values of most rows are of a type that needs no look at the value itself.
        self._row_plan = [
            (name, accepted_type(column), takes_null(column), parse)
            for column, (name, parse) in zip(self.write_columns, self._plan, strict=True)
        ]
        self._key_plan = self._plan[: self._given_width]
        self._key_encoder = KeyEncoder(schema.key_columns)
        self._known = {name for name, _ in self._plan}

    @property
    def has_aggregates(self) -> bool:
        return any(merge is not None for merge in self._merges)

    @property
    def value_positions(self) -> range:
        """Where the columns stand in a row that are no keys."""
        return range(self._key_width, len(self._merges))

    def check_names(self, mapping: Mapping[bytes, Yson]) -> None:
        """YtError if a row to insert names a column that cannot be written."""
        if not self._known.issuperset(mapping):
            self._refuse_unknown(mapping)

    def parse_row(self, mapping: Mapping[bytes, Yson]) -> Row:
        """Read a row to insert: values of all columns, computed ones too, null for those it does not name.

        In ordered tables the first value is the tablet index, None if the client leaves the choice, and the values of
        `write_columns` follow.

        Raises:
            YtError: an unknown column, a wrong type, a number out of range, a null in a required column.
        """
        values: list[Value] = []
        absent = 0
        get = mapping.get
        for name, accepted, may_be_null, parse in self._row_plan:
            value: Yson = get(name, MISSING)
            if type(value) is accepted:
                values.append(value)
            elif value is MISSING:
                absent += 1
                values.append(None if may_be_null else parse(None))
            else:
                values.append(parse(value))
        if len(values) - absent != len(mapping):
            self._refuse_unknown(mapping)
        return self._with_computed(values) if self._computed else tuple(values)

    def parse_partial_row(self, mapping: Mapping[bytes, Yson]) -> PartialRow:
        """Read a row for update mode: `MISSING` where the old value stays.

        Key columns that are not named are null; required columns must be named, and so must one column at least.
        """
        key: list[Value] = []
        values: list[Value | Literal[Missing.MISSING]] = []
        absent = 0
        for position, (name, parse) in enumerate(self._plan):
            value = mapping.get(name, MISSING)
            if value is MISSING:
                absent += 1
            if position < self._given_width:
                key.append(parse(None if value is MISSING else value))
            elif value is not MISSING:
                values.append(parse(value))
            elif self._required[position]:
                raise YtError(f'Missing required column "{name.decode()}" in table schema', SCHEMA_VIOLATION)
            else:
                values.append(MISSING)
        if len(self._plan) - absent != len(mapping):
            self._refuse_unknown(mapping)
        if all(value is MISSING for value in values):
            raise YtError("At least one non-key column must be specified")
        return (*(self._with_computed(key) if self._computed else key), *values)

    def parse_key(self, mapping: Mapping[bytes, Yson]) -> Row:
        """Read a key for a lookup, a lock or a deletion; key columns it does not name are null."""
        values: list[Value] = []
        absent = 0
        for name, parse in self._key_plan:
            value = mapping.get(name, MISSING)
            if value is MISSING:
                absent += 1
                value = None
            values.append(parse(value))
        if len(mapping) != len(values) - absent:
            known = {name for name, _ in self._key_plan}
            extra = next(name for name in mapping if name not in known)
            if extra in self._computed_names:
                raise computed_error(extra)
            raise YtError(f'Column "{text_of_name(extra)}" is not a key column', SCHEMA_VIOLATION)
        return self._with_computed(values) if self._computed else tuple(values)

    def parse_key_prefix(self, values: Sequence[Yson]) -> Row:
        """Read the beginning of a key, computed columns included, as pivot keys are given.

        Raises:
            YtError: it is too long, or a value is not of its column's type.
        """
        if len(values) > self._key_width:
            raise YtError(f"Pivot key has {len(values)} components, more than the {self._key_width} key columns")
        return tuple(component_parser(column)(value) for column, value in zip(self.key_columns, values, strict=False))

    def merge(self, old: Row | None, new: PartialRow, *, aggregate: bool) -> Row:
        """The row that is there after a write; by `aggregate` values of aggregate columns are added to the old ones.

        Args:
            old: all columns of the row there was, None for no row.
            new: all columns, `MISSING` where the old value stays.
            aggregate: whether the client asked for it.
        """
        before = old or (None,) * len(new)
        merged: list[Value] = []
        for was, value, merge in zip(before, new, self._merges, strict=True):
            if value is MISSING:
                merged.append(was)
            elif aggregate and merge is not None:
                merged.append(merge(was, value))
            else:
                merged.append(value)
        return tuple(merged)

    def encode_key(self, values: Sequence[Value]) -> bytes:
        """Bytes that sort as the key does; also of a whole row, of which the key is the beginning."""
        return self._key_encoder.encode(values)

    def _with_computed(self, values: Sequence[Value]) -> Row:
        """A row, or a key, with the computed columns in their places."""
        full = list(values)
        for position, _, _ in self._computed:
            full.insert(position, None)
        key = tuple(full[: self._key_width])
        for position, compute, parse in self._computed:
            full[position] = parse(compute(key))
        return tuple(full)

    def _refuse_unknown(self, mapping: Mapping[bytes, Yson]) -> NoReturn:
        name = next(name for name in mapping if name not in self._known)
        if name in self._computed_names:
            raise computed_error(name)
        raise YtError(f'No such column "{text_of_name(name)}"', SCHEMA_VIOLATION)


def computed_error(name: bytes) -> YtError:
    """Somebody gives a value for a column that nobody gives values for."""
    return YtError(
        f'Column "{text_of_name(name)}" is computed automatically and should not be provided by user', SCHEMA_VIOLATION
    )
