from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_wire import orchid
from yt_wire.error import ErrorCode, YtError

TREE: dict[str, Any] = {"queues": {"primary://tmp/q": {"status": {"n": 1}, "partitions": ["a", "b"]}}, "none": None}


def test_a_path_is_cut_into_unescaped_keys() -> None:
    path = r"//queue_agent/queues/primary:\/\/tmp\/q/status"
    assert orchid.split_path(path) == ["queue_agent", "queues", "primary://tmp/q", "status"]
    assert orchid.split_path("/") == []


@given(st.lists(st.text(min_size=1, max_size=8)))
def test_any_keys_survive_joining_and_splitting(keys: list[str]) -> None:
    assert orchid.split_path(orchid.join_path(keys)) == keys


@pytest.mark.parametrize("path", ["", "a", "//", "//a/", "//a//b", "//a/@x", "//a&", "//a/*", "//a[1]", "//a/[1]", "@"])
def test_a_path_of_anything_but_keys_is_refused(path: str) -> None:
    with pytest.raises(YtError):
        orchid.split_path(path)


def test_resolving_walks_maps_and_lists() -> None:
    assert orchid.resolve(TREE, []) is TREE
    assert orchid.resolve(TREE, ["queues", "primary://tmp/q", "status", "n"]) == 1
    assert orchid.resolve(TREE, ["queues", "primary://tmp/q", "partitions", "0"]) == "a"
    assert orchid.resolve(TREE, ["queues", "primary://tmp/q", "partitions", "-1"]) == "b"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (["x"], 'Node /root has no child with key "x"'),
        (["queues", "a/b"], r'Node /root/queues has no child with key "a\/b"'),
        (
            ["queues", "primary://tmp/q", "partitions", "2"],
            r"Node /root/queues/primary:\/\/tmp\/q/partitions has no child with index 2",
        ),
        (
            ["queues", "primary://tmp/q", "partitions", "-3"],
            r"Node /root/queues/primary:\/\/tmp\/q/partitions has no child with index -3",
        ),
        (
            ["queues", "primary://tmp/q", "partitions", "x"],
            r'Node /root/queues/primary:\/\/tmp\/q/partitions is a list, "x" is no index',
        ),
        (["none", "x"], "Node /root/none cannot have children"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_resolve_error(path: list[str], message: str) -> None:
    with pytest.raises(YtError) as caught:
        orchid.resolve(TREE, path, prefix=["root"])
    assert caught.value.message == message
    assert caught.value.code == ErrorCode.RESOLVE


def test_a_path_is_parted_at_the_attribute() -> None:
    assert orchid.split_attribute(r"//a/b\/c") == (r"//a/b\/c", None)
    assert orchid.split_attribute(r"//a/b\@c/@d/e\/f") == (r"//a/b\@c", ["d", "e/f"])
    assert orchid.split_attribute("//a/@") == ("//a", [])
    assert orchid.split_attribute("//@x") == ("/", ["x"])


@pytest.mark.parametrize("path", ["//a@b", "//a/@b/@c", "//a/@b/", "@", "//a/@b[1]"])
def test_an_attribute_anywhere_else_is_refused(path: str) -> None:
    with pytest.raises(YtError):
        orchid.split_attribute(path)


def test_attributes_are_resolved_like_nodes() -> None:
    attributes = {"error": {"code": 1}}
    assert orchid.resolve_attribute(attributes, [], ["a"]) == attributes
    assert orchid.resolve_attribute(attributes, ["error", "code"], ["a"]) == 1
    for keys, words in ((["x"], 'Attribute "x" is not found'), (["error", "x"], "has no child with key")):
        with pytest.raises(YtError, match=words) as caught:
            orchid.resolve_attribute(attributes, keys, ["a"])
        assert caught.value.code == ErrorCode.RESOLVE
