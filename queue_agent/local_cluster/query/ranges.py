"""Which keys a condition can hold for: never fewer than it does, as few as key prefixes can tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple, TypeAlias

from queue_agent.local_cluster.keys import AFTER_PREFIX, KeyEncoder, Row, Value, component_encoder
from queue_agent.local_cluster.query.expressions import (
    NEGATED,
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
from queue_agent.local_cluster.query.tables import FULL_RANGE, KeyRange
from queue_agent.local_cluster.schema import Column

_RANGE_LIMIT = 100_000
"""With more ranges than these a scan of fewer, wider ones is cheaper."""


class _Cut(NamedTuple):
    """A point between two values of one column; cuts compare by `position`."""

    position: bytes
    value: Value
    is_after: bool
    """Behind the value rather than before it."""


_START = _Cut(b"", None, is_after=False)
_END = _Cut(AFTER_PREFIX, None, is_after=True)


class _Piece(NamedTuple):
    """Values of a column between two cuts, and what then holds for the columns behind it."""

    low: _Cut
    high: _Cut
    rest: _Constraint

    @property
    def is_point(self) -> bool:
        is_bounded = self.low.position != _START.position
        return is_bounded and self.high.position == self.low.position + AFTER_PREFIX


@dataclass(frozen=True, slots=True)
class _Constraint:
    """Keys with the given column in one of the pieces, which are disjoint and in order; or any key at all."""

    column: int
    pieces: tuple[_Piece, ...]


_ANY = _Constraint(-1, ())
_NOTHING = _Constraint(0, ())

_Combine: TypeAlias = Callable[[_Constraint, _Constraint], _Constraint]


def infer_ranges(condition: Expression, key_columns: Sequence[Column]) -> list[KeyRange]:
    """Find the ranges outside of which the condition is never true; disjoint, in key order, none for no row."""
    constraint = _Inference(key_columns).constraint(condition, is_negated=False)
    if constraint is _ANY:
        return [FULL_RANGE]
    encoder = KeyEncoder(key_columns)
    for depth in range(len(key_columns), 0, -1):
        ranges = list(islice(_flatten(constraint, (), depth), _RANGE_LIMIT + 1))
        if len(ranges) <= _RANGE_LIMIT:
            return list(_join_adjacent(ranges, encoder))
    return [FULL_RANGE]


class _Inference:
    def __init__(self, key_columns: Sequence[Column]) -> None:
        self._encoders = [component_encoder(column) for column in key_columns]
        self._descending = [column.sort_order == "descending" for column in key_columns]

    def constraint(self, condition: Expression, is_negated: bool) -> _Constraint:
        match condition:
            case Literal(value):
                return _ANY if value is (not is_negated) else _NOTHING
            case Reference(index, "boolean") if index < len(self._encoders):
                return self._scalar(index, "=", not is_negated)
            case Not(operand):
                return self.constraint(operand, not is_negated)
            case Logic(operator, operands):
                parts = [self.constraint(operand, is_negated) for operand in operands]
                return _combine_all(parts, _both if (operator == "and") != is_negated else _either)
            case Compare(operator, left, right):
                return self._compare(NEGATED[operator] if is_negated else operator, left, right)
            case In(needle, haystack):
                return self._not_in(needle, haystack) if is_negated else self._in(needle, haystack)
            case Call("is_prefix", (Literal(bytes() as prefix), Reference(index))) if not is_negated:
                return self._prefix(index, prefix)
            case _:
                return _ANY

    def _key_index(self, expression: Expression) -> int | None:
        is_key = isinstance(expression, Reference) and expression.index < len(self._encoders)
        return expression.index if is_key and isinstance(expression, Reference) else None

    def _compare(self, operator: Comparison, left: Sequence[Expression], right: Sequence[Expression]) -> _Constraint:
        terms: list[tuple[int, Value] | None] = []
        for first, second in zip(left, right, strict=True):
            index = self._key_index(first)
            terms.append((index, second.value) if index is not None and isinstance(second, Literal) else None)
        if operator == "=":
            return _combine_all([self._scalar(term[0], "=", term[1]) for term in terms if term], _both)
        if operator == "!=":
            if None in terms:
                return _ANY
            return _combine_all([self._scalar(term[0], "!=", term[1]) for term in terms if term], _either)
        return self._lexicographic(operator, terms)

    def _lexicographic(self, operator: Comparison, terms: Sequence[tuple[int, Value] | None]) -> _Constraint:
        """`(a, b) < (1, 2)` is `a < 1 or a = 1 and b < 2`; behind a term of no use all may follow."""
        if not terms or terms[0] is None:
            return _ANY
        index, value = terms[0]
        if len(terms) == 1:
            return self._scalar(index, operator, value)
        strict: Comparison = "<" if operator in ("<", "<=") else ">"
        tied = _both(self._scalar(index, "=", value), self._lexicographic(operator, terms[1:]))
        return _either(self._scalar(index, strict, value), tied)

    def _scalar(self, index: int, operator: Comparison, value: Value) -> _Constraint:
        cuts = self._cuts(index, value)
        if cuts is None:
            return _ANY
        before, after = cuts
        if self._descending[index] and operator not in ("=", "!="):
            operator = _TURNED[operator]
        match operator:
            case "=":
                intervals = [(before, after)]
            case "!=":
                intervals = [(_START, before), (after, _END)]
            case "<":
                intervals = [(_START, before)]
            case "<=":
                intervals = [(_START, after)]
            case ">":
                intervals = [(after, _END)]
            case ">=":
                intervals = [(before, _END)]
        return _Constraint(index, tuple(_Piece(low, high, _ANY) for low, high in intervals))

    def _cuts(self, index: int, value: Value) -> tuple[_Cut, _Cut] | None:
        """The cuts before and after a value; None if no key can have it, so that its place is not known."""
        if isinstance(value, float) and math.isnan(value):
            return None
        try:
            position = self._encoders[index](value)
        except OverflowError:
            return None
        return _Cut(position, value, is_after=False), _Cut(position + AFTER_PREFIX, value, is_after=True)

    def _prefix(self, index: int, prefix: bytes) -> _Constraint:
        if index >= len(self._encoders):
            return _ANY
        stem = prefix.rstrip(b"\xff")
        at_least = self._scalar(index, ">=", prefix)
        if not stem:
            return at_least
        return _both(at_least, self._scalar(index, "<", stem[:-1] + bytes([stem[-1] + 1])))

    def _in(self, needle: Sequence[Expression], haystack: Iterable[tuple[Value, ...]]) -> _Constraint:
        indexes = {index: place for place, item in enumerate(needle) if (index := self._key_index(item)) is not None}
        order = sorted(indexes)
        return self._among(order, {tuple(row[indexes[index]] for index in order) for row in haystack})

    def _among(self, indexes: Sequence[int], rows: Iterable[tuple[Value, ...]]) -> _Constraint:
        """The key columns of these indexes, which ascend, have the values of one of the rows."""
        groups: dict[Value, list[tuple[Value, ...]]] = {}
        for row in rows:
            if not row:
                return _ANY
            groups.setdefault(row[0], []).append(row[1:])
        pieces = []
        for value, group in groups.items():
            cuts = self._cuts(indexes[0], value)
            if cuts is None:
                return _ANY
            pieces.append(_Piece(*cuts, self._among(indexes[1:], group)))
        return _Constraint(indexes[0], tuple(sorted(pieces, key=_position))) if pieces else _NOTHING

    def _not_in(self, needle: Sequence[Expression], haystack: Iterable[tuple[Value, ...]]) -> _Constraint:
        index = self._key_index(needle[0])
        if len(needle) > 1 or index is None:
            return _ANY
        return _combine_all([self._scalar(index, "!=", value) for (value,) in haystack], _both)


_TURNED: dict[Comparison, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _position(piece: _Piece) -> bytes:
    return piece.low.position


def _combine_all(constraints: Sequence[_Constraint], combine: _Combine) -> _Constraint:
    """Combine by halves: one after the other would take quadratic time for long chains."""
    if not constraints:
        return _ANY if combine is _both else _NOTHING
    if len(constraints) == 1:
        return constraints[0]
    middle = len(constraints) // 2
    return combine(_combine_all(constraints[:middle], combine), _combine_all(constraints[middle:], combine))


def _both(left: _Constraint, right: _Constraint) -> _Constraint:
    if left is _ANY or right is _ANY:
        return right if left is _ANY else left
    if not left.pieces or not right.pieces:
        return _NOTHING
    if left.column > right.column:
        left, right = right, left
    pieces: list[_Piece] = []
    if left.column < right.column:
        pieces = [_Piece(piece.low, piece.high, _both(piece.rest, right)) for piece in left.pieces]
    else:
        first, second = 0, 0
        while first < len(left.pieces) and second < len(right.pieces):
            one, other = left.pieces[first], right.pieces[second]
            low, high = max(one.low, other.low, key=_at), min(one.high, other.high, key=_at)
            if low.position < high.position:
                pieces.append(_Piece(low, high, _both(one.rest, other.rest)))
            if one.high.position <= other.high.position:
                first += 1
            else:
                second += 1
    return _build(left.column, [piece for piece in pieces if piece.rest is not _NOTHING])


def _either(left: _Constraint, right: _Constraint) -> _Constraint:
    if left is _ANY or right is _ANY:
        return _ANY
    if not left.pieces or not right.pieces:
        return left if left.pieces else right
    column = min(left.column, right.column)
    left, right = _lift(left, column), _lift(right, column)
    cuts = {cut.position: cut for side in (left, right) for piece in side.pieces for cut in (piece.low, piece.high)}
    ordered = [cuts[position] for position in sorted(cuts)]
    pieces: list[_Piece] = []
    first, second = 0, 0
    for low, high in pairwise(ordered):
        first = _skip(left.pieces, first, low)
        second = _skip(right.pieces, second, low)
        rests = [
            side.pieces[at].rest
            for side, at in ((left, first), (right, second))
            if at < len(side.pieces) and side.pieces[at].low.position <= low.position
        ]
        if not rests:
            continue
        rest = rests[0] if len(rests) == 1 else _either(*rests)
        if pieces and pieces[-1].high.position == low.position and pieces[-1].rest == rest:
            pieces[-1] = _Piece(pieces[-1].low, high, rest)
        else:
            pieces.append(_Piece(low, high, rest))
    return _build(column, pieces)


def _at(cut: _Cut) -> bytes:
    return cut.position


def _skip(pieces: Sequence[_Piece], index: int, low: _Cut) -> int:
    while index < len(pieces) and pieces[index].high.position <= low.position:
        index += 1
    return index


def _lift(constraint: _Constraint, column: int) -> _Constraint:
    """The same as a constraint of an earlier column, all of whose values are allowed."""
    return constraint if constraint.column == column else _Constraint(column, (_Piece(_START, _END, constraint),))


def _build(column: int, pieces: Sequence[_Piece]) -> _Constraint:
    if not pieces:
        return _NOTHING
    only = pieces[0]
    if len(pieces) == 1 and only.low.position == _START.position and only.high.position == _END.position:
        return only.rest
    return _Constraint(column, tuple(pieces))


def _flatten(constraint: _Constraint, prefix: Row, depth: int) -> Iterator[KeyRange]:
    """Ranges of keys that begin with the prefix and fulfil the constraint, looking at `depth` columns at most."""
    if constraint is _ANY or constraint.column != len(prefix) or constraint.column >= depth:
        yield KeyRange(prefix, prefix)
        return
    for piece in constraint.pieces:
        if piece.is_point and piece.rest is not _ANY:
            yield from _flatten(piece.rest, (*prefix, piece.low.value), depth)
            continue
        is_bounded_below, is_bounded_above = piece.low.position != _START.position, piece.high.position != _END.position
        yield KeyRange(
            (*prefix, piece.low.value) if is_bounded_below else prefix,
            (*prefix, piece.high.value) if is_bounded_above else prefix,
            lower_inclusive=not (is_bounded_below and piece.low.is_after),
            upper_inclusive=not is_bounded_above or piece.high.is_after,
        )


def _join_adjacent(ranges: Iterable[KeyRange], encoder: KeyEncoder) -> Iterator[KeyRange]:
    current: KeyRange | None = None
    current_end = b""
    for following in ranges:
        low, high = following.encoded(encoder)
        if current is not None and low == current_end:
            current = KeyRange(current.lower, following.upper, current.lower_inclusive, following.upper_inclusive)
        else:
            if current is not None:
                yield current
            current = following
        current_end = high
    if current is not None:
        yield current
