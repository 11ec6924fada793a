"""Single rows in fields of messages, such as keys; rowsets travel in another way."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from yt_local.calls.rowsets import value_type
from yt_local.calls.wire_types import BOOLEAN, DOUBLE, INT64, NULL, STRING, UINT64
from yt_local.schema.keys import Row
from yt_local.schema.schema import Column
from yt_wire import yson

_DOUBLE: Final = struct.Struct("<d")
_TYPES: Final[Mapping[type, int]] = {
    type(None): NULL,
    bool: BOOLEAN,
    int: INT64,
    yson.Uint64: UINT64,
    float: DOUBLE,
    bytes: STRING,
}


def serialized_key(columns: Sequence[Column], values: Row) -> bytes:
    """A key, or the beginning of one, as single keys travel in messages."""
    return _serialized(
        [(NULL if value is None else value_type(column), value) for column, value in zip(columns, values, strict=False)]
    )


def serialized_values(values: Sequence[Any]) -> bytes:
    """Scalars of any types, as single rows travel in messages."""
    plain = [yson.bytes_of(value) if yson.is_string(value) else yson.plain(value) for value in values]
    return _serialized([(_TYPES[type(value)], value) for value in plain])


def _serialized(values: Sequence[tuple[int, Any]]) -> bytes:
    pieces = [_varint(0), _varint(len(values))]
    for index, (kind, value) in enumerate(values):
        pieces += [_varint(index), _varint(kind), _value(kind, value)]
    return b"".join(pieces)


def _value(kind: int, value: Any) -> bytes:
    match kind:
        case 0x02:
            return b""
        case 0x03:
            return _varint((value << 1) ^ (value >> 63))
        case 0x04:
            return _varint(value)
        case 0x06:
            return bytes([value])
        case 0x10:
            return b"".join((_varint(len(value)), value))
    return _DOUBLE.pack(value)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
