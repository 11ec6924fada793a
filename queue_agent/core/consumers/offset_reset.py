"""Moving a consumer to another position: where to, and what that means for its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from queue_agent.core.values.encoding import encode_instant


@dataclass(frozen=True, slots=True)
class Earliest:
    """The first row there is."""


@dataclass(frozen=True, slots=True)
class Latest:
    """Behind the last row there is."""


@dataclass(frozen=True, slots=True)
class RowIndex:
    """A row by its index, the same in every partition."""

    index: int

    def __str__(self) -> str:
        return f"row {self.index}"


@dataclass(frozen=True, slots=True)
class Instant:
    """The first row that was committed then or later."""

    instant: datetime

    def __str__(self) -> str:
        return encode_instant(self.instant)


Destination = Earliest | Latest | RowIndex | Instant


@dataclass(frozen=True, slots=True)
class Bounds:
    """Rows of a partition: from `lower_row_index` to before `upper_row_index`."""

    lower_row_index: int
    upper_row_index: int


@dataclass(frozen=True, slots=True)
class Search:
    """For the first row of a partition that is not older than an instant; rows are in the order of their commits."""

    low: int
    """All rows before this one are older."""

    high: int
    """This row is not; or it is the end."""

    @property
    def row_index(self) -> int | None:
        """The row to look at next; None: `low` is what was searched for."""
        return (self.low + self.high) // 2 if self.low < self.high else None

    def after(self, timestamp: int | None, limit: int) -> Search:
        """The search after that row was looked at.

        Args:
            timestamp: of the row; None if it is not there any more, or has none.
            limit: the least timestamp of rows that are not too old.
        """
        row_index = self.row_index
        assert row_index is not None, "the search is over"
        if timestamp is None or timestamp < limit:
            return replace(self, low=row_index + 1)
        return replace(self, high=row_index)


@dataclass(frozen=True, slots=True)
class Move:
    """What becomes of one partition."""

    partition_index: int
    current: int
    """Where the consumer stands."""

    target: int
    """Where it is to stand."""

    bounds: Bounds
    reaches_trimmed: bool = False
    """What was asked for is among rows that were trimmed, or may be; the target is the first row there is."""

    @property
    def read_again_count(self) -> int:
        """Rows that are there and will be read once more."""
        return max(self.current - self.target, 0)

    @property
    def skipped_count(self) -> int:
        """Rows that are there and will not be read."""
        return max(self.target - max(self.current, self.bounds.lower_row_index), 0)


class ResetRefused(Exception):
    """The consumer cannot be moved there; the message says why, and what would do."""


def plan_reset(
    destination: Destination,
    partitions: Mapping[int, Bounds],
    current: Mapping[int, int],
    found: Mapping[int, int],
) -> Sequence[Move]:
    """Say where each partition goes, in order; one that stays where it is is among them.

    Args:
        destination: where to.
        partitions: those to be moved.
        current: next row indexes; without one a consumer stands at row 0.
        found: of an instant, the row that was found for it in each partition.

    Raises:
        ResetRefused: a row is behind the end of a partition.
    """
    return [
        _move(index, current.get(index, 0), destination, partitions[index], found.get(index))
        for index in sorted(partitions)
    ]


def check_trimmed(
    moves: Collection[Move], destination: Destination, *, vital: bool, lost_rows_are_fine: bool
) -> str | None:
    """Whether the rows that were asked for are there.

    Returns:
        A word of warning, or None.

    Raises:
        ResetRefused: they are not, and the consumer is vital: it was to read every row.
    """
    trimmed = [move for move in moves if move.reaches_trimmed]
    if not trimmed:
        return None
    where = ", ".join(f"{move.partition_index} (before row {move.bounds.lower_row_index})" for move in trimmed)
    message = f"Rows from {destination} on are not all there, some were trimmed in partition {where}"
    if vital and not lost_rows_are_fine and any(move.current != move.target for move in trimmed):
        raise ResetRefused(
            f"{message}. The consumer is vital and was to read them all: say --allow-trimmed to have it begin with the"
            " first rows there are"
        )
    return f"{message}; the consumer begins with the first rows there are"


def _move(index: int, current: int, destination: Destination, bounds: Bounds, found: int | None) -> Move:
    lower, upper = bounds.lower_row_index, bounds.upper_row_index
    match destination:
        case Earliest():
            return Move(index, current, lower, bounds)
        case Latest():
            return Move(index, current, upper, bounds)
        case RowIndex(row_index):
            if row_index > upper:
                raise ResetRefused(
                    f"Partition {index} ends before row {upper}, there is no row {row_index}; say --to latest for the"
                    " end, or --partition for the partitions that are meant"
                )
            return Move(index, current, max(row_index, lower), bounds, reaches_trimmed=row_index < lower)
        case Instant():
            assert found is not None, "an instant has to be looked for in every partition"
            target = min(max(found, lower), upper)
            # If the first row is young enough, so may be those that were there before it.
            return Move(index, current, target, bounds, reaches_trimmed=target == lower > 0)
        case _:
            assert_never(destination)
