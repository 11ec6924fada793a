"""Lists of constants in queries: brought to the types of what they are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from yt_local.base.turns import give_way
from yt_local.query.evaluate import sort_keys
from yt_local.query.inference import NUMERIC
from yt_local.query.numbers import convert
from yt_local.query.syntax import Constant, ConstantRow, ConstantRows
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Row, Value
from yt_wire.error import YtError


def rows_of(rows: ConstantRows, types: Sequence[PhysicalType]) -> list[Row]:
    """Tuples as long as there are types.

    Raises:
        YtError: another length, or a value that cannot have its type.
    """
    result: list[Row] = []
    for row in rows:
        give_way()
        if len(row) != len(types):
            raise YtError("Arguments size mismatch in tuple")
        result.append(_row_of(row, types))
    return result


def ranges_of(
    ranges: Iterable[tuple[ConstantRow, ConstantRow]], types: Sequence[PhysicalType]
) -> tuple[tuple[Row, Row], ...]:
    """Ranges in order; their ends may be shorter than there are types.

    Raises:
        YtError: as `rows_of`; a range ends before it begins, or two of them overlap.
    """
    result: list[tuple[Row, Row]] = []
    for lower_row, upper_row in ranges:
        give_way()
        if max(len(lower_row), len(upper_row)) > len(types):
            raise YtError("Arguments size mismatch in tuple")
        lower, upper = _row_of(lower_row, types), _row_of(upper_row, types)
        if _prefix_order(lower, upper) > 0:
            raise YtError("Lower bound is greater than upper")
        result.append((lower, upper))
    result.sort(key=lambda ends: sort_keys(ends[0]))
    for (_, upper), (lower, _) in pairwise(result):
        if _prefix_order(upper, lower) >= 0:
            raise YtError("Ranges are not disjoint")
    return tuple(result)


def value_of(constant: Constant, target: PhysicalType) -> Value:
    """One constant with another type.

    Raises:
        YtError: it cannot have it.
    """
    if constant.value is None or constant.type == target:
        return constant.value
    if constant.type not in NUMERIC or target not in NUMERIC:
        raise YtError("Types mismatch in tuple", attributes={"actual_type": constant.type, "expected_type": target})
    return convert(constant.value, constant.type, target)


def _row_of(row: ConstantRow, types: Sequence[PhysicalType]) -> Row:
    return tuple(value_of(constant, target) for constant, target in zip(row, types, strict=False))


def _prefix_order(left: Row, right: Row) -> int:
    """How they compare in as many values as both have."""
    length = min(len(left), len(right))
    first, second = sort_keys(left[:length]), sort_keys(right[:length])
    return (first > second) - (first < second)
