"""Attributes by which tables are queues, consumers and producers, and what becomes of them."""

from __future__ import annotations

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import make_queue, refused

MARKS = {"queue_consumer": "treat_as_queue_consumer", "queue_producer": "treat_as_queue_producer"}


def test_a_stage_that_is_removed_is_the_clusters_own_again(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    usual = client.get(f"{queue}/@queue_agent_stage")
    client.set(f"{queue}/@queue_agent_stage", "testing")
    for _ in range(2):
        client.remove(f"{queue}/@queue_agent_stage")
        assert client.get(f"{queue}/@queue_agent_stage") == usual


@pytest.mark.parametrize("verb", ["copy", "move"])
@pytest.mark.parametrize("kind", MARKS)
def test_a_copy_keeps_the_stage_and_loses_the_mark(client: YtClient, home: str, kind: str, verb: str) -> None:
    client.create(kind, f"{home}/t", attributes={"queue_agent_stage": "testing", "mine": 1})
    assert client.get(f"{home}/t/@{MARKS[kind]}")
    client.unmount_table(f"{home}/t", sync=True)
    getattr(client, verb)(f"{home}/t", f"{home}/u")
    assert not client.get(f"{home}/u/@{MARKS[kind]}")
    assert client.get(f"{home}/u/@queue_agent_stage") == "testing"
    assert client.get(f"{home}/u/@mine") == 1


def test_the_watch_list_is_shown_when_it_is_named(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    assert client.get("//sys/@")["queue_agent_object_revisions"] == None  # noqa: E711 - an entity of the bindings
    revision = client.get(f"{queue}/@attribute_revision")
    named = client.get("//sys/@", attributes=["queue_agent_object_revisions"])["queue_agent_object_revisions"]
    for revisions in (named, client.get("//sys/@queue_agent_object_revisions")):
        assert revisions["queues"][queue] == revision


def test_statuses_of_producers_are_attributes_of_producers_alone(client: YtClient, home: str) -> None:
    client.create("queue_producer", f"{home}/p")
    client.create("queue_consumer", f"{home}/c")
    shown = client.get(f"{home}/p/@")
    for name in ("queue_producer_status", "queue_producer_partitions"):
        assert shown[name] == None  # noqa: E711 - an entity of the bindings
        assert not client.exists(f"{home}/c/@{name}")
        with refused(1, f'Builtin attribute "{name}" cannot be set'):
            client.set(f"{home}/p/@{name}", 1)
