"""Reading within limits: rows that come in and go out are counted, and too many are refused or left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from yt_local.base.turns import give_way
from yt_local.query.tables import KeyRange, QueryStatistics, QueryTable, SelectOptions
from yt_local.schema.keys import Row
from yt_wire.error import YtError

_BETWEEN_LOOKS: Final = 15
"""Rows, as a mask: after so many others may have their turn."""


class Reading:
    """Counts the rows of one query."""

    def __init__(self, options: SelectOptions) -> None:
        self._options = options
        self._rows_read = 0
        self._incomplete_input = False

    def read(self, table: QueryTable, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        """Rows of a table; YtError, or else the end, behind the last row that may be read."""
        limit = self._options.input_row_limit
        for row in table.scan(ranges):
            if not self._rows_read & _BETWEEN_LOOKS:
                give_way()
            if limit is not None and self._rows_read >= limit:
                self._incomplete_input = True
                self._refuse("input", limit)
                return
            self._rows_read += 1
            yield row

    def write(self, rows: Iterable[Row]) -> tuple[list[Row], QueryStatistics]:
        """The result; YtError if it has too many rows, or else as many as it may have."""
        limit = self._options.output_row_limit
        remaining = iter(rows)
        result = []
        for row in remaining if limit is None else islice(remaining, limit):
            result.append(row)
            if not len(result) & _BETWEEN_LOOKS:
                give_way()
        incomplete_output = limit is not None and next(remaining, None) is not None
        if incomplete_output and limit is not None:
            self._refuse("output", limit)
        return result, QueryStatistics(self._rows_read, len(result), self._incomplete_input, incomplete_output)

    def _refuse(self, side: str, limit: int) -> None:
        if self._options.fail_on_incomplete_result:
            raise YtError(
                f"Query terminated prematurely due to excessive {side};"
                f" consider rewriting your query or changing {side} limit",
                attributes={f"{side}_row_limit": limit},
            )
