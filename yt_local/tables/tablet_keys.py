"""How the keys of a sorted table are divided among its tablets: pivot keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from yt_local.rows.row_codec import RowCodec
from yt_local.schema.keys import Row, Value
from yt_local.schema.schema import Column, TableSchema
from yt_local.store.model import Tablet
from yt_wire import yson
from yt_wire.error import YtError

_RANGES: Final = {"int64": (-(2**63), 2**63), "uint64": (0, 2**64)}


class SortedTablets:
    """Tablets of one sorted table by key; a tablet has the keys from its pivot key up to the next one's.

    Args:
        tablets: all of the table, in order.
        encode: of the table's keys and prefixes of them.
    """

    def __init__(self, tablets: Sequence[Tablet], encode: Callable[[Sequence[Value]], bytes]) -> None:
        self._tablets = tablets
        self._bounds = [encode(tablet.pivot_key) for tablet in tablets] if len(tablets) > 1 else [b""]

    def of_key(self, key: bytes) -> Tablet:
        """The tablet an encoded key belongs to."""
        return self._tablets[bisect_right(self._bounds, key) - 1]

    def overlapping(self, lower: bytes, upper: bytes | None) -> Iterator[tuple[Tablet, bytes, bytes | None]]:
        """Tablets that may have encoded keys with `lower <= key < upper`, in order, and these bounds within each."""
        first = max(bisect_right(self._bounds, lower) - 1, 0)
        for index in range(first, len(self._tablets)):
            if upper is not None and index > first and self._bounds[index] >= upper:
                return
            is_last = index + 1 == len(self._tablets)
            end = None if is_last else self._bounds[index + 1]
            yield (
                self._tablets[index],
                max(lower, self._bounds[index]),
                min((bound for bound in (upper, end) if bound is not None), default=None),
            )


def parse_pivot_keys(schema: TableSchema, given: Any) -> list[Row]:
    """Pivot keys as clients give them: lists of values, the first empty, growing.

    Raises:
        YtError: they are not, or a value does not fit its column.
    """
    if not isinstance(given, list) or not all(isinstance(key, list) for key in given):
        raise YtError('"pivot_keys" must be a list of lists')
    codec = RowCodec(schema)
    keys = [codec.parse_key_prefix(key) for key in given]
    if any(codec.encode_key(first) >= codec.encode_key(second) for first, second in pairwise(keys)):
        raise YtError("Pivot keys must be strictly increasing")
    return keys


def uniform_pivot_keys(schema: TableSchema, count: int) -> list[Row]:
    """Pivot keys that divide the range of the first key column evenly.

    Raises:
        YtError: the column is not of a type whose range can be divided.
    """
    column = schema.key_columns[0]
    bounds = _RANGES.get(column.physical_type)
    if bounds is None:
        raise YtError(
            f'Uniform sharding requires the first key column to have integral type, but column "{column.name}" has type'
            f' "{column.type}"'
        )
    low, high = bounds
    return [(), *((low + (high - low) * index // count,) for index in range(1, count))]


def pivot_keys_of(keys: Sequence[Row], first: Row, count: int) -> list[Row]:
    """Pivot keys that divide the rows there are evenly; fewer than asked for if there are not enough rows.

    Args:
        keys: of all rows of the tablets concerned, in order.
        first: pivot key of the first tablet, which stays.
        count: of tablets.
    """
    chosen = [keys[len(keys) * index // count] for index in range(1, count)] if keys else []
    return list(dict.fromkeys([first, *(key for key in chosen if key != keys[0])]))


def key_to_yson(key_columns: Sequence[Column], key: Sequence[Value]) -> list[Any]:
    """A key, the beginning of one, or of a row, as attributes show it."""
    return [
        yson.Uint64(value) if column.physical_type == "uint64" and value is not None else value
        for column, value in zip(key_columns, key, strict=False)
    ]
