"""Sets of keys as trees of intervals, column by column: union, intersection, and the ranges they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final, NamedTuple, TypeAlias

from yt_local.base.turns import give_way
from yt_local.query.tables import FULL_RANGE, KeyRange
from yt_local.schema.keys import AFTER_PREFIX, KeyEncoder, Row, Value
from yt_local.schema.schema import Column


class Cut(NamedTuple):
    """A point between two values of one column; cuts compare by `position`."""

    position: bytes
    value: Value
    is_after: bool
    """Behind the value rather than before it."""


START: Final = Cut(b"", None, is_after=False)
END: Final = Cut(AFTER_PREFIX, None, is_after=True)


class Piece(NamedTuple):
    """Values of a column between two cuts, and what then holds for the columns behind it."""

    low: Cut
    high: Cut
    rest: Constraint

    @property
    def is_point(self) -> bool:
        is_bounded = self.low.position != START.position
        return is_bounded and self.high.position == self.low.position + AFTER_PREFIX


@dataclass(frozen=True, slots=True)
class Constraint:
    """Keys with the given column in one of the pieces, which are disjoint and in order; or any key at all."""

    column: int
    pieces: tuple[Piece, ...]


ANY: Final = Constraint(-1, ())
NOTHING: Final = Constraint(0, ())

Combine: TypeAlias = Callable[[Constraint, Constraint], Constraint]


def combine_all(constraints: Sequence[Constraint], combine: Combine) -> Constraint:
    """Combine by halves: one after the other would take quadratic time for long chains."""
    if not constraints:
        return ANY if combine is both else NOTHING
    if len(constraints) == 1:
        return constraints[0]
    middle = len(constraints) // 2
    return combine(combine_all(constraints[:middle], combine), combine_all(constraints[middle:], combine))


def both(left: Constraint, right: Constraint) -> Constraint:
    """Keys that fulfil both."""
    if left is ANY or right is ANY:
        return right if left is ANY else left
    if not left.pieces or not right.pieces:
        return NOTHING
    if left.column > right.column:
        left, right = right, left
    pieces: list[Piece] = []
    if left.column < right.column:
        pieces = [Piece(piece.low, piece.high, both(piece.rest, right)) for piece in left.pieces]
    else:
        first, second = 0, 0
        while first < len(left.pieces) and second < len(right.pieces):
            give_way()
            one, other = left.pieces[first], right.pieces[second]
            low, high = max(one.low, other.low, key=_at), min(one.high, other.high, key=_at)
            if low.position < high.position:
                pieces.append(Piece(low, high, both(one.rest, other.rest)))
            if one.high.position <= other.high.position:
                first += 1
            else:
                second += 1
    return _build(left.column, [piece for piece in pieces if piece.rest is not NOTHING])


def either(left: Constraint, right: Constraint) -> Constraint:
    """Keys that fulfil one of them or both."""
    if left is ANY or right is ANY:
        return ANY
    if not left.pieces or not right.pieces:
        return left if left.pieces else right
    column = min(left.column, right.column)
    left, right = _lift(left, column), _lift(right, column)
    cuts = {cut.position: cut for side in (left, right) for piece in side.pieces for cut in (piece.low, piece.high)}
    ordered = [cuts[position] for position in sorted(cuts)]
    pieces: list[Piece] = []
    first, second = 0, 0
    for low, high in pairwise(ordered):
        give_way()
        first = _skip(left.pieces, first, low)
        second = _skip(right.pieces, second, low)
        rests = [
            side.pieces[at].rest
            for side, at in ((left, first), (right, second))
            if at < len(side.pieces) and side.pieces[at].low.position <= low.position
        ]
        if not rests:
            continue
        rest = rests[0] if len(rests) == 1 else either(*rests)
        if pieces and pieces[-1].high.position == low.position and pieces[-1].rest == rest:
            pieces[-1] = Piece(pieces[-1].low, high, rest)
        else:
            pieces.append(Piece(low, high, rest))
    return _build(column, pieces)


def _at(cut: Cut) -> bytes:
    return cut.position


def _skip(pieces: Sequence[Piece], index: int, low: Cut) -> int:
    while index < len(pieces) and pieces[index].high.position <= low.position:
        index += 1
    return index


def _lift(constraint: Constraint, column: int) -> Constraint:
    """The same as a constraint of an earlier column, all of whose values are allowed."""
    return constraint if constraint.column == column else Constraint(column, (Piece(START, END, constraint),))


def _build(column: int, pieces: Sequence[Piece]) -> Constraint:
    if not pieces:
        return NOTHING
    only = pieces[0]
    if len(pieces) == 1 and only.low.position == START.position and only.high.position == END.position:
        return only.rest
    return Constraint(column, tuple(pieces))


def ranges_of(constraint: Constraint, key_columns: Sequence[Column], limit: int) -> list[KeyRange]:
    """The keys as ranges, disjoint and in key order; with more of them than the limit, fewer that are wider."""
    if constraint is ANY:
        return [FULL_RANGE]
    encoder = KeyEncoder(key_columns)
    for depth in range(len(key_columns), 0, -1):
        ranges = list(islice(_flatten(constraint, (), depth), limit + 1))
        if len(ranges) <= limit:
            return list(_join_adjacent(ranges, encoder))
    return [FULL_RANGE]


def _flatten(constraint: Constraint, prefix: Row, depth: int) -> Iterator[KeyRange]:
    """Ranges of keys that begin with the prefix and fulfil the constraint, looking at `depth` columns at most."""
    if constraint is ANY or constraint.column != len(prefix) or constraint.column >= depth:
        yield KeyRange(prefix, prefix)
        return
    for piece in constraint.pieces:
        give_way()
        if piece.is_point and piece.rest is not ANY:
            yield from _flatten(piece.rest, (*prefix, piece.low.value), depth)
            continue
        is_bounded_below, is_bounded_above = piece.low.position != START.position, piece.high.position != END.position
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
        give_way()
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
