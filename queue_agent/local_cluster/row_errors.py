"""Telling which row of a request can not be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from queue_agent.wire.error import YtError
from queue_agent.wire.yson import Yson

Parsed = TypeVar("Parsed")


def parse_rows(
    path: str, rows: Sequence[Mapping[bytes, Yson]], parse: Callable[[Mapping[bytes, Yson]], Parsed]
) -> list[Parsed]:
    """Parse every row of a request for a table; an error names the row, counted from 0, and the table."""
    try:
        return [parse(row) for row in rows]
    except YtError:
        for index, row in enumerate(rows):  # which one it was nobody has noted: that would cost time with every row
            try:
                parse(row)
            except YtError as error:
                message = f"Error parsing row {index} of table {path}"
                raise YtError(message, error.code, {"row_index": index, "path": path}, inner_errors=[error]) from error
        raise
