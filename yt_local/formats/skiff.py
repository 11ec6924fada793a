"""The format `skiff`: rows in a layout that the client names, with no names or types among the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from yt_local.formats.format import Batch, Format, InputRow, PlacedRows, RowReader, RowShape
from yt_local.formats.options import Attributes
from yt_local.formats.row_streams import PieceReader
from yt_local.formats.skiff_schema import (
    KEY_SWITCH,
    OTHER_COLUMNS,
    RANGE_INDEX,
    ROW_INDEX,
    SkiffSchema,
    SkiffTable,
    parse_skiff_tables,
)
from yt_local.formats.skiff_types import SkiffCodec, column_codec
from yt_local.formats.skiff_wire import CANNOT_REPRESENT, END_TAGS, CutShort, SkiffBytes, write_string
from yt_local.formats.value_count import MAX_VALUE_COUNT, too_many_values
from yt_local.formats.web_json import INVALID_FORMAT
from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import YtError

_TABLE_INDEX: Final = bytes(2)
_PLACES: Final = frozenset({b"$table_index", ROW_INDEX.encode(), RANGE_INDEX.encode()})
_MISSING_INDEX: Final = 2
"""Tag of a row index that is not known, where the layout has a place for that."""


class SkiffFormat(Format):
    """Rows of one table."""

    name = "skiff"
    mime_type = "application/octet-stream"
    needs_columns: ClassVar[bool] = True
    tables_only: ClassVar[bool] = True

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes

    def read_rows(self, data: bytes, columns: Sequence[Column]) -> list[InputRow]:
        return _Parser(self._single_table(), columns).read_last(data)

    def row_reader(self, columns: Sequence[Column]) -> RowReader:
        parser = _Parser(self._single_table(), columns)
        return PieceReader(parser.read_complete, parser.read_last)

    def encode_rows(self, batches: Iterable[Batch], shape: RowShape) -> Iterator[bytes]:
        try:
            writer = _Writer(self._single_table(), shape.columns)
        except YtError as error:
            message = "Failed to parse config for Skiff format"
            raise YtError(message, INVALID_FORMAT, inner_errors=[error]) from error
        rows = PlacedRows()
        for batch in batches:
            yield b"".join(map(writer.row, rows.of(batch)))

    def _single_table(self) -> SkiffTable:
        tables = parse_skiff_tables(self._attributes)
        if len(tables) != 1:
            raise YtError(f"Expected to have single table, actual table description count {len(tables)}")
        return tables[0]


class _Parser:
    """Reads rows for a table with these columns."""

    def __init__(self, table: SkiffTable, columns: Sequence[Column]) -> None:
        for column in table.dense:
            if column.name in (KEY_SWITCH, ROW_INDEX, RANGE_INDEX):
                raise YtError(f'Skiff parser does not support "{column.name}"')
        codecs = _codecs(columns, for_output=False)
        self._dense = [(column.name.encode(), codecs(column, False).read) for column in table.dense]
        self._sparse = None
        if table.sparse is not None:
            self._sparse = [(column.name.encode(), codecs(column, True).read) for column in table.sparse]
        self._has_other_columns = table.has_other_columns
        self._width = max(1, len(self._dense))

    def read_complete(self, data: bytes) -> tuple[list[InputRow], bytes]:
        """All whole rows, and the beginning of the next."""
        found = SkiffBytes(data)
        rows: list[InputRow] = []
        end = 0
        try:
            while not found.at_end:
                rows.append(self._row(found))
                end = found.position
                if len(rows) * self._width > MAX_VALUE_COUNT:
                    raise too_many_values()
        except CutShort:
            pass
        return rows, data[end:]

    def read_last(self, data: bytes) -> list[InputRow]:
        """All rows, behind which there must be nothing."""
        rows, rest = self.read_complete(data)
        if rest:
            raise YtError("Premature end of stream while parsing Skiff")
        return rows

    def _row(self, data: SkiffBytes) -> InputRow:
        if tag := data.tag(2):
            raise YtError(f"Unknown table index variant16 tag {tag}")
        row = {name: read(data) for name, read in self._dense}
        while self._sparse is not None and (tag := data.tag(2)) != END_TAGS[2]:
            if tag >= len(self._sparse):
                raise YtError(f"Bad tag {tag} of a sparse field")
            name, read = self._sparse[tag]
            row[name] = read(data)
        if self._has_other_columns:
            others = data.simple("yson32")
            if not isinstance(others, dict):
                raise YtError(f'"{OTHER_COLUMNS}" must be a map, got {yson.shown(others)}')
            row |= {yson.bytes_of(name): value for name, value in others.items()}
        return row


class _Writer:
    """Writes rows of a table with these columns."""

    def __init__(self, table: SkiffTable, columns: Sequence[Column]) -> None:
        codecs = _codecs(columns, for_output=True)
        self._dense = [
            (column.name.encode(), self._place_writer(column) or codecs(column, False).write) for column in table.dense
        ]
        self._sparse = [(column.name.encode(), codecs(column, True).write) for column in table.sparse or ()]
        self._has_sparse_columns = table.sparse is not None
        self._has_other_columns = table.has_other_columns
        self._known = {name for name, _ in (*self._dense, *self._sparse)} | _PLACES
        self._range_index: int | None = None
        self._row_index: int | None = None

    def row(self, row: Mapping[Any, Any]) -> bytes:
        """One row; YtError 315 if the layout has no place for all of it."""
        values = {yson.bytes_of(name): value for name, value in row.items()}
        others = {name: value for name, value in values.items() if name not in self._known}
        if others and not self._has_other_columns:
            shown = next(iter(others)).decode(errors="backslashreplace")
            raise YtError(
                f'Column "{shown}" is not described by Skiff schema and there is no "{OTHER_COLUMNS}" column',
                CANNOT_REPRESENT,
            )
        if values.get(b"$range_index") != self._range_index:
            self._row_index = None
        out = bytearray(_TABLE_INDEX)
        for name, write in self._dense:
            write(out, values.get(name))
        if self._has_sparse_columns:
            for tag, (name, write) in enumerate(self._sparse):
                if not yson.is_null(values.get(name)):
                    out += tag.to_bytes(2, "little")
                    write(out, values[name])
            out += END_TAGS[2].to_bytes(2, "little")
        if self._has_other_columns:
            write_string(out, yson.dumps(others))
        self._range_index = values.get(b"$range_index")
        self._row_index = values.get(b"$row_index")
        return bytes(out)

    def _place_writer(self, column: SkiffSchema) -> Callable[[bytearray, Any], None] | None:
        """Of what is no column but says where a row is from."""
        missing = len(column.children) > _MISSING_INDEX
        match column.name:
            case "$key_switch":
                return lambda out, _: out.append(0)  # tables are read without regard to keys
            case "$row_index":
                return lambda out, index: _write_place(
                    out, index, None if self._row_index is None else self._row_index + 1, "Row", missing=missing
                )
            case "$range_index":
                return lambda out, index: _write_place(out, index, self._range_index, "Range", missing=missing)
        return None


def _write_place(out: bytearray, index: int | None, expected: int | None, what: str, *, missing: bool) -> None:
    """An index, unless it is the one that readers expect."""
    if index is None:
        if not missing:
            raise YtError(f"{what} index requested but reader did not return it")
        out.append(_MISSING_INDEX)
    elif index == expected:
        out.append(0)
    else:
        out.append(1)
        out += index.to_bytes(8, "little", signed=True)


def _codecs(columns: Sequence[Column], *, for_output: bool) -> Callable[[SkiffSchema, bool], SkiffCodec]:
    types = {column.name: column.type_v3 for column in columns}

    def codec_of(column: SkiffSchema, is_sparse: bool) -> SkiffCodec:
        try:
            return column_codec(column, types.get(column.name), for_output=for_output, is_sparse=is_sparse)
        except YtError as error:
            kind = "writer" if for_output else "parser"
            raise YtError(f'Cannot create Skiff {kind} for column "{column.name}"', inner_errors=[error]) from error

    return codec_of
