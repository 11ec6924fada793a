"""Formats of requests and answers: YSON in its styles, JSON as YTsaurus writes it, and for rows the dsv family."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from yt_local.formats.dsv import DsvOptions, DsvReader, dsv_header, write_dsv
from yt_local.formats.row_output import ValueRows
from yt_wire import yson
from yt_wire.error import YtError

_MAX_JSON_DEPTH: Final = 250
"""As deep as YSON may be, in which it is kept."""


@dataclass(frozen=True, slots=True)
class Format:
    """One representation of values in bytes."""

    name: str
    """`yson`, `json`, and for rows alone `dsv` or `schemaful_dsv`."""

    style: yson.Style = "binary"
    """Of output; input may be in any style. JSON is never binary."""

    encode_utf8: bool = True
    """Of JSON: each byte of a string stands as the code point of the same number; else strings are plain Unicode."""

    skip_null_values: bool = False
    """Of rows in YSON: leave nulls out."""

    dsv: DsvOptions | None = None
    """Only of the dsv family."""

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
            return cls(
                "yson",
                style=_style(attributes.get("format", "binary"), "binary", "text", "pretty"),
                skip_null_values=_boolean(attributes.get("skip_null_values", False), "skip_null_values"),
            )
        if name == "json":
            style = _style(attributes.get("format", "text"), "text", "pretty")
            return cls("json", style, _boolean(attributes.get("encode_utf8", True), "encode_utf8"))
        if name in ("dsv", "schemaful_dsv"):
            return cls(name, style="text", dsv=DsvOptions.parse(name, attributes))
        raise YtError(f'Format "{name}" is not supported')

    @classmethod
    def of_mime_type(cls, mime_type: str) -> Format | None:
        """The format of a `Content-Type` or `Accept` that names exactly one known type."""
        return _BY_MIME_TYPE.get(mime_type.partition(";")[0].strip())

    @property
    def mime_type(self) -> str:
        if self.dsv:
            return "text/tab-separated-values"
        return "application/json" if self.name == "json" else f"application/x-yt-yson-{self.style}"

    def read_node(self, data: bytes) -> Any:
        """One value."""
        self._refuse_dsv()
        if self.name == "yson":
            return yson.loads(data)
        text = _text(data)
        value, end = self._decode_json(text, 0)
        if text[end:].strip():
            raise YtError(f"Error parsing JSON: unexpected data at position {end}")
        return self._from_json(value, _readable)

    def read_rows(self, data: bytes) -> list[dict[bytes, Any]]:
        """Rows of a table; all strings in them are bytes."""
        if self.dsv:
            return DsvReader(self.dsv).read(data.removesuffix(self.dsv.record_separator)) if data else []
        if self.name == "yson":
            rows = yson.loads_rows(data)
        else:
            rows = []
            text = _text(data)
            position = _skip_space(text, 0)
            while position < len(text):
                value, position = self._decode_json(text, position)
                rows.append(self._json_row(value))
                position = _skip_space(text, position)
        for index, row in enumerate(rows):
            if not isinstance(row, dict):
                raise YtError(f"Error parsing row {index}: expected a map, got {row!r}")
        return rows

    def read_complete_json_rows(self, data: bytes) -> tuple[list[dict[bytes, Any]], bytes]:
        """Rows at the beginning of JSON that goes on, and the rest that may be the beginning of another."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            text = decoder.decode(data)
        except UnicodeDecodeError as error:
            raise _bad_json(error) from error
        cut_character, _ = decoder.getstate()
        rows: list[dict[bytes, Any]] = []
        position = 0
        while (start := _skip_space(text, position)) < len(text):
            try:
                value, end_of_row = _JSON.raw_decode(text, start)
            except (ValueError, RecursionError):
                break
            if not isinstance(value, dict):  # no row, and a number may go on
                break
            rows.append(self._json_row(value))
            position = end_of_row
        return rows, text[position:].encode() + cut_character

    def _json_row(self, value: Any) -> dict[bytes, Any]:
        row = self._from_json(value, bytes)
        if not isinstance(row, dict):
            raise YtError(f"Error parsing rows: expected a map, got {row!r}")
        return {yson.bytes_of(key): item for key, item in row.items()}

    def write_node(self, value: Any) -> bytes:
        """One value; text ends in a line break."""
        self._refuse_dsv()
        if self.name == "yson":
            data = yson.dumps(value, self.style)
            return data + b"\n" if self.style == "pretty" else data
        # Real servers put no spaces between, and clients' tests compare text.
        layout: dict[str, Any] = {"indent": 4} if self.style == "pretty" else {"separators": (",", ":")}
        return json.dumps(self._to_json(value), ensure_ascii=False, **layout).encode() + b"\n"

    def write_rows(self, rows: Iterable[Mapping[str, Any] | None]) -> bytes:
        """Rows of a table; None is a missing row."""
        if self.dsv:
            return rows.dsv(self.dsv) if isinstance(rows, ValueRows) else write_dsv(self.dsv, rows)
        if self.name == "yson":
            if isinstance(rows, ValueRows) and self.style == "binary" and not self.skip_null_values:
                return rows.binary_yson()
            return yson.dumps_rows(map(_without_nulls, rows) if self.skip_null_values else rows, self.style)
        return b"".join(self.write_node(row) for row in rows)

    def header(self) -> bytes:
        """What stands in front of all rows."""
        return dsv_header(self.dsv) if self.dsv else b""

    def _refuse_dsv(self) -> None:
        if self.dsv:
            raise YtError(f'Format "{self.name}" is for rows only')

    def _decode_json(self, text: str, position: int) -> tuple[Any, int]:
        try:
            return _JSON.raw_decode(text, _skip_space(text, position))
        except RecursionError:
            raise _json_too_deep() from None
        except ValueError as error:
            raise YtError(f"Error parsing JSON: {error}") from error

    def _from_json(self, value: Any, string: Any, depth: int = 0) -> Any:
        if depth > _MAX_JSON_DEPTH:
            raise _json_too_deep()
        if isinstance(value, str):
            return string(self._string_bytes(value))
        if isinstance(value, list):
            return [self._from_json(item, string, depth + 1) for item in value]
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise YtError(f"Error parsing JSON: number {value} does not fit 64 bits")
        if isinstance(value, float) and math.isinf(value):
            raise YtError("Error parsing JSON: a number is too large for a double")
        if not isinstance(value, dict):
            # What is too big for a signed number can only have been meant unsigned.
            return yson.Uint64(value) if isinstance(value, int) and value >= 2**63 else value
        if "$value" in value:
            inner = self._from_json(value["$value"], string, depth + 1)
            attributes = self._from_json(value.get("$attributes", {}), _readable, depth + 1)
            if not isinstance(attributes, dict):
                raise YtError(f'Error parsing JSON: "$attributes" must be a map, got {attributes!r}')
            return yson.with_attributes(inner, attributes) if attributes else inner
        return {self._key(key): self._from_json(item, string, depth + 1) for key, item in value.items()}

    def _key(self, key: str) -> Any:
        if key.startswith("$$"):
            key = key[1:]
        elif key.startswith("$"):
            raise YtError(f'Error parsing JSON: key "{key}" starts with a single "$"')
        data = self._string_bytes(key)
        return data.decode() if data.isascii() else _readable(data)

    def _string_bytes(self, text: str) -> bytes:
        try:
            return text.encode("latin-1" if self.encode_utf8 else "utf-8")
        except UnicodeEncodeError as error:
            hint = "characters above 255; set encode_utf8=%false" if self.encode_utf8 else "half of a surrogate pair"
            raise YtError(f"Error parsing JSON: {text!r} has {hint}") from error

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


