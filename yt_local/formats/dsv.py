"""The formats `dsv` (`a=1` and `b=2` between tabs) and `schemaful_dsv` (values of named columns between tabs)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from yt_wire import yson
from yt_wire.error import YtError

MissingValueMode: TypeAlias = Literal["fail", "skip_row", "print_sentinel"]

_ESCAPES: Final = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b"\0": b"\\0"}
_ESCAPED: Final = re.compile(rb"\\(.)", re.DOTALL)
_UNESCAPES: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0"}


@dataclass(frozen=True, slots=True)
class DsvOptions:
    """Attributes of these formats."""

    columns: tuple[bytes, ...] | None
    """Of `schemaful_dsv`; None for `dsv`."""

    record_separator: bytes = b"\n"
    field_separator: bytes = b"\t"
    key_value_separator: bytes = b"="
    line_prefix: bytes | None = None
    """Of `dsv`: the first field of every line, which names no column; `tskv` is one."""

    enable_escaping: bool = True
    missing_value_mode: MissingValueMode = "fail"
    missing_value_sentinel: bytes = b""
    column_names_header: bool = False

    @classmethod
    def parse(cls, name: str, attributes: Mapping[str, Any]) -> DsvOptions:
        """Read the attributes of a format of this name; YtError if one makes no sense."""
        given = attributes.get("columns") if name == "schemaful_dsv" else []
        if not isinstance(given, list) or not all(yson.is_string(item) for item in given):
            raise YtError('Format "schemaful_dsv" needs the attribute "columns", a list of names')
        columns = tuple(yson.bytes_of(item) for item in given)
        mode = yson.plain(attributes.get("missing_value_mode", "fail"))
        if mode not in ("fail", "skip_row", "print_sentinel"):
            raise YtError(f'Format attribute "missing_value_mode" cannot be {yson.shown(mode)}')
        return cls(
            columns=columns if name == "schemaful_dsv" else None,
            record_separator=_separator(attributes, "record_separator", b"\n"),
            field_separator=_separator(attributes, "field_separator", b"\t"),
            key_value_separator=_separator(attributes, "key_value_separator", b"="),
            line_prefix=_line_prefix(attributes) if name == "dsv" else None,
            enable_escaping=yson.plain(attributes.get("enable_escaping", True)) in (True, "true"),
            missing_value_mode=cast("MissingValueMode", mode),
            missing_value_sentinel=yson.bytes_of(attributes.get("missing_value_sentinel", "")),
            column_names_header=yson.plain(attributes.get("enable_column_names_header", False)) in (True, "true"),
        )


class DsvReader:
    """Makes rows of lines; all values are strings, or null where a sentinel says so.

    Raises:
        YtError: the options are for writing only.
    """

    def __init__(self, options: DsvOptions) -> None:
        if options.column_names_header:
            raise YtError('Format attribute "enable_column_names_header" is for output only')
        self._options = options
        self.record_separator = options.record_separator

    def read(self, lines: bytes) -> list[dict[bytes, Any]]:
        """Rows of lines with separators between them, but none behind the last."""
        read = self._read_named if self._options.columns is None else self._read_positional
        return [read(line.split(self._options.field_separator)) for line in lines.split(self.record_separator)]

    def _read_named(self, fields: Sequence[bytes]) -> dict[bytes, Any]:
        row: dict[bytes, Any] = {}
        prefix = self._options.line_prefix
        if prefix is not None:
            if fields[0] != prefix:
                raise YtError(f'Malformed line prefix: expected "{_shown(prefix)}", found "{_shown(fields[0])}"')
            fields = fields[1:]
        for field in fields:
            name, separator, value = _split_pair(field, self._options.key_value_separator)
            if separator:
                row[self._unescaped(name)] = self._unescaped(value)
            elif field and field != b"tskv":
                raise YtError(
                    f'Error parsing dsv: no "{self._options.key_value_separator.decode()}" in {yson.shown(field)}'
                )
        return row

    def _read_positional(self, fields: Sequence[bytes]) -> dict[bytes, Any]:
        columns = self._options.columns or ()
        if len(fields) != len(columns):
            raise YtError(f"Error parsing schemaful_dsv: expected {len(columns)} fields, got {len(fields)}")
        row: dict[bytes, Any] = dict(zip(columns, map(self._unescaped, fields), strict=True))
        if self._options.missing_value_mode == "print_sentinel":
            sentinel = self._options.missing_value_sentinel
            return {name: None if value == sentinel else value for name, value in row.items()}
        return row

    def _unescaped(self, text: bytes) -> bytes:
        if not self._options.enable_escaping or b"\\" not in text:
            return text
        return _ESCAPED.sub(lambda match: _UNESCAPES.get(match[1], match[1]), text)


def write_dsv(options: DsvOptions, rows: Iterable[Mapping[Any, Any] | None]) -> bytes:
    """Lines of rows; control records, which are no maps, leave no trace.

    Raises:
        YtError: a composite value, or a missing one where `schemaful_dsv` was told to fail.
    """
    write = _named_line if options.columns is None else _positional_line
    lines = (write(options, row) for row in rows if isinstance(row, dict))
    return b"".join(line + options.record_separator for line in lines if line is not None)


def write_dsv_columns(options: DsvOptions, columns: Sequence[Sequence[Any]]) -> bytes | None:
    """The same lines as `write_dsv` makes of rows with these columns, several times as fast.

    Args:
        options: of `schemaful_dsv`.
        columns: values in the order in which they are written, all of the same length and at least one.

    Returns:
        None if there are values that have to be looked at one by one.
    """
    written = [_written_column(options, values) for values in columns]
    if any(column is None for column in written):
        return None
    lines = map(options.field_separator.join, zip(*(column for column in written if column), strict=True))
    return options.record_separator.join(lines) + options.record_separator


def _written_column(options: DsvOptions, values: Sequence[Any]) -> list[bytes] | None:
    kinds = set(map(type, values))
    null = options.missing_value_sentinel
    if type(None) in kinds and options.missing_value_mode != "print_sentinel":
        return None
    match kinds - {type(None)}:
        case only if only <= {int}:
            return [null if value is None else b"%d" % value for value in values]
        case only if only <= {bytes}:
            text = b"".join(value for value in values if value is not None)
            if options.enable_escaping and any(plain in text for plain in _ESCAPES):
                return [null if value is None else _escaped(options, value) for value in values]
            return [null if value is None else value for value in values]
        case only if only <= {float, bool}:
            return [null if value is None else _text(value, "schemaful_dsv") for value in values]
    return None


def dsv_header(options: DsvOptions) -> bytes:
    """The line with the names of columns, if it was asked for."""
    if not options.column_names_header or options.columns is None:
        return b""
    return options.field_separator.join(options.columns) + options.record_separator


def _named_line(options: DsvOptions, row: Mapping[Any, Any]) -> bytes | None:
    extra = {options.key_value_separator: b"\\" + options.key_value_separator}
    fields = [
        _escaped(options, yson.bytes_of(name), extra)
        + options.key_value_separator
        + _escaped(options, _text(value, "dsv"))
        for name, value in row.items()
        if not yson.is_null(value)
    ]
    prefix = [] if options.line_prefix is None else [options.line_prefix]
    return options.field_separator.join(prefix + fields)


def _positional_line(options: DsvOptions, row: Mapping[Any, Any]) -> bytes | None:
    by_name = {yson.bytes_of(name): value for name, value in row.items()}
    fields = []
    for name in options.columns or ():
        value = by_name.get(name)
        if not yson.is_null(value):
            fields.append(_escaped(options, _text(value, "schemaful_dsv")))
        elif options.missing_value_mode == "skip_row":
            return None
        elif options.missing_value_mode == "fail":
            raise YtError(f'Column "{_shown(name)}" is in schema but missing')
        else:
            fields.append(options.missing_value_sentinel)
    return options.field_separator.join(fields)


def _text(value: Any, name: str) -> bytes:
    if yson.is_string(value):
        return yson.bytes_of(value)
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, (int, float)):
        return repr(float(value) if isinstance(value, float) else int(value)).encode()
    raise YtError(f'Values of type "any" are not supported by format "{name}": {yson.shown(value)}')


def _escaped(options: DsvOptions, text: bytes, extra: Mapping[bytes, bytes] | None = None) -> bytes:
    if options.enable_escaping:
        for plain, written in {**_ESCAPES, **(extra or {})}.items():
            if plain in text:
                text = text.replace(plain, written)
    return text


def _split_pair(field: bytes, separator: bytes) -> tuple[bytes, bytes, bytes]:
    """Cut at the first separator that is not escaped."""
    position = -1
    while (position := field.find(separator, position + 1)) >= 0:
        before = field[:position]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return before, separator, field[position + len(separator) :]
    return field, b"", b""


def _shown(text: bytes) -> str:
    return text.decode(errors="backslashreplace")


def _line_prefix(attributes: Mapping[str, Any]) -> bytes | None:
    value = attributes.get("line_prefix")
    if value is not None and not yson.is_string(value):
        raise YtError(f'Format attribute "line_prefix" must be a string, got {yson.shown(value)}')
    return None if value is None else yson.bytes_of(value)


def _separator(attributes: Mapping[str, Any], name: str, default: bytes) -> bytes:
    value = attributes.get(name, default)
    if not yson.is_string(value) or len(yson.bytes_of(value)) != 1:
        raise YtError(f'Format attribute "{name}" must be one byte, got {yson.shown(value)}')
    return yson.bytes_of(value)
