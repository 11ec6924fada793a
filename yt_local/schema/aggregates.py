"""Aggregate columns: how a value written with `aggregate` is merged into the one that is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from yt_local.schema.column_types import SIMPLE_TYPES, PhysicalType
from yt_local.schema.keys import Value
from yt_local.schema.schema import Column, TableSchema
from yt_wire.error import YtError

Merge: TypeAlias = Callable[[Value, Value], Value]
"""Takes the value there is and the one written; null counts for nothing."""

_NUMERIC: Final[frozenset[PhysicalType]] = frozenset({"int64", "uint64", "double"})
_COMPARABLE: Final[frozenset[PhysicalType]] = frozenset({"int64", "uint64", "double", "string"})
_ANY: Final[frozenset[PhysicalType]] = frozenset(simple.physical for simple in SIMPLE_TYPES.values())
_MODULUS: Final = 1 << 64
_SIGN: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class _Aggregate:
    types: frozenset[PhysicalType]
    make: Callable[[PhysicalType], Callable[[Any, Any], Value]]
    """The function of two values, neither of them null, for one of the types."""


def _sum(column_type: PhysicalType) -> Callable[[Any, Any], Value]:
    match column_type:
        case "uint64":
            return lambda old, new: (old + new) % _MODULUS
        case "int64":
            return lambda old, new: (old + new + _SIGN) % _MODULUS - _SIGN
        case _:
            return lambda old, new: old + new


_AGGREGATES: Final[Mapping[str, _Aggregate]] = {
    "sum": _Aggregate(_NUMERIC, _sum),
    "min": _Aggregate(_COMPARABLE, lambda _: min),
    "max": _Aggregate(_COMPARABLE, lambda _: max),
    "first": _Aggregate(_ANY, lambda _: lambda old, _new: old),
}

_NOT_BUILT: Final = frozenset({"xdelta", "dict_sum", "avg", "cardinality", "argmin", "argmax", "replica_set"})
"""Known to YTsaurus, not to the local cluster."""


def validate_aggregates(schema: TableSchema) -> None:
    """YtError if a column has an aggregate function that is not known or does not take its type."""
    for column in schema.columns:
        if column.aggregate is not None:
            _aggregate_of(column, column.aggregate)


def merge_function(column: Column) -> Merge | None:
    """How values written to the column with `aggregate` are merged; None if they replace as all others do."""
    if column.aggregate is None:
        return None
    function = _aggregate_of(column, column.aggregate).make(column.physical_type)

    def merge(old: Value, new: Value) -> Value:
        if old is None or new is None:
            return new if old is None else old
        return function(old, new)

    return merge


def _aggregate_of(column: Column, name: str) -> _Aggregate:
    if name in _NOT_BUILT:
        raise YtError(f'Aggregate function "{name}" of column "{column.name}" is not supported by the local cluster')
    aggregate = _AGGREGATES.get(name)
    if aggregate is None:
        raise YtError(f'Undefined aggregate function "{name}" of column "{column.name}"')
    if column.physical_type not in aggregate.types:
        raise YtError(f'Aggregate function "{name}" of column "{column.name}" does not take type "{column.type}"')
    return aggregate
