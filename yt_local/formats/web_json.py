"""The format `web_json`: one document with as much of rows as a page in a browser can show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from yt_local.formats.format import Batch, Format, InputRow, PlacedRows, RowReader, RowShape
from yt_local.formats.json_output import JsonOptions, JsonWriter, dump, type_name
from yt_local.formats.json_text import JsonText
from yt_local.formats.options import Attributes, choice, count
from yt_local.formats.yql_types import VALUE_TYPES, yql_type
from yt_local.formats.yql_values import YqlLimits, column_writer
from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import YtError

INVALID_FORMAT: Final = 2800
"""Code of errors in a format's attributes."""

ValueWriter: TypeAlias = Callable[[bytes, Any], str]
"""Makes JSON of a column's name and a value."""


@dataclass(frozen=True, slots=True)
class WebJsonOptions:
    """Attributes of the format; weights are in bytes."""

    is_yql: bool
    max_selected_column_count: int
    field_weight_limit: int
    string_weight_limit: int
    max_all_column_names_count: int
    column_names: frozenset[bytes] | None
    """Columns to show; None: the first that are seen."""

    @classmethod
    def parse(cls, attributes: Attributes) -> WebJsonOptions:
        """Read the attributes of the format; YtError 2800 if one makes no sense."""
        try:
            return cls(
                is_yql=choice(attributes, "value_format", "schemaless", "yql") == "yql",
                max_selected_column_count=count(attributes, "max_selected_column_count", 50),
                field_weight_limit=count(attributes, "field_weight_limit", 1024),
                string_weight_limit=count(attributes, "string_weight_limit", 200),
                max_all_column_names_count=count(attributes, "max_all_column_names_count", 2000),
                column_names=_column_names(attributes.get("column_names")),
            )
        except YtError as error:
            message = "Failed to parse config for web JSON format"
            raise YtError(message, INVALID_FORMAT, inner_errors=[error]) from error


class WebJsonFormat(Format):
    """Rows for people to look at; for output only."""

    name = "web_json"
    mime_type = "application/json"

    def __init__(self, attributes: Attributes) -> None:
        self._options = WebJsonOptions.parse(attributes)

    def read_rows(self, data: bytes, columns: Sequence[Column]) -> list[InputRow]:
        raise self._output_only()

    def row_reader(self, columns: Sequence[Column]) -> RowReader:
        raise self._output_only()

    def encode_rows(self, batches: Iterable[Batch], shape: RowShape) -> Iterator[bytes]:
        options = self._options
        shown = _ShownColumns(options, hides_system=shape.is_table)
        write = _yql_writer(shape.columns, options) if options.is_yql else _schemaless_writer(options)
        rows = PlacedRows()
        separator = b""
        yield b'{"rows":['
        for batch in batches:
            texts = [_row_text(row, shown, write) for row in rows.of(batch)]
            if texts:
                yield separator + ",".join(texts).encode()
                separator = b","
        tail = shown.summary()
        if options.is_yql:
            tail["yql_type_registry"] = [*VALUE_TYPES, *(yql_type(column.type_v3) for column in shape.columns)]
        yield b"]," + dump(tail).removeprefix(b"{")


class _ShownColumns:
    """Which columns a page shows, and which there are."""

    def __init__(self, options: WebJsonOptions, *, hides_system: bool) -> None:
        self._options = options
        self._hides_system = hides_system
        self._seen: set[bytes] = set()
        self._shown: set[bytes] = set()
        self._unnamed = self._unshown = False

    def takes(self, name: bytes) -> bool:
        """Whether the value of a column of this name is shown."""
        wanted = self._options.column_names
        if self._hides_system and name.startswith(b"$") and not (wanted and name in wanted):
            return False
        if len(self._seen) < self._options.max_all_column_names_count:
            self._seen.add(name)
        elif name not in self._seen:
            self._unnamed = True
        if wanted is None and len(self._shown) < self._options.max_selected_column_count:
            self._shown.add(name)
        taken = name in (self._shown if wanted is None else wanted)
        self._unshown = self._unshown or not taken
        return taken

    def summary(self) -> dict[str, Any]:
        """What stands behind the rows; flags are strings."""
        return {
            "incomplete_columns": str(self._unshown).lower(),
            "incomplete_all_column_names": str(self._unnamed).lower(),
            "all_column_names": [name.decode("latin-1") for name in sorted(self._seen)],
        }


def _row_text(row: Any, shown: _ShownColumns, write: ValueWriter) -> str:
    named = ((yson.bytes_of(name), value) for name, value in row.items())
    return "{" + ",".join(f"{_key(name)}:{write(name, value)}" for name, value in named if shown.takes(name)) + "}"


def _key(name: bytes) -> str:
    text = name.decode("latin-1")
    return json.dumps("$" + text if text.startswith("$") else text, ensure_ascii=False)


def _schemaless_writer(options: WebJsonOptions) -> ValueWriter:
    writer = JsonWriter(JsonOptions(stringify=True, annotate_with_types=True))
    limit = options.field_weight_limit

    def write(_: bytes, value: Any) -> str:
        if isinstance(value, (dict, list)) or yson.attributes_of(value):
            if len(yson.dumps(value)) > limit:
                return dump({"$incomplete": True, "$type": "any", "$value": ""}).decode()
        elif yson.is_string(value):
            return dump(writer.cut_string(yson.bytes_of(value), limit)).decode()
        return writer.write(value).decode()

    return write


def _yql_writer(columns: Sequence[Column], options: WebJsonOptions) -> ValueWriter:
    limits = YqlLimits(options.field_weight_limit, options.string_weight_limit)
    value_writers = [column_writer(name, limits) for name in _VALUE_TYPE_NAMES]
    writers = {
        column.name.encode(): (len(VALUE_TYPES) + index, column_writer(column.type_v3, limits))
        for index, column in enumerate(columns)
    }

    def write(name: bytes, value: Any) -> str:
        value = yson.plain(value) if not isinstance(value, (dict, list)) else value
        index, write_value = writers.get(name) or (position := _position(value), value_writers[position])
        text = JsonText()
        write_value(text, value)
        return f'[{text},"{index}"]'

    return write


_VALUE_TYPE_NAMES: Final = ("null", "int64", "uint64", "double", "bool", "string", "yson", "yson")


def _position(value: Any) -> int:
    """Where the type of a value stands in `VALUE_TYPES`."""
    if value is None:
        return 0
    if isinstance(value, (dict, list)):
        return 6
    if yson.is_string(value):
        return 5
    return ("int64", "uint64", "double", "boolean").index(type_name(value)) + 1


def _column_names(given: Any) -> frozenset[bytes] | None:
    if yson.is_null(given):
        return None
    if not isinstance(given, list) or not all(yson.is_string(name) for name in given):
        raise YtError(f'Format attribute "column_names" must be a list of names, got {yson.shown(given)}')
    names = [yson.bytes_of(name) for name in given]
    for name in names:
        if names.count(name) > 1:
            shown = name.decode(errors="backslashreplace")
            raise YtError(f'Duplicate column name "{shown}" in "column_names" parameter of web_json format config')
    return frozenset(names)
