"""Plans of agents as text: tables and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of the same length, the heading among them, in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def error_messages(error: Mapping[str, Any] | None, depth: int = 0) -> Iterator[str]:
    """Of an error as published and all in it, the inner ones indented; None has none."""
    if error is None:
        return
    yield "  " * depth + str(error["message"])
    for inner in error.get("inner_errors") or ():
        yield from error_messages(inner, depth + 1)
