"""Rows to be written into a static table: checked against its schema, and turned into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from yt_local.rows.computed_columns import compiled, validate_computed_columns
from yt_local.rows.row_codec import computed_error
from yt_local.schema.column_types import SIMPLE_TYPES
from yt_local.schema.composite_values import completion
from yt_local.schema.rows import SCHEMA_VIOLATION, value_parser
from yt_local.schema.schema import Column, TableSchema
from yt_local.tables.static.chunk_blocks import ABSENT
from yt_wire import yson
from yt_wire.error import YtError

ROW_WEIGHT_LIMIT_EXCEEDED: Final = 308
_MAX_NAME_LENGTH: Final = 256
_NUMBER_WEIGHT: Final = 8

_BARE_TYPES: Final = frozenset({bytes, bool, int, float, type(None), list, dict, yson.Uint64})
"""Types of values that have no attributes."""

_AS_THEY_ARE: Final[Mapping[str, frozenset[type]]] = {
    "string": frozenset({bytes}),
    "int64": frozenset({int}),
    "uint64": frozenset({yson.Uint64}),
    "double": frozenset({float}),
    "boolean": frozenset({bool}),
}
"""By column type: values that need no look at themselves."""


@dataclass(frozen=True, slots=True)
class WeightLimits:
    """How heavy, in bytes, a row and its key may be."""

    row: int = 16 * 2**20
    key: int = 16 * 2**10


@dataclass(frozen=True, slots=True)
class Batch:
    """Checked rows as columns, those of the schema first; `ABSENT` where a row does not have one."""

    columns: Mapping[bytes, Sequence[Any]]
    row_count: int
    data_weight: int


class BatchReader:
    """Checks rows against one schema.

    Args:
        schema: what the rows are to be like; columns it does not name are kept if it is not strict.
        limits: of weights.
    """

    def __init__(self, schema: TableSchema, limits: WeightLimits) -> None:
        self._strict = schema.strict
        self._limits = limits
        self._columns = [(column.name.encode(), column, _column_parser(column)) for column in schema.columns]
        self._keys = [column.name.encode() for column in schema.key_columns]
        validate_computed_columns(schema)
        self._computed = [
            (column.name.encode(), compiled(column.expression, schema.key_columns), _column_parser(column))
            for column in schema.key_columns
            if column.expression is not None
        ]

    def read(self, rows: Sequence[Mapping[bytes, Any]]) -> Batch:
        """Check rows; what a row lacks of the schema's columns is null.

        Raises:
            YtError: 307 for a value of a wrong type, a null in a required column or a column a strict schema does not
                name or it computes; 308 for a row or key that is too heavy.
        """
        columns: dict[bytes, Sequence[Any]] = {}
        named = 0
        for name, column, parse in self._columns:
            values: Sequence[Any] = [row.get(name, ABSENT) for row in rows]
            absent = values.count(ABSENT)
            named += len(values) - absent
            if absent:
                values = [None if value is ABSENT else value for value in values]
            if column.expression is None:
                values = self._checked(column, values, parse)
            elif absent < len(values):
                raise computed_error(name)
            columns[name] = values
        if named != sum(map(len, rows)):
            self._add_others(columns, rows)
        if self._computed:
            self._compute(columns)
        weight = self._weigh(columns, len(rows))
        return Batch(columns, len(rows), weight)

    def _checked(self, column: Column, values: Sequence[Any], parse: Callable[[Any], Any]) -> Sequence[Any]:
        types = set(map(type, values))
        known = frozenset() if column.composite is not None else _AS_THEY_ARE.get(column.type, frozenset())
        if types <= known or (not column.required and types <= known | {type(None)}):
            return values
        return [parse(value) for value in values]

    def _compute(self, columns: dict[bytes, Sequence[Any]]) -> None:
        keys = list(zip(*(columns[name] for name in self._keys), strict=True))
        for name, compute, parse in self._computed:
            columns[name] = [parse(compute(key)) for key in keys]

    def _add_others(self, columns: dict[bytes, Sequence[Any]], rows: Sequence[Mapping[bytes, Any]]) -> None:
        others = dict.fromkeys(name for row in rows for name in row if name not in columns)
        if self._strict:
            raise YtError(f'Unknown column "{_text(next(iter(others)))}" in strict schema', SCHEMA_VIOLATION)
        for name in others:
            if not name:
                raise YtError("Column name cannot be empty", SCHEMA_VIOLATION)
            if len(name) > _MAX_NAME_LENGTH:
                raise YtError(f'Cannot register column "{_text(name)}": column name is too long', SCHEMA_VIOLATION)
            values = [row.get(name, ABSENT) for row in rows]
            if not set(map(type, values)) <= _BARE_TYPES | {object}:
                values = [value if value is ABSENT else _bare(name, value) for value in values]
            columns[name] = values

    def _weigh(self, columns: Mapping[bytes, Sequence[Any]], row_count: int) -> int:
        by_column = {name: list(map(value_weight, values)) for name, values in columns.items()}
        rows = [1 + sum(weights) for weights in zip(*by_column.values(), strict=True)] or [1] * row_count
        if rows and max(rows) > self._limits.row:
            raise YtError(
                f"Row weight is too large: {max(rows)} > {self._limits.row}",
                ROW_WEIGHT_LIMIT_EXCEEDED,
            )
        if self._keys:
            heaviest = max((sum(key) for key in zip(*(by_column[name] for name in self._keys), strict=True)), default=0)
            if heaviest > self._limits.key:
                raise YtError(f"Key weight is too large: {heaviest} > {self._limits.key}", ROW_WEIGHT_LIMIT_EXCEEDED)
        return sum(rows)


def value_weight(value: Any) -> int:
    """Data weight of one value, in bytes."""
    if type(value) is bytes:
        return len(value)
    if value is None or value is ABSENT:
        return 0
    if isinstance(value, bool):
        return 1
    if isinstance(value, (int, float)):
        return _NUMBER_WEIGHT
    return len(yson.dumps(value))


def checked_names(names: Iterable[Any]) -> list[str]:
    """Names of columns as a path or a schema gives them; YtError if something else is among them."""
    names = list(names)
    for name in names:
        if not isinstance(name, str):
            raise YtError(f"Column name must be a string, got {yson.shown(name)}")
    return [str(name) for name in names]


def _column_parser(column: Column) -> Callable[[Any], Any]:
    """What makes a value of the column of one that a client gives."""
    if column.physical_type == "any":
        complete = None if column.composite is None else completion(column.composite)
        if complete is not None:
            return lambda value: None if (checked := _checked_any(column, value)) is None else complete(checked)
        return lambda value: _checked_any(column, value)
    parse = value_parser(column)
    if SIMPLE_TYPES[column.type].physical == "uint64":
        return lambda value: None if (number := parse(value)) is None else yson.Uint64(number)
    return parse


def _checked_any(column: Column, value: Any) -> Any:
    value = _bare(column.name.encode(), value)
    if value is None and column.required:
        raise YtError(f'Required column "{column.name}" cannot have "null" value', SCHEMA_VIOLATION)
    return value


def _bare(name: bytes, value: Any) -> Any:
    if type(value) in _BARE_TYPES:
        return value
    if yson.attributes_of(value):
        raise YtError(f'Value of column "{_text(name)}" cannot have top-level attributes', SCHEMA_VIOLATION)
    return yson.plain(value)


def _text(name: bytes) -> str:
    return name.decode(errors="backslashreplace")
