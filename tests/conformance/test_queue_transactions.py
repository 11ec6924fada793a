"""Queue commands within tablet transactions: offsets and rows that are written together or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import make_queue, refused, rows_of
from tests.conformance.test_tablet_transactions import CONFLICT, start, within

OFFSET_CONFLICT = 3100


@pytest.fixture
def queue(client: YtClient, home: str) -> str:
    return make_queue(client, f"{home}/q")


@pytest.fixture
def consumer(client: YtClient, home: str, queue: str) -> str:
    path = f"{home}/c"
    client.create("queue_consumer", path)
    client.register_queue_consumer(queue, path, vital=True)
    return path


@pytest.fixture
def producer(client: YtClient, home: str, queue: str) -> str:
    path = f"{home}/p"
    client.create("queue_producer", path)
    client.create_queue_producer_session(producer_path=path, queue_path=queue, session_id="s")
    return path


def advance(client: YtClient, consumer: str, queue: str, old: int | None, new: int, **options: Any) -> None:
    client.advance_queue_consumer(consumer, queue, 0, old_offset=old, new_offset=new, **options)


def push(client: YtClient, producer: str, queue: str, *numbers: int, session_id: str = "s", epoch: int = 0) -> Any:
    rows = [{"data": f"{number}", "$sequence_number": number} for number in numbers]
    return client.push_queue_producer(producer, queue, session_id, epoch, rows)


def offsets(client: YtClient, consumer: str) -> list[int]:
    return [row["offset"] for row in rows_of(client, f"* from [{consumer}]")]


def data(client: YtClient, queue: str) -> list[str]:
    return [row["data"] for row in rows_of(client, f"data from [{queue}]")]


@pytest.mark.parametrize("client_side", [True, False])
def test_an_offset_moves_with_what_was_made_of_the_rows(
    client: YtClient, home: str, queue: str, consumer: str, client_side: bool
) -> None:
    results = make_queue(client, f"{home}/results")
    client.insert_rows(queue, [{"data": word} for word in "abc"])
    with client.Transaction(type="tablet"):
        rows = list(client.pull_queue_consumer(consumer, queue, 0, partition_index=0))
        client.insert_rows(results, [{"data": row["data"].upper()} for row in rows])
        advance(client, consumer, queue, 0, len(rows), client_side=client_side)
        assert offsets(client, consumer) == []
    assert offsets(client, consumer) == [3]
    assert data(client, results) == ["A", "B", "C"]
    with pytest.raises(ZeroDivisionError), client.Transaction(type="tablet"):
        advance(client, consumer, queue, 3, 5, client_side=client_side)
        raise ZeroDivisionError
    assert offsets(client, consumer) == [3]


def test_the_offset_is_compared_as_of_the_start(client: YtClient, queue: str, consumer: str) -> None:
    advance(client, consumer, queue, None, 1)
    transaction = start(client)
    advance(client, consumer, queue, 1, 2)
    with within(client, transaction):
        with refused(OFFSET_CONFLICT, "expected offset 2, found offset 1"):
            advance(client, consumer, queue, 2, 3)
        advance(client, consumer, queue, 1, 3)
        advance(client, consumer, queue, 1, 4)
    with refused(CONFLICT, "concurrent write"):
        client.commit_transaction(transaction)
    assert offsets(client, consumer) == [2]


def test_two_that_advance_different_partitions_get_along(client: YtClient, queue: str, consumer: str) -> None:
    transactions = [start(client), start(client)]
    for partition, transaction in enumerate(transactions):
        with within(client, transaction):
            client.advance_queue_consumer(consumer, queue, partition, old_offset=0, new_offset=7)
    for transaction in transactions:
        client.commit_transaction(transaction)
    assert offsets(client, consumer) == [7, 7]


def test_pushes_of_one_transaction_follow_each_other(client: YtClient, queue: str, producer: str) -> None:
    with client.Transaction(type="tablet"):
        assert push(client, producer, queue, 1, 2)["last_sequence_number"] == 2
        second = push(client, producer, queue, 2, 3)
        assert (second["last_sequence_number"], second["skipped_row_count"]) == (3, 1)
        assert data(client, queue) == []
    assert data(client, queue) == ["1", "2", "3"]
    third = push(client, producer, queue, 3, 4)
    assert third["skipped_row_count"] == 1
    assert data(client, queue) == ["1", "2", "3", "4"]


def test_what_was_pushed_and_aborted_can_be_pushed_again(client: YtClient, queue: str, producer: str) -> None:
    with pytest.raises(ZeroDivisionError), client.Transaction(type="tablet"):
        push(client, producer, queue, 1, 2)
        raise ZeroDivisionError
    assert push(client, producer, queue, 1, 2)["skipped_row_count"] == 0
    assert data(client, queue) == ["1", "2"]


def test_of_two_pushes_of_one_session_only_the_first_commits(client: YtClient, queue: str, producer: str) -> None:
    transactions = [start(client), start(client)]
    for number, transaction in enumerate(transactions, start=1):
        with within(client, transaction):
            push(client, producer, queue, number)
    client.commit_transaction(transactions[0])
    with refused(CONFLICT):
        client.commit_transaction(transactions[1])
    assert data(client, queue) == ["1"]


def test_a_session_made_anew_fences_off_a_transaction(client: YtClient, queue: str, producer: str) -> None:
    transaction = start(client)
    with within(client, transaction):
        push(client, producer, queue, 1)
        session = client.create_queue_producer_session(producer_path=producer, queue_path=queue, session_id="s")
    assert session["epoch"] == 1
    with refused(CONFLICT):
        client.commit_transaction(transaction)
    assert data(client, queue) == []


def test_sessions_do_not_get_in_each_others_way(client: YtClient, queue: str, producer: str) -> None:
    client.create_queue_producer_session(producer_path=producer, queue_path=queue, session_id="t")
    first, second = start(client), start(client)
    with within(client, first):
        push(client, producer, queue, 1)
    with within(client, second):
        push(client, producer, queue, 2, session_id="t")
    client.commit_transaction(second)
    client.commit_transaction(first)
    assert data(client, queue) == ["2", "1"]


def test_meta_given_in_one_push_stays_with_the_next(client: YtClient, queue: str, producer: str) -> None:
    with client.Transaction(type="tablet"):
        rows = [{"data": "x", "$sequence_number": 1}]
        client.push_queue_producer(producer, queue, "s", 0, rows, user_meta={"file": "a"})
        push(client, producer, queue, 2)
    session = client.create_queue_producer_session(producer_path=producer, queue_path=queue, session_id="s")
    assert (session["sequence_number"], session["user_meta"]) == (2, {"file": "a"})


def test_a_consumer_of_another_cluster_cannot_be_advanced_with_the_transaction(
    client: YtClient, other: YtClient, other_home: str, queue: str
) -> None:
    other.create("queue_consumer", f"{other_home}/c")
    there = f'<cluster="{other.get("//sys/@cluster_name")}">{other_home}/c'
    with client.Transaction(type="tablet"), refused(1, "where the transaction is"):
        advance(client, there, queue, None, 1)
