"""Consumers that share a table, each with a name of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.yson import to_yson_type

from tests.conformance.harness import make_queue, refused, rows_of
from yt_local.queues.consumers import MULTI_CONSUMER_SCHEMA


def named(path: str, name: str) -> Any:
    return to_yson_type(path, {"queue_consumer_name": name})


@pytest.fixture
def queue(client: YtClient, home: str) -> str:
    path = make_queue(client, f"{home}/q")
    client.insert_rows(path, [{"data": word} for word in "abc"])
    return path


@pytest.fixture
def table(client: YtClient, home: str, queue: str) -> Iterator[str]:
    path = f"{home}/c"
    attributes = {"dynamic": True, "schema": MULTI_CONSUMER_SCHEMA, "treat_as_queue_consumer": True}
    client.create("table", path, attributes=attributes)
    client.mount_table(path, sync=True)
    yield path
    for item in client.list_queue_consumer_registrations(queue_path=queue):
        client.unregister_queue_consumer(item["queue_path"], item["consumer_path"])


def names_of(client: YtClient, queue: str, consumer: Any = None) -> list[str]:
    found = client.list_queue_consumer_registrations(queue_path=queue, consumer_path=consumer)
    return sorted(str(item["consumer_path"].attributes["queue_consumer_name"]) for item in found)


def test_registrations_are_by_name(client: YtClient, queue: str, table: str) -> None:
    for name in ("ann", "bob"):
        client.register_queue_consumer(queue, named(table, name), vital=name == "ann")
    assert names_of(client, queue) == ["ann", "bob"]
    assert names_of(client, queue, table) == ["ann", "bob"]
    (found,) = client.list_queue_consumer_registrations(consumer_path=named(table, "bob"))
    assert found["consumer_path"].attributes["queue_consumer_name"] == "bob"
    assert not found["vital"]
    client.unregister_queue_consumer(queue, named(table, "ann"))
    assert names_of(client, queue) == ["bob"]


def test_each_name_stands_where_it_stands(client: YtClient, queue: str, table: str) -> None:
    for name, offset in (("ann", 1), ("bob", 2)):
        client.register_queue_consumer(queue, named(table, name), vital=True)
        client.advance_queue_consumer(named(table, name), queue, 0, old_offset=0, new_offset=offset, client_side=False)
    rows = rows_of(client, f"* from [{table}]")
    assert [(row["queue_consumer_name"], row["offset"]) for row in rows] == [("ann", 1), ("bob", 2)]
    assert rows[0]["meta"]["cumulative_data_weight"] == 1 + 1 + 16
    for name, left in (("ann", ["b", "c"]), ("bob", ["c"])):
        pulled = client.pull_queue_consumer(named(table, name), queue, None, partition_index=0)
        assert [row["data"] for row in pulled] == left
    with refused(901, "is not registered"):
        list(client.pull_queue_consumer(named(table, "eve"), queue, 0, partition_index=0))


def test_names_go_with_tables_of_several_consumers_only(client: YtClient, home: str, queue: str, table: str) -> None:
    client.create("queue_consumer", f"{home}/single")
    for path, words in ((table, "is required"), (named(f"{home}/single", "ann"), "is not supported")):
        client.register_queue_consumer(queue, path, vital=True)
        with refused(1, words):
            list(client.pull_queue_consumer(path, queue, 0, partition_index=0))
        with refused(1, words):
            client.advance_queue_consumer(path, queue, 0, old_offset=None, new_offset=1)
