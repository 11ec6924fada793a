"""Operators between expressions: arithmetic, comparisons, logic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from yt_local.query.calls import fold
from yt_local.query.expressions import (
    MIRRORED,
    Call,
    Compare,
    Comparison,
    Expression,
    Literal,
    Logic,
    Not,
)
from yt_local.query.inference import (
    BOOLEAN,
    INTEGRAL,
    NUMERIC,
    TypeSet,
    Untyped,
    folded,
    front,
    in_words,
    typed,
)
from yt_local.query.numbers import convert
from yt_local.query.registry import BINARY, UNARY
from yt_local.query.yson_values import comparable
from yt_local.schema.column_types import PhysicalType
from yt_wire.error import YtError

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})

_BY_SIZE: tuple[PhysicalType, ...] = ("int64", "uint64", "double")


def unary(operator: str, operand: Untyped) -> Untyped:
    """One of `+ - ~ NOT`."""
    if operator == "NOT":
        return typed(fold(Not(boolean("NOT", operand))))
    allowed, make = UNARY[operator]
    types = _common(operator, allowed, operand)
    if operand.constant is not None:
        own = front(types & frozenset({operand.constant.type}) or types)
        value = operand.constant.value
        return folded(None if value is None else make(own)(value), own, types)
    return Untyped(types, lambda target: Call(operator, (operand.build(target),), target, make(target)))


def binary(operator: str, left: Untyped, right: Untyped) -> Untyped:
    """An arithmetic or bitwise operator, or `||`: both sides have the type of the result."""
    allowed, make = BINARY[operator]
    types = _common(operator, allowed, left, right)
    if left.constant is not None and right.constant is not None and types <= NUMERIC:
        own, first, second = _unified(left.constant, right.constant)
        value = None if first.value is None or second.value is None else make(own)(first.value, second.value)
        return folded(value, own, types)

    def build(target: PhysicalType) -> Expression:
        return fold(Call(operator, (left.build(target), right.build(target)), target, make(target)))

    return Untyped(types, build)


def compare(operator: Comparison, left: Sequence[Untyped], right: Sequence[Untyped]) -> Expression:
    """A comparison of two values or two tuples."""
    if len(left) != len(right):
        raise YtError(f"Tuples of same size are expected but got {len(left)} vs {len(right)}")
    pairs = [_comparable(*sides) for sides in zip(left, right, strict=True)]
    lefts, rights = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    if all(isinstance(side, Literal) for side in lefts):
        operator, lefts, rights = MIRRORED[operator], rights, lefts
    return fold(Compare(operator, lefts, rights))


def logic(operator: str, operands: Sequence[Untyped]) -> Expression:
    """A chain of `AND` or of `OR`."""
    parts = tuple(boolean(operator, operand) for operand in operands)
    return fold(Logic("AND" if operator == "AND" else "OR", parts))


def boolean(operator: str, operand: Untyped) -> Expression:
    """The operand as a condition."""
    _common(operator, BOOLEAN, operand)
    return operand.build("boolean")


def _comparable(left: Untyped, right: Untyped) -> tuple[Expression, Expression]:
    """Both sides with one type, or made comparable if one of them is `any`."""
    if left.constant is not None and right.constant is not None:
        if left.constant.value is None or right.constant.value is None:
            return left.constant, right.constant
        if {left.constant.type, right.constant.type} <= NUMERIC:
            return _unified(left.constant, right.constant)[1:]
    common = left.types & right.types
    if common:
        target = front(common)
        sides = left.build(target), right.build(target)
        return (_wrapped(sides[0]), _wrapped(sides[1])) if target == "any" else sides
    if "any" in left.types or "any" in right.types:
        return _wrapped(left.built()), _wrapped(right.built())
    for one, other in ((left, right), (right, left)):
        # The one mixture that is let through: an unsigned literal beside something signed.
        if one.constant is not None and {one.type, other.type} == INTEGRAL:
            literal = Literal(convert(one.constant.value, one.constant.type, other.type), other.type)
            return (literal, other.built()) if one is left else (other.built(), literal)
    raise YtError("Type mismatch in expression", attributes={"types": [in_words(left.types), in_words(right.types)]})


def _wrapped(expression: Expression) -> Expression:
    if isinstance(expression, Literal) and expression.value is None:
        return expression
    return fold(Call("comparable", (expression,), "any", comparable(expression.type)))


def _unified(left: Literal, right: Literal) -> tuple[PhysicalType, Literal, Literal]:
    """Two numeric constants, either of which may be null, with the larger of their types."""
    present = [side.type for side in (left, right) if side.value is not None]
    target = max(present, key=_BY_SIZE.index, default=_BY_SIZE[0])
    first, second = (Literal(convert(side.value, side.type, target), target) for side in (left, right))
    return target, first, second


def _common(operator: str, allowed: TypeSet, *operands: Untyped) -> TypeSet:
    types = allowed
    for operand in operands:
        common = types & operand.types
        if not common:
            raise YtError(
                f'Type mismatch in expression "{operator}": expected "{in_words(types)}",'
                f' got "{in_words(operand.types)}"'
            )
        types = common
    return types


def comparison(operator: str) -> Comparison:
    """One of `COMPARISONS` as such."""
    assert operator in COMPARISONS
    return cast(Comparison, operator)
