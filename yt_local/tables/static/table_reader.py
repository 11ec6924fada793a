"""Reading tables row by row: which rows a selection means, and those rows with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from yt_local.schema.column_types import SIMPLE_TYPES
from yt_local.schema.schema import Column, TableSchema
from yt_local.tables.static.chunk_keys import encode_limit
from yt_local.tables.static.read_ranges import ReadLimit, Selection
from yt_local.tables.static.table_content import TableContent, key_parts
from yt_wire import yson
from yt_wire.error import YtError


class RowRange(NamedTuple):
    """Rows of one range of a selection, or the part of them that is in one tablet."""

    range_index: int
    lower: int
    upper: int
    tablet_index: int | None = None


class Piece(NamedTuple):
    """Some rows that follow each other."""

    range: RowRange
    row_index: int
    """Of the first; in its tablet, if the table is ordered and dynamic."""

    rows: list[dict[bytes, Any]]


class Source(Protocol):
    """A table to read."""

    def locate(self, selection: Selection) -> list[RowRange]:
        """The rows a selection means; YtError if it makes no sense for this table."""

    def pieces(self, ranges: Sequence[RowRange], columns: Sequence[bytes] | None) -> Iterator[Piece]:
        """Those rows, with the named columns or all."""


@dataclass(frozen=True, slots=True)
class ControlAttributes:
    """What a reader wants to get between the rows."""

    table_index: bool = False
    range_index: bool = False
    row_index: bool = False
    tablet_index: bool = False


class StaticSource:
    """A static table."""

    def __init__(self, content: TableContent, schema: TableSchema) -> None:
        self._content = content
        self._schema = schema
        self._parts = key_parts(schema)

    def locate(self, selection: Selection) -> list[RowRange]:
        located = []
        for index, item in enumerate(selection.ranges):
            lower = max((0, *self._positions(item.lower)))
            upper = min((self._content.row_count, *self._positions(item.upper)))
            if lower < upper:
                located.append(RowRange(index, lower, upper))
        return located

    def pieces(self, ranges: Sequence[RowRange], columns: Sequence[bytes] | None) -> Iterator[Piece]:
        for item in ranges:
            for row_index, rows in self._content.rows(item.lower, item.upper, columns):
                yield Piece(item, row_index, rows)

    def _positions(self, limit: ReadLimit) -> Iterator[int]:
        """Row indexes a limit amounts to, one for each way it is given in."""
        if limit.tablet_index is not None:
            raise YtError("Tablet index selectors can only be specified for ordered dynamic tables")
        if limit.row_index is not None:
            yield limit.row_index
        if limit.chunk_index is not None:
            yield self._content.chunk_start(limit.chunk_index)
        if limit.key is not None:
            yield self._content.lower_bound(encode_key_limit(self._schema, limit.key))


def encode_key_limit(schema: TableSchema, values: Sequence[Any]) -> bytes:
    """A key in a limit of a sorted table; numbers are taken as those of the column's type."""
    if not schema.is_sorted:
        raise YtError("Key selectors are not supported for unsorted tables")
    converted = [
        _as_number_of(schema.key_columns[position], value) if position < len(schema.key_columns) else value
        for position, value in enumerate(values)
    ]
    return encode_limit(key_parts(schema), converted)


def _as_number_of(column: Column, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    is_whole = isinstance(value, int) or value.is_integer()
    match SIMPLE_TYPES[column.type].physical:
        case "double":
            return float(value)
        case "int64" if is_whole and -(2**63) <= value < 2**63:
            return int(value)
        case "uint64" if is_whole and 0 <= value < 2**64:
            return yson.Uint64(int(value))
    return value


def with_control_records(pieces: Iterator[Piece], wanted: ControlAttributes) -> Iterator[list[Any]]:
    """The rows of every piece, with records before them that say where they are from when that is not plain.

    A record is an entity with one attribute.
    """
    range_index = tablet_index = next_row_index = None
    first = True
    for piece in pieces:
        records: list[Any] = []
        if first and wanted.table_index:
            records.append(_record("table_index", 0))
        moved = first or piece.range.range_index != range_index
        if moved and wanted.range_index:
            records.append(_record("range_index", piece.range.range_index))
        if (first or piece.range.tablet_index != tablet_index) and piece.range.tablet_index is not None:
            moved = True
            if wanted.tablet_index:
                records.append(_record("tablet_index", piece.range.tablet_index))
        if (moved or piece.row_index != next_row_index) and wanted.row_index:
            records.append(_record("row_index", piece.row_index))
        yield [*records, *piece.rows] if records else piece.rows
        first = False
        range_index, tablet_index = piece.range.range_index, piece.range.tablet_index
        next_row_index = piece.row_index + len(piece.rows)


def _record(name: str, value: int) -> Any:
    return yson.with_attributes(None, {name: value})


def response_parameters(ranges: Sequence[RowRange]) -> Mapping[str, Any]:
    """What a client gets before the rows."""
    parameters: dict[str, Any] = {
        "approximate_row_count": sum(item.upper - item.lower for item in ranges),
        "omitted_inaccessible_columns": [],
    }
    if ranges:
        parameters["start_row_index"] = ranges[0].lower
    return parameters
