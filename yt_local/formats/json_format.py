"""The format `json`: what clients send, and answers as `json_output` makes them."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from yt_local.formats.format import Batch, Format, InputRow, RowReader, RowShape
from yt_local.formats.json_output import JsonOptions, JsonWriter
from yt_local.formats.row_streams import PieceReader
from yt_local.formats.value_count import check_value_count
from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import YtError

_MAX_DEPTH: Final = 250
"""As deep as YSON may be, in which it is kept."""

_MARKS: Final = (b",", b"{", b"[")


class JsonFormat(Format):
    """JSON as YTsaurus reads and writes it."""

    name = "json"
    mime_type = "application/json"

    def __init__(self, options: JsonOptions) -> None:
        self._options = options
        self._writer = JsonWriter(options)

    def read_node(self, data: bytes) -> Any:
        check_value_count(data, _MARKS)
        text = _text(data)
        value, end = self._decode(text, 0)
        if text[end:].strip():
            raise YtError(f"Error parsing JSON: unexpected data at position {end}")
        return self._value(value, _readable)

    def write_node(self, value: Any) -> bytes:
        return self._writer.write(value)

    def read_rows(self, data: bytes, columns: Sequence[Column]) -> list[InputRow]:
        check_value_count(data, _MARKS)
        rows = []
        text = _text(data)
        position = _skip_space(text, 0)
        while position < len(text):
            value, position = self._decode(text, position)
            rows.append(self._row(value))
            position = _skip_space(text, position)
        return rows

    def row_reader(self, columns: Sequence[Column]) -> RowReader:
        return PieceReader(self._read_complete_rows, lambda rest: self.read_rows(rest, columns))

    def encode_rows(self, batches: Iterable[Batch], shape: RowShape) -> Iterator[bytes]:
        for batch in batches:
            rows = map(_without_nulls, batch) if self._options.skip_null_values else batch
            yield b"".join(self._writer.write(row) + b"\n" for row in rows)

    def _read_complete_rows(self, data: bytes) -> tuple[list[InputRow], bytes]:
        """Rows at the beginning of JSON that goes on, and the rest that may be the beginning of another.

        Rows may follow each other with nothing between, but no row's text can be cut and stay JSON.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            text = decoder.decode(data)
        except UnicodeDecodeError as error:
            raise _bad_json(error) from error
        cut_character, _ = decoder.getstate()
        rows: list[InputRow] = []
        position = 0
        while (start := _skip_space(text, position)) < len(text):
            try:
                value, end_of_row = _JSON.raw_decode(text, start)
            except (ValueError, RecursionError):
                break
            if not isinstance(value, dict):  # no row, and a number may go on
                break
            rows.append(self._row(value))
            position = end_of_row
        return rows, text[position:].encode() + cut_character

    def _row(self, value: Any) -> InputRow:
        row = self._value(value, bytes)
        if not isinstance(row, dict):
            raise YtError(f"Error parsing rows: expected a map, got {yson.shown(row)}")
        return {yson.bytes_of(key): item for key, item in row.items()}

    def _decode(self, text: str, position: int) -> tuple[Any, int]:
        try:
            return _JSON.raw_decode(text, _skip_space(text, position))
        except RecursionError:
            raise _too_deep() from None
        except ValueError as error:
            raise _bad_json(error) from error

    def _value(self, value: Any, string: Any, depth: int = 0) -> Any:
        if depth > _MAX_DEPTH:
            raise _too_deep()
        if isinstance(value, str):
            return string(self._string_bytes(value))
        if isinstance(value, list):
            return [self._value(item, string, depth + 1) for item in value]
        if not isinstance(value, dict):
            return _number(value)
        if self._options.plain:
            return {self._readable_key(key): self._value(item, string, depth + 1) for key, item in value.items()}
        if "$value" in value:
            return self._wrapped(value, string, depth)
        if "$attributes" in value:
            raise YtError('Error parsing JSON: Found key "$attributes" without key "$value"')
        return {self._key(key): self._value(item, string, depth + 1) for key, item in value.items()}

    def _wrapped(self, value: dict[str, Any], string: Any, depth: int) -> Any:
        content = value["$value"]
        inner = self._value(_typed(value["$type"], content) if "$type" in value else content, string, depth + 1)
        if value.get("$type") == "uint64":
            inner = yson.Uint64(inner)
        attributes = self._value(value.get("$attributes", {}), _readable, depth + 1)
        if not isinstance(attributes, dict):
            raise YtError(f'Error parsing JSON: "$attributes" must be a map, got {yson.shown(attributes)}')
        return yson.with_attributes(inner, attributes) if attributes else inner

    def _key(self, key: str) -> Any:
        if key.startswith("$$"):
            key = key[1:]
        elif key.startswith("$"):
            raise YtError(f'Error parsing JSON: key "{key}" starts with a single "$"')
        return self._readable_key(key)

    def _readable_key(self, key: str) -> Any:
        data = self._string_bytes(key)
        return data.decode() if data.isascii() else _readable(data)

    def _string_bytes(self, text: str) -> bytes:
        encode_utf8 = self._options.encode_utf8
        try:
            return text.encode("latin-1" if encode_utf8 else "utf-8")
        except UnicodeEncodeError as error:
            hint = "characters above 255; set encode_utf8=%false" if encode_utf8 else "half of a surrogate pair"
            raise YtError(f"Error parsing JSON: {yson.shown(text)} has {hint}") from error


def _typed(kind: Any, content: Any) -> Any:
    """A `$value` as its `$type` says; a number or boolean may be written as a string."""
    try:
        match kind, content:
            case "string", str():
                return content
            case "int64" | "uint64", str() | int() if not isinstance(content, bool):
                return int(content)
            case "double", str() | int() | float() if not isinstance(content, bool):
                return float(content)
            case "boolean", bool() | "true" | "false":
                return content in (True, "true")
    except ValueError as error:
        raise _bad_json(error) from error
    if kind in ("string", "int64", "uint64", "double", "boolean"):
        raise YtError(f'Error parsing JSON: "$value" {yson.shown(content)} is not of "$type" "{kind}"')
    raise YtError(f'Error parsing JSON: Unexpected "$type" value "{kind}"')


def _number(value: Any) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise YtError(f"Error parsing JSON: number {value} does not fit 64 bits")
    if isinstance(value, float) and math.isinf(value):
        raise YtError("Error parsing JSON: a number is too large for a double")
    # What is too big for a signed number can only have been meant unsigned.
    return yson.Uint64(value) if isinstance(value, int) and value >= 2**63 else value


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


def _too_deep() -> YtError:
    return YtError("Error parsing JSON: Depth limit exceeded", attributes={"limit": _MAX_DEPTH})
