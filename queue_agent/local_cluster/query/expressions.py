"""Expressions of a query once names and types are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal as Choice
from typing import TypeAlias

from queue_agent.local_cluster.column_types import PhysicalType
from queue_agent.local_cluster.keys import Value

Comparison: TypeAlias = Choice["=", "!=", "<", "<=", ">", ">="]

MIRRORED: dict[Comparison, Comparison] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""`a op b` is `b MIRRORED[op] a`."""

NEGATED: dict[Comparison, Comparison] = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""`not (a op b)` is `a NEGATED[op] b`: comparisons are never null."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant, also a folded one."""

    value: Value
    type: PhysicalType
    is_flexible: bool = False
    """An integer that may still become any other numeric type."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of the table, by its position."""

    index: int
    type: PhysicalType


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an arithmetic operator."""

    name: str
    arguments: tuple[Expression, ...]
    type: PhysicalType
    function: Callable[..., Value]
    takes_null: bool = False
    """Otherwise the result is null if any argument is."""


@dataclass(frozen=True, slots=True)
class If:
    """Null if the condition is; only the branch taken is evaluated."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: PhysicalType


@dataclass(frozen=True, slots=True)
class Compare:
    """Two values or two tuples of one length; null is equal to null and less than all else."""

    operator: Comparison
    left: tuple[Expression, ...]
    right: tuple[Expression, ...]
    type: PhysicalType = "boolean"


@dataclass(frozen=True, slots=True)
class In:
    """A value or tuple, and the constants it is looked for among."""

    needle: tuple[Expression, ...]
    haystack: frozenset[tuple[Value, ...]]
    type: PhysicalType = "boolean"


@dataclass(frozen=True, slots=True)
class Logic:
    """And, or: of three values, with null as the unknown."""

    operator: Choice["and", "or"]
    operands: tuple[Expression, ...]
    type: PhysicalType = "boolean"


@dataclass(frozen=True, slots=True)
class Not:
    """Null for null."""

    operand: Expression
    type: PhysicalType = "boolean"


Expression: TypeAlias = Literal | Reference | Call | If | Compare | In | Logic | Not


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions it is made of, one level down."""
    match expression:
        case Literal() | Reference():
            return ()
        case Call():
            return expression.arguments
        case If():
            return (expression.condition, expression.then, expression.otherwise)
        case Compare():
            return (*expression.left, *expression.right)
        case In():
            return expression.needle
        case Logic():
            return expression.operands
        case Not():
            return (expression.operand,)


def referenced_indexes(expression: Expression) -> frozenset[int]:
    """Positions of the columns it depends on."""
    if isinstance(expression, Reference):
        return frozenset({expression.index})
    return frozenset().union(*map(referenced_indexes, parts_of(expression)))


NUMERIC: frozenset[PhysicalType] = frozenset({"int64", "uint64", "double"})
INTEGRAL: frozenset[PhysicalType] = frozenset({"int64", "uint64"})


def unify(left: Expression, right: Expression) -> tuple[Expression, Expression] | None:
    """Give both operands one type; None if that can not be.

    Only integer literals and null give way: columns of different types do not go together. A literal's value is kept
    even if it lies outside the range of the type it gets.
    """
    if left.type == right.type or "null" in (left.type, right.type):
        return left, right
    if isinstance(left, Literal) and (not isinstance(right, Literal) or _rank(left) < _rank(right)):
        converted = _convert(left, right.type)
        return None if converted is None else (converted, right)
    if isinstance(right, Literal):
        converted = _convert(right, left.type)
        return None if converted is None else (left, converted)
    return None


def common_type(left: Expression, right: Expression) -> PhysicalType:
    """Type of two expressions that `unify` went through."""
    return right.type if left.type == "null" else left.type


def _rank(literal: Literal) -> int:
    return ("int64", "uint64", "double").index(literal.type) if literal.type in NUMERIC else -1


def _convert(literal: Literal, target: PhysicalType) -> Literal | None:
    if not literal.is_flexible or target not in NUMERIC:
        return None
    assert isinstance(literal.value, int)
    if target == "double":
        return Literal(float(literal.value), "double")
    return replace(literal, type=target)