JSON_FORMAT: Final = Format("json", style="text")
YSON_TEXT: Final = Format("yson", style="text")

_BY_MIME_TYPE: Final[Mapping[str, Format]] = {
    known.mime_type: known
    for known in (JSON_FORMAT, Format("yson", style="binary"), YSON_TEXT, Format("yson", style="pretty"))
}


def _without_nulls(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {name: value for name, value in row.items() if not yson.is_null(value)}


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


_JSON = json.JSONDecoder(parse_constant=_no_number)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _bad_json(error) from error


def _bad_json(error: ValueError) -> YtError:
    return YtError(f"Error parsing JSON: {error}")


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _readable(data: bytes) -> Any:
    """A string outside of tables: `str` where possible."""
    return yson.loads(yson.dumps(data))


def _style(value: Any, *allowed: yson.Style) -> yson.Style:
    for style in allowed:
        if yson.plain(value) == style:
            return style
    raise YtError(f'Format attribute "format" must be one of {", ".join(allowed)}, got {value!r}')


def _boolean(value: Any, name: str) -> bool:
    """An option of a format; people write `encode_utf8=false`, which in YSON is a string."""
    plain = yson.plain(value)
    if plain not in (True, False, "true", "false"):
        raise YtError(f'Format attribute "{name}" must be a boolean, got {value!r}')
    return plain in (True, "true")


def _json_too_deep() -> YtError:
    return YtError("Error parsing JSON: Depth limit exceeded", attributes={"limit": _MAX_JSON_DEPTH})
