"""Tablet transactions: begun, kept alive, ended; what they see and write, and how they get in each other's way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import (
    Clients,
    ClusterThread,
    RawHttp,
    make_queue,
    make_sorted,
    refused,
    rows_of,
    tree_of,
)
from yt_local.base.clock import Clock
from yt_wire.guid import Guid

CONFLICT = 1700
NOT_MOUNTED = 1702
NO_SUCH_TRANSACTION = 11000

GROUPS = [
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "a", "type": "int64", "lock": "la"},
    {"name": "b", "type": "int64", "lock": "lb"},
    {"name": "c", "type": "int64"},
]


def start(client: YtClient, timeout: int = 60_000) -> str:
    transaction_id: str = client.start_transaction(type="tablet", timeout=timeout, sticky=True)
    return transaction_id


@contextmanager
def within(client: YtClient, transaction_id: str) -> Iterator[None]:
    """Commands inside are part of a transaction that is ended elsewhere."""
    with client.Transaction(transaction_id=transaction_id, type="tablet", ping=False):
        yield


def insert(client: YtClient, path: str, row: Any, transaction_id: str, **options: Any) -> None:
    with within(client, transaction_id):
        client.insert_rows(path, [row], **options)


def lock(client: YtClient, path: str, key: int, groups: Sequence[str], lock_type: str, transaction_id: str) -> None:
    with within(client, transaction_id):
        client.lock_rows(path, [{"key": key}], locks=list(groups), lock_type=lock_type)


def make_table(client: YtClient, path: str, schema: Any, **attributes: Any) -> str:
    client.create("table", path, attributes={"dynamic": True, "schema": schema, **attributes})
    client.mount_table(path, sync=True)
    return path


def value_of(client: YtClient, path: str, key: int, column: str = "value") -> Any:
    rows = list(client.lookup_rows(path, [{"key": key}]))
    return rows[0][column] if rows else None


@pytest.fixture
def table(client: YtClient, home: str) -> str:
    path = make_sorted(client, f"{home}/t")
    client.insert_rows(path, [{"key": key, "value": f"v{key}"} for key in (1, 2, 3)])
    return path


@pytest.fixture
def groups(client: YtClient, home: str) -> str:
    """A table with two lock groups and a column in none."""
    return make_table(client, f"{home}/g", GROUPS, enable_shared_write_locks=True)


@pytest.mark.local_only
def test_the_id_of_a_transaction_tells_when_it_started(client: YtClient) -> None:
    before = client.generate_timestamp()
    parsed = Guid.parse(start(client))
    assert parsed.object_type == 2
    assert before < parsed.counter < client.generate_timestamp()


def test_a_transaction_without_atomicity_has_a_type_of_its_own(raw: RawHttp) -> None:
    answer = raw.command("POST", "start_transaction", {"type": "tablet", "atomicity": "none", "sticky": True})
    assert Guid.parse(answer.value["transaction_id"]).object_type == 3


def test_a_transaction_that_is_over_is_not_known_any_more(client: YtClient) -> None:
    for end in (client.commit_transaction, client.abort_transaction):
        transaction = start(client)
        client.ping_transaction(transaction)
        end(transaction)
        for command in (client.commit_transaction, client.abort_transaction, client.ping_transaction):
            with refused(NO_SUCH_TRANSACTION, transaction):
                command(transaction)


@pytest.mark.local_only
def test_a_transaction_lives_as_long_as_it_is_pinged(clients: Clients) -> None:
    clock = Clock()
    with ClusterThread(clock=clock) as thread:
        client = clients.make(thread.address("pythia"))
        transaction = start(client, timeout=10_000)
        for _ in range(3):
            clock.advance(timedelta(seconds=7))
            client.ping_transaction(transaction)
        clock.advance(timedelta(seconds=11))
        with refused(NO_SUCH_TRANSACTION, transaction):
            client.ping_transaction(transaction)
        assert thread.ask(lambda cluster: len(cluster.tablet_transactions)) == 0


def test_a_tablet_transaction_has_no_parent(client: YtClient) -> None:
    with refused(1, "cannot have a parent"):
        client.start_transaction(parent_transaction=start(client), type="tablet", timeout=60_000)


def test_several_tables_are_written_together_at_one_moment(client: YtClient, table: str, home: str) -> None:
    queue = make_queue(client, f"{home}/q", tablet_count=2)
    with client.Transaction(type="tablet"):
        client.insert_rows(queue, [{"$tablet_index": 0, "data": "a"}, {"$tablet_index": 1, "data": "b"}])
        client.insert_rows(table, [{"key": 1, "value": "new"}])
        client.delete_rows(table, [{"key": 2}])
        client.insert_rows(queue, [{"$tablet_index": 0, "data": "c"}])
        assert rows_of(client, f"* from [{queue}]") == []
        assert value_of(client, table, 1) == "v1"
    rows = rows_of(client, f"* from [{queue}]")
    assert [row["data"] for row in rows] == ["a", "c", "b"]
    (written,) = client.lookup_rows(table, [{"key": 1}], versioned=True)
    assert {row["$timestamp"] for row in rows} == {written.attributes["write_timestamps"][0]}
    assert [row["key"] for row in rows_of(client, f"* from [{table}]")] == [1, 3]


def test_an_exception_leaves_no_trace(client: YtClient, table: str) -> None:
    with pytest.raises(ZeroDivisionError), client.Transaction(type="tablet"):
        client.insert_rows(table, [{"key": 1, "value": "new"}])
        raise ZeroDivisionError
    assert value_of(client, table, 1) == "v1"


def test_a_transaction_reads_as_of_its_start_and_not_its_own_writes(client: YtClient, table: str) -> None:
    transaction = start(client)
    client.insert_rows(table, [{"key": 1, "value": "later"}, {"key": 4}])
    insert(client, table, {"key": 2, "value": "own"}, transaction)
    with within(client, transaction):
        assert [value_of(client, table, key) for key in (1, 2, 3, 4)] == ["v1", "v2", "v3", None]
        assert [row["value"] for row in rows_of(client, f"* from [{table}]")] == ["v1", "v2", "v3"]
        now = client.generate_timestamp()
        assert [row["value"] for row in client.lookup_rows(table, [{"key": 1}], timestamp=now)] == ["later"]
    client.commit_transaction(transaction)
    assert [value_of(client, table, key) for key in (1, 2)] == ["later", "own"]


def test_of_two_that_write_one_row_the_first_to_commit_wins(client: YtClient, table: str) -> None:
    first, second = start(client), start(client)
    insert(client, table, {"key": 1, "value": "first"}, first)
    insert(client, table, {"key": 1, "value": "second"}, second)
    insert(client, table, {"key": 9, "value": "second"}, second)
    client.commit_transaction(first)
    with pytest.raises(YtClientError) as caught:
        client.commit_transaction(second)
    (conflict,) = (item for item in tree_of(caught.value) if item["code"] == CONFLICT)
    assert conflict["message"] == "Row lock conflict due to concurrent write"
    attributes = conflict["attributes"]
    assert attributes["loser_transaction_id"] == second
    assert attributes["table_path"] == table
    assert attributes["key"] == [1]
    assert attributes["winner_transaction_commit_timestamp"] > Guid.parse(second).counter
    assert f"Error committing transaction {second}" in [item["message"] for item in tree_of(caught.value)]
    assert [value_of(client, table, key) for key in (1, 9)] == ["first", None]
    with refused(NO_SUCH_TRANSACTION, second):
        client.commit_transaction(second)


def test_a_write_outside_of_transactions_conflicts_like_any_other(client: YtClient, table: str) -> None:
    for deletes in (False, True):
        transaction = start(client)
        insert(client, table, {"key": 1, "value": "mine"}, transaction)
        if deletes:
            client.delete_rows(table, [{"key": 1}])
        else:
            client.insert_rows(table, [{"key": 1, "value": "x"}])
        with refused(CONFLICT):
            client.commit_transaction(transaction)


def test_one_that_started_after_the_commit_is_in_nobodys_way(client: YtClient, table: str) -> None:
    for value in ("first", "second"):
        transaction = start(client)
        insert(client, table, {"key": 1, "value": value}, transaction)
        client.commit_transaction(transaction)
    assert value_of(client, table, 1) == "second"


def test_a_delete_and_an_update_of_one_transaction_follow_each_other(client: YtClient, table: str) -> None:
    with client.Transaction(type="tablet"):
        client.insert_rows(table, [{"key": 1, "other": 1}], update=True)
        client.insert_rows(table, [{"key": 1, "value": "x"}], update=True)
        client.delete_rows(table, [{"key": 2}])
        client.insert_rows(table, [{"key": 2, "other": 2}], update=True)
        client.insert_rows(table, [{"key": 3, "value": "gone"}])
        client.delete_rows(table, [{"key": 3}])
    assert rows_of(client, f"* from [{table}]") == [
        {"key": 1, "value": "x", "other": 1},
        {"key": 2, "value": None, "other": 2},
    ]


def test_writes_to_different_lock_groups_get_along(client: YtClient, groups: str) -> None:
    first, second = start(client), start(client)
    insert(client, groups, {"key": 1, "a": 1}, first, update=True)
    insert(client, groups, {"key": 1, "b": 2}, second, update=True)
    client.commit_transaction(first)
    client.commit_transaction(second)
    (row,) = rows_of(client, f"* from [{groups}]")
    assert row == {"key": 1, "a": 1, "b": 2, "c": None}


@pytest.mark.parametrize("row", [{"key": 1, "c": 1}, {"key": 1, "a": 2}])
def test_the_primary_group_stands_for_the_whole_row(client: YtClient, groups: str, row: Any) -> None:
    for other in ({"key": 1, "c": 5}, None):
        loser = start(client)
        if other is None:
            with within(client, loser):
                client.delete_rows(groups, [{"key": 1}])
        else:
            insert(client, groups, other, loser, update=True)
        client.insert_rows(groups, [row], update=True)
        with refused(CONFLICT, "concurrent write"):
            client.commit_transaction(loser)


def test_a_weak_lock_fails_if_somebody_has_written(client: YtClient, groups: str) -> None:
    for group, code in (("la", CONFLICT), ("lb", None)):
        transaction = start(client)
        lock(client, groups, 1, [group], "shared_weak", transaction)
        insert(client, groups, {"key": 2, "c": 1}, transaction)
        client.insert_rows(groups, [{"key": 1, "a": 1}], update=True)
        if code is None:
            client.commit_transaction(transaction)
        else:
            with refused(code):
                client.commit_transaction(transaction)
    assert value_of(client, groups, 2, "c") == 1


def test_only_a_strong_lock_keeps_others_from_writing_afterwards(client: YtClient, groups: str) -> None:
    for lock_type, is_refused in (("shared_weak", False), ("shared_strong", True), ("exclusive", True)):
        locker, writer = start(client), start(client)
        lock(client, groups, 1, ["la"], lock_type, locker)
        insert(client, groups, {"key": 1, "a": 1}, writer, update=True)
        client.commit_transaction(locker)
        if is_refused:
            with refused(CONFLICT, "concurrent"):
                client.commit_transaction(writer)
        else:
            client.commit_transaction(writer)


def test_strong_locks_get_along_with_each_other(client: YtClient, groups: str) -> None:
    lockers = [start(client), start(client)]
    for locker in lockers:
        lock(client, groups, 1, ["la", "lb"], "shared_strong", locker)
    for locker in lockers:
        client.commit_transaction(locker)


def test_shared_writes_get_along_with_each_other_only(client: YtClient, groups: str) -> None:
    one, exclusive, reader, other = (start(client) for _ in range(4))
    insert(client, groups, {"key": 1, "a": 1}, one, update=True, lock_type="shared_write")
    insert(client, groups, {"key": 1, "a": 2}, exclusive, update=True)
    lock(client, groups, 1, ["la"], "shared_strong", reader)
    insert(client, groups, {"key": 1, "a": 3}, other, update=True, lock_type="shared_write")
    client.commit_transaction(one)
    for loser in (exclusive, reader):
        with refused(CONFLICT, "concurrent shared write"):
            client.commit_transaction(loser)
    client.commit_transaction(other)
    assert value_of(client, groups, 1, "a") == 3


def test_shared_writes_must_be_allowed_by_the_table(client: YtClient, table: str) -> None:
    with refused(1, "Shared write locks are not allowed"):
        client.insert_rows(table, [{"key": 1}], lock_type="shared_write")


def test_locks_need_a_group_that_is_there_and_a_transaction(client: YtClient, groups: str) -> None:
    with refused(1, "nope"):
        lock(client, groups, 1, ["nope"], "shared_weak", start(client))
    with refused(NO_SUCH_TRANSACTION):
        client.lock_rows(groups, [{"key": 1}], locks=["la"])


def test_a_tablet_that_does_not_serve_fails_the_whole_commit(client: YtClient, table: str, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    transaction = start(client)
    insert(client, queue, {"data": "x"}, transaction)
    insert(client, table, {"key": 1, "value": "x"}, transaction)
    client.unmount_table(table, sync=True)
    with refused(NOT_MOUNTED, table, "Error preparing rows for table"):
        client.commit_transaction(transaction)
    assert rows_of(client, f"* from [{queue}]") == []


def test_a_tablet_mounted_anew_does_not_take_writes_from_before(client: YtClient, table: str) -> None:
    transaction = start(client)
    insert(client, table, {"key": 1, "value": "x"}, transaction)
    client.unmount_table(table, sync=True)
    client.mount_table(table, sync=True)
    with refused(1704, "Invalid mount revision"):
        client.commit_transaction(transaction)
    assert value_of(client, table, 1) == "v1"


def test_a_table_that_is_gone_fails_the_commit(client: YtClient, home: str) -> None:
    client.create("map_node", f"{home}/dir")
    path = make_sorted(client, f"{home}/dir/t")
    transaction = start(client)
    insert(client, path, {"key": 1, "value": "x"}, transaction)
    client.remove(f"{home}/dir", recursive=True, force=True)
    with refused(500, f"Error preparing rows for table {path}"):
        client.commit_transaction(transaction)


def test_what_is_wrong_with_rows_is_told_at_the_commit(client: YtClient, table: str) -> None:
    transaction = start(client)
    with refused(307, "nope"), within(client, transaction):
        client.insert_rows(table, [{"key": 1, "nope": 1}])
    insert(client, table, {"key": 1, "value": 5}, transaction)
    insert(client, table, {"key": 2, "value": "good"}, transaction)
    with refused(307, '"value"'):
        client.commit_transaction(transaction)
    assert value_of(client, table, 2) == "v2"


def test_a_transaction_writes_no_more_rows_than_it_may(client: YtClient, table: str) -> None:
    transaction = start(client)
    with within(client, transaction):
        client.insert_rows(table, ({"key": key} for key in range(60_000)))
        with refused(1717, "too many rows"):
            client.insert_rows(table, ({"key": key} for key in range(60_000)))
    client.abort_transaction(transaction)


def test_without_atomicity_the_last_write_wins(client: YtClient, raw: RawHttp, home: str) -> None:
    path = make_table(client, f"{home}/n", GROUPS, atomicity="none")
    transactions = []
    for value in (1, 2):
        answer = raw.command("POST", "start_transaction", {"type": "tablet", "atomicity": "none"})
        transactions.append(answer.value["transaction_id"])
        insert(client, path, {"key": 1, "c": value}, transactions[-1])
    client.insert_rows(path, [{"key": 1, "c": 0}], atomicity="none")
    with within(client, transactions[0]):
        assert value_of(client, path, 1, "c") == 0
    for transaction in reversed(transactions):
        client.commit_transaction(transaction)
    assert value_of(client, path, 1, "c") == 1


@pytest.mark.parametrize(("of_table", "of_write"), [("none", "full"), ("full", "none")])
def test_table_and_transaction_must_be_of_one_atomicity(
    client: YtClient, home: str, of_table: str, of_write: str
) -> None:
    path = make_table(client, f"{home}/n", GROUPS, atomicity=of_table)
    with refused(1, f'Invalid atomicity mode: "{of_write}" instead of "{of_table}"'):
        client.insert_rows(path, [{"key": 1, "c": 0}], atomicity=of_write)


def test_rows_are_not_written_in_a_transaction_of_masters(raw: RawHttp, table: str) -> None:
    answer = raw.command("PUT", "insert_rows", {"path": table, "transaction_id": "1-2-10001-4"}, b"{key=1}")
    assert answer.error is not None
    assert "is not a valid tablet transaction id" in answer.error.message


def test_commands_that_have_no_transaction_do_not_mind_one(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    client.insert_rows(queue, [{"data": "x"}])
    with client.Transaction(type="tablet"):
        assert len(list(client.pull_queue(queue, offset=0, partition_index=0))) == 1
        client.freeze_table(queue)
        assert client.get_tablet_infos(queue, [0])["tablets"][0]["total_row_count"] == 1
    with client.Transaction(type="tablet"), refused(NO_SUCH_TRANSACTION):
        client.get(f"{queue}/@type")
