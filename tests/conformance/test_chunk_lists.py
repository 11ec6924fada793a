"""Chunk lists: which chunks a table has, tablet by tablet."""

from __future__ import annotations

import pytest
import yt.yson as yson
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import make_queue


def flush(client: YtClient, path: str) -> None:
    client.freeze_table(path, sync=True)
    client.unfreeze_table(path, sync=True)


def test_the_list_of_a_queue_has_one_for_each_tablet_with_its_chunks_in_order(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q", tablet_count=2)
    for _ in range(2):
        client.insert_rows(queue, [{"data": "a", "$tablet_index": 1}] * 3)
        flush(client, queue)
    root = client.get(f"{queue}/@chunk_list_id")
    tree = client.get(f"#{root}/@tree")
    assert (tree.attributes["id"], tree.attributes["type"]) == (root, "chunk_list")
    stored = [child for child in tree[1] if child.attributes.get("type") != "dynamic_store"]
    assert stored == client.get(f"{queue}/@chunk_ids")
    assert [part.attributes["id"] for part in tree] == client.get(f"#{root}/@child_ids")
    first, second = tree[0].attributes["id"], tree[1].attributes["id"]
    assert client.get(f"#{second}/@statistics/logical_row_count") == 6
    assert client.get(f"#{first}/@statistics/logical_row_count") == 0
    assert client.get(f"#{second}/@parent_ids") == [root]
    assert client.get(f"#{second}/@kind") == "ordered_dynamic_tablet"
    assert client.get(f"#{root}/@owning_nodes") == [queue]


def test_rows_of_chunks_that_are_gone_count_logically(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    for size in (2, 3):
        client.insert_rows(queue, [{"data": "a", "$tablet_index": 0}] * size)
        flush(client, queue)
    client.trim_rows(queue, 0, 2)
    flush(client, queue)
    (tablet,) = client.get(f"#{client.get(f'{queue}/@chunk_list_id')}/@child_ids")
    assert client.get(f"#{tablet}/@statistics/logical_row_count") == 5
    assert client.get(f"#{tablet}/@statistics/row_count") == 3


def test_a_static_table_has_one_list(client: YtClient, home: str) -> None:
    table = f"{home}/t"
    client.write_table(table, [{"a": 1}])
    root = client.get(f"{table}/@chunk_list_id")
    assert client.get(f"#{root}/@type") == "chunk_list"
    assert client.get(f"#{root}/@statistics/row_count") == 1


def test_lists_are_told_only_to_those_who_ask(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    root = client.get(f"{queue}/@chunk_list_id")
    assert client.get(f"{queue}/@")["chunk_list_id"] == yson.YsonEntity()
    assert client.get(f"#{root}/@")["tree"] == yson.YsonEntity()


@pytest.mark.local_only
def test_nobody_changes_a_list(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    root = client.get(f"{queue}/@chunk_list_id")
    with pytest.raises(YtClientError):
        client.set(f"#{root}/@kind", "static")
