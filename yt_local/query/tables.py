"""What a query reads from and gives back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from yt_local.schema.keys import AFTER_PREFIX, KeyEncoder, Row, Value
from yt_local.schema.schema import Column


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys between two prefixes, each compared with as much of the key as it is long, in the order of the table.

    A key lies within if `key[:len(lower)]` is at or behind `lower` (behind it, if not inclusive) and `key[:len(upper)]`
    at or before `upper`. The empty prefix is equal to every key's, so `KeyRange((), ())` is the whole table. Null comes
    before all values; in descending columns the order is turned round, so `lower` has the larger value.
    """

    lower: Row
    upper: Row
    lower_inclusive: bool = True
    upper_inclusive: bool = True

    def encoded(self, encoder: KeyEncoder) -> tuple[bytes, bytes]:
        """The same as a half-open interval of encoded keys: `low <= encoded key < high`."""
        low = encoder.encode(self.lower)
        high = encoder.encode(self.upper)
        return (
            low if self.lower_inclusive else low + AFTER_PREFIX,
            high + AFTER_PREFIX if self.upper_inclusive else high,
        )

    def row_indexes(self, tablet_index: int) -> tuple[int, int | None] | None:
        """Of an ordered table: the half-open interval of row indexes in one tablet; None if none of it is in the range.

        The lower end may be negative and the upper None, for no limit.
        """
        first: int = 0
        last: int | None = None
        if self.lower:
            order = _compare(tablet_index, self.lower[0])
            if order < 0 or (order == 0 and len(self.lower) == 1 and not self.lower_inclusive):
                return None
            if order == 0 and len(self.lower) == 2 and self.lower[1] is not None:
                first = int(self.lower[1]) + (not self.lower_inclusive)
        if self.upper:
            order = _compare(tablet_index, self.upper[0])
            if order > 0 or (order == 0 and len(self.upper) == 1 and not self.upper_inclusive):
                return None
            if order == 0 and len(self.upper) == 2:
                if self.upper[1] is None:
                    return None
                last = int(self.upper[1]) + self.upper_inclusive
        return first, last


def _compare(index: int, bound: Value) -> int:
    if bound is None:
        return 1
    assert isinstance(bound, int)
    return (index > bound) - (index < bound)


FULL_RANGE = KeyRange((), ())


class QueryTable(Protocol):
    """A table as queries see it, at one timestamp."""

    @property
    def columns(self) -> Sequence[Column]:
        """As `TableSchema.query_columns` gives them: key columns first."""

    @property
    def key_width(self) -> int:
        """How many of the columns are the key; 2 for ordered tables."""

    def scan(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        """Rows in key order whose keys lie in the ranges, which are disjoint and in key order themselves.

        Rows outside may come too; the query filters again.
        """


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """What a query may do; limits are None for none."""

    input_row_limit: int | None = None
    """How many rows may be read, of all tables together."""
    output_row_limit: int | None = None
    """How many rows the result may have."""
    fail_on_incomplete_result: bool = True
    """More rows than a limit are an error; otherwise they are left out."""
    allow_full_scan: bool = True
    """The condition need not have anything to do with the key of the first table."""
    allow_join_without_index: bool = False
    """Nor a join with that of the table joined."""
    syntax_version: int = 1
    """In 2 names are quoted by backticks only."""


@dataclass(frozen=True, slots=True)
class QueryStatistics:
    """What a query cost."""

    rows_read: int
    rows_written: int
    incomplete_input: bool
    incomplete_output: bool


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of values in the order of the columns."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    statistics: QueryStatistics
