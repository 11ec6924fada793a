"""Encoded rows on their way to a dynamic table, and which of them go into one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yt_wire import yson


@dataclass(frozen=True, slots=True)
class Request:
    """Rows that are sent together."""

    rows: bytes
    """A list fragment of YSON."""

    row_count: int

    def part(self, begin: int, row_limit: int, byte_limit: int) -> Request:
        """As many of the rows from one of them on as keep to both limits."""
        taken: list[bytes] = []
        size = 0
        for row in yson.raw_rows(self.rows)[begin : begin + row_limit]:
            size += len(row)
            if size > byte_limit:
                break
            taken.append(row)
        return Request(b"".join(taken), len(taken))


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    """How much is written in one transaction at most; a single row is written however large it is."""

    row_count: int = 90_000
    """A cluster takes 100,000, of which the ledger and the consumer need some."""

    byte_count: int = 64 << 20


def next_requests(requests: Sequence[Request], first_row: int, limits: TransactionLimits) -> list[Request]:
    """What is to be written in the next transaction.

    Args:
        requests: all rows of a batch.
        first_row: how many of them are written.
        limits: of the transaction.

    Returns:
        Requests with at least one row, if there are rows left; they are taken apart only where that has to be.
    """
    taken: list[Request] = []
    rows_left, bytes_left = limits.row_count, limits.byte_count
    for request in requests:
        begin = min(first_row, request.row_count)
        first_row -= begin
        if begin == request.row_count:
            continue
        part = request
        fits = request.row_count <= rows_left and len(request.rows) <= bytes_left
        if not fits and taken:
            break
        if not fits or begin:
            part = request.part(begin, rows_left, bytes_left)
            if not part.row_count:
                part = request.part(begin, 1, len(request.rows))
        taken.append(part)
        if begin + part.row_count < request.row_count:
            break
        rows_left -= part.row_count
        bytes_left -= len(part.rows)
    return taken
