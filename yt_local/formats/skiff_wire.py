"""Bytes of `skiff`: numbers, strings and tags, little-endian."""

from __future__ import annotations

import struct
from typing import Any, Final

from yt_local.formats.json_output import type_name
from yt_wire import yson
from yt_wire.error import YtError

CANNOT_REPRESENT: Final = 315
"""Code of errors in rows that do not fit a format."""

END_TAGS: Final = {1: 0xFF, 2: 0xFFFF}
"""Of sequences, by the size of their tags."""

_DOUBLE: Final = struct.Struct("<d")
_INTEGER_BYTES: Final = {f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64, 128)} | {
    "int256": 32
}


class CutShort(Exception):
    """The bytes end within a value; no error, for more may come."""


class SkiffBytes:
    """Bytes that are read from their beginning on."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position == len(self._data)

    def take(self, size: int) -> bytes:
        """The next bytes; CutShort if there are not as many."""
        end = self.position + size
        if end > len(self._data):
            raise CutShort
        start, self.position = self.position, end
        return self._data[start:end]

    def tag(self, size: int) -> int:
        """A tag of one or two bytes."""
        return int.from_bytes(self.take(size), "little")

    def simple(self, wire_type: str) -> Any:
        """A value of a simple wire type, as rows have it: strings are bytes, unsigned numbers `Uint64`."""
        match wire_type:
            case "nothing":
                return None
            case "boolean":
                return self.take(1) != b"\0"
            case "double":
                return _DOUBLE.unpack(self.take(8))[0]
            case "string32":
                return self.take(self.tag(4))
            case "yson32":
                return yson.loads_raw(self.take(self.tag(4)))
        signed = not wire_type.startswith("u")
        number = int.from_bytes(self.take(_INTEGER_BYTES[wire_type]), "little", signed=signed)
        return number if signed else yson.Uint64(number)


def write_integer(out: bytearray, wire_type: str, number: int) -> None:
    """A number; YtError if the type has not as many bits."""
    try:
        out += number.to_bytes(_INTEGER_BYTES[wire_type], "little", signed=not wire_type.startswith("u"))
    except OverflowError as error:
        message = f'Value {number} is out of range for possible values for skiff type "{wire_type}"'
        raise YtError(message) from error


def write_string(out: bytearray, data: bytes) -> None:
    """A string or YSON with its length."""
    out += len(data).to_bytes(4, "little") + data


def write_simple(out: bytearray, wire_type: str, value: Any, column: str) -> None:
    """A value of a row in a simple wire type; YtError 315, naming the column, if it is of another type."""
    if wire_type == "yson32":
        write_string(out, yson.dumps(value))
        return
    expected, actual = _value_type(wire_type), _type_of(value)
    if actual != expected:
        raise YtError(
            f'Unexpected type of "{column}" column: Skiff format expected "{expected}", actual table type "{actual}"',
            CANNOT_REPRESENT,
        )
    match wire_type:
        case "nothing":
            pass
        case "boolean":
            out += b"\1" if value else b"\0"
        case "double":
            out += _DOUBLE.pack(value)
        case "string32":
            write_string(out, yson.bytes_of(value))
        case _:
            write_integer(out, wire_type, int(value))


def _value_type(wire_type: str) -> str:
    if wire_type.startswith(("int", "uint")):
        return "uint64" if wire_type.startswith("u") else "int64"
    return {"nothing": "null", "string32": "string"}.get(wire_type, wire_type)


def _type_of(value: Any) -> str:
    if yson.is_null(value):
        return "null"
    if yson.is_string(value):
        return "string"
    if isinstance(value, (dict, list)):
        return "any"
    return type_name(yson.plain(value))
