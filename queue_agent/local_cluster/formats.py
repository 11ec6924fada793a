"""Formats of requests and answers: YSON in its styles, and JSON as YTsaurus writes it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.wire import yson
from queue_agent.wire.error import YtError

_MIME_TYPES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "application/json": ("json", {}),
    "application/x-yt-yson-binary": ("yson", {"format": "binary"}),
    "application/x-yt-yson-text": ("yson", {"format": "text"}),
    "application/x-yt-yson-pretty": ("yson", {"format": "pretty"}),
}


@dataclass(frozen=True, slots=True)
class Format:
    """One representation of values in bytes."""

    name: str
    """`yson` or `json`."""

    style: yson.Style = "binary"
    """Of YSON output; input may be in any style."""

    encode_utf8: bool = True
    """Of JSON: each byte of a string stands as the code point of the same number; else strings are plain Unicode."""

    @classmethod
    def parse(cls, value: Any) -> Format:
        """Read a format as parameters name it: `json` or `<format=text>yson`.

        Raises:
            YtError: not a format, or one that is not supported.
        """
        if not isinstance(value, str):
            raise YtError(f"Format must be a string, got {value!r}")
        attributes = yson.attributes_of(value)
        name = str(value)  # with its attributes it would equal nothing
        if name == "yson":
            style = attributes.get("format", "binary")
            if style not in ("binary", "text", "pretty"):
                raise YtError(f'Invalid YSON format "{style}"')
            return cls("yson", style=style)
        if name == "json":
            return cls("json", encode_utf8=bool(attributes.get("encode_utf8", True)))
        raise YtError(f'Format "{name}" is not supported')

    @classmethod
    def of_mime_type(cls, mime_type: str) -> Format | None:
        """The format of a `Content-Type` or `Accept` that names exactly one known type."""
        found = _MIME_TYPES.get(mime_type.partition(";")[0].strip())
        return cls.parse(yson.with_attributes(*found)) if found else None

    @property
    def mime_type(self) -> str:
        return "application/json" if self.name == "json" else f"application/x-yt-yson-{self.style}"

    def read_node(self, data: bytes) -> Any:
        """One value."""
        if self.name == "yson":
            return yson.loads(data)
        value, end = self._decode_json(_text(data), 0)
        if _text(data)[end:].strip():
            raise YtError(f"Error parsing JSON: unexpected data at position {end}")
        return self._from_json(value, _readable)

    def read_rows(self, data: bytes) -> list[dict[bytes, Any]]:
        """Rows of a table; all strings in them are bytes."""
        if self.name == "yson":
            rows = yson.loads_rows(data)
        else:
            rows = []
            text = _text(data)
            position = _skip_space(text, 0)
            while position < len(text):
                value, position = self._decode_json(text, position)
                rows.append({yson.bytes_of(key): item for key, item in self._from_json(value, bytes).items()})
                position = _skip_space(text, position)
        for row in rows:
            if not isinstance(row, dict):
                raise YtError(f"Error parsing rows: expected a map, got {row!r}")
        return rows

    def write_node(self, value: Any) -> bytes:
        """One value; text ends in a line break."""
        if self.name == "yson":
            data = yson.dumps(value, self.style)
            return data + b"\n" if self.style == "pretty" else data
        return json.dumps(self._to_json(value), ensure_ascii=False).encode() + b"\n"

    def write_rows(self, rows: Iterable[Mapping[str, Any] | None]) -> bytes:
        """Rows of a table; None is a missing row."""
        if self.name == "yson":
            return yson.dumps_rows(rows, self.style)
        return b"".join(self.write_node(row) for row in rows)

    def _decode_json(self, text: str, position: int) -> tuple[Any, int]:
        try:
            return _JSON.raw_decode(text, _skip_space(text, position))
        except json.JSONDecodeError as error:
            raise YtError(f"Error parsing JSON: {error}") from error

    def _from_json(self, value: Any, string: Any) -> Any:
        if isinstance(value, str):
            return string(self._string_bytes(value))
        if isinstance(value, list):
            return [self._from_json(item, string) for item in value]
        if not isinstance(value, dict):
            return value
        if "$value" in value:
            inner = self._from_json(value["$value"], string)
            attributes = self._from_json({"a": value.get("$attributes", {})}, _readable)["a"]
            return yson.with_attributes(inner, attributes) if attributes else inner
        return {self._key(key): self._from_json(item, string) for key, item in value.items()}

    def _key(self, key: str) -> str:
        if key.startswith("$$"):
            key = key[1:]
        elif key.startswith("$"):
            raise YtError(f'Error parsing JSON: key "{key}" starts with a single "$"')
        return self._string_bytes(key).decode()

    def _string_bytes(self, text: str) -> bytes:
        if not self.encode_utf8:
            return text.encode()
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError as error:
            raise YtError(f"Error parsing JSON: {text!r} has characters above 255; set encode_utf8=%false") from error

    def _to_json(self, value: Any) -> Any:
        attributes = yson.attributes_of(value)
        if attributes:
            return {"$attributes": self._to_json(attributes), "$value": self._to_json(yson.plain(value))}
        if yson.is_null(value):
            return None
        if isinstance(value, dict):
            return {self._json_key(key): self._to_json(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._to_json(item) for item in value]
        if yson.is_string(value):
            return self._json_string(yson.bytes_of(value))
        if isinstance(value, float) and not math.isfinite(value):
            raise YtError(f"Unexpected value {value} in JSON: it has no infinities and no NaN")
        # The bindings have a boolean of their own.
        return bool(value) if repr(value) in ("true", "false") else value

    def _json_key(self, key: str | bytes) -> str:
        text = self._json_string(yson.bytes_of(key))
        return "$" + text if text.startswith("$") else text

    def _json_string(self, data: bytes) -> str:
        if self.encode_utf8:
            return data.decode("latin-1")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise YtError(f"String {data!r} is not UTF-8 and cannot be written as JSON") from error


JSON_FORMAT: Final = Format("json")
YSON_TEXT: Final = Format("yson", style="text")

_JSON = json.JSONDecoder()


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise YtError(f"Error parsing JSON: {error}") from error


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _readable(data: bytes) -> Any:
    """A string outside of tables: `str` where possible."""
    return yson.loads(yson.dumps(data))
