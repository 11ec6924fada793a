"""Dynamic tables as `read_table` sees them: all rows, in whatever state the tablets are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from yt_local.schema.keys import AFTER_PREFIX, component_encoder
from yt_local.schema.rows import decode_values, value_parser
from yt_local.schema.schema import TIMESTAMP, Column, TableSchema, is_system_column
from yt_local.store.model import Tablet
from yt_local.store.retained_rows import ReadWindow, rows_in_window
from yt_local.store.storage import Storage, shown
from yt_local.tables.static.chunk_keys import MAX, MIN
from yt_local.tables.static.chunk_writer import BLOCK_ROWS
from yt_local.tables.static.read_ranges import ReadLimit, Selection
from yt_local.tables.static.table_reader import Piece, RowRange
from yt_wire import yson
from yt_wire.error import YtError

_SENTINELS: Final = {"min": MIN, "max": MAX, b"min": MIN, b"max": MAX}


class OrderedSource:
    """An ordered table: rows by tablet, from the first segment that is left on.

    Rows of a segment count until it goes, though they be trimmed: it is read as the chunk it stands for.

    Args:
        tablets: in their order, each with the index of its first row.
        schema: of the table.
        storage: where the rows are.
    """

    def __init__(self, tablets: Sequence[tuple[Tablet, int]], schema: TableSchema, storage: Storage) -> None:
        self._tablets = tablets
        self._storage = storage
        self._row_of = ordered_row_reader(schema)

    def locate(self, selection: Selection) -> list[RowRange]:
        located = []
        for range_index, item in enumerate(selection.ranges):
            lower, upper = _place(item.lower), _place(item.upper)
            for tablet, first in self._tablets:
                begin, end = first, tablet.total_row_count
                if lower is not None and lower[0] >= tablet.index:
                    begin = end if lower[0] > tablet.index else max(first, lower[1])
                if upper is not None and upper[0] <= tablet.index:
                    end = begin if upper[0] < tablet.index else min(end, upper[1])
                if begin < end:
                    located.append(RowRange(range_index, begin, end, tablet.index))
        return located

    def pieces(self, ranges: Sequence[RowRange], columns: Sequence[bytes] | None) -> Iterator[Piece]:
        numbers = {tablet.index: tablet.number for tablet, _ in self._tablets}
        for item in ranges:
            assert item.tablet_index is not None
            for lower in range(item.lower, item.upper, BLOCK_ROWS):
                upper = min(lower + BLOCK_ROWS, item.upper)
                stored = self._storage.marked_rows(numbers[item.tablet_index], lower, upper)
                rows = [self._row_of(row.value, row.timestamp, row.cumulative_data_weight) for row in stored]
                if len(rows) != upper - lower:
                    raise YtError("Rows have been trimmed while they were read")
                yield Piece(item, lower, _with_columns(rows, columns))


class SortedSource:
    """A sorted table: its rows by key as they were at some time; they have no indexes.

    Args:
        tablets: in the order of their keys.
        schema: of the table.
        storage: where the rows are.
        window: what it shows is read.
    """

    def __init__(self, tablets: Sequence[Tablet], schema: TableSchema, storage: Storage, window: ReadWindow) -> None:
        self._tablets = tablets
        self._schema = schema
        self._storage = storage
        self._window = window
        self._bounds: list[tuple[bytes, bytes | None]] = []

    def locate(self, selection: Selection) -> list[RowRange]:
        self._bounds = [(self._key(item.lower) or b"", self._key(item.upper)) for item in selection.ranges]
        return [RowRange(index, 0, 0) for index in range(len(self._bounds))]

    def pieces(self, ranges: Sequence[RowRange], columns: Sequence[bytes] | None) -> Iterator[Piece]:
        row_of = row_reader(self._schema.columns)
        row_index = 0
        for item in ranges:
            lower, upper = self._bounds[item.range_index]
            for tablet in self._tablets:
                begin = lower
                while stored := list(
                    islice(
                        rows_in_window(self._storage, self._schema, tablet.number, begin, upper, self._window),
                        BLOCK_ROWS,
                    )
                ):
                    yield Piece(item, row_index, _with_columns([row_of(row.value) for row in stored], columns))
                    row_index += len(stored)
                    begin = stored[-1].key + b"\x00"

    def _key(self, limit: ReadLimit) -> bytes | None:
        if limit.row_index is not None or limit.chunk_index is not None:
            raise YtError("Row index and chunk index selectors are not supported for sorted dynamic tables")
        if limit.tablet_index is not None:
            raise YtError("Tablet index selectors can only be specified for ordered dynamic tables")
        if limit.key is None:
            return None
        return b"".join(self._component(position, value) for position, value in enumerate(limit.key))

    def _component(self, position: int, value: Any) -> bytes:
        sentinel = yson.plain(yson.attributes_of(value).get("type")) if yson.is_null(value) else None
        if sentinel in _SENTINELS:
            return _SENTINELS[sentinel]
        if position >= len(self._schema.key_columns):
            return AFTER_PREFIX  # a key is never longer than this
        column = self._schema.key_columns[position]
        return component_encoder(column)(None if yson.is_null(value) else value_parser(column)(value))


def _place(limit: ReadLimit) -> tuple[int, int] | None:
    """Tablet and row index of a limit of an ordered table; None if there is none."""
    if limit.key is not None:
        raise YtError("Key selectors are not supported for ordered dynamic tables")
    if limit.chunk_index is not None:
        raise YtError("Chunk index selectors are not supported for dynamic tables here")
    if limit.tablet_index is None and limit.row_index is not None:
        raise YtError(
            "In ordered dynamic tables row index selector can only be specified when tablet index selector is also"
            " specified"
        )
    return None if limit.tablet_index is None else (limit.tablet_index, limit.row_index or 0)


def _with_columns(rows: list[dict[bytes, Any]], columns: Sequence[bytes] | None) -> list[dict[bytes, Any]]:
    if columns is None:
        return rows
    wanted = set(columns)
    return [{name: value for name, value in row.items() if name in wanted} for row in rows]


def ordered_row_reader(schema: TableSchema) -> Callable[[bytes, int, int], dict[bytes, Any]]:
    """Makes rows of stored values, timestamp and cumulative data weight as `marked_rows` has them."""
    read = row_reader([column for column in schema.columns if not is_system_column(column.name)])
    names = [column.name.encode() for column in schema.columns]
    system = [
        (column.name.encode(), column.name == TIMESTAMP) for column in schema.columns if is_system_column(column.name)
    ]

    def row_of(value: bytes, timestamp: int, cumulative_data_weight: int) -> dict[bytes, Any]:
        row = read(value)
        for name, is_timestamp in system:
            marked = shown(timestamp if is_timestamp else cumulative_data_weight)
            row[name] = yson.Uint64(marked) if is_timestamp and marked is not None else marked
        return {name: row[name] for name in names} if system else row

    return row_of


def row_reader(columns: Sequence[Column]) -> Callable[[bytes], dict[bytes, Any]]:
    """Makes rows of stored values."""
    names = [column.name.encode() for column in columns]
    conversions = [
        (column.name.encode(), yson.Uint64 if column.physical_type == "uint64" else yson.loads_raw)
        for column in columns
        if column.physical_type in ("uint64", "any")
    ]

    def row_of(value: bytes) -> dict[bytes, Any]:
        row: dict[bytes, Any] = dict(zip(names, decode_values(value), strict=True))
        for name, convert in conversions:
            if row[name] is not None:
                row[name] = convert(row[name])
        return row

    return row_of
