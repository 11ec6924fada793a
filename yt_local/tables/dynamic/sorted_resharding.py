"""Resharding of sorted tables: which pivot keys the tablets get, and where the rows go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from yt_local.base.clock import LATEST_TIMESTAMP
from yt_local.schema.keys import KeyEncoder, Row
from yt_local.schema.rows import decode_values
from yt_local.schema.schema import TableSchema
from yt_local.store.model import Tablet
from yt_local.store.state import ClusterState
from yt_local.tables.tablet_keys import parse_pivot_keys, pivot_keys_of, uniform_pivot_keys
from yt_wire.error import YtError


@dataclass(frozen=True, slots=True)
class Sharding:
    """How a sorted table, or a range of its tablets, is to be divided: by pivot keys, or into so many tablets."""

    pivot_keys: Any = None
    """As clients give them."""

    tablet_count: int | None = None
    uniform: bool = False
    """Divide the range of the first key column, not the rows there are."""


def initial_pivot_keys(schema: TableSchema, sharding: Sharding) -> list[Row]:
    """Pivot keys of a table that is created; with a number of tablets alone the range of keys is divided evenly."""
    if sharding.pivot_keys is not None:
        keys = parse_pivot_keys(schema, sharding.pivot_keys)
        _check_first(keys, ())
        return keys
    return [()] if sharding.tablet_count in (None, 1) else uniform_pivot_keys(schema, sharding.tablet_count or 1)


def new_pivot_keys(
    state: ClusterState, schema: TableSchema, tablets: Sequence[Tablet], chosen: Sequence[Tablet], sharding: Sharding
) -> list[Row]:
    """Pivot keys of the tablets that replace the chosen ones.

    Args:
        state: where the rows are.
        schema: of the table.
        tablets: all of the table.
        chosen: a run of them.
        sharding: what is asked for.

    Raises:
        YtError: the keys given do not fit, among themselves or between the tablets that stay.
    """
    if sharding.pivot_keys is not None:
        keys = parse_pivot_keys(schema, sharding.pivot_keys)
        _check_first(keys, chosen[0].pivot_key)
        _check_last(schema, keys, tablets, chosen)
        return keys
    assert sharding.tablet_count is not None
    if sharding.uniform:
        if len(chosen) < len(tablets):
            raise YtError("Uniform resharding works on all tablets of a table only")
        return uniform_pivot_keys(schema, sharding.tablet_count)
    width = len(schema.key_columns)
    rows = [
        decode_values(row.value)[:width]
        for tablet in chosen
        for row in state.storage.sorted_rows(tablet.number, b"", None, LATEST_TIMESTAMP)
    ]
    return pivot_keys_of(rows, chosen[0].pivot_key, sharding.tablet_count)


def move_rows(
    state: ClusterState,
    schema: TableSchema,
    chosen: Sequence[Tablet],
    numbers: Sequence[int],
    pivot_keys: Sequence[Row],
) -> None:
    """Divide the rows of the chosen tablets among new ones, which have these numbers and pivot keys."""
    encoder = KeyEncoder(schema.key_columns)
    bounds = [encoder.encode(key) for key in pivot_keys]
    for number, (lower, upper) in zip(numbers, pairwise([*bounds, None]), strict=True):
        assert lower is not None
        for tablet in chosen:
            state.storage.move_sorted_rows(tablet.number, number, lower, upper)


def _check_first(keys: Sequence[Row], expected: Row) -> None:
    if keys and keys[0] == expected:
        return
    if not expected:
        raise YtError("First pivot key must be empty")
    raise YtError("First pivot key must match that of the first tablet in the resharded range")


def _check_last(schema: TableSchema, keys: Sequence[Row], tablets: Sequence[Tablet], chosen: Sequence[Tablet]) -> None:
    behind = chosen[-1].index + 1
    encoder = KeyEncoder(schema.key_columns)
    if behind < len(tablets) and encoder.encode(keys[-1]) >= encoder.encode(tablets[behind].pivot_key):
        raise YtError("Last pivot key must be strictly less than that of the tablet which follows the resharded range")
