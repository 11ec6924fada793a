"""What a transaction sees of a node that it has locked to stay as it is."""

from __future__ import annotations

from yt.wrapper import YtClient

from tests.conformance.harness import QUEUE_SCHEMA, inside, lock, refused, start
from yt_wire.error import ErrorCode


def test_a_node_stays_as_it_was(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    client.set(f"{home}/a/@x", 1)
    transaction = start(client)
    with inside(client, transaction):
        answer = client.lock(f"{home}/a", mode="snapshot")
    client.set(f"{home}/a", 2)
    client.set(f"{home}/a/@x", 2)
    with inside(client, transaction):
        assert client.get(f"{home}/a") == 1
        assert client.get(f"{home}/a/@x") == 1
        assert client.get(f"{home}/a/@revision") == answer["revision"]
        with refused(ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT):
            client.set(f"{home}/a", 3)
    client.remove(f"{home}/a")
    with inside(client, transaction):
        assert not client.exists(f"{home}/a")
        assert client.get(f"#{answer['node_id']}") == 1
        assert client.get(f"#{answer['node_id']}/@path") == f"{home}/a"
    client.commit_transaction(transaction)
    assert not client.exists(f"#{answer['node_id']}")


def test_its_attributes_can_only_be_removed_if_there_are_none(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    client.set(f"{home}/b", 1)
    client.set(f"{home}/b/@x", 1)
    transaction = start(client)
    with inside(client, transaction):
        for name in ("a", "b"):
            client.lock(f"{home}/{name}", mode="snapshot")
        revision = client.get(f"{home}/a/@revision")
        client.remove(f"{home}/a/@*")
        client.set(f"{home}/a/@", {})
        assert client.get(f"{home}/a/@revision") == revision
        with refused(ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT):
            client.remove(f"{home}/b/@*")
    client.abort_transaction(transaction)
    assert client.get(f"{home}/b/@x") == 1


def test_a_directory_keeps_its_children(client: YtClient, home: str) -> None:
    client.set(f"{home}/m", {"a": {"b": 1}, "c": 2}, force=True)
    transaction = start(client)
    lock(client, transaction, f"{home}/m", "snapshot")
    old_id = client.get(f"{home}/m/a/@id")
    client.remove(f"{home}/m/a", recursive=True)
    client.set(f"{home}/m/a", "new")
    client.set(f"{home}/m/d", 3)
    with inside(client, transaction):
        assert client.get(f"{home}/m") == {"a": {"b": 1}, "c": 2}
        assert client.get(f"{home}/m/a/@id") == old_id
        assert client.get(f"{home}/m/@count") == 2
    assert client.get(f"{home}/m") == {"a": "new", "c": 2, "d": 3}
    client.abort_transaction(transaction)
    assert not client.exists(f"#{old_id}")
    assert client.get(f"{home}/m") == {"a": "new", "c": 2, "d": 3}


def test_a_table_that_somebody_removed_is_there_until_nobody_reads_it(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/m/t", recursive=True, attributes={"dynamic": True, "schema": QUEUE_SCHEMA})
    table_id = client.get(f"{home}/m/t/@id")
    first, second = start(client), start(client)
    for transaction in (first, second):
        lock(client, transaction, f"{home}/m/t", "snapshot")
    client.remove(f"{home}/m", recursive=True)
    assert client.get(f"#{table_id}/@type") == "table"
    assert client.get(f"#{table_id}/@path") == f"#{table_id}"
    client.abort_transaction(first)
    assert client.exists(f"#{table_id}")
    with inside(client, second):
        client.unlock(f"#{table_id}")
    assert not client.exists(f"#{table_id}")
    client.commit_transaction(second)


def test_a_snapshot_is_taken_of_what_the_parent_has_made_of_it(client: YtClient, home: str) -> None:
    outer = start(client)
    with inside(client, outer):
        client.set(f"{home}/a", 1)
        revision = client.get(f"{home}/a/@revision")
    inner = start(client, outer)
    with inside(client, inner):
        assert client.lock(f"{home}/a", mode="snapshot")["revision"] == revision
        assert client.get(f"{home}/a") == 1
    client.commit_transaction(inner)
    client.commit_transaction(outer)
    assert client.get(f"{home}/a") == 1
