"""Telling which row of a request cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from yt_wire.error import YtError
from yt_wire.yson import Yson

Parsed = TypeVar("Parsed")


class Named(Protocol):
    """What has a path, and need not make it unless it is asked."""

    @property
    def path(self) -> str: ...


def parse_rows(
    table: Named, rows: Sequence[Mapping[bytes, Yson]], parse: Callable[[Mapping[bytes, Yson]], Parsed]
) -> list[Parsed]:
    """Parse every row of a request for a table; an error names the row, counted from 0, and the table."""
    try:
        return [parse(row) for row in rows]
    except YtError:
        for index, row in enumerate(rows):  # which one it was nobody has noted: that would cost time with every row
            try:
                parse(row)
            except YtError as error:
                raise YtError(
                    f"Error parsing row {index} of table {table.path}",
                    error.code,
                    {"row_index": index, "path": table.path},
                    inner_errors=[error],
                ) from error
        raise
