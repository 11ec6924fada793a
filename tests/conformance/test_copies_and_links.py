"""Nodes of the tree that are copied, moved and linked."""

from __future__ import annotations

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import refused


def test_a_copy_is_a_node_of_its_own(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": {"c": 1}})
    client.set(f"{home}/a/@colour", "red")
    client.copy(f"{home}/a", f"{home}/copy")
    assert client.get(f"{home}/copy/@id") != client.get(f"{home}/a/@id")
    assert client.get(f"{home}/copy/@colour") == "red"
    client.set(f"{home}/copy/b/c", 2)
    assert client.get(f"{home}/a") == {"b": {"c": 1}}


def test_a_copy_does_not_take_the_acl_along_and_a_move_does(client: YtClient, home: str) -> None:
    acl = [{"action": "allow", "subjects": ["root"], "permissions": ["read"]}]
    client.create("map_node", f"{home}/a", attributes={"acl": acl, "inherit_acl": False})
    client.copy(f"{home}/a", f"{home}/copy")
    assert client.get(f"{home}/copy/@acl") == []
    assert client.get(f"{home}/copy/@inherit_acl")
    client.move(f"{home}/a", f"{home}/moved")
    assert not client.get(f"{home}/moved/@inherit_acl")


def test_a_move_leaves_nothing_behind(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": 1})
    client.set(f"{home}/a/@colour", "red")
    created = client.get(f"{home}/a/@creation_time")
    client.move(f"{home}/a", f"{home}/x/y", recursive=True)
    assert client.list(home) == ["x"]
    assert client.get(f"{home}/x/y") == {"b": 1}
    assert client.get(f"{home}/x/y/@colour") == "red"
    assert client.get(f"{home}/x/y/@creation_time") == created


@pytest.mark.parametrize("verb", ["copy", "move"])
def test_what_is_at_the_destination_is_replaced_only_by_force(client: YtClient, home: str, verb: str) -> None:
    transfer = getattr(client, verb)
    client.set(f"{home}/a", 1)
    client.set(f"{home}/b", {"c": 2})
    with refused(501, f"{home}/b"):
        transfer(f"{home}/a", f"{home}/b")
    assert client.get(home) == {"a": 1, "b": {"c": 2}}
    transfer(f"{home}/a", f"{home}/b", force=True)
    assert client.get(f"{home}/b") == 1


def test_a_copy_can_leave_what_is_there(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    client.set(f"{home}/b", 2)
    node_id = client.get(f"{home}/b/@id")
    client.copy(f"{home}/a", f"{home}/b", ignore_existing=True)
    assert client.get(f"{home}/b") == 2
    assert client.get(f"{home}/b/@id") == node_id


@pytest.mark.parametrize("verb", ["copy", "move"])
def test_nothing_is_put_into_itself(client: YtClient, home: str, verb: str) -> None:
    transfer = getattr(client, verb)
    client.set(f"{home}/a", {"b": {"c": 1}})
    for source, destination in [("a", "a/b/d"), ("a", "a/b"), ("a/b", "a"), ("a", "a")]:
        with pytest.raises(YtClientError):
            transfer(f"{home}/{source}", f"{home}/{destination}", force=True)
    assert client.get(home) == {"a": {"b": {"c": 1}}}


def test_copying_what_is_not_there_names_it(client: YtClient, home: str) -> None:
    with refused(500, '"nope"'):
        client.copy(f"{home}/nope", f"{home}/x")


def test_a_link_stands_for_its_target(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": 1})
    client.link(f"{home}/a", f"{home}/l")
    assert client.get(f"{home}/l") == {"b": 1}
    assert client.get(f"{home}/l/b") == 1
    assert client.get(f"{home}/l/@id") == client.get(f"{home}/a/@id")
    assert client.get(f"{home}/l&/@type") == "link"
    assert client.get(f"{home}/l&/@target_path") == f"{home}/a"
    assert not client.get(f"{home}/l&/@broken")
    link_id = client.get(f"{home}/l&/@id")
    assert client.get(f"#{link_id}/@type") == "map_node"
    assert client.get(f"#{link_id}&/@type") == "link"
    client.set(f"{home}/l/b", 2)
    assert client.get(f"{home}/a/b") == 2


def test_removing_a_link_leaves_its_target(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": 1})
    client.link(f"{home}/a", f"{home}/l")
    client.remove(f"{home}/l")
    assert client.get(home) == {"a": {"b": 1}}


def test_a_link_breaks_with_its_target(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    client.link(f"{home}/a", f"{home}/l")
    client.link(f"{home}/l", f"{home}/l2")
    assert client.get(f"{home}/l2") == 1
    client.remove(f"{home}/a")
    assert client.get(f"{home}/l&/@broken")
    assert client.get(f"{home}/l2&/@broken")
    assert not client.exists(f"{home}/l")
    assert client.exists(f"{home}/l&")
    with refused(500):
        client.get(f"{home}/l")
    with refused(500):
        client.link(f"{home}/a", f"{home}/l3")
    client.link(f"{home}/a", f"{home}/l3", force=True)
    client.set(f"{home}/a", 2)
    assert client.get(f"{home}/l3") == 2


def test_links_obey_force_and_ignore_existing(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    client.set(f"{home}/b", 2)
    client.link(f"{home}/a", f"{home}/l")
    with refused(501, f"{home}/l"):
        client.link(f"{home}/b", f"{home}/l")
    client.link(f"{home}/b", f"{home}/l", ignore_existing=True)
    assert client.get(f"{home}/l") == 1
    client.link(f"{home}/b", f"{home}/l", force=True)
    assert client.get(f"{home}/l") == 2
    assert client.get(f"{home}/a") == 1


def test_links_never_go_round_in_circles(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    client.link(f"{home}/a", f"{home}/l")
    with refused(1, "cyclic"):
        client.link(f"{home}/l", f"{home}/l", force=True)
    client.link(f"{home}/l", f"{home}/m")
    with refused(1, "cyclic"):
        client.link(f"{home}/m", f"{home}/l", force=True)
    assert client.get(f"{home}/m") == 1


@pytest.mark.parametrize("verb", ["copy", "move"])
def test_a_link_at_the_destination_is_replaced_itself(client: YtClient, home: str, verb: str) -> None:
    client.set(f"{home}/a", 1)
    client.set(f"{home}/b", 2)
    client.link(f"{home}/a", f"{home}/l")
    with refused(501):
        getattr(client, verb)(f"{home}/b", f"{home}/l")
    getattr(client, verb)(f"{home}/b", f"{home}/l", force=True)
    assert client.get(f"{home}/l&/@type") == "int64_node"
    assert client.get(f"{home}/l") == 2
    assert client.get(f"{home}/a") == 1
