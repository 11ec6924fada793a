"""Which keys a condition can hold for: never fewer than it does, as few as key prefixes can tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Final

from yt_local.base.turns import give_way
from yt_local.query.computed import compile_text
from yt_local.query.constraints import (
    ANY,
    END,
    NOTHING,
    START,
    Constraint,
    Cut,
    Piece,
    both,
    combine_all,
    either,
    ranges_of,
)
from yt_local.query.expressions import (
    NEGATED,
    Between,
    Call,
    Compare,
    Comparison,
    Expression,
    In,
    Literal,
    Logic,
    Not,
    Reference,
)
from yt_local.query.tables import KeyRange
from yt_local.schema.keys import AFTER_PREFIX, Row, Value, component_encoder
from yt_local.schema.schema import Column
from yt_wire.error import YtError

_RANGE_LIMIT: Final = 100_000
"""With more ranges than these a scan of fewer, wider ones is cheaper."""


def infer_ranges(condition: Expression | None, columns: Sequence[Column], key_width: int) -> list[KeyRange]:
    """Find the ranges outside of which the condition is never true; disjoint, in key order, none for no row.

    Args:
        condition: over rows of the table; None for one that is always true.
        columns: of the table, the key first.
        key_width: how many of them are the key.
    """
    key_columns = columns[:key_width]
    inference = _Inference(key_columns)
    constraint = ANY if condition is None else inference.constraint(condition, is_negated=False)
    if constraint is not ANY:
        for index, column in enumerate(key_columns):
            if column.expression is not None:
                constraint = _with_computed(inference, constraint, index, column.expression, columns)
    return ranges_of(constraint, key_columns, _RANGE_LIMIT)


def _with_computed(
    inference: _Inference, constraint: Constraint, index: int, text: str, columns: Sequence[Column]
) -> Constraint:
    """Add what the other columns say about a computed one."""
    computed = compile_text(text, columns)
    needed = sorted(place for place, column in enumerate(columns) if column.name in computed.references)
    branches = list(islice(_branches(constraint, needed, {}), _RANGE_LIMIT + 1))
    if None in branches or len(branches) > _RANGE_LIMIT:
        return both(constraint, _remainders(inference, constraint, index, computed.expression))
    pinned = []
    for branch in branches:
        give_way()
        assert branch is not None
        values, rest = branch
        try:
            value = computed(tuple(values.get(place) for place in range(len(columns))))
        except YtError:  # no stored key can have these values, for they have no computed one
            continue
        pinned.append(both(inference.scalar(index, "=", value), rest))
    return combine_all(pinned, either)


def _branches(
    constraint: Constraint, needed: Sequence[int], values: Mapping[int, Value]
) -> Iterator[tuple[Mapping[int, Value], Constraint] | None]:
    """The parts of a constraint with one value each for the columns needed; None if one of them is not a value."""
    if not needed:
        yield values, constraint
    elif constraint is ANY or constraint.column > needed[0]:
        yield None
    else:
        is_needed = constraint.column == needed[0]
        for piece in constraint.pieces:
            give_way()
            if is_needed and not piece.is_point:
                yield None
                return
            known = {**values, constraint.column: piece.low.value} if is_needed else values
            for branch in _branches(piece.rest, needed[1:] if is_needed else needed, known):
                if branch is None:
                    yield None
                    return
                part = Piece(piece.low, piece.high, branch[1])
                yield branch[0], Constraint(constraint.column, (part,))


def _remainders(inference: _Inference, constraint: Constraint, index: int, expression: Expression) -> Constraint:
    """All values of a column computed modulo a constant, if the column behind it makes that worth while."""
    match expression:
        case Call("%", (_, Literal(int() as divisor, divisor_type))) if constraint.column == index + 1 and divisor:
            first = 0 if divisor_type == "uint64" else 1 - abs(divisor)
            values: list[Value] = [None, *range(first, abs(divisor))] if abs(divisor) < _RANGE_LIMIT else []
            if values and len(values) * len(constraint.pieces) <= _RANGE_LIMIT:
                return combine_all([inference.scalar(index, "=", value) for value in values], either)
    return ANY


class _Inference:
    def __init__(self, key_columns: Sequence[Column]) -> None:
        self._encoders = [component_encoder(column) for column in key_columns]
        self._descending = [column.sort_order == "descending" for column in key_columns]

    def constraint(self, condition: Expression, is_negated: bool) -> Constraint:
        """Keys for which the condition, or its negation, may be true."""
        match condition:
            case Literal(value):
                return ANY if value is (not is_negated) else NOTHING
            case Reference(index, "boolean") if index < len(self._encoders):
                return self.scalar(index, "=", not is_negated)
            case Not(operand):
                return self.constraint(operand, not is_negated)
            case Logic(operator, operands):
                parts = [self.constraint(operand, is_negated) for operand in operands]
                return combine_all(parts, both if (operator == "AND") != is_negated else either)
            case Compare(operator, left, right):
                return self._compare(NEGATED[operator] if is_negated else operator, left, right)
            case In(needle, haystack):
                return self._not_in(needle, haystack) if is_negated else self._in(needle, haystack)
            case Between(needle, ranges) if not is_negated:
                return combine_all([self._range(needle, *ends) for ends in ranges], either)
            case Call("is_prefix", (Literal(bytes() as prefix), Reference(index))) if not is_negated:
                return self._prefix(index, prefix)
            case _:
                return ANY

    def _key_index(self, expression: Expression) -> int | None:
        is_key = isinstance(expression, Reference) and expression.index < len(self._encoders)
        return expression.index if is_key and isinstance(expression, Reference) else None

    def _compare(self, operator: Comparison, left: Sequence[Expression], right: Sequence[Expression]) -> Constraint:
        terms: list[tuple[int, Value] | None] = []
        for first, second in zip(left, right, strict=True):
            index = self._key_index(first)
            terms.append((index, second.value) if index is not None and isinstance(second, Literal) else None)
        if operator == "=":
            return combine_all([self.scalar(term[0], "=", term[1]) for term in terms if term], both)
        if operator == "!=":
            if None in terms:
                return ANY
            return combine_all([self.scalar(term[0], "!=", term[1]) for term in terms if term], either)
        return self._lexicographic(operator, terms)

    def _lexicographic(self, operator: Comparison, terms: Sequence[tuple[int, Value] | None]) -> Constraint:
        """`(a, b) < (1, 2)` is `a < 1 or a = 1 and b < 2`; behind a term of no use all may follow."""
        known = list(takewhile(lambda term: term is not None, terms))
        strict: Comparison = "<" if operator in ("<", "<=") else ">"
        constraint = ANY
        for place, term in reversed(list(enumerate(known))):
            assert term is not None
            if place == len(terms) - 1:
                constraint = self.scalar(term[0], operator, term[1])
                continue
            tied = both(self.scalar(term[0], "=", term[1]), constraint)
            constraint = either(self.scalar(term[0], strict, term[1]), tied)
        return constraint

    def scalar(self, index: int, operator: Comparison, value: Value) -> Constraint:
        """Keys whose column compares so with a value."""
        cuts = self._cuts(index, value)
        if cuts is None:
            return ANY
        before, after = cuts
        if self._descending[index] and operator not in ("=", "!="):
            operator = _TURNED[operator]
        match operator:
            case "=":
                intervals = [(before, after)]
            case "!=":
                intervals = [(START, before), (after, END)]
            case "<":
                intervals = [(START, before)]
            case "<=":
                intervals = [(START, after)]
            case ">":
                intervals = [(after, END)]
            case ">=":
                intervals = [(before, END)]
        return Constraint(index, tuple(Piece(low, high, ANY) for low, high in intervals))

    def _range(self, needle: Sequence[Expression], lower: Row, upper: Row) -> Constraint:
        def side(operator: Comparison, end: Row) -> Constraint:
            return self._compare(operator, needle[: len(end)], [Literal(value, "null") for value in end])

        return both(side(">=", lower), side("<=", upper))

    def _cuts(self, index: int, value: Value) -> tuple[Cut, Cut] | None:
        """The cuts before and after a value; None if no key can have it, so that its place is not known."""
        if isinstance(value, float) and math.isnan(value):
            return None
        try:
            position = self._encoders[index](value)
        except OverflowError:
            return None
        return Cut(position, value, is_after=False), Cut(position + AFTER_PREFIX, value, is_after=True)

    def _prefix(self, index: int, prefix: bytes) -> Constraint:
        if index >= len(self._encoders):
            return ANY
        stem = prefix.rstrip(b"\xff")
        at_least = self.scalar(index, ">=", prefix)
        if not stem:
            return at_least
        return both(at_least, self.scalar(index, "<", stem[:-1] + bytes([stem[-1] + 1])))

    def _in(self, needle: Sequence[Expression], haystack: Iterable[tuple[Value, ...]]) -> Constraint:
        indexes = {index: place for place, item in enumerate(needle) if (index := self._key_index(item)) is not None}
        order = sorted(indexes)
        return self._among(order, {tuple(row[indexes[index]] for index in order) for row in haystack})

    def _among(self, indexes: Sequence[int], rows: Iterable[tuple[Value, ...]]) -> Constraint:
        """The key columns of these indexes, which ascend, have the values of one of the rows."""
        groups: dict[Value, list[tuple[Value, ...]]] = {}
        for row in rows:
            give_way()
            if not row:
                return ANY
            groups.setdefault(row[0], []).append(row[1:])
        pieces = []
        for value, group in groups.items():
            cuts = self._cuts(indexes[0], value)
            if cuts is None:
                return ANY
            pieces.append(Piece(*cuts, self._among(indexes[1:], group)))
        return Constraint(indexes[0], tuple(sorted(pieces, key=_position))) if pieces else NOTHING

    def _not_in(self, needle: Sequence[Expression], haystack: Iterable[tuple[Value, ...]]) -> Constraint:
        index = self._key_index(needle[0])
        if len(needle) > 1 or index is None:
            return ANY
        return combine_all([self.scalar(index, "!=", value) for (value,) in haystack], both)


_TURNED: dict[Comparison, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _position(piece: Piece) -> bytes:
    return piece.low.position
