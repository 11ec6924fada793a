"""Expressions of a query once names and types are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal as Choice
from typing import TypeAlias

from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value

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


@dataclass(frozen=True, slots=True)
class Reference:
    """A value of the row, by its position."""

    index: int
    type: PhysicalType


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an arithmetic operator."""

    name: str
    arguments: tuple[Expression, ...]
    type: PhysicalType
    function: Callable[..., Value] = field(compare=False)
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
class Cases:
    """The result of the first condition that is true, else the default; only that is evaluated."""

    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression
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
class Between:
    """A tuple, and disjoint ranges in order; an end that is shorter is compared with as much as it has."""

    needle: tuple[Expression, ...]
    ranges: tuple[tuple[tuple[Value, ...], tuple[Value, ...]], ...]
    type: PhysicalType = "boolean"


@dataclass(frozen=True, slots=True)
class Lookup:
    """A constant for the value or tuple, or else the default, which is evaluated only then."""

    needle: tuple[Expression, ...]
    targets: Mapping[tuple[Value, ...], Value] = field(hash=False)
    default: Expression
    type: PhysicalType


@dataclass(frozen=True, slots=True)
class Logic:
    """And, or: of three values, with null as the unknown."""

    operator: Choice["AND", "OR"]
    operands: tuple[Expression, ...]
    type: PhysicalType = "boolean"


@dataclass(frozen=True, slots=True)
class Not:
    """Null for null."""

    operand: Expression
    type: PhysicalType = "boolean"


Expression: TypeAlias = Literal | Reference | Call | If | Cases | Compare | In | Between | Lookup | Logic | Not


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions it is made of, one level down."""
    match expression:
        case Literal() | Reference():
            return ()
        case Call():
            return expression.arguments
        case If():
            return (expression.condition, expression.then, expression.otherwise)
        case Cases():
            return (*(part for branch in expression.branches for part in branch), expression.default)
        case Compare():
            return (*expression.left, *expression.right)
        case In() | Between():
            return expression.needle
        case Lookup():
            return (*expression.needle, expression.default)
        case Logic():
            return expression.operands
        case Not():
            return (expression.operand,)


def referenced_indexes(expression: Expression) -> frozenset[int]:
    """Positions of the values it depends on."""
    if isinstance(expression, Reference):
        return frozenset({expression.index})
    return frozenset().union(*map(referenced_indexes, parts_of(expression)))


def conjuncts_of(condition: Expression) -> tuple[Expression, ...]:
    """Conditions all of which must be true for the whole to be so."""
    if isinstance(condition, Logic) and condition.operator == "AND":
        return tuple(part for operand in condition.operands for part in conjuncts_of(operand))
    return (condition,)


def conjunction(conditions: tuple[Expression, ...]) -> Expression:
    """The condition that all of them are true; one at least."""
    return conditions[0] if len(conditions) == 1 else Logic("AND", conditions)
