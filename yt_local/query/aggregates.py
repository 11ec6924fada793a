"""Aggregate functions: a state per group, a step per row, and a result."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from yt_local.query.expressions import Expression
from yt_local.query.functions import GENERIC, Parameter, one_of
from yt_local.query.inference import NUMERIC, TypeSet
from yt_local.query.numbers import wrap
from yt_local.query.yson_values import to_any
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value
from yt_wire import yson

_SCALARS: Final = one_of("int64", "uint64", "double", "boolean", "string")
_ITEMS: Final[TypeSet] = _SCALARS | {"any"}


@dataclass(frozen=True, slots=True)
class Accumulator:
    """How the values of a group become one; the state of a group is None before the first step."""

    step: Callable[..., Any]
    """The next state, from the last one and the values of a row."""
    merge: Callable[[Any, Any], Any]
    """One state for two that are not None."""
    finish: Callable[[Any], Value]
    deciding_argument: int | None = 0
    """Rows in which this argument is null are left out; None: all rows count."""


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One by its signature."""

    parameters: tuple[Parameter, ...]
    generic: TypeSet
    result: PhysicalType | Literal["generic"]
    make: Callable[[tuple[PhysicalType, ...]], Accumulator]
    """For arguments of these types."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A call of one in a query."""

    name: str
    arguments: tuple[Expression, ...]
    type: PhysicalType
    accumulator: Accumulator


def _sum(types: tuple[PhysicalType, ...]) -> Accumulator:
    def finish(state: Any) -> Value:
        return state if state is None or types[0] == "double" else wrap(state, types[0])

    return Accumulator(lambda state, value: value if state is None else state + value, operator.add, finish)


def _chosen(is_better: Callable[[Any, Any], bool]) -> Accumulator:
    """One of the values: the first, unless there is a better one."""

    def merge(first: Any, second: Any) -> Any:
        return second if is_better(second, first) else first

    return Accumulator(lambda state, value: value if state is None else merge(state, value), merge, lambda state: state)


def _chosen_by_another(is_better: Callable[[Any, Any], bool]) -> Accumulator:
    def merge(first: tuple[Value, Any], second: tuple[Value, Any]) -> tuple[Value, Any]:
        return second if is_better(second[1], first[1]) else first

    def step(state: tuple[Value, Any] | None, value: Value, by: Any) -> tuple[Value, Any]:
        return (value, by) if state is None else merge(state, (value, by))

    return Accumulator(step, merge, lambda state: None if state is None else state[0], deciding_argument=1)


def _average(_: tuple[PhysicalType, ...]) -> Accumulator:
    def step(state: tuple[Any, int] | None, value: Any) -> tuple[Any, int]:
        return (value, 1) if state is None else (state[0] + value, state[1] + 1)

    def merge(first: tuple[Any, int], second: tuple[Any, int]) -> tuple[Any, int]:
        return (first[0] + second[0], first[1] + second[1])

    return Accumulator(step, merge, lambda state: None if state is None else state[0] / state[1])


def _cardinality(_: tuple[PhysicalType, ...]) -> Accumulator:
    def step(state: set[Value] | None, value: Value) -> set[Value]:
        if state is None:
            return {value}
        state.add(value)
        return state

    return Accumulator(step, operator.or_, lambda state: 0 if state is None else len(state))


def _array(types: tuple[PhysicalType, ...]) -> Accumulator:
    convert = to_any(types[0])

    def step(state: list[Any] | None, value: Value, leaves_out_null: bool | None) -> list[Any]:
        state = [] if state is None else state
        if value is not None or not leaves_out_null:
            state.append(None if value is None else yson.loads_raw(convert(value)))
        return state

    def finish(state: list[Any] | None) -> Value:
        return None if state is None else yson.dumps(state)

    return Accumulator(step, operator.add, finish, deciding_argument=None)


AGGREGATES: Final[Mapping[str, AggregateFunction]] = {
    "sum": AggregateFunction((GENERIC,), NUMERIC, GENERIC, _sum),
    "min": AggregateFunction((GENERIC,), _SCALARS, GENERIC, lambda _: _chosen(operator.lt)),
    "max": AggregateFunction((GENERIC,), _SCALARS, GENERIC, lambda _: _chosen(operator.gt)),
    "avg": AggregateFunction((NUMERIC,), NUMERIC, "double", _average),
    "first": AggregateFunction((GENERIC,), _ITEMS, GENERIC, lambda _: _chosen(lambda _second, _first: False)),
    "argmin": AggregateFunction((GENERIC, _SCALARS), _ITEMS, GENERIC, lambda _: _chosen_by_another(operator.lt)),
    "argmax": AggregateFunction((GENERIC, _SCALARS), _ITEMS, GENERIC, lambda _: _chosen_by_another(operator.gt)),
    "cardinality": AggregateFunction((_SCALARS,), _SCALARS, "uint64", _cardinality),
    "array_agg": AggregateFunction((_ITEMS, one_of("boolean")), _ITEMS, "any", _array),
}
"""By lower-case name."""
