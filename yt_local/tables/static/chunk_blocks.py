"""Blocks of chunks: rows turned into columns and columns into bytes, and back."""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from typing import Any, Final

from yt_wire import yson

_PLAIN: Final = b"p"
"""Python's own encoding: of bytes, booleans, signed numbers, doubles and nulls."""

_UNSIGNED: Final = b"u"
"""The same, but the numbers are unsigned."""

_ANY: Final = b"y"
"""A YSON list: of values of any type."""

_SPARSE: Final = b"s"
"""In front of any of these: which rows have the column at all, then the values of those."""

_MARSHAL_VERSION: Final = 2
_PLAIN_TYPES: Final = frozenset({bytes, bool, int, float, type(None)})
_UNSIGNED_TYPES: Final = frozenset({yson.Uint64, type(None)})
_PRESENCE_LENGTH: Final = 4

ABSENT: Final = object()
"""Stands in a column for a row that has no such column, which is not the same as null."""


def encode_column(values: Sequence[Any]) -> bytes:
    """One column of a block; `ABSENT` where a row does not have it."""
    if ABSENT in values:
        present = bytes(value is not ABSENT for value in values)
        kept = [value for value in values if value is not ABSENT]
        return _SPARSE + len(present).to_bytes(_PRESENCE_LENGTH) + present + encode_column(kept)
    types = set(map(type, values))
    if types <= _PLAIN_TYPES:
        return _PLAIN + marshal.dumps(list(values), _MARSHAL_VERSION)
    if types <= _UNSIGNED_TYPES:
        plain = [None if value is None else int(value) for value in values]
        return _UNSIGNED + marshal.dumps(plain, _MARSHAL_VERSION)
    return _ANY + yson.dumps(list(values))


def decode_column(data: bytes) -> list[Any]:
    """Read what `encode_column` wrote; only ever give it data of our own."""
    kind, content = data[:1], data[1:]
    if kind == _SPARSE:
        length = int.from_bytes(content[:_PRESENCE_LENGTH])
        present = content[_PRESENCE_LENGTH : _PRESENCE_LENGTH + length]
        kept = iter(decode_column(content[_PRESENCE_LENGTH + length :]))
        return [next(kept) if has else ABSENT for has in present]
    if kind == _ANY:
        return list(yson.loads_raw(content))
    values: list[Any] = marshal.loads(content)
    if kind == _UNSIGNED:
        return [None if value is None else yson.Uint64(value) for value in values]
    return values


def rows_of(columns: Mapping[bytes, Sequence[Any]], count: int) -> list[dict[bytes, Any]]:
    """So many rows out of their columns."""
    if not columns:
        return [{} for _ in range(count)]
    names = list(columns)
    rows = [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    if any(ABSENT in values for values in columns.values()):
        return [{name: value for name, value in row.items() if value is not ABSENT} for row in rows]
    return rows
