"""Sorted tables of several tablets: pivot keys, resharding, and which tablet a command needs."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import refused, rows_of
from yt_wire import yson

NOT_MOUNTED = 1702
SCHEMA = [
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "word", "type": "string", "sort_order": "ascending"},
    {"name": "value", "type": "int64"},
]


def make(client: YtClient, path: str, schema: Any = SCHEMA, **attributes: Any) -> str:
    client.create("table", path, attributes={"dynamic": True, "schema": schema, **attributes})
    client.mount_table(path, sync=True)
    return path


def reshard(client: YtClient, path: str, **how: Any) -> None:
    client.unmount_table(path, sync=True)
    client.reshard_table(path, sync=True, **how)
    client.mount_table(path, sync=True)


def fill(client: YtClient, path: str, keys: range) -> None:
    client.insert_rows(path, [{"key": key, "word": "w", "value": key} for key in keys])


def keys_of(client: YtClient, path: str, condition: str = "true") -> list[int]:
    return [row["key"] for row in rows_of(client, f"* from [{path}] where {condition}")]


@pytest.fixture
def table(client: YtClient, home: str) -> str:
    """Rows 0 to 29 in tablets that begin at the least key, at 10, and within key 20."""
    path = make(client, f"{home}/t", pivot_keys=[[], [10], [20, "m"]])
    fill(client, path, range(30))
    return path


def test_tablets_begin_at_the_pivot_keys_of_the_creation(client: YtClient, table: str) -> None:
    assert client.get(f"{table}/@pivot_keys") == [[], [10], [20, "m"]]
    assert [tablet["pivot_key"] for tablet in client.get(f"{table}/@tablets")] == [[], [10], [20, "m"]]
    assert keys_of(client, table) == list(range(30))


def test_only_tablets_that_are_touched_need_to_be_mounted(client: YtClient, table: str) -> None:
    client.unmount_table(table, first_tablet_index=1, last_tablet_index=1, sync=True)
    assert keys_of(client, table, "key < 10") == list(range(10))
    assert keys_of(client, table, "key > 20") == list(range(21, 30))
    assert keys_of(client, table, "(key, word) >= (20, 'm')") == list(range(20, 30))
    look_up = [{"key": 3, "word": "w"}, {"key": 20, "word": "w"}]
    assert [row["value"] for row in client.lookup_rows(table, look_up)] == [3, 20]
    client.insert_rows(table, [{"key": 9, "word": "w", "value": 0}, {"key": 20, "word": "x", "value": 0}])
    client.delete_rows(table, [{"key": 9, "word": "w"}])
    for key, word in ((10, "w"), (20, "a"), (15, "z")):
        row = {"key": key, "word": word}
        with refused(NOT_MOUNTED, table, "unmounted"):
            list(client.lookup_rows(table, [{"key": 1, "word": "w"}, row]))
        with refused(NOT_MOUNTED, table):
            client.insert_rows(table, [{"key": 1, "word": "w", "value": -1}, {**row, "value": 1}])
        with refused(NOT_MOUNTED, table):
            client.delete_rows(table, [row])
    with refused(NOT_MOUNTED, table):
        keys_of(client, table)
    with refused(NOT_MOUNTED, table):
        keys_of(client, table, "key between 9 and 10")
    assert keys_of(client, table, "value = -1 and key < 5") == []


@pytest.mark.parametrize("pivot_keys", [[[]], [[], [5], [15], [25]], [[], [100]], [[], [20, "m"]]])
def test_resharding_keeps_every_row_and_every_version(client: YtClient, table: str, pivot_keys: Any) -> None:
    before = client.generate_timestamp()
    client.delete_rows(table, [{"key": 12, "word": "w"}])
    old = [tablet["tablet_id"] for tablet in client.get(f"{table}/@tablets")]
    reshard(client, table, pivot_keys=pivot_keys)
    assert client.get(f"{table}/@pivot_keys") == pivot_keys
    assert not set(old) & {tablet["tablet_id"] for tablet in client.get(f"{table}/@tablets")}
    assert keys_of(client, table) == [key for key in range(30) if key != 12]
    assert len(list(client.select_rows(f"* from [{table}]", timestamp=before))) == 30
    client.insert_rows(table, [{"key": 12, "word": "w", "value": 1}])
    assert keys_of(client, table) == list(range(30))


def test_a_range_of_tablets_is_resharded_between_those_that_stay(client: YtClient, table: str) -> None:
    tablets = [tablet["tablet_id"] for tablet in client.get(f"{table}/@tablets")]
    reshard(client, table, pivot_keys=[[10], [12], [14]], first_tablet_index=1, last_tablet_index=1)
    assert client.get(f"{table}/@pivot_keys") == [[], [10], [12], [14], [20, "m"]]
    now = [tablet["tablet_id"] for tablet in client.get(f"{table}/@tablets")]
    assert (now[0], now[4]) == (tablets[0], tablets[2])
    assert keys_of(client, table) == list(range(30))
    reshard(client, table, pivot_keys=[[10]], first_tablet_index=1, last_tablet_index=4)
    assert client.get(f"{table}/@pivot_keys") == [[], [10]]
    assert keys_of(client, table) == list(range(30))


def test_a_number_of_tablets_divides_the_rows_there_are(client: YtClient, table: str) -> None:
    reshard(client, table, tablet_count=3)
    assert client.get(f"{table}/@pivot_keys") == [[], [10, "w"], [20, "w"]]
    assert keys_of(client, table) == list(range(30))


def test_uniform_tablets_divide_the_range_of_the_first_key_column(client: YtClient, table: str, home: str) -> None:
    reshard(client, table, tablet_count=4, uniform=True)
    assert client.get(f"{table}/@pivot_keys") == [[], [-(2**62)], [0], [2**62]]
    assert keys_of(client, table) == list(range(30))
    unsigned = [{"name": "key", "type": "uint64", "sort_order": "ascending"}, {"name": "value", "type": "int64"}]
    path = make(client, f"{home}/u", unsigned, tablet_count=2)
    pivot_keys = client.get(f"{path}/@pivot_keys")
    assert pivot_keys == [[], [2**63]]
    assert isinstance(pivot_keys[1][0], yson.Uint64)
    text = [{"name": "key", "type": "string", "sort_order": "ascending"}, {"name": "value", "type": "int64"}]
    with refused(1, "integral"):
        make(client, f"{home}/s", text, tablet_count=2)


@pytest.mark.parametrize(
    ("how", "culprit"),
    [
        ({"pivot_keys": [[1], [2]]}, "First pivot key must be empty"),
        ({"pivot_keys": [[], [2], [2]]}, "strictly increasing"),
        ({"pivot_keys": [[], ["text"]]}, '"key"'),
        ({"pivot_keys": [[], [1, "a", 5]]}, "3 components"),
        ({"pivot_keys": [[9]], "first_tablet_index": 1, "last_tablet_index": 1}, "must match that of the first tablet"),
        ({"pivot_keys": [[10], [20, "m"]], "first_tablet_index": 1, "last_tablet_index": 1}, "strictly less"),
        ({"pivot_keys": []}, "First pivot key"),
        ({"tablet_count": 0}, "positive"),
        ({"tablet_count": 2, "trimmed_row_counts": [1, 1]}, "trimmed_row_counts"),
        ({"tablet_count": 2, "uniform": True, "first_tablet_index": 1, "last_tablet_index": 1}, "all tablets"),
    ],
)
def test_pivot_keys_that_do_not_fit_are_refused(client: YtClient, table: str, how: Any, culprit: str) -> None:
    client.unmount_table(table, sync=True)
    with refused(1, culprit) if culprit != '"key"' else refused(307, culprit):
        client.reshard_table(table, **how)
    client.mount_table(table, sync=True)
    assert client.get(f"{table}/@pivot_keys") == [[], [10], [20, "m"]]
    assert keys_of(client, table) == list(range(30))


def test_ordered_tables_have_no_pivot_keys(client: YtClient, home: str) -> None:
    path = make(client, f"{home}/q", [{"name": "data", "type": "string"}])
    client.unmount_table(path, sync=True)
    with refused(1, "must provide tablet count"):
        client.reshard_table(path, pivot_keys=[[], [1]])


def test_tablets_survive_copies_and_new_key_columns(client: YtClient, table: str, home: str) -> None:
    client.unmount_table(table, sync=True)
    client.copy(table, f"{home}/copy")
    longer = [*SCHEMA[:2], {"name": "more", "type": "boolean", "sort_order": "ascending"}, SCHEMA[2]]
    client.alter_table(f"{home}/copy", schema=longer)
    client.mount_table(f"{home}/copy", sync=True)
    assert client.get(f"{home}/copy/@pivot_keys") == [[], [10], [20, "m"]]
    assert keys_of(client, f"{home}/copy") == list(range(30))
    assert [row["value"] for row in client.lookup_rows(f"{home}/copy", [{"key": 20, "word": "w"}])] == [20]


def test_a_transaction_does_not_write_to_tablets_it_has_not_seen(client: YtClient, table: str) -> None:
    transaction = client.start_transaction(type="tablet", timeout=60_000, sticky=True)
    with client.Transaction(transaction_id=transaction, type="tablet", ping=False):
        client.insert_rows(table, [{"key": 1, "word": "w", "value": -1}])
    fill(client, table, range(30))
    reshard(client, table, pivot_keys=[[]])
    with refused(1701, "is not known"):
        client.commit_transaction(transaction)
    assert keys_of(client, table, "value = -1") == []
