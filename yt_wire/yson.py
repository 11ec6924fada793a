"""YSON to Python and back; the only module that knows the bindings.

In Python a string is `str`; one that is not UTF-8 is a proxy that only survives being written back. Rows of tables are
read with `loads_rows`, where every string is `bytes`. Unsigned numbers are `Uint64`, an `int`; null is None; a value
with attributes is an instance of the bindings' own classes, see `attributes_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any, Final, Literal, TypeAlias

import yt_yson_bindings as bindings
from yt.yson import yson_types
from yt.yson.common import YsonError
from yt.yson.convert import to_yson_type

from yt_wire.error import YtError

Yson: TypeAlias = Any
"""None, bool, int, float, str, bytes, list or dict of the same, possibly with attributes."""

Style: TypeAlias = Literal["binary", "text", "pretty"]

Uint64 = yson_types.YsonUint64
"""An `int` that is written as `5u`."""

UNDECODABLE = yson_types.YsonStringProxy
"""Type of a string that is not UTF-8; `bytes_of` gives its content."""

_SHOWN_LENGTH: Final = 200
"""Characters of a value in a message for people."""


def loads(data: bytes) -> Yson:
    """Read one value, text or binary; YtError with the parser's words if it is malformed."""
    return _load(data, "node", "utf-8")


def loads_rows(data: bytes) -> list[Yson]:
    """Read a list fragment `row;row;...`; all strings, keys included, are bytes."""
    return list(_load(data, "list_fragment", None))


def raw_rows(data: bytes) -> list[bytes]:
    """Items of a list fragment as they are, each with the `;` behind it; together they are the fragment again."""
    try:
        return list(bindings.load(BytesIO(data), yson_type="list_fragment", raw=True))
    except YsonError as error:
        raise YtError(f"Error parsing YSON: {_words(error)}") from error


def complete_length(data: bytes) -> int:
    """How many bytes at the beginning of a list fragment are whole items with a `;` behind each.

    What follows may be an item that has not fully arrived, or no YSON at all.
    """
    length = 0
    try:
        for item in bindings.load(BytesIO(data), yson_type="list_fragment", raw=True):
            if not item.rstrip(b" \t\r\n").endswith(b";"):
                break
            length += len(item)
    except YsonError:
        return length
    return length


def loads_raw(data: bytes) -> Yson:
    """Read one value with all strings, keys included, as bytes."""
    return _load(data, "node", None)


def dumps(value: Yson, style: Style = "binary") -> bytes:
    """Write one value."""
    return bytes(bindings.dumps(value, yson_format=style))


def dumps_rows(rows: Iterable[Yson], style: Style = "binary") -> bytes:
    """Write a list fragment; in text form each row ends in `;` and a line break."""
    return bytes(bindings.dumps(rows, yson_format=style, yson_type="list_fragment"))


def attributes_of(value: Yson) -> dict[str, Yson]:
    """Attributes of a value; empty if it has none."""
    if isinstance(value, yson_types.YsonType) and value.has_attributes():
        return dict(value.attributes)
    return {}


def with_attributes(value: Yson, attributes: Mapping[str, Yson]) -> Yson:
    """A copy of the value that carries these attributes and no others."""
    result = to_yson_type(plain(value) if isinstance(value, yson_types.YsonType) else value)
    result.attributes = dict(attributes)
    return result


def plain(value: Yson) -> Yson:
    """The same value without attributes of its own; what is inside keeps its."""
    match value:
        case yson_types.YsonStringProxy():
            return bytes_of(value)
        case yson_types.YsonUint64():
            return Uint64(value)
        case yson_types.YsonBoolean():
            return bool(value)
        case yson_types.YsonEntity():
            return None
        case bool() | None:
            return value
        case int():
            return int(value)
        case float():
            return float(value)
        case str():
            return str(value)
        case bytes():
            return bytes(value)
        case list():
            return list(value)
        case dict():
            return dict(value)
        case _:
            raise TypeError(f"not a YSON value: {value!r}")


def bytes_of(value: str | bytes | yson_types.YsonStringProxy) -> bytes:
    """Content of a string value of any kind."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, yson_types.YsonStringProxy):
        return bytes(yson_types.get_bytes(value))
    return bytes(value)


def is_string(value: Yson) -> bool:
    """Whether this is a YSON string, decodable or not."""
    return isinstance(value, (str, bytes, yson_types.YsonStringProxy))


def is_null(value: Yson) -> bool:
    """Whether this is YSON's entity `#`, with attributes or without."""
    return value is None or isinstance(value, yson_types.YsonEntity)


def shown(value: Yson) -> str:
    """A value in a message for people, or its beginning: as text YSON, or as Python's if YSON cannot hold it."""
    try:
        written = value.encode("utf-8", "surrogateescape") if type(value) is str else value
        text = dumps(written, "text").decode("ascii", "backslashreplace")
    except (YsonError, UnicodeEncodeError):  # from JSON come numbers that are too large, and halves of characters
        text = ascii(value)
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "..."


def as_boolean(value: Yson) -> Yson:
    """A boolean given as `true`, which is a string, as the boolean it stands for; other values as they are."""
    return {"true": True, "false": False}.get(str(value), value) if isinstance(value, str) else value


def _load(data: bytes, kind: str, encoding: str | None) -> Yson:
    try:
        result = bindings.loads(data, yson_type=kind, encoding=encoding, always_create_attributes=False)
        return result if kind == "node" else list(result)
    except YsonError as error:
        raise YtError(f"Error parsing YSON: {_words(error)}") from error


def _words(error: YsonError) -> str:
    """All messages of the parser's error, outermost first."""

    def text(message: bytes | str) -> str:
        return message.decode(errors="replace") if isinstance(message, bytes) else message

    words = [text(error.message)]
    inner_errors = error.inner_errors
    while inner_errors:
        inner = inner_errors[0] if isinstance(inner_errors[0], dict) else inner_errors[0].simplify()
        words.append(text(inner["message"]))
        inner_errors = inner.get("inner_errors")
    return ": ".join(words)
