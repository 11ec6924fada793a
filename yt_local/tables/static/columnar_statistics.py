"""How much is in each column of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from yt_wire import yson

_NUMBER_WEIGHT: Final = 8
_BOOLEAN_WEIGHT: Final = 1

_Rank = tuple[int, Any]
"""Values of different types are ordered by their types."""


class ColumnStatistics:
    """Weights, extremes and counts of values, as far as rows have been added.

    Args:
        names: of the columns.
    """

    def __init__(self, names: Sequence[bytes]) -> None:
        self._names = names
        self._row_count = 0
        self._weights = dict.fromkeys(names, 0)
        self._counts = dict.fromkeys(names, 0)
        self._least: dict[bytes, tuple[_Rank, Any]] = {}
        self._greatest: dict[bytes, tuple[_Rank, Any]] = {}
        self._composite: set[bytes] = set()

    def add(self, rows: Iterable[Mapping[bytes, Any]]) -> None:
        """Count rows."""
        for row in rows:
            self._row_count += 1
            for name in self._names:
                value = row.get(name)
                if not yson.is_null(value):
                    self._count(name, value)

    def to_map(self) -> dict[str, Any]:
        """What a client learns of a table."""
        return {
            "column_data_weights": _by_text(self._weights),
            "column_min_values": self._extremes(self._least),
            "column_max_values": self._extremes(self._greatest),
            "column_non_null_value_counts": _by_text(self._counts),
            "chunk_row_count": self._row_count,
            "legacy_chunk_row_count": 0,
            "legacy_chunks_data_weight": 0,
        }

    def _count(self, name: bytes, value: Any) -> None:
        self._counts[name] += 1
        weight, rank = _measured(value)
        self._weights[name] += weight
        if rank is None:
            self._composite.add(name)
            return
        if name not in self._least or rank < self._least[name][0]:
            self._least[name] = rank, value
        if name not in self._greatest or rank > self._greatest[name][0]:
            self._greatest[name] = rank, value

    def _extremes(self, found: Mapping[bytes, tuple[_Rank, Any]]) -> dict[str, Any]:
        known = {name: value for name, (_, value) in found.items() if name not in self._composite}
        return _by_text({name: known.get(name) for name in self._names})


def _by_text(values: Mapping[bytes, Any]) -> dict[str, Any]:
    return {name.decode(errors="surrogateescape"): value for name, value in values.items()}


def _measured(value: Any) -> tuple[int, _Rank | None]:
    """Weight of a value, and its place among others; None for what has none."""
    plain = yson.plain(value)
    match plain:
        case bool():
            return _BOOLEAN_WEIGHT, (4, plain)
        case yson.Uint64():
            return _NUMBER_WEIGHT, (2, plain)
        case int():
            return _NUMBER_WEIGHT, (1, plain)
        case float():
            return _NUMBER_WEIGHT, (3, plain)
    if yson.is_string(plain):
        text = yson.bytes_of(plain)
        return len(text), (5, text)
    return len(yson.dumps(plain, "binary")), None
