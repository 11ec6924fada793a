"""Types an expression may have until it is known which is meant: literals are of several types at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from yt_local.query.expressions import Expression, Literal
from yt_local.query.numbers import convert
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value

TypeSet: TypeAlias = frozenset[PhysicalType]

_ORDER: Final[tuple[PhysicalType, ...]] = ("null", "int64", "uint64", "double", "boolean", "string", "any")

ALL: Final[TypeSet] = frozenset(_ORDER)
NUMERIC: Final[TypeSet] = frozenset({"int64", "uint64", "double"})
INTEGRAL: Final[TypeSet] = frozenset({"int64", "uint64"})
BOOLEAN: Final[TypeSet] = frozenset({"boolean"})
STRING: Final[TypeSet] = frozenset({"string"})

_WRITTEN_AS: dict[PhysicalType, TypeSet] = {
    "null": ALL,
    "int64": NUMERIC,
    "uint64": frozenset({"uint64", "double"}),
}


@dataclass(frozen=True, slots=True)
class Untyped:
    """An expression, and the types it can be built with."""

    types: TypeSet
    build: Callable[[PhysicalType], Expression]
    """Give it one of the types."""
    constant: Literal | None = None
    """Its value as it is without regard to what surrounds it, if it is a constant."""

    @property
    def type(self) -> PhysicalType:
        """The one it has where nothing else decides."""
        return front(self.types)

    def built(self) -> Expression:
        """With that type."""
        return self.build(self.type)


def front(types: TypeSet) -> PhysicalType:
    """The first type of a set that is not empty."""
    return next(item for item in _ORDER if item in types)


def in_words(types: Iterable[PhysicalType]) -> str:
    """A set of types as errors name it."""
    return "{" + ", ".join(item for item in _ORDER if item in frozenset(types)) + "}"


def typed(expression: Expression) -> Untyped:
    """An expression whose type is known."""
    return Untyped(frozenset({expression.type}), lambda _: expression)


def constant(value: Value, written_as: PhysicalType) -> Untyped:
    """A literal of the types its form allows."""
    return folded(value, written_as, _WRITTEN_AS.get(written_as, frozenset({written_as})))


def folded(value: Value, value_type: PhysicalType, types: TypeSet) -> Untyped:
    """A computed constant that may still get any of the types.

    Building raises YtError if the value does not fit the type it gets.
    """

    def build(target: PhysicalType) -> Expression:
        return Literal(convert(value, value_type, target), target)

    return Untyped(types, build, Literal(value, value_type))
