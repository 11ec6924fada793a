"""Rows of a result: as maps for any format, or straight as binary YSON, which is several times as fast."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

from yt_local.formats.dsv import DsvOptions, write_dsv, write_dsv_columns
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Row, Value
from yt_local.schema.rows import row_mapper
from yt_local.schema.schema import Column
from yt_wire import yson

_BLOCK_ROWS: Final = 1000
"""Encoded together: enough to pay, few enough that the pieces do not take more memory than the result."""

_ROWS_AT_ONCE: Final = 5 * _BLOCK_ROWS
"""Written before others have their turn."""


@dataclass(frozen=True, slots=True)
class ValueRows:
    """Rows of values in the order of the columns, whose names differ; None stands for a missing row."""

    columns: Sequence[Column]
    rows: Sequence[Row | None]

    def __iter__(self) -> Iterator[dict[str, Any] | None]:
        """The rows as maps."""
        to_map = row_mapper(self.columns)
        return (None if row is None else to_map(row) for row in self.rows)

    def binary_yson(self) -> bytes:
        """A list fragment, byte for byte what the maps are written as."""
        keys = [yson.dumps(column.name) + b"=" for column in self.columns]
        encoders = [_ENCODERS[column.physical_type] for column in self.columns]
        prefixes = [opening + key for opening, key in zip(chain([b"{"], repeat(b";")), keys, strict=False)]

        def encode(rows: Sequence[Row]) -> bytes:
            columns = [
                encode_column(prefix, values)
                for encode_column, prefix, values in zip(encoders, prefixes, zip(*rows, strict=True), strict=True)
            ]
            return b"".join(chain.from_iterable(zip(*columns, repeat(b";};", len(rows)), strict=True)))

        blocks = []
        for start in range(0, len(self.rows), _BLOCK_ROWS):
            block = self.rows[start : start + _BLOCK_ROWS]
            present = [row for row in block if row is not None]
            if not self.columns or len(present) < len(block):
                blocks.append(yson.dumps_rows(ValueRows(self.columns, block)))
            else:
                blocks.append(encode(present))
        return b"".join(blocks)

    def dsv(self, options: DsvOptions) -> bytes:
        """Lines of `dsv` or `schemaful_dsv`; YtError as `write_dsv` has it."""
        positions = {column.name.encode(): position for position, column in enumerate(self.columns)}
        names = options.columns or ()
        if (
            not names
            or any(row is None for row in self.rows)
            or not all(name in positions for name in names)
            or any(self.columns[positions[name]].physical_type in ("any", "null") for name in names)
        ):
            return write_dsv(options, self)
        blocks = []
        for start in range(0, len(self.rows), _BLOCK_ROWS):
            block = list(zip(*self.rows[start : start + _BLOCK_ROWS], strict=True))
            lines = write_dsv_columns(options, [block[positions[name]] for name in names])
            if lines is None:
                lines = write_dsv(options, ValueRows(self.columns, self.rows[start : start + _BLOCK_ROWS]))
            blocks.append(lines)
        return b"".join(blocks)


def blocks_of(rows: Iterable[Mapping[str, Any] | None]) -> Iterator[Iterable[Mapping[str, Any] | None]]:
    """The rows as several results, one behind the other, none of which takes long to write."""
    if not isinstance(rows, ValueRows) or len(rows.rows) <= _ROWS_AT_ONCE:
        yield rows
        return
    for start in range(0, len(rows.rows), _ROWS_AT_ONCE):
        yield ValueRows(rows.columns, rows.rows[start : start + _ROWS_AT_ONCE])


_ColumnEncoder: TypeAlias = Callable[[bytes, Sequence[Any]], list[bytes]]
"""Writes every value of a column, the prefix in front of each."""

_DOUBLE: Final = struct.Struct("<d")

_WORD_BITS: Final = 14
_WORD: Final = 1 << _WORD_BITS
_LAST_WORD: Final = [bytes([word]) if word < 128 else bytes([word & 127 | 128, word >> 7]) for word in range(_WORD)]
_WORD_BEFORE: Final = [bytes([word & 127 | 128, word >> 7 | 128]) for word in range(_WORD)]


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; made of two bytes at a time."""
    if number < _WORD:
        return _LAST_WORD[number]
    if number < _WORD * _WORD:
        return _WORD_BEFORE[number & _WORD - 1] + _LAST_WORD[number >> _WORD_BITS]
    return (
        _WORD_BEFORE[number & _WORD - 1]
        + _WORD_BEFORE[number >> _WORD_BITS & _WORD - 1]
        + _varint(number >> 2 * _WORD_BITS)
    )


def _once_each(encode: _ColumnEncoder) -> _ColumnEncoder:
    """For numbers, of which many are often the same: timestamps, indexes of tablets, enumerations."""

    def encode_column(prefix: bytes, values: Sequence[Value]) -> list[bytes]:
        distinct = list(set(values))
        if 2 * len(distinct) > len(values):
            return encode(prefix, values)
        known = dict(zip(distinct, encode(prefix, distinct), strict=True))
        return [known[value] for value in values]

    return encode_column


def _signed(prefix: bytes, values: Sequence[Any]) -> list[bytes]:
    null, tagged = prefix + b"#", prefix + b"\x02"
    return [null if value is None else tagged + _varint(value << 1 ^ value >> 63) for value in values]


def _unsigned(prefix: bytes, values: Sequence[Any]) -> list[bytes]:
    null, tagged = prefix + b"#", prefix + b"\x06"
    return [null if value is None else tagged + _varint(value) for value in values]


def _double(prefix: bytes, values: Sequence[Any]) -> list[bytes]:
    null, tagged = prefix + b"#", prefix + b"\x03"
    return [null if value is None else tagged + _DOUBLE.pack(value) for value in values]


def _boolean(prefix: bytes, values: Sequence[Any]) -> list[bytes]:
    known = {None: prefix + b"#", False: prefix + b"\x04", True: prefix + b"\x05"}
    return [known[value] for value in values]


def _string(prefix: bytes, values: Sequence[Any]) -> list[bytes]:
    null, tagged = prefix + b"#", prefix + b"\x01"
    return [null if value is None else tagged + _varint(len(value) << 1) + value for value in values]


def _any(prefix: bytes, values: Sequence[Any]) -> list[bytes]:
    null = prefix + b"#"
    return [null if value is None else prefix + value for value in values]


_ENCODERS: Final[Mapping[PhysicalType, _ColumnEncoder]] = {
    "int64": _once_each(_signed),
    "uint64": _once_each(_unsigned),
    "double": _double,
    "boolean": _boolean,
    "string": _string,
    "any": _any,
    "null": _any,
}
