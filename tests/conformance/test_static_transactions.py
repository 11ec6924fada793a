"""Static tables and files in master transactions: what others see of them, and what becomes of parallel writes."""

from __future__ import annotations

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import inside, refused, start, wait_for
from yt_wire import yson

NO_TRANSACTION = "0-0-0-0"


@pytest.fixture
def path(client: YtClient, home: str) -> str:
    client.create("table", f"{home}/t")
    return f"{home}/t"


def numbers(client: YtClient, path: str) -> list[int]:
    return [row["key"] for row in client.read_table(path)]


def test_what_is_written_is_seen_by_others_when_it_is_committed(client: YtClient, path: str) -> None:
    client.write_table(path, [{"key": 1}])
    with client.Transaction():
        client.write_table(path, [{"key": 2}])
        client.write_table(f"<append=%true>{path}", [{"key": 3}])
        assert numbers(client, path) == [2, 3]
        with inside(client, NO_TRANSACTION):
            assert numbers(client, path) == [1]
            assert client.get(f"{path}/@row_count") == 1
    assert numbers(client, path) == [2, 3]


def test_nothing_is_left_of_what_is_aborted(client: YtClient, path: str) -> None:
    with pytest.raises(ZeroDivisionError), client.Transaction():
        client.write_table(path, [{"key": 1}])
        chunk_id = client.get(f"{path}/@chunk_ids")[0]
        assert client.exists(f"#{chunk_id}")
        raise ZeroDivisionError
    assert client.get(f"{path}/@chunk_ids") == []
    wait_for(lambda: not client.exists(f"#{chunk_id}"))


def test_several_append_at_once_and_all_that_is_committed_is_there(client: YtClient, path: str) -> None:
    client.write_table(path, [{"key": 0}])
    first, second, third = (start(client) for _ in range(3))
    for transaction, keys in ((first, [1, 2]), (second, [3]), (third, [4])):
        with inside(client, transaction):
            for key in keys:
                client.write_table(f"<append=%true>{path}", [{"key": key}])
            assert numbers(client, path) == [0, *keys]
    client.commit_transaction(second)
    client.abort_transaction(third)
    with inside(client, first):
        assert numbers(client, path) == [0, 1, 2]  # what was there when it began to append, and its own
    client.commit_transaction(first)
    assert numbers(client, path) == [0, 3, 1, 2]
    client.write_table(f"<append=%true>{path}", [{"key": 5}])
    assert numbers(client, path) == [0, 3, 1, 2, 5]


def test_transactions_within_a_transaction_append_to_what_it_has(client: YtClient, path: str) -> None:
    client.write_table(path, [{"key": 0}])
    outer = start(client)
    with inside(client, outer):
        client.write_table(f"<append=%true>{path}", [{"key": 1}])
    first, second, third = (start(client, outer) for _ in range(3))
    for transaction, key in ((first, 2), (second, 3)):
        with inside(client, transaction):
            client.write_table(f"<append=%true>{path}", [{"key": key}])
    client.commit_transaction(second)
    client.commit_transaction(first)
    client.write_table(f"<append=%true>{path}", [{"key": 9}])
    with inside(client, third):
        client.alter_table(path, schema=yson.with_attributes([{"name": "key", "type": "any"}], {"strict": False}))
    client.commit_transaction(third)
    with inside(client, outer):
        assert numbers(client, path) == [0, 1, 3, 2]
    client.commit_transaction(outer)
    assert numbers(client, path) == [0, 9, 1, 3, 2]


def test_who_replaces_a_table_is_alone_at_it(client: YtClient, path: str) -> None:
    first, second = start(client), start(client)
    with inside(client, first):
        client.write_table(path, [{"key": 1}])
    for place in (path, f"<append=%true>{path}"):
        with refused(402, "exclusive"), inside(client, second):
            client.write_table(place, [{"key": 2}])
        with refused(402, "exclusive"):
            client.write_table(place, [{"key": 2}])
    client.commit_transaction(first)
    with inside(client, second):
        client.write_table(path, [{"key": 2}])
    client.commit_transaction(second)
    assert numbers(client, path) == [2]


def test_a_snapshot_keeps_what_it_has_seen(client: YtClient, path: str) -> None:
    client.write_table(path, [{"key": 1}])
    chunk_id = client.get(f"{path}/@chunk_ids")[0]
    with client.Transaction():
        client.lock(path, mode="snapshot")
        with inside(client, NO_TRANSACTION):
            client.write_table(path, [{"key": 2}])
            assert numbers(client, path) == [2]
        assert numbers(client, path) == [1]
    wait_for(lambda: not client.exists(f"#{chunk_id}"))


def test_copies_made_in_a_transaction_have_what_it_has_written(client: YtClient, home: str, path: str) -> None:
    client.write_table(path, [{"key": 1}])
    with client.Transaction():
        client.write_table(f"<append=%true>{path}", [{"key": 2}])
        client.copy(path, f"{home}/copy")
        client.write_table(f"<append=%true>{home}/copy", [{"key": 3}])
    assert numbers(client, path) == [1, 2]
    assert numbers(client, f"{home}/copy") == [1, 2, 3]


def test_a_file_is_written_and_appended_to_in_transactions(client: YtClient, home: str) -> None:
    file = f"{home}/f"
    client.write_file(file, b"one,")
    first, second = start(client), start(client)
    for transaction, data in ((first, b"two"), (second, b"three,")):
        with inside(client, transaction):
            client.write_file(f"<append=%true>{file}", data)
    assert client.read_file(file).read() == b"one,"
    client.commit_transaction(second)
    client.commit_transaction(first)
    assert client.read_file(file).read() == b"one,three,two"
