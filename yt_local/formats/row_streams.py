"""Rows out of a body that arrives in pieces: no more of it is kept than what may still become a row."""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeAlias

from yt_local.formats.dsv import DsvReader
from yt_local.formats.formats import Format
from yt_wire import yson
from yt_wire.error import YtError

InputRow: TypeAlias = dict[bytes, Any]

MAX_ROW_BYTES: Final = 128 * 2**20


class RowReader(Protocol):
    """Makes rows of pieces."""

    def feed(self, piece: bytes) -> list[InputRow]:
        """The rows that are complete with this piece; YtError if there is something that can be none."""

    def finish(self) -> list[InputRow]:
        """The rows at the very end; YtError if something is left behind them."""


def row_reader(row_format: Format) -> RowReader:
    """A reader of bodies in the format."""
    match row_format.name:
        case "yson":
            return _YsonReader(row_format)
        case "json":
            return _JsonReader(row_format)
        case _:
            assert row_format.dsv is not None, "there are no others"
            return _LineReader(DsvReader(row_format.dsv))


class _Buffer:
    """What has come and is not part of a row yet; it is looked at again only when it has doubled."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._looked_at = 0

    def add(self, piece: bytes) -> bytes | None:
        """All there is, if it is worth looking; None: wait for more."""
        self._pieces.append(piece)
        self._size += len(piece)
        return self.content() if self._size >= 2 * self._looked_at else None

    def content(self) -> bytes:
        self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def keep(self, rest: bytes) -> None:
        """Forget all but this."""
        if len(rest) > MAX_ROW_BYTES:
            raise YtError(f"Error parsing rows: a row is larger than {MAX_ROW_BYTES} bytes")
        self._pieces = [rest]
        self._size = self._looked_at = len(rest)


class _YsonReader:
    def __init__(self, row_format: Format) -> None:
        self._format = row_format
        self._buffer = _Buffer()

    def feed(self, piece: bytes) -> list[InputRow]:
        data = self._buffer.add(piece)
        if data is None:
            return []
        length = yson.complete_length(data)
        self._buffer.keep(data[length:])
        return self._format.read_rows(data[:length])

    def finish(self) -> list[InputRow]:
        return self._format.read_rows(self._buffer.content())


class _JsonReader:
    """JSON rows may follow each other with nothing between, but no row's text can be cut and stay JSON."""

    def __init__(self, row_format: Format) -> None:
        self._format = row_format
        self._buffer = _Buffer()

    def feed(self, piece: bytes) -> list[InputRow]:
        data = self._buffer.add(piece)
        if data is None:
            return []
        rows, rest = self._format.read_complete_json_rows(data)
        self._buffer.keep(rest)
        return rows

    def finish(self) -> list[InputRow]:
        return self._format.read_rows(self._buffer.content())


class _LineReader:
    """Formats in which a line is a row."""

    def __init__(self, reader: DsvReader) -> None:
        self._reader = reader
        self._buffer = _Buffer()

    def feed(self, piece: bytes) -> list[InputRow]:
        data = self._buffer.add(piece)
        if data is None:
            return []
        lines, separator, rest = data.rpartition(self._reader.record_separator)
        self._buffer.keep(rest)
        return self._reader.read(lines) if separator else []

    def finish(self) -> list[InputRow]:
        rest = self._buffer.content()
        return self._reader.read(rest.removesuffix(self._reader.record_separator)) if rest else []
