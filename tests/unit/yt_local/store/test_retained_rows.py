"""Which values of a row count since a moment, and when nobody knows."""

from __future__ import annotations

import pytest

from yt_local.schema.rows import encode_values
from yt_local.schema.schema import parse_schema
from yt_local.store.retained_rows import retained_row
from yt_local.store.storage import SortedVersion
from yt_wire.error import YtError

SCHEMA = parse_schema(
    [
        {"name": "key", "type": "int64", "sort_order": "ascending"},
        {"name": "a", "type": "int64"},
        {"name": "b", "type": "int64"},
    ]
)


def version(timestamp: int, values: tuple[int | None, ...] | None, *written: int) -> SortedVersion:
    packed = SortedVersion.pack_columns(sum(1 << position for position in written)) if written else None
    return SortedVersion(timestamp, None if values is None else encode_values(values), packed)


def test_each_value_has_its_own_age() -> None:
    versions = [version(30, (1, 5, 7), 2), version(20, (1, 5, 6), 1), version(10, (1, 4, 6))]
    assert retained_row(SCHEMA, versions, 10) == (1, 5, 7)
    assert retained_row(SCHEMA, versions, 20) == (1, 5, 7)
    assert retained_row(SCHEMA, versions, 21) == (1, None, 7)
    assert retained_row(SCHEMA, versions, 31) is None


def test_deletions_count_whenever_they_were() -> None:
    versions = [version(30, (1, None, 7), 2), version(20, None), version(10, (1, 4, 6))]
    assert retained_row(SCHEMA, versions, 5) == (1, None, 7)
    assert retained_row(SCHEMA, versions[1:], 5) is None
    assert retained_row(SCHEMA, [], 5) is None


def test_a_value_whose_write_is_forgotten_is_refused() -> None:
    versions = [version(30, (1, 5, 7), 2)]
    with pytest.raises(YtError, match="forgotten when values of these columns were written: a"):
        retained_row(SCHEMA, versions, 20)
    assert retained_row(SCHEMA, versions, 31) is None
    assert retained_row(SCHEMA, [version(30, (1, None, 7), 2)], 20) == (1, None, 7)
