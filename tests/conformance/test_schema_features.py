"""What schemas of sorted tables can do: computed columns, aggregates, required columns, hunks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import Clients, ClusterThread, RawHttp, refused, rows_of
from tests.conformance.test_sorted_sharding import make
from yt_local.base.clock import Clock
from yt_wire import yson

HASHED = [
    {"name": "hash", "type": "uint64", "sort_order": "ascending", "expression": "farm_hash(user) % 100u"},
    {"name": "user", "type": "string", "sort_order": "ascending"},
    {"name": "value", "type": "int64"},
]
COUNTERS = [
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "sum", "type": "int64", "aggregate": "sum"},
    {"name": "unsigned", "type": "uint64", "aggregate": "sum"},
    {"name": "least", "type": "double", "aggregate": "min"},
    {"name": "greatest", "type": "string", "aggregate": "max"},
    {"name": "first", "type": "any", "aggregate": "first"},
    {"name": "plain", "type": "int64"},
]


@pytest.fixture
def hashed(client: YtClient, home: str) -> str:
    path = make(client, f"{home}/h", HASHED, pivot_keys=[[], [yson.Uint64(50)]])
    client.insert_rows(path, [{"user": user, "value": number} for number, user in enumerate(("ann", "bob", "eve"))])
    return path


@pytest.fixture
def counters(client: YtClient, home: str) -> str:
    return make(client, f"{home}/c", COUNTERS)


def row_of(client: YtClient, path: str, key: int = 1) -> dict[str, Any]:
    (row,) = client.lookup_rows(path, [{"key": key}])
    return dict(row)


def test_computed_columns_are_filled_in(client: YtClient, hashed: str) -> None:
    rows = rows_of(client, f"* from [{hashed}]")
    assert sorted(row["user"] for row in rows) == ["ann", "bob", "eve"]
    assert [row["hash"] for row in rows] == sorted(row["hash"] for row in rows)
    assert all(0 <= row["hash"] < 100 and isinstance(row["hash"], yson.Uint64) for row in rows)
    computed = rows_of(client, f"farm_hash(user) % 100u as hash, user from [{hashed}]")
    assert [row["hash"] for row in computed] == [row["hash"] for row in rows]


def test_keys_come_without_their_computed_columns(client: YtClient, hashed: str) -> None:
    found = list(client.lookup_rows(hashed, [{"user": "bob"}, {"user": "nobody"}, {"user": "ann"}]))
    assert [row["value"] for row in found] == [1, 0]
    client.insert_rows(hashed, [{"user": "bob", "value": 7}], update=True)
    client.delete_rows(hashed, [{"user": "ann"}])
    assert sorted((row["user"], row["value"]) for row in rows_of(client, f"* from [{hashed}]")) == [
        ("bob", 7),
        ("eve", 2),
    ]


def test_computed_columns_are_not_the_clients_to_give(client: YtClient, hashed: str) -> None:
    row = {"user": "ann", "hash": yson.Uint64(1)}
    with refused(307, "computed automatically"):
        client.insert_rows(hashed, [{**row, "value": 1}])
    with refused(307, "computed automatically"):
        list(client.lookup_rows(hashed, [row]))
    with refused(307, "computed automatically"):
        client.delete_rows(hashed, [row])


@pytest.mark.parametrize(
    ("column", "culprit"),
    [
        ({"type": "uint64", "expression": "a + 1"}, "type mismatch"),
        ({"type": "int64", "expression": "v + 1"}, 'non-key column "v"'),
        ({"type": "int64", "expression": "nope + 1"}, "nope"),
        ({"type": "int64", "expression": "a +"}, "preparing expression"),
        ({"type": "int64", "expression": "c"}, 'computed column "c"'),
    ],
)
def test_bad_expressions_are_refused(client: YtClient, home: str, column: Any, culprit: str) -> None:
    schema = [
        {"name": "c", "type": "int64", "sort_order": "ascending", "expression": "a"},
        {"name": "computed", "sort_order": "ascending", **column},
        {"name": "a", "type": "int64", "sort_order": "ascending"},
        {"name": "v", "type": "int64"},
    ]
    with refused(1, culprit):
        make(client, f"{home}/t", schema)
    with refused(1, "cannot be computed"):
        make(client, f"{home}/t", [schema[2], {"name": "v", "type": "int64", "expression": "a"}])


def test_written_values_are_added_to_those_there_are(client: YtClient, counters: str) -> None:
    client.insert_rows(
        counters,
        [{"key": 1, "sum": 5, "unsigned": 5, "least": 2.5, "greatest": "b", "first": {"a": 1}, "plain": 1}],
        aggregate=True,
    )
    client.insert_rows(
        counters,
        [{"key": 1, "sum": -7, "unsigned": 3, "least": 1.5, "greatest": "a", "first": 2, "plain": 2}],
        aggregate=True,
    )
    assert row_of(client, counters) == {
        "key": 1,
        "sum": -2,
        "unsigned": 8,
        "least": 1.5,
        "greatest": "b",
        "first": {"a": 1},
        "plain": 2,
    }


def test_null_adds_nothing_and_missing_plain_columns_become_null(client: YtClient, counters: str) -> None:
    client.insert_rows(counters, [{"key": 1, "sum": 5, "plain": 1}])
    client.insert_rows(counters, [{"key": 1, "sum": None}], aggregate=True)
    row = row_of(client, counters)
    assert (row["sum"], row["plain"]) == (5, None)
    client.insert_rows(counters, [{"key": 1, "plain": 3}])
    client.insert_rows(counters, [{"key": 1, "sum": 1}, {"key": 1, "sum": 2}], aggregate=True, update=True)
    row = row_of(client, counters)
    assert (row["sum"], row["plain"]) == (3, 3)


def test_without_the_option_values_replace_each_other(client: YtClient, counters: str) -> None:
    for value in (5, 7):
        client.insert_rows(counters, [{"key": 1, "sum": value}])
    assert row_of(client, counters)["sum"] == 7
    client.delete_rows(counters, [{"key": 1}])
    client.insert_rows(counters, [{"key": 1, "sum": 1}], aggregate=True)
    assert row_of(client, counters)["sum"] == 1


def test_sums_wrap_as_machine_numbers_do(client: YtClient, counters: str) -> None:
    client.insert_rows(counters, [{"key": 1, "sum": 2**63 - 1, "unsigned": 2**64 - 1}])
    client.insert_rows(counters, [{"key": 1, "sum": 1, "unsigned": 1}], aggregate=True)
    row = row_of(client, counters)
    assert (row["sum"], row["unsigned"]) == (-(2**63), 0)


def test_concurrent_additions_need_shared_writes(client: YtClient, counters: str) -> None:
    transactions = [client.start_transaction(type="tablet", timeout=60_000, sticky=True) for _ in range(2)]
    for transaction in transactions:
        with client.Transaction(transaction_id=transaction, type="tablet", ping=False):
            client.insert_rows(counters, [{"key": 1, "sum": 1}], aggregate=True)
    client.commit_transaction(transactions[0])
    with refused(1700):
        client.commit_transaction(transactions[1])
    client.set(f"{counters}/@enable_shared_write_locks", True)
    transactions = [client.start_transaction(type="tablet", timeout=60_000, sticky=True) for _ in range(10)]
    for transaction in transactions:
        with client.Transaction(transaction_id=transaction, type="tablet", ping=False):
            client.insert_rows(counters, [{"key": 1, "sum": 1}], aggregate=True, lock_type="shared_write")
    for transaction in transactions:
        client.commit_transaction(transaction)
    assert row_of(client, counters)["sum"] == 11


@pytest.mark.parametrize(
    ("column", "culprit"),
    [
        ({"type": "string", "aggregate": "sum"}, "does not take type"),
        ({"type": "int64", "aggregate": "nope"}, "Undefined aggregate"),
        ({"type": "string", "aggregate": "xdelta"}, "not supported by the local cluster"),
        ({"type": "any", "aggregate": "dict_sum"}, "not supported by the local cluster"),
    ],
)
def test_aggregates_that_cannot_be_are_refused(client: YtClient, home: str, column: Any, culprit: str) -> None:
    with refused(1, culprit):
        make(client, f"{home}/t", [COUNTERS[0], {"name": "v", **column}])


def test_ordered_tables_take_neither_update_nor_aggregate(client: YtClient, home: str) -> None:
    path = make(client, f"{home}/q", [{"name": "data", "type": "string"}])
    for option in ("update", "aggregate"):
        with refused(1, option):
            client.insert_rows(path, [{"data": "x"}], **{option: True})


def test_hunk_sizes_are_kept(client: YtClient, home: str) -> None:
    column = {"name": "v", "type": "string", "max_inline_hunk_size": 100}
    path = make(client, f"{home}/t", [COUNTERS[0], column])
    client.insert_rows(path, [{"key": 1, "v": "x" * 1000}])
    assert row_of(client, path)["v"] == "x" * 1000
    assert client.get(f"{path}/@schema/1/max_inline_hunk_size") == 100


def test_dynamic_tables_have_no_descending_keys(client: YtClient, home: str) -> None:
    schema = [{"name": "key", "type": "int64", "sort_order": "descending"}, {"name": "v", "type": "any"}]
    with refused(1, "Descending sort order is not available"):
        make(client, f"{home}/t", schema)


@pytest.mark.local_only
def test_old_versions_go_as_the_attributes_of_the_table_say(clients: Clients) -> None:
    clock = Clock()
    values = [COUNTERS[0], {"name": "v", "type": "int64"}]
    with ClusterThread(clock=clock) as thread:
        client = clients.make(thread.address("pythia"))
        keep = {"min_data_versions": 2, "max_data_versions": 3, "min_data_ttl": 60_000, "max_data_ttl": 3600_000}
        path = make(client, "//tmp/t", values, **keep)
        for value in range(5):
            client.insert_rows(path, [{"key": 1, "v": value}])
        assert versions_of(client, path) == [4, 3, 2, 1, 0]
        clock.advance(timedelta(minutes=2))
        client.insert_rows(path, [{"key": 1, "v": 5}])
        assert versions_of(client, path) == [5, 4, 3]
        clock.advance(timedelta(hours=2))
        client.insert_rows(path, [{"key": 1, "v": 6}])
        assert versions_of(client, path) == [6, 5]
        assert versions_of(client, path, max_data_versions=1, min_data_ttl=0) == [6]
        with refused(1, "min_data_versions"):
            client.set(f"{path}/@min_data_versions", "many")


@pytest.mark.local_only
def test_a_transaction_keeps_the_versions_it_may_read(clients: Clients) -> None:
    clock = Clock()
    with ClusterThread(clock=clock) as thread:
        client = clients.make(thread.address("pythia"))
        path = make(client, "//tmp/t", [COUNTERS[0], {"name": "v", "type": "int64"}])
        client.insert_rows(path, [{"key": 1, "v": 0}])
        transaction = client.start_transaction(type="tablet", timeout=24 * 3600_000, sticky=True)
        for value in range(1, 5):
            clock.advance(timedelta(hours=1))
            client.insert_rows(path, [{"key": 1, "v": value}])
        with client.Transaction(transaction_id=transaction, type="tablet", ping=False):
            assert row_of(client, path)["v"] == 0
        client.abort_transaction(transaction)
        clock.advance(timedelta(hours=1))
        client.insert_rows(path, [{"key": 1, "v": 5}])
        assert versions_of(client, path) == [5, 4]


def versions_of(client: YtClient, path: str, **retention: int) -> list[int]:
    """Values of column `v` of row 1, newest first."""
    parameters = {"versioned": True, **({"retention_config": retention} if retention else {})}
    (row,) = look_up_raw(client, path, parameters)
    return [int(value) for value in row[b"v"]]


def look_up_raw(client: YtClient, path: str, parameters: Any) -> list[Any]:
    """Row 1 by a request with parameters the client does not know."""
    raw = RawHttp(client.config["proxy"]["url"])
    answer = raw.command("PUT", "lookup_rows", {"path": path, **parameters}, b"{key=1}")
    assert answer.status == 200, answer.body
    return yson.loads_rows(answer.body)
