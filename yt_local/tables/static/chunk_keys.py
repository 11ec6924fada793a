"""Keys of static tables as bytes that sort as the keys do: values of any type may stand in one column."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from yt_local.store.chunks import KeyPart
from yt_wire import yson
from yt_wire.error import YtError

INVALID_DOUBLE_VALUE: Final = 302
INCOMPARABLE_TYPE: Final = 303

MIN: Final = b"\x00"
"""Stands for a component below all values."""

MAX: Final = b"\xff"
"""Stands for a component above all values, and for all that begin with what is before it."""

_NULL: Final = b"\x02"
_INT64: Final = 3
_UINT64: Final = 4
_DOUBLE: Final = 5
_BOOLEAN: Final = b"\x06"
_STRING: Final = b"\x10"

_INVERT: Final = bytes(255 - byte for byte in range(256))
_NUMBER: Final = struct.Struct(">BQ")
_SIGN: Final = 1 << 63
_MASK: Final = (1 << 64) - 1


def encode_value(value: Any) -> bytes:
    """One component: by type first, in the order of YTsaurus's types, by value second.

    Raises:
        YtError: 302 for NaN, 303 for a composite value, which nothing can be sorted by.
    """
    if type(value) is bytes:
        return _STRING + (value.replace(b"\x00", b"\x00\xff") if b"\x00" in value else value) + b"\x00\x00"
    if type(value) is int:
        return _NUMBER.pack(_INT64, value + _SIGN)
    if yson.is_null(value):
        return _NULL
    if isinstance(value, bool):
        return _BOOLEAN + (b"\x01" if value else b"\x00")
    if isinstance(value, float):
        return _encode_double(value)
    if isinstance(value, yson.Uint64):
        return _NUMBER.pack(_UINT64, value)
    if isinstance(value, int):
        return _NUMBER.pack(_INT64, value + _SIGN)
    if yson.is_string(value):
        return encode_value(yson.bytes_of(value))
    raise YtError('Cannot compare values of type "any"', INCOMPARABLE_TYPE)


def _encode_double(value: float) -> bytes:
    if math.isnan(value):
        raise YtError("NaN cannot be a part of a key", INVALID_DOUBLE_VALUE)
    # The sum turns -0.0 into 0.0, which is the same key.
    bits = int.from_bytes(struct.pack(">d", value + 0.0))
    return _NUMBER.pack(_DOUBLE, bits ^ _MASK if bits & _SIGN else bits | _SIGN)


def component_encoder(part: KeyPart) -> Callable[[Any], bytes]:
    """The function that encodes values of one key column, inverted as a whole if it is descending."""
    if part.descending:
        return lambda value: encode_value(value).translate(_INVERT)
    return encode_value


def encode_keys(parts: Sequence[KeyPart], columns: Sequence[Iterable[Any]]) -> list[bytes]:
    """Keys of many rows, given column by column."""
    encoded = [map(component_encoder(part), column) for part, column in zip(parts, columns, strict=True)]
    return [b"".join(components) for components in zip(*encoded, strict=True)]


def encode_key(parts: Sequence[KeyPart], values: Sequence[Any]) -> bytes:
    """One key or prefix of a key; components that are missing at the end of a whole key must be given as null."""
    return b"".join([component_encoder(part)(value) for part, value in zip(parts, values, strict=False)])


def encode_limit(parts: Sequence[KeyPart], values: Sequence[Any]) -> bytes:
    """A key in a read limit: it may be shorter than a key, or longer, and `<type=min>#`, `<type=max>#` may stand in it.

    A row with a key that begins with a shorter limit is not below that limit.
    """
    encoded = []
    for position, value in enumerate(values):
        sentinel = yson.plain(yson.attributes_of(value).get("type")) if yson.is_null(value) else None
        if sentinel in ("min", b"min"):
            encoded.append(MIN)
        elif sentinel in ("max", b"max"):
            encoded.append(MAX)
        elif position < len(parts):
            encoded.append(component_encoder(parts[position])(value))
        else:
            encoded.append(encode_value(value))
    return b"".join(encoded)
