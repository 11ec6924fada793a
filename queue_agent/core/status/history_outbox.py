"""Rows of the history that wait to be written: bounded, oldest first, numbered when they are sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Some rows, encoded; their encodings can be put one behind the other."""

    content: bytes
    row_count: int


class Outbox:
    """What waits.

    Args:
        max_bytes: when there is more, the oldest rows are dropped, but not those that are being sent.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._waiting: deque[EncodedRows] = deque()
        self._claimed: list[EncodedRows] = []
        self._bytes = 0

    @property
    def row_count(self) -> int:
        """Of all that waits, what is being sent included."""
        return sum(rows.row_count for rows in (*self._claimed, *self._waiting))

    @property
    def byte_count(self) -> int:
        """Of all that waits, what is being sent included."""
        return self._bytes

    def add(self, rows: EncodedRows) -> int:
        """Put rows at the end; returns how many others were dropped for them."""
        self._waiting.append(rows)
        self._bytes += len(rows.content)
        dropped = 0
        while self._bytes > self._max_bytes and self._waiting:
            oldest = self._waiting.popleft()
            self._bytes -= len(oldest.content)
            dropped += oldest.row_count
        return dropped

    def claim(self, max_bytes: int) -> Sequence[EncodedRows]:
        """The oldest rows, to be sent; the same again until they are released.

        Args:
            max_bytes: no more than this, but one piece in any case.
        """
        if not self._claimed:
            size = 0
            while self._waiting and (not self._claimed or size + len(self._waiting[0].content) <= max_bytes):
                self._claimed.append(self._waiting.popleft())
                size += len(self._claimed[-1].content)
        return tuple(self._claimed)

    @property
    def claimed_row_count(self) -> int:
        return sum(rows.row_count for rows in self._claimed)

    def release(self, *, written: bool) -> None:
        """Say what became of the rows claimed; those not written wait as before."""
        if written:
            self._bytes -= sum(len(rows.content) for rows in self._claimed)
        else:
            self._waiting.extendleft(reversed(self._claimed))
        self._claimed.clear()

    def drop_all(self) -> int:
        """Give up on everything; returns how many rows that was."""
        row_count = self.row_count
        self._waiting.clear()
        self._claimed.clear()
        self._bytes = 0
        return row_count
