"""Rowsets as they travel in attachments: numbers of eight bytes, everything padded to a multiple of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from yt_local.base.turns import give_way
from yt_local.calls.schemas import schema_message
from yt_local.calls.wire_types import (
    ANY,
    BOOLEAN,
    COMPOSITE,
    DOUBLE,
    INT64,
    LOGICAL,
    NULL,
    PHYSICAL,
    STRING,
    UINT64,
)
from yt_local.schema.keys import Row, Value
from yt_local.schema.schema import Column, TableSchema
from yt_wire import yson
from yt_wire.bus import Part
from yt_wire.error import ErrorCode, YtError
from yt_wire.proto.api_pb2 import RF_YT_WIRE, RK_UNVERSIONED, RK_VERSIONED, TRowsetDescriptor

_WORD: Final = 8
_NO_ROW: Final = 2**64 - 1
_AGGREGATE: Final = 1
_MAX_COLUMN_ID: Final = 2**16 - 1
_NOTHING: Final[Set[bytes]] = frozenset()
_COUNT: Final = struct.Struct("<Q")
_HEADER: Final = struct.Struct("<HBBI")
_PADDING: Final = [b"", *(bytes(_WORD - rest) for rest in range(1, _WORD))]
_NUMBERS: Final = {INT64: struct.Struct("<q"), UINT64: _COUNT, DOUBLE: struct.Struct("<d"), BOOLEAN: _COUNT}
_VERSIONED_ROW: Final = struct.Struct("<IIII")


@dataclass(frozen=True, slots=True)
class WireRow:
    """One row as a client sent it."""

    values: dict[bytes, Any]
    """By column name, as `yson.loads_rows` would have them."""

    aggregated: Set[bytes]
    """Columns whose values are to be added to those there are."""


def descriptor(columns: Sequence[Column], *, versioned: bool = False) -> TRowsetDescriptor:
    """What says how to read a rowset with these columns."""
    message = TRowsetDescriptor(
        wire_format_version=1,
        rowset_kind=RK_VERSIONED if versioned else RK_UNVERSIONED,
        rowset_format=RF_YT_WIRE,
        schema=schema_message(TableSchema(tuple(columns))),  # the Go client reads nothing without
    )
    for column in columns:
        message.name_table_entries.add(
            name=column.name.encode(), type=value_type(column), logical_type=LOGICAL[column.type]
        )
    return message


def value_type(column: Column) -> int:
    """The type of values of a column."""
    is_composite = column.composite is not None and column.physical_type == "any"
    return COMPOSITE if is_composite else PHYSICAL[column.physical_type]


def decode_rows(message: TRowsetDescriptor, attachments: Sequence[Part]) -> list[WireRow]:
    """Read an unversioned rowset.

    Raises:
        YtError: it is malformed, or of a kind or format that is not known.
    """
    if message.wire_format_version != 1:
        raise _malformed(f"wire format version {message.wire_format_version} is not supported")
    if message.rowset_kind != RK_UNVERSIONED or message.rowset_format != RF_YT_WIRE:
        raise _malformed("only unversioned rows in wire format are read")
    names = [entry.name for entry in message.name_table_entries]
    return decode_named_rows(names, b"".join(part for part in attachments if part))


def decode_named_rows(names: Sequence[bytes], data: bytes) -> list[WireRow]:
    """Read rows whose values name their columns by index; YtError if they are malformed."""
    rows: list[WireRow] = []
    try:
        (row_count,) = _COUNT.unpack_from(data)
        position = _WORD
        for _ in range(row_count):
            (value_count,) = _COUNT.unpack_from(data, position)
            position += _WORD
            if value_count == _NO_ROW:
                raise _malformed("a row is null")
            values: dict[bytes, Any] = {}
            aggregated: Set[bytes] = _NOTHING
            for _ in range(value_count):
                column, kind, flags, length = _HEADER.unpack_from(data, position)
                position += _WORD
                value, position = _decode_value(kind, length, data, position)
                values[names[column]] = value
                if flags & _AGGREGATE:
                    aggregated = aggregated | {names[column]}
            rows.append(WireRow(values, aggregated))
    except struct.error as error:
        raise _malformed("it ends early") from error
    except IndexError as error:
        raise _malformed("a value is of a column without a name") from error
    return rows


def decode_keys(data: bytes) -> list[list[Any]]:
    """Read rows of a rowset without names: the first value is of the first key column, whatever column it names.

    Raises:
        YtError: they are malformed.
    """
    keys: list[list[Any]] = []
    try:
        (row_count,) = _COUNT.unpack_from(data)
        position = _WORD
        for _ in range(row_count):
            (value_count,) = _COUNT.unpack_from(data, position)
            position += _WORD
            if value_count == _NO_ROW:
                raise _malformed("a key is null")
            key = []
            for _ in range(value_count):
                _, kind, _, length = _HEADER.unpack_from(data, position)
                value, position = _decode_value(kind, length, data, position + _WORD)
                key.append(value)
            keys.append(key)
    except struct.error as error:
        raise _malformed("it ends early") from error
    return keys


def _decode_value(kind: int, length: int, data: bytes, position: int) -> tuple[Any, int]:
    match kind:
        case 0x02:
            return None, position
        case 0x03 | 0x04 | 0x05 | 0x06:
            (number,) = _NUMBERS[kind].unpack_from(data, position)
            position += _WORD
            if kind == UINT64:
                return yson.Uint64(number), position
            return (bool(number & 0xFF) if kind == BOOLEAN else number), position
        case 0x10 | 0x11 | 0x12:
            end = position + length
            if end > len(data):
                raise _malformed("it ends early")
            content = data[position:end]
            value = content if kind == STRING else yson.loads_raw(content)
            return value, end + len(_PADDING[length % _WORD])
    raise _malformed(f"there is no type {kind:#x}")


_BETWEEN_LOOKS: Final = 127
"""Rows, as a mask: after so many others may have their turn."""


def encode_rows(columns: Sequence[Column], rows: Sequence[Row | None]) -> bytes:
    """Write rows with values in the order of the columns; None is a row that is not there."""
    encoders = [_encoder(index, column) for index, column in enumerate(columns)]
    prefix = _COUNT.pack(len(columns))
    pieces = [_COUNT.pack(len(rows))]
    for place, row in enumerate(rows):
        if not place & _BETWEEN_LOOKS:
            give_way()
        if row is None:
            pieces.append(_COUNT.pack(_NO_ROW))
            continue
        pieces.append(prefix)
        pieces += [encode(value) for encode, value in zip(encoders, row, strict=True)]
    return b"".join(pieces)


_Encoder: TypeAlias = Callable[[Any], bytes]


def _encoder(index: int, column: Column) -> _Encoder:
    """Writes values of one column with their headers."""
    kind = value_type(column)
    null = _HEADER.pack(index, NULL, 0, 0)
    if kind == NULL:
        return lambda _: null
    if kind in (STRING, ANY, COMPOSITE):
        pack_header = _HEADER.pack

        def encode_string(value: Any) -> bytes:
            if value is None:
                return null
            length = len(value)
            return b"".join((pack_header(index, kind, 0, length), value, _PADDING[length % _WORD]))

        return encode_string
    header = _HEADER.pack(index, kind, 0, 0)
    pack = _NUMBERS[kind].pack
    return lambda value: null if value is None else header + pack(value)


def encode_versioned_rows(columns: Sequence[Column], rows: Sequence[Mapping[str, Any] | None]) -> bytes:
    """Write rows of versioned lookups, key columns first; None is a row that is not there."""
    keys = [column for column in columns if column.sort_order is not None]
    values = [(index, column) for index, column in enumerate(columns) if column.sort_order is None]
    pieces = [_COUNT.pack(len(rows))]
    for row in rows:
        if row is None:
            pieces.append(_COUNT.pack(_NO_ROW))
        else:
            pieces += _versioned_row(row, keys, values)
    return b"".join(pieces)


def _versioned_row(
    row: Mapping[str, Any], keys: Sequence[Column], values: Sequence[tuple[int, Column]]
) -> Iterator[bytes]:
    attributes = yson.attributes_of(row)
    writes, deletes = attributes["write_timestamps"], attributes["delete_timestamps"]
    encoded = []
    for index, column in values:
        encode = _encoder(index, column)
        for version in row[column.name]:
            timestamp = yson.attributes_of(version)["timestamp"]
            encoded.append(encode(_stored(column, yson.plain(version))) + _COUNT.pack(timestamp))
    yield _VERSIONED_ROW.pack(len(encoded), len(keys), len(writes), len(deletes))
    yield from map(_COUNT.pack, [*writes, *deletes])
    key = [row[column.name] for column in keys]
    for start in range(0, len(key), 64):
        yield _COUNT.pack(sum(1 << bit for bit, value in enumerate(key[start : start + 64]) if value is None))
    for column, value in zip(keys, key, strict=True):
        if value is not None:
            yield _bare_value(value_type(column), value)
    yield from encoded


def _stored(column: Column, value: Any) -> Value:
    """A value of an answer as rows have it in storage."""
    if value is None:
        return None
    stored: Value = yson.dumps(value) if column.physical_type == "any" else value
    return stored


def _bare_value(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return b"".join((_COUNT.pack(len(value)), value, _PADDING[len(value) % _WORD]))
    return bytes(_NUMBERS[kind].pack(value))


class NamedRowEncoder:
    """Writes rows of static tables, whose columns become known while they are read.

    Args:
        columns: of the schema; others are written as what their values are.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._encoders: dict[bytes, _Encoder] = {}
        self._columns = {column.name.encode(): column for column in columns}

    def encode(self, rows: Sequence[Mapping[bytes, Any]]) -> tuple[TRowsetDescriptor, bytes]:
        """A rowset, with a descriptor that names only the columns that no rowset had before."""
        known = len(self._encoders)
        pieces = [_COUNT.pack(len(rows))]
        for row in rows:
            pieces.append(_COUNT.pack(len(row)))
            for name, value in row.items():
                encode = self._encoders.get(name) or self._add(name)
                pieces.append(encode(value))
        message = TRowsetDescriptor(wire_format_version=1, rowset_kind=RK_UNVERSIONED, rowset_format=RF_YT_WIRE)
        for name in list(self._encoders)[known:]:
            column = self._columns.get(name)
            if column is None:
                message.name_table_entries.add(name=name, type=ANY, logical_type=LOGICAL["any"])
            else:
                message.name_table_entries.add(name=name, type=value_type(column), logical_type=LOGICAL[column.type])
        return message, b"".join(pieces)

    def _add(self, name: bytes) -> _Encoder:
        index = len(self._encoders)
        if index > _MAX_COLUMN_ID:
            raise YtError(f"Rows of more than {_MAX_COLUMN_ID + 1} columns cannot be read over RPC")
        column = self._columns.get(name)
        if column is None:
            encode = _untyped_encoder(index)
        elif column.physical_type == "any":
            encode_stored = _encoder(index, column)

            def encode(value: Any) -> bytes:
                return encode_stored(None if value is None else yson.dumps(value))
        else:
            encode = _encoder(index, column)
        self._encoders[name] = encode
        return encode


