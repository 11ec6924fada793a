"""Items of lists are nodes: with places, ids, types, attributes and locks of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import Clients, ClusterThread, refused
from yt_local.base.clock import Clock
from yt_local.store.model import Node
from yt_local.store.state import ClusterState
from yt_local.store.storage import Storage
from yt_wire import yson


@pytest.fixture
def a_list(client: YtClient, home: str) -> str:
    """Path of a list `["a", "b", "c"]`."""
    client.set(f"{home}/l", ["a", "b", "c"])
    return f"{home}/l"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("begin", [{}, "a", "b", "c"]),
        ("end", ["a", "b", "c", {}]),
        ("before:0", [{}, "a", "b", "c"]),
        ("before:-1", ["a", "b", {}, "c"]),
        ("after:0", ["a", {}, "b", "c"]),
        ("after:-1", ["a", "b", "c", {}]),
    ],
)
def test_a_node_is_made_at_any_place(client: YtClient, a_list: str, place: str, expected: list[Any]) -> None:
    node_id = client.create("map_node", f"{a_list}/{place}")
    index = expected.index({})
    assert client.get(a_list) == expected
    assert client.get(f"{a_list}/@count") == 4
    assert client.get(f"{a_list}/{index}/@id") == client.get(f"{a_list}/{index - 4}/@id") == node_id
    assert client.get(f"#{node_id}/@path") == f"{a_list}/{index}"
    assert client.get(f"{a_list}/{index}/@parent_id") == client.get(f"{a_list}/@id")
    assert not client.exists(f"{a_list}/{index}/@key")


@pytest.mark.parametrize("node_type", ["table", "file", "document", "list_node", "string_node"])
def test_an_item_may_be_of_any_type(client: YtClient, a_list: str, node_type: str) -> None:
    client.create(node_type, f"{a_list}/end", attributes={"colour": "red"})
    tree = client.get(a_list, attributes=["type", "colour"])
    assert tree[-1].attributes == {"type": node_type, "colour": "red"}
    assert tree[0].attributes == {"type": "string_node"}
    client.link(a_list, f"{a_list}/begin")
    assert client.get(f"{a_list}/0/2") == "b"
    assert client.get(f"{a_list}/0&/@type") == "link"


def test_rows_and_bytes_live_in_a_list(client: YtClient, a_list: str) -> None:
    client.create("table", f"{a_list}/begin")
    client.write_table(f"{a_list}/0", [{"x": 1}])
    client.create("file", f"{a_list}/end")
    client.write_file(f"{a_list}/-1", b"bytes")
    client.remove(f"{a_list}/1")
    assert list(client.read_table(f"{a_list}/0")) == [{"x": 1}]
    assert client.read_file(f"{a_list}/-1").read() == b"bytes"
    assert [str(path) for path in client.search(a_list, node_type=["table", "file"])] == [f"{a_list}/0", f"{a_list}/3"]


def test_places_that_are_none_are_refused(client: YtClient, a_list: str) -> None:
    for place in ("3", "-4", "before:3", "after:-4"):
        with refused(500, "has no child with index"):
            client.create("map_node", f"{a_list}/{place}")
    for place in ("first", "before:x", "1_0", " 1", "+1", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 30, "end:1"):
        with refused(500, "Invalid index"):
            client.create("map_node", f"{a_list}/{place}")
        assert not client.exists(f"{a_list}/{place}")
    for place in ("end", "begin", "before:0"):
        assert not client.exists(f"{a_list}/{place}")
        for command in (client.get, client.remove, client.list):
            with refused(500):
                command(f"{a_list}/{place}")
        client.remove(f"{a_list}/{place}", force=True)
    with refused(500, 'has no child with key "end"'):
        client.create("map_node", f"{a_list}/end/deeper")
    with refused(501):
        client.create("map_node", f"{a_list}/1")
    assert client.get(a_list) == ["a", "b", "c"]


def test_nothing_is_made_recursively_in_a_list(client: YtClient, a_list: str) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: client.create("map_node", f"{a_list}/end", recursive=True),
        lambda: client.create("map_node", f"{a_list}/end/deeper", recursive=True),
        lambda: client.copy("//tmp", f"{a_list}/end", recursive=True),
        lambda: client.set(f"{a_list}/end", 1, recursive=True),
    )
    for create in attempts:
        with refused(1, f'List node {a_list} does not support "recursive" option'):
            create()
    client.create("map_node", f"{a_list}/end")
    client.create("map_node", f"{a_list}/3/deep/deeper", recursive=True)
    assert client.get(a_list) == ["a", "b", "c", {"deep": {"deeper": {}}}]


def test_an_item_is_set_where_it_is(client: YtClient, a_list: str) -> None:
    node_id = client.get(f"{a_list}/1/@id")
    client.set(f"{a_list}/1", "B")
    client.set(f"{a_list}/-2/@colour", "red")
    client.set(f"{a_list}/begin", ["x", {"y": 1}])
    client.set(f"{a_list}/0/1/y", 2)
    assert client.get(a_list) == [["x", {"y": 2}], "a", "B", "c"]
    assert client.get(f"{a_list}/2/@id") == node_id
    assert client.get(f"{a_list}/2/@colour") == "red"
    with refused(1, "types must match"):
        client.set(f"{a_list}/2", 5)
    with refused(1, "Entity nodes cannot be created"):
        client.set(f"{a_list}/end", None)
    with refused(1, "Entity nodes cannot be created"):
        client.set(a_list, [1, None])
    assert client.get(f"{a_list}/@count") == 4


def test_a_list_is_replaced_and_emptied(client: YtClient, a_list: str) -> None:
    item = client.get(f"{a_list}/0/@id")
    client.set(a_list, [yson.with_attributes(1, {"colour": "red"}), {"k": []}])
    assert client.get(a_list) == [1, {"k": []}]
    assert client.get(f"{a_list}/0/@colour") == "red"
    assert not client.exists(f"#{item}")
    with refused(1, "Cannot remove non-empty composite node"):
        client.remove(a_list)
    client.remove(f"{a_list}/*")
    assert client.get(a_list) == []
    client.remove(a_list)


def test_items_are_replaced_in_their_place(client: YtClient, a_list: str, home: str) -> None:
    client.create("map_node", f"{a_list}/1", force=True)
    client.create("table", f"{home}/t")
    client.copy(f"{home}/t", f"{a_list}/0", force=True)
    client.link(f"{home}/t", f"{a_list}/2", force=True)
    types = [item.attributes["type"] for item in client.get(a_list, attributes=["type"])]
    assert types == ["table", "map_node", "link"]


def test_items_are_copied_and_moved(client: YtClient, a_list: str, home: str) -> None:
    client.move(f"{a_list}/0", f"{a_list}/end")
    assert client.get(a_list) == ["b", "c", "a"]
    client.move(f"{a_list}/-1", f"{home}/a")
    client.copy(f"{a_list}/0", f"{a_list}/after:0")
    client.copy(a_list, f"{home}/copy")
    with refused(1, "to its descendant"):
        client.move(a_list, f"{a_list}/end")
    client.set(f"{a_list}/0", "changed")
    assert (client.get(a_list), client.get(f"{home}/copy")) == (["changed", "b", "c"], ["b", "b", "c"])
    assert client.get(f"{home}/a") == "a"


def test_a_transaction_has_a_list_for_itself(client: YtClient, a_list: str) -> None:
    with client.Transaction() as transaction:
        client.create("map_node", f"{a_list}/after:0")
        client.remove(f"{a_list}/0")
        client.set(f"{a_list}/0/k", "v")
        assert client.get(a_list) == [{"k": "v"}, "b", "c"]
        assert client.get(f"{a_list}/0/@path") == f"{a_list}/0"
        locks = client.get(f"{a_list}/@locks")
        assert {lock["mode"] for lock in locks} == {"exclusive"}
        with client.Transaction(transaction_id="0-0-0-0"):
            assert client.get(a_list) == ["a", "b", "c"]
            changes: tuple[Callable[[], object], ...] = (
                lambda: client.set(f"{a_list}/end", "d"),
                lambda: client.remove(f"{a_list}/1"),
                lambda: client.remove(a_list, recursive=True),
            )
            for change in changes:
                with refused(402, transaction.transaction_id):
                    change()
            client.set(f"{a_list}/1/@colour", "red")
    assert client.get(a_list, attributes=["colour"]) == [{"k": "v"}, yson.with_attributes("b", {"colour": "red"}), "c"]
    assert client.get(f"{a_list}/1/@colour") == "red"


def test_an_aborted_transaction_leaves_a_list_alone(client: YtClient, a_list: str) -> None:
    ids = [client.get(f"{a_list}/{index}/@id") for index in range(3)]
    with pytest.raises(ZeroDivisionError), client.Transaction():
        client.remove(f"{a_list}/1")
        client.set(f"{a_list}/begin", "new")
        client.move(f"{a_list}/-1", f"{a_list}/begin")
        assert client.get(a_list) == ["c", "new", "a"]
        raise ZeroDivisionError
    assert client.get(a_list) == ["a", "b", "c"]
    assert [client.get(f"{a_list}/{index}/@id") for index in range(3)] == ids


def test_nested_transactions_hand_lists_on(client: YtClient, a_list: str) -> None:
    with client.Transaction():
        client.set(f"{a_list}/end", "d")
        with client.Transaction():
            client.remove(f"{a_list}/0")
            client.set(f"{a_list}/end", "e")
        with pytest.raises(ZeroDivisionError), client.Transaction():
            client.remove(f"{a_list}/*")
            raise ZeroDivisionError
        client.remove(f"{a_list}/1")
    assert client.get(a_list) == ["b", "d", "e"]


def test_a_snapshot_keeps_the_order_of_a_list(client: YtClient, a_list: str) -> None:
    with client.Transaction():
        client.lock(a_list, mode="snapshot")
        with client.Transaction(transaction_id="0-0-0-0"):
            client.move(f"{a_list}/0", f"{a_list}/end")
            client.set(f"{a_list}/begin", "new")
        assert client.get(a_list) == ["a", "b", "c"]
        assert client.get(f"{a_list}/0") == "a"
    assert client.get(a_list) == ["new", "b", "c", "a"]


def test_a_list_has_its_limit(client: YtClient, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yt_local.cypress.node_places.MAX_CHILD_COUNT", 3)
    client.set(f"{home}/l", [1, 2, 3])
    with refused(502, "is not allowed to contain more than 3 items"):
        client.set(f"{home}/l/end", 4)
    with refused(502, "is not allowed to contain more than 3 items"):
        client.set(f"{home}/l", [1, 2, 3, 4])
    assert client.get(f"{home}/l") == [1, 2, 3]


@pytest.mark.local_only
def test_lists_of_earlier_versions_become_nodes(tmp_path: Path) -> None:
    clients = Clients()
    with ClusterThread(tmp_path) as thread:
        client = clients.make(thread.address("pythia"))
        for name in ("plain", "odd", "locked"):
            client.create("list_node", f"//tmp/{name}")
        transaction = client.start_transaction(timeout=600_000)
        with client.Transaction(transaction_id=transaction):
            client.lock("//tmp/locked")
    values: dict[str, list[Any]] = {"plain": [1, {"a": ["b"]}], "odd": [None, {"a": None}, 2], "locked": ["x"]}
    storage = Storage(next(tmp_path.rglob("pythia*")))
    state = ClusterState(storage, Clock(), 1)
    with state.change():
        for node in list(state.nodes()):
            if node.type == "list_node" and node.name in values:
                state.place_node(_earlier(node, values[node.name]))
    storage.close()
    for _ in range(2):
        with ClusterThread(tmp_path) as thread:
            client = clients.make(thread.address("pythia"))
            assert (client.get("//tmp/plain"), client.get("//tmp/locked")) == (values["plain"], values["locked"])
            assert [client.get(f"//tmp/odd/{index}") for index in range(3)] == values["odd"]
            assert client.get("//tmp/plain/1/@type") == "map_node"
            assert [item.attributes["type"] for item in client.get("//tmp/odd", attributes=["type"])] == [
                "document"
            ] * 3
            assert not client.exists(f"#{transaction}")
    clients.close()


def _earlier(node: Node, value: list[Any]) -> Node:
    """A list as earlier versions kept it."""
    return Node(**{name: getattr(node, name) for name in Node.__slots__ if name != "value"}, value=value)
