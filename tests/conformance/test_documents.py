"""Documents: values that are read and changed inside."""

from __future__ import annotations

from yt.wrapper import YtClient
from yt.yson import to_yson_type

from tests.conformance.harness import refused


def test_documents_are_read_and_changed_inside(client: YtClient, home: str) -> None:
    path = f"{home}/d"
    client.create("document", path, attributes={"value": {"a": [1, {"b": "c"}], "d": None}})
    assert client.get(path) == {"a": [1, {"b": "c"}], "d": None}
    assert client.get(f"{path}/a/1/b") == "c"
    assert client.get(f"{path}/a/-1/b") == "c"
    assert sorted(client.list(path)) == ["a", "d"]
    client.set(f"{path}/a/1/e", 5)
    client.set(f"{path}/a/end", "last")
    client.set(f"{path}/a/begin", "first")
    client.set(f"{path}/a/before:1", "before one")
    client.set(f"{path}/a/after:1", "after one")
    assert client.get(f"{path}/a") == ["first", "before one", "after one", 1, {"b": "c", "e": 5}, "last"]
    client.remove(f"{path}/a/1")
    client.remove(f"{path}/d")
    assert client.get(path) == {"a": ["first", "after one", 1, {"b": "c", "e": 5}, "last"]}
    assert not client.exists(f"{path}/d")
    client.remove(f"{path}/d", force=True)
    with refused(500, '"nope"'):
        client.get(f"{path}/nope/further")
    with refused(500, "77"):
        client.get(f"{path}/a/77")
    client.set(path, "not a map any more")
    assert client.get(path) == "not a map any more"


def test_a_document_keeps_attributes_inside_its_value(client: YtClient, home: str) -> None:
    client.create("document", f"{home}/d")
    client.set(f"{home}/d", {"p": to_yson_type("//tmp/x", {"cluster": "hume"})})
    assert client.get(f"{home}/d/p").attributes == {"cluster": "hume"}
    assert client.get(f"{home}/d/p/@cluster") == "hume"


def test_all_inside_of_a_document_is_removed_at_once(client: YtClient, home: str) -> None:
    path = f"{home}/d"
    value = {"a": to_yson_type([1, 2], {"x": 1}), "b": {"c": 1}, "d": 5}
    client.create("document", path, attributes={"value": value})
    client.remove(f"{path}/a/*")
    client.remove(f"{path}/b/*")
    assert client.get(path) == {"a": to_yson_type([], {"x": 1}), "b": {}, "d": 5}
    for place in ("d", "nope"):
        with refused(500, place):
            client.remove(f"{path}/{place}/*")
    with refused(500, "wildcard"):
        client.set(f"{path}/b/*", 1)
    assert not client.exists(f"{path}/b/*")
    assert client.get(f"{path}/d") == 5


def test_maps_on_the_way_into_a_document_are_made_only_when_asked_for(client: YtClient, home: str) -> None:
    path = f"{home}/d"
    client.create("document", path, attributes={"value": {"list": [1]}})
    with refused(500, "b"):
        client.set(f"{path}/b/c/d", 1)
    client.set(f"{path}/b/c/d", 1, recursive=True)
    client.set(f"{path}/b/e/f", 2, recursive=True)
    with refused(500, "7"):
        client.set(f"{path}/list/7/x", 1, recursive=True)
    assert client.get(path) == {"list": [1], "b": {"c": {"d": 1}, "e": {"f": 2}}}


def test_lists_are_edited_by_position(client: YtClient, home: str) -> None:
    path = f"{home}/l"
    client.set(path, [1, 2])
    client.set(f"{path}/end", 3)
    client.set(f"{path}/0", 0)
    client.remove(f"{path}/1")
    assert client.get(path) == [0, 3]
    assert client.get(f"{path}/@count") == 2
    assert client.exists(f"{path}/-1")
    assert not client.exists(f"{path}/2")
    client.remove(f"{path}/*")
    assert client.get(path) == []