_COLUMNS_BY_TYPE: Final[Mapping[type, Column]] = {
    type(None): Column("", "null"),
    bool: Column("", "boolean"),
    int: Column("", "int64"),
    yson.Uint64: Column("", "uint64"),
    float: Column("", "double"),
    bytes: Column("", "string"),
}
_STRUCTURED: Final = Column("", "any")


def _untyped_encoder(index: int) -> _Encoder:
    """Writes values of a column as what they are; most columns have values of one type only."""
    by_type: dict[type, _Encoder] = {}

    def encode(value: Any) -> bytes:
        known = by_type.get(type(value))
        if known is None:
            known = by_type[type(value)] = _encoder_by_type(index, type(value))
        return known(value)

    return encode


def _encoder_by_type(index: int, kind: type) -> _Encoder:
    column = _COLUMNS_BY_TYPE.get(kind)
    if column is not None:
        return _encoder(index, column)
    encode_any = _encoder(index, _STRUCTURED)
    return lambda value: encode_any(yson.dumps(value))


def pack_refs(parts: Sequence[bytes]) -> bytes:
    """Several pieces as one."""
    pieces = [struct.pack("<i", len(parts))]
    for part in parts:
        pieces += [struct.pack("<q", len(part)), part]
    return b"".join(pieces)


def unpack_refs(data: bytes) -> list[bytes]:
    """The pieces that `pack_refs` made one of; YtError if it is malformed."""
    try:
        (count,) = struct.unpack_from("<i", data)
        position = 4
        parts = []
        for _ in range(count):
            (length,) = struct.unpack_from("<q", data, position)
            position += _WORD
            if length < 0 or position + length > len(data):
                raise _malformed("a block ends early")
            parts.append(data[position : position + length])
            position += length
    except struct.error as error:
        raise _malformed("a block ends early") from error
    return parts


def _malformed(reason: str) -> YtError:
    return YtError(f"Error parsing rowset: {reason}", ErrorCode.PROTOCOL)
