"""A dynamic table as queries see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from yt_local.query import KeyRange
from yt_local.schema.keys import KeyEncoder, Row
from yt_local.schema.schema import Column
from yt_local.store.retained_rows import ReadWindow
from yt_local.tables.dynamic.open_tables import Table


class RowReader(Protocol):
    """Rows of dynamic tables."""

    def tablet_count(self, table: Table) -> int: ...

    def read_sorted(self, table: Table, lower: bytes, upper: bytes | None, window: ReadWindow) -> Iterator[Row]:
        """Rows of a sorted table by encoded key, `lower <= key < upper`."""
        ...

    def read_ordered(self, table: Table, index: int, lower: int, upper: int | None = None) -> Iterator[Row]:
        """Available rows of one tablet of an ordered table by index."""
        ...


class QuerySource:
    """A dynamic table as queries see it."""

    def __init__(self, tables: RowReader, table: Table, window: ReadWindow) -> None:
        self._tables = tables
        self._table = table
        self._window = window
        self.columns: Sequence[Column] = table.schema.query_columns()
        self.key_width = len(table.schema.key_columns) if table.schema.is_sorted else 2

    def scan(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        """Rows in the ranges; YtError 1702 if a tablet they touch is not mounted."""
        if self._table.schema.is_sorted:
            return self._scan_sorted(ranges)
        return self._scan_ordered(ranges)

    def _scan_sorted(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        encoder = KeyEncoder(self._table.schema.key_columns)
        for key_range in ranges:
            lower, upper = key_range.encoded(encoder)
            yield from self._tables.read_sorted(self._table, lower, upper, self._window)

    def _scan_ordered(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        for index in range(self._tables.tablet_count(self._table)):
            for key_range in ranges:
                bounds = key_range.row_indexes(index)
                if bounds is not None:
                    yield from self._tables.read_ordered(self._table, index, *bounds)
