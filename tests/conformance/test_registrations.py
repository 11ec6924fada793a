"""Registrations of consumers with queues, on one cluster and across two."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient, YtHttpResponseError

from tests.conformance.harness import Cli, RawHttp, make_queue, make_sorted, refused


def listed(client: YtClient, queue: str | None = None, consumer: str | None = None) -> list[dict[str, Any]]:
    """Registrations as plain maps, cluster and path in one string."""
    found = client.list_queue_consumer_registrations(queue_path=queue, consumer_path=consumer)
    return [
        {
            "queue": f"{item['queue_path'].attributes['cluster']}:{item['queue_path']}",
            "consumer": f"{item['consumer_path'].attributes['cluster']}:{item['consumer_path']}",
            "vital": bool(item["vital"]),
            "partitions": None if item["partitions"] == None else list(item["partitions"]),  # noqa: E711 - an entity
        }
        for item in found
    ]


@pytest.fixture
def queue(client: YtClient, home: str) -> str:
    return make_queue(client, f"{home}/q")


@pytest.fixture
def consumer(client: YtClient, home: str) -> str:
    client.create("queue_consumer", f"{home}/c")
    return f"{home}/c"


@pytest.fixture(autouse=True)
def _unregistered(client: YtClient, queue: str, consumer: str) -> Any:
    yield
    for item in client.list_queue_consumer_registrations(queue_path=queue):
        client.unregister_queue_consumer(item["queue_path"], item["consumer_path"])


def test_a_registration_is_listed_by_queue_by_consumer_and_by_both(client: YtClient, queue: str, consumer: str) -> None:
    client.register_queue_consumer(queue, consumer, vital=True)
    cluster = client.get("//sys/@cluster_name")
    expected = {
        "queue": f"{cluster}:{queue}",
        "consumer": f"{cluster}:{consumer}",
        "vital": True,
        "partitions": None,
    }
    assert listed(client, queue) == [expected]
    assert listed(client, None, consumer) == [expected]
    assert listed(client, queue, consumer) == [expected]
    assert expected in listed(client)
    assert listed(client, consumer) == []


def test_registering_again_replaces(client: YtClient, queue: str, consumer: str) -> None:
    client.register_queue_consumer(queue, consumer, vital=True)
    client.register_queue_consumer(queue, consumer, vital=False, partitions=[3, 1])
    (found,) = listed(client, queue)
    assert not found["vital"]
    assert found["partitions"] == [3, 1]


def test_several_consumers_of_one_queue(client: YtClient, queue: str, consumer: str, home: str) -> None:
    other = make_sorted(client, f"{home}/any_table")
    client.register_queue_consumer(queue, consumer, vital=True)
    client.register_queue_consumer(queue, other, vital=False)
    assert sorted(item["vital"] for item in listed(client, queue)) == [False, True]
    client.unregister_queue_consumer(queue, other)
    assert [item["vital"] for item in listed(client, queue)] == [True]


def test_unregistering_what_is_not_registered_is_no_error(client: YtClient, queue: str, consumer: str) -> None:
    client.unregister_queue_consumer(queue, consumer)
    client.unregister_queue_consumer(queue, f"{consumer}/nowhere")


def test_a_registration_outlives_its_table_and_can_still_be_removed(
    client: YtClient, queue: str, consumer: str
) -> None:
    client.register_queue_consumer(queue, consumer, vital=True)
    client.remove(consumer)
    assert len(listed(client, queue)) == 1
    client.unregister_queue_consumer(queue, consumer)
    assert listed(client, queue) == []


def test_only_tables_are_registered(client: YtClient, queue: str, consumer: str, home: str) -> None:
    for first, second in ((f"{home}/nope", consumer), (queue, f"{home}/nope"), (home, consumer), (queue, home)):
        culprit = first if first != queue else second
        with refused(1, culprit):
            client.register_queue_consumer(first, second, vital=True)
    assert listed(client, queue) == []


def test_vitality_has_to_be_said(raw: RawHttp, queue: str, consumer: str) -> None:
    answer = raw.command("POST", "register_queue_consumer", {"queue_path": queue, "consumer_path": consumer})
    assert answer.error
    assert "vital" in answer.error.message


def test_a_path_that_leads_nowhere_has_no_registrations(client: YtClient, home: str) -> None:
    assert listed(client, f"{home}/nope") == []


def test_links_are_replaced_by_what_they_stand_for(client: YtClient, queue: str, consumer: str, home: str) -> None:
    client.link(queue, f"{home}/queue_link")
    client.link(consumer, f"{home}/consumer_link")
    client.register_queue_consumer(f"{home}/queue_link", f"{home}/consumer_link", vital=True)
    (found,) = listed(client, queue, consumer)
    assert found == listed(client, f"{home}/queue_link")[0]
    assert found["queue"].endswith(queue)
    client.unregister_queue_consumer(f"{home}/queue_link", consumer)
    assert listed(client, queue) == []


def test_the_domain_of_a_cluster_is_cut_off(client: YtClient, queue: str, consumer: str) -> None:
    cluster = client.get("//sys/@cluster_name")
    client.register_queue_consumer(f'<cluster="{cluster}.yt.yandex.net">{queue}', consumer, vital=False)
    (found,) = listed(client, f'<cluster="{cluster}.yt.yandex.net">{queue}')
    assert found["queue"] == f"{cluster}:{queue}"
    assert listed(client, queue) == [found]
    client.unregister_queue_consumer(f'<cluster="{cluster}.yt.yandex.net">{queue}', consumer)
    assert listed(client, queue) == []


def test_other_attributes_and_ranges_of_paths_do_not_matter(client: YtClient, queue: str, consumer: str) -> None:
    client.register_queue_consumer(f"<append=%true>{queue}[#1:#5]", f"<x=1>{consumer}", vital=True)
    assert len(listed(client, queue, consumer)) == 1


def test_clusters_see_the_same_registrations(client: YtClient, other: YtClient, queue: str, other_home: str) -> None:
    here, there = client.get("//sys/@cluster_name"), other.get("//sys/@cluster_name")
    other.create("queue_consumer", f"{other_home}/c")
    client.register_queue_consumer(queue, f"<cluster={there}>{other_home}/c", vital=True, partitions=[0])
    expected = [{"queue": f"{here}:{queue}", "consumer": f"{there}:{other_home}/c", "vital": True, "partitions": [0]}]
    assert listed(client, queue) == expected
    assert listed(other, f"{here}:{queue}") == expected
    assert listed(other, None, f"{other_home}/c") == expected
    assert listed(other, queue) == []
    other.unregister_queue_consumer(f"<cluster={here}>{queue}", f"{other_home}/c")
    assert listed(client, queue) == []


def test_the_command_line_registers_and_lists(cli: Cli, client: YtClient, queue: str, consumer: str) -> None:
    assert cli.run("register-queue-consumer", queue, consumer, "--vital").returncode == 0
    answer = cli.run("list-queue-consumer-registrations", "--queue-path", queue)
    assert answer.returncode == 0
    assert consumer.encode() in answer.stdout
    assert len(listed(client, queue)) == 1


def test_an_unregistered_consumer_may_not_pull(client: YtClient, queue: str, consumer: str) -> None:
    with pytest.raises(YtHttpResponseError) as caught:
        list(client.pull_queue_consumer(consumer, queue, offset=0, partition_index=0))
    assert caught.value.contains_code(901)
