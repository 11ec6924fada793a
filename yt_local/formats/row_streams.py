"""Rows out of a body that arrives in pieces: no more of it is kept than what may still become a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from yt_local.formats.format import InputRow
from yt_wire.error import YtError

MAX_ROW_BYTES: Final = 128 * 2**20


class PieceReader:
    """Makes rows of pieces.

    Args:
        read_complete: rows at the beginning of data that goes on, and the rest.
        read_last: rows of such a rest when nothing follows.
    """

    def __init__(
        self,
        read_complete: Callable[[bytes], tuple[list[InputRow], bytes]],
        read_last: Callable[[bytes], list[InputRow]],
    ) -> None:
        self._read_complete = read_complete
        self._read_last = read_last
        self._pieces: list[bytes] = []
        self._size = 0
        self._looked_at = 0

    def feed(self, piece: bytes) -> list[InputRow]:
        """The rows that are complete with this piece; what is left is looked at again only when it has doubled."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size < 2 * self._looked_at:
            return []
        rows, rest = self._read_complete(b"".join(self._pieces))
        if len(rest) > MAX_ROW_BYTES:
            raise YtError(f"Error parsing rows: a row is larger than {MAX_ROW_BYTES} bytes")
        self._pieces = [rest]
        self._size = self._looked_at = len(rest)
        return rows

    def finish(self) -> list[InputRow]:
        """The rows at the very end."""
        return self._read_last(b"".join(self._pieces))
