"""Locks on rows: how they add up, and how long they are remembered."""

from __future__ import annotations

import pytest

from yt_local.rows.row_locks import LockGroups, LockHistory, LockType, combined
from yt_local.schema.schema import parse_schema
from yt_wire import yson
from yt_wire.error import YtError

NONE, WEAK, STRONG, SHARED, EXCLUSIVE = LockType
GROUPS = LockGroups.of(
    parse_schema(
        yson.with_attributes(
            [
                {"name": "key", "type": "int64", "sort_order": "ascending"},
                {"name": "a", "type": "int64", "lock": "one"},
                {"name": "b", "type": "int64"},
                {"name": "c", "type": "int64", "lock": "two"},
                {"name": "d", "type": "int64", "lock": "one"},
            ],
            {"unique_keys": True},
        )
    )
)


def test_columns_without_a_lock_are_in_the_primary_group() -> None:
    assert GROUPS.names == ("<primary>", "one", "two")
    assert GROUPS.of_columns([1, 4], EXCLUSIVE) == (NONE, EXCLUSIVE, NONE)
    assert GROUPS.of_columns([2, 3], SHARED) == (SHARED, NONE, SHARED)
    assert GROUPS.of_row(EXCLUSIVE) == (EXCLUSIVE, NONE, NONE)
    assert GROUPS.named(["two"], WEAK) == (NONE, NONE, WEAK)
    assert GROUPS.named(["<primary>"], WEAK) == (WEAK, NONE, NONE)
    with pytest.raises(YtError, match='"three" not found'):
        GROUPS.named(["three"], WEAK)


def test_of_two_locks_of_one_transaction_the_stronger_counts() -> None:
    assert combined((WEAK, STRONG, NONE), (STRONG, WEAK, NONE)) == (STRONG, STRONG, NONE)
    assert combined((SHARED,), (STRONG,)) == (EXCLUSIVE,)
    assert combined((SHARED,), (SHARED,)) == (SHARED,)


def test_with_nobody_left_to_ask_nothing_is_remembered() -> None:
    history = LockHistory()
    history.opened(1)
    history.opened(5)
    assert history.oldest_start == 1
    history.record("t", b"k", (EXCLUSIVE,), 7)
    history.closed(1)
    assert history.oldest_start == 5
    assert history.conflict("t", b"k", (WEAK,), 5) is not None
    assert history.conflict("other", b"k", (WEAK,), 5) is None
    history.closed(5)
    assert history.oldest_start is None
    assert not history._rows


def test_what_only_older_transactions_could_ask_for_is_forgotten_in_time() -> None:
    history = LockHistory()
    history.opened(1)
    for number in range(10_000):
        history.record("t", b"%d" % number, (EXCLUSIVE,), 2)
    history.opened(3)
    history.closed(1)
    for number in range(10_000, 20_001):
        history.record("t", b"%d" % number, (EXCLUSIVE,), 4)
    assert len(history._rows) <= 10_001
    assert history.conflict("t", b"20000", (EXCLUSIVE,), 3) is not None
