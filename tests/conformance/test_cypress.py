"""Nodes of the tree: made, read, listed, changed and removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError
from yt.yson import to_yson_type

from tests.conformance.access import User, all_refused
from tests.conformance.harness import Cli, ClusterThread, RawHttp, refused
from yt_local.cypress.nodes import MAX_DEPTH
from yt_wire import yson


def test_a_created_node_is_there_with_its_type(client: YtClient, home: str) -> None:
    for node_type in (
        "map_node",
        "document",
        "string_node",
        "int64_node",
        "uint64_node",
        "double_node",
        "boolean_node",
    ):
        node_id = client.create(node_type, f"{home}/{node_type}")
        assert client.get(f"{home}/{node_type}/@type") == node_type
        assert client.get(f"#{node_id}/@path") == f"{home}/{node_type}"


def test_missing_parents_are_made_only_when_asked_for(client: YtClient, home: str) -> None:
    with refused(500, f'Node {home} has no child with key "a"'):
        client.create("map_node", f"{home}/a/b")
    assert not client.exists(f"{home}/a")
    client.create("map_node", f"{home}/a/b", recursive=True)
    assert client.exists(f"{home}/a/b")


def test_an_existing_node_stays_unless_told_otherwise(client: YtClient, home: str) -> None:
    path = f"{home}/a"
    first = client.create("map_node", path)
    with refused(501, path):
        client.create("map_node", path)
    assert client.create("map_node", path, ignore_existing=True) == first
    with refused(501, path, "map_node", "table"):
        client.create("table", path, ignore_existing=True)
    assert client.create("map_node", path, force=True) != first
    with refused(1, "ignore_existing", "force"):
        client.create("map_node", path, force=True, ignore_existing=True)


def test_an_unknown_type_is_refused(client: YtClient, home: str) -> None:
    with refused(1, "flying_node"):
        client.create("flying_node", f"{home}/a")
    assert client.list(home) == []


def test_a_failed_creation_leaves_nothing_behind(client: YtClient, home: str) -> None:
    with pytest.raises(YtClientError):
        client.create("map_node", f"{home}/a/b/c", recursive=True, attributes={"revision": 1})
    assert client.list(home) == []


@pytest.mark.parametrize(
    ("value", "node_type"),
    [
        ("text", "string_node"),
        (-5, "int64_node"),
        (yson.Uint64(2**64 - 1), "uint64_node"),
        (1.5, "double_node"),
        (True, "boolean_node"),
        ([1, "a", {"b": [2.5]}, []], "list_node"),
        ({"a": {"b": 1}, "c": "d"}, "map_node"),
        ("\N{CYRILLIC SMALL LETTER ZHE}/@&*[{", "string_node"),
        ("", "string_node"),
    ],
)
def test_a_value_that_is_set_comes_back_with_its_type(client: YtClient, home: str, value: Any, node_type: str) -> None:
    client.set(f"{home}/a", value)
    found = client.get(f"{home}/a")
    assert found == value
    assert isinstance(found, yson.Uint64) == isinstance(value, yson.Uint64)
    assert client.get(f"{home}/a/@type") == node_type


def test_bytes_that_are_no_text_survive(raw: RawHttp, home: str) -> None:
    answer = raw.command("PUT", "set", {"path": f"{home}/a", "input_format": "yson"}, rb'"\xff\x00a"')
    assert answer.status == 200
    body = raw.command("GET", "get", {"path": f"{home}/a", "return_only_value": True}).body
    assert yson.loads_raw(body) == b"\xff\x00a"


def test_setting_replaces_a_scalar_but_not_its_type(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    node_id = client.get(f"{home}/a/@id")
    client.set(f"{home}/a", 2)
    assert client.get(f"{home}/a") == 2
    assert client.get(f"{home}/a/@id") == node_id
    with refused(1, "int64", "string"):
        client.set(f"{home}/a", "text")
    assert client.get(f"{home}/a") == 2


def test_setting_a_map_over_a_map_needs_force(client: YtClient, home: str) -> None:
    client.set(f"{home}/m", {"a": 1, "b": 2})
    with refused(1, "force"):
        client.set(f"{home}/m", {"c": 3})
    assert client.get(f"{home}/m") == {"a": 1, "b": 2}
    client.set(f"{home}/m", {"c": 3}, force=True)
    assert client.get(f"{home}/m") == {"c": 3}


def test_setting_never_replaces_a_table(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/t")
    values: list[Any] = [1, {}, "x"]
    for value in values:
        with pytest.raises(YtClientError):
            client.set(f"{home}/t", value, force=True)
    assert client.get(f"{home}/t/@type") == "table"


def test_setting_below_a_missing_node_needs_recursive(client: YtClient, home: str) -> None:
    with refused(500, "a"):
        client.set(f"{home}/a/b", 1)
    client.set(f"{home}/a/b", 1, recursive=True)
    assert client.get(f"{home}/a") == {"b": 1}


def test_strings_and_names_have_limits(client: YtClient, home: str) -> None:
    longest = "\u00e9" * (2**15)
    client.set(f"{home}/a", longest)
    too_long: list[Callable[[], object]] = [
        lambda: client.set(f"{home}/a", longest + "x"),
        lambda: client.set(f"{home}/b", {"c": longest + "x"}),
        lambda: client.create("string_node", f"{home}/b", attributes={"value": longest + "x"}),
    ]
    all_refused(503, "65537 > 65536", *too_long)
    assert client.get(f"{home}/a") == longest
    client.create("document", f"{home}/d", attributes={"value": longest + "x"})
    client.set(f"{home}/d/@mine", longest + "x")
    client.create("map_node", f"{home}/{'n' * 4096}")
    too_long = [
        lambda: client.create("map_node", f"{home}/{'n' * 4097}"),
        lambda: client.set(f"{home}/e", {"n" * 4097: 1}),
        lambda: client.move(f"{home}/d", f"{home}/{'n' * 4097}"),
    ]
    all_refused(505, "4096", *too_long)
    assert client.list(home) == ["a", "d", "n" * 4096]


def test_an_entity_is_no_node(client: YtClient, home: str) -> None:
    with refused(1, "Entity"):
        client.set(f"{home}/a", None)
    assert not client.exists(f"{home}/a")


def test_existence_is_told_without_errors(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/t", attributes={"mine": {"a": [1]}})
    for path, expected in {
        "/": True,
        "//tmp": True,
        f"{home}/t": True,
        f"{home}/no": False,
        f"{home}/no/further": False,
        f"{home}/t/below": False,
        f"{home}/t/@id": True,
        f"{home}/t/@nope": False,
        f"{home}/t/@mine/a/0": True,
        f"{home}/t/@mine/a/1": False,
        "#1-2-3-4": False,
    }.items():
        assert client.exists(path) == expected, path


def test_a_listing_has_all_children_with_the_attributes_asked_for(client: YtClient, home: str) -> None:
    client.create("map_node", f"{home}/m", attributes={"colour": "red"})
    client.create("document", f"{home}/d")
    listed = client.list(home, attributes=["type", "colour", "nope"])
    assert {str(name): dict(name.attributes) for name in listed} == {
        "m": {"type": "map_node", "colour": "red"},
        "d": {"type": "document"},
    }
    assert sorted(client.list(home, sort=False)) == ["d", "m"]


def test_a_listing_can_be_cut_short_and_says_so(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/m", {str(number): number for number in range(5)})
    for command in ("list", "get"):
        parameters = {"path": f"{home}/m", "max_size": 2, "return_only_value": True}
        value = raw.command("GET", command, parameters).value
        assert len(value) == 2
        assert yson.attributes_of(value) == {"incomplete": True}
        parameters["max_size"] = 5
        assert yson.attributes_of(raw.command("GET", command, parameters).value) == {}


def test_only_what_has_children_is_listed(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/t")
    client.set(f"{home}/s", "x")
    for name in ("t", "s"):
        with refused(500, f"{home}/{name}"):
            client.list(f"{home}/{name}")


def test_a_subtree_is_read_with_attributes_on_every_node(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": {}, "s": "x"})
    client.create("table", f"{home}/a/t", attributes={"colour": "red"})
    for names in (["type", "colour"], {"keys": ["type", "colour"]}):
        tree = client.get(f"{home}/a", attributes=names)
        assert tree.attributes == {"type": "map_node"}
        assert tree["b"].attributes == {"type": "map_node"}
        assert tree["t"].attributes == {"type": "table", "colour": "red"}
        assert tree["s"] == to_yson_type("x", {"type": "string_node"})


def test_attributes_come_with_documents_and_lists_too(client: YtClient, home: str) -> None:
    client.create("document", f"{home}/d", attributes={"value": {"a": 1}})
    assert client.get(f"{home}/d", attributes=["type"]) == to_yson_type({"a": 1}, {"type": "document"})
    client.set(f"{home}/l", [1])
    item = to_yson_type(1, {"type": "int64_node"})
    assert client.get(f"{home}/l", attributes=["type"]) == to_yson_type([item], {"type": "list_node"})


def test_an_opaque_node_hides_its_children_from_those_above(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": {"c": 1}})
    client.set(f"{home}/a/b/@opaque", True)
    assert client.get(f"{home}/a") == {"b": None}
    assert client.get(f"{home}/a/b") == {"c": 1}
    tree = client.get(f"{home}/a", attributes=["type", "opaque"])
    assert tree["b"].attributes == {"type": "map_node", "opaque": True}


def test_a_search_finds_every_table(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/a/b/t1", recursive=True)
    client.create("table", f"{home}/a/t2")
    client.set(f"{home}/a/b/@opaque", True)
    found = sorted(str(path) for path in client.search(home, node_type="table"))
    assert found == [f"{home}/a/b/t1", f"{home}/a/t2"]


def test_a_search_goes_through_lists(client: YtClient, home: str) -> None:
    client.set(f"{home}/l", [1, {"a": "b"}, [True]])
    assert list(client.search(home, node_type="table")) == []


def test_removing_a_full_directory_needs_recursive(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": {"c": 1}})
    with refused(1, f"{home}/a"):
        client.remove(f"{home}/a")
    with refused(1, f"{home}/a"):
        client.remove(f"{home}/a", force=True)
    assert client.get(f"{home}/a/b/c") == 1
    client.remove(f"{home}/a/*")
    assert client.get(f"{home}/a") == {}
    client.remove(f"{home}/a")
    assert client.list(home) == []


def test_removing_what_is_not_there_is_an_error_unless_forced(client: YtClient, home: str) -> None:
    with refused(500, "nope"):
        client.remove(f"{home}/nope")
    client.remove(f"{home}/nope", force=True)
    client.remove(f"{home}/nope/below", force=True)
    for wildcard in ("*", "@*"):
        with refused(500, "nope"):
            client.remove(f"{home}/nope/{wildcard}")
        client.remove(f"{home}/nope/{wildcard}", force=True)


@pytest.mark.local_only
def test_a_tree_grows_no_deeper_than_can_be_read_and_removed(client: YtClient, home: str, bob: User) -> None:
    client.set(f"{home}/wide", {"a": {"b": 1}})
    levels = MAX_DEPTH - (home.count("/") - 1) - 1
    deepest = "/".join([home, "top", *["d"] * levels])
    bob.client.create("map_node", deepest, recursive=True)
    with refused(1, str(MAX_DEPTH)):
        client.create("map_node", f"{deepest}/more")
    with refused(1, str(MAX_DEPTH)):
        client.move(f"{home}/top", f"{home}/wide/a/top")
    assert client.exists(f"{home}/top")
    assert bob.client.get(home, attributes=["id"])
    with client.Transaction():
        client.copy(f"{home}/top", f"{home}/copy")
    bob.client.remove(f"{home}/top", recursive=True)
    client.remove(f"{home}/copy", recursive=True)
    assert client.list(home) == ["wide"]


def test_the_root_stays(client: YtClient) -> None:
    with refused(1, "/"):
        client.remove("/", recursive=True, force=True)
    assert client.exists("//tmp")


def test_special_characters_of_names_are_escaped(client: YtClient, home: str) -> None:
    name = "a/b@c&d*e[f{g\\h"
    escaped = "".join("\\" + letter if letter in "\\/@&*[{" else letter for letter in name)
    client.create("map_node", f"{home}/{escaped}", attributes={"colour": "red"})
    assert client.list(home) == [name]
    assert client.get(f"{home}/{escaped}/@key") == name
    assert client.get(f"{home}/{escaped}/@path") == f"{home}/{escaped}"
    client.move(f"{home}/{escaped}", f"{home}/plain")
    assert client.list(home) == ["plain"]


@pytest.mark.parametrize("path", ["tmp", "/tmp", "", "//tmp//a", "//tmp/", "//tmp/@/x", r"//tmp/\q"])
def test_a_malformed_path_is_refused(raw: RawHttp, path: str) -> None:
    answer = raw.command("GET", "get", {"path": path})
    assert answer.status == 400
    assert answer.error
    assert answer.error.code != 0


def test_paths_may_carry_attributes_and_ranges(client: YtClient, raw: RawHttp, home: str) -> None:
    client.create("table", f"{home}/t")
    for path in (
        f"<append=%true>{home}/t",
        f"{home}/t[#1:#5]",
        f"{home}/t{{a,b}}",
        to_yson_type(f"{home}/t", {"x": 1}),
    ):
        assert raw.command("GET", "exists", {"path": path}).value == {"value": True}


def test_the_command_line_walks_the_tree(cli: Cli, client: YtClient, home: str) -> None:
    assert cli.run("set", f"{home}/a", "{b=1;c=[%true;2u]}").returncode == 0
    assert yson.loads(cli.run("get", f"{home}/a", "--format", "<format=text>yson").stdout) == {
        "b": 1,
        "c": [True, 2],
    }
    failed = cli.run("get", f"{home}/nope")
    assert failed.returncode != 0
    assert b'has no child with key "nope"' in failed.stderr


@pytest.mark.local_only
@pytest.mark.parametrize("path", ["//sys", "//sys/users", "//sys/clusters", "//sys/tablet_cells"])
def test_what_a_cluster_is_made_of_can_not_be_removed(local: ClusterThread, client: YtClient, path: str) -> None:
    before = client.list("//sys")
    changes: list[Callable[[], object]] = [
        lambda: client.remove(path, recursive=True, force=True),
        lambda: client.remove("//sys/*", recursive=True),
        lambda: client.move(path, "//tmp/moved"),
        lambda: client.create("map_node", path, force=True),
        lambda: client.set("//sys", {}, force=True),
    ]
    for change in changes:
        with refused(1, "Cannot remove built-in node //sys"):
            change()
    assert client.list("//sys") == before
