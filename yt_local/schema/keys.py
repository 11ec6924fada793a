"""Keys as bytes that sort as YTsaurus sorts the keys themselves."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

from yt_local.schema.column_types import PhysicalType
from yt_local.schema.schema import Column, TableSchema

Value: TypeAlias = bool | int | float | bytes | None
"""One value of a row; `any` and composite columns hold their binary YSON."""

Row: TypeAlias = tuple[Value, ...]
"""Values in the order of the columns concerned."""

AFTER_PREFIX = b"\xff"
"""Appended to an encoded prefix it sorts after all keys with that prefix and before all others that follow."""

_NULL = b"\x01"
_VALUE = b"\x02"
_INVERT = bytes(255 - byte for byte in range(256))
_INT64 = struct.Struct(">BQ")
_VALUE_TAG = 2
_SIGN = 1 << 63
_MASK = (1 << 64) - 1


class KeyEncoder:
    """Encodes keys and prefixes of keys of one table.

    Every component starts with a byte other than 0xff, also in descending columns, and none is a prefix of another.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._encoders = tuple(component_encoder(column) for column in columns)

    def encode(self, values: Sequence[Value]) -> bytes:
        """Encode a key or a prefix of one.

        Raises:
            OverflowError: a number does not fit its column's 64 bits.
        """
        return b"".join([encode(value) for encode, value in zip(self._encoders, values, strict=False)])


def encode_key(schema: TableSchema, values: Sequence[Value]) -> bytes:
    """Encode one key; to encode many, keep a `KeyEncoder`."""
    return KeyEncoder(schema.key_columns).encode(values)


def component_encoder(column: Column) -> Callable[[Value], bytes]:
    """The function that encodes one component: null first, the whole inverted if the column is descending."""
    encode = _ENCODERS[column.physical_type]
    if column.sort_order == "descending":
        return lambda value: (_NULL if value is None else encode(value)).translate(_INVERT)
    return lambda value: _NULL if value is None else encode(value)


def _encode_signed(value: Value) -> bytes:
    assert isinstance(value, int)
    if not -_SIGN <= value < _SIGN:
        raise OverflowError(f"{value} does not fit int64")
    return _INT64.pack(_VALUE_TAG, value + _SIGN)


def _encode_unsigned(value: Value) -> bytes:
    assert isinstance(value, int)
    if not 0 <= value <= _MASK:
        raise OverflowError(f"{value} does not fit uint64")
    return _INT64.pack(_VALUE_TAG, value)


def _encode_double(value: Value) -> bytes:
    assert isinstance(value, (int, float))
    # The sum turns -0.0 into 0.0, which is the same key.
    bits = int.from_bytes(struct.pack(">d", value + 0.0))
    return _INT64.pack(_VALUE_TAG, bits ^ _MASK if bits & _SIGN else bits | _SIGN)


def _encode_boolean(value: Value) -> bytes:
    return _VALUE + (b"\x01" if value else b"\x00")


def _encode_string(value: Value) -> bytes:
    assert isinstance(value, bytes)
    if b"\x00" in value:
        value = value.replace(b"\x00", b"\x00\xff")
    return _VALUE + value + b"\x00\x00"


_ENCODERS: dict[PhysicalType, Callable[[Value], bytes]] = {
    "int64": _encode_signed,
    "uint64": _encode_unsigned,
    "double": _encode_double,
    "boolean": _encode_boolean,
    "string": _encode_string,
    "any": _encode_string,
    "null": lambda _: _NULL,
}
