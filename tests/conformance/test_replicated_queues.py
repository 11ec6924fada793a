"""Replicated queues as ytsaurus-client sees them: pulls, consumers, pushes, and what makes a replica synchronous."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import QUEUE_SCHEMA, ClusterThread, refused, rows_of, wait_for
from tests.conformance.replicated import ROWS, Replicated, make

# Names of clusters, and how long transitions take, are those of the local ones.
pytestmark = pytest.mark.local_only


@pytest.fixture
def path(home: str, other: YtClient) -> Iterator[str]:
    """A directory of the test's own on both clusters."""
    other.create("map_node", home)
    yield home
    other.remove(home, recursive=True)


@pytest.fixture
def table(client: YtClient, other: YtClient, path: str) -> Replicated:
    return make(client, other, f"{path}/t")


@pytest.fixture
def queue(client: YtClient, other: YtClient, path: str) -> Replicated:
    return make(client, other, f"{path}/q", schema=QUEUE_SCHEMA)


def test_a_replicated_queue_is_pulled_from_its_synchronous_replica(queue: Replicated) -> None:
    queue.meta.insert_rows(queue.path, [{"data": "a"}, {"data": "b"}])
    pulled = list(queue.meta.pull_queue(queue.path, 0, 0))
    assert [(row["$row_index"], row["data"]) for row in pulled] == [(0, "a"), (1, "b")]
    [copy] = [list(queue.clusters["hume"].pull_queue(queue.copy("hume"), offset=0, partition_index=0))]
    assert [row["$timestamp"] for row in copy] == [row["$timestamp"] for row in pulled]
    assert all(row["$cumulative_data_weight"] for row in pulled)
    [info] = queue.meta.get_tablet_infos(queue.path, [0])["tablets"]
    assert info["total_row_count"] == 2
    assert {one["replica_id"]: one["mode"] for one in info["replica_infos"]} == {
        queue.ids["hume"]: "sync",
        queue.ids["pythia"]: "async",
    }
    wait_for(lambda: len(rows_of(queue.meta, f"data from [{queue.copy('pythia')}]")) == 2)
    queue.clusters["hume"].unmount_table(queue.copy("hume"), sync=True)
    with refused(1736, queue.path):
        list(queue.meta.pull_queue(queue.path, 0, 0))


def test_consumers_read_a_replicated_queue_and_may_be_replicated_themselves(
    client: YtClient, other: YtClient, queue: Replicated, path: str
) -> None:
    client.create("queue_consumer", f"{path}/model")
    schema = client.get(f"{path}/model/@schema")
    consumer = make(client, other, f"{path}/c", schema=schema, treat_as_queue_consumer=True)
    client.register_queue_consumer(queue.path, consumer.path, vital=True)
    client.insert_rows(queue.path, [{"data": "a"}, {"data": "b"}])
    client.advance_consumer(consumer.path, queue.path, 0, old_offset=0, new_offset=1)
    pulled = list(client.pull_consumer(consumer.path, queue.path, partition_index=0, offset=None))
    assert [row["data"] for row in pulled] == ["b"]
    [offset] = rows_of(other, f"[offset] from [{consumer.copy('hume')}]")
    assert offset == {"offset": 1}
    with refused(3100):
        client.advance_consumer(consumer.path, queue.path, 0, old_offset=0, new_offset=2)


def test_the_log_forgets_what_all_replicas_have(local: ClusterThread, queue: Replicated) -> None:
    queue.alter("pythia", enabled=False)
    queue.meta.insert_rows(queue.path, [{"data": "a"}, {"data": "b"}])
    local.clock.advance(400)
    queue.meta.insert_rows(queue.path, [{"data": "c"}])
    queue.alter("pythia", enabled=True)
    wait_for(lambda: queue.meta.get_tablet_infos(queue.path, [0])["tablets"][0]["trimmed_row_count"] == 2)
    assert len(list(queue.meta.pull_queue(queue.path, 0, 0))) == 3


def test_the_tracker_makes_the_replica_synchronous_that_can_be_written_to(table: Replicated) -> None:
    table.meta.set(f"{table.path}/@replicated_table_options/enable_replicated_table_tracker", True)
    table.meta.insert_rows(table.path, ROWS)
    table.clusters["hume"].unmount_table(table.copy("hume"), sync=True)
    wait_for(lambda: (table.replica("pythia", "mode"), table.replica("hume", "mode")) == ("sync", "async"))
    table.meta.insert_rows(table.path, [{"key": 3, "value": "three"}])
    assert len(rows_of(table.meta, f"key from [{table.path}]")) == 3
    table.clusters["hume"].mount_table(table.copy("hume"), sync=True)
    wait_for(lambda: len(table.rows("hume")) == 3)
    table.meta.set(f"{table.path}/@replicated_table_options/preferred_sync_replica_clusters", ["hume"])
    wait_for(lambda: (table.replica("hume", "mode"), table.replica("pythia", "mode")) == ("sync", "async"))


def test_the_tracker_leaves_replicas_alone_that_it_is_not_to_touch(table: Replicated) -> None:
    table.alter("pythia", enable_replicated_table_tracker=False)
    table.meta.set(f"{table.path}/@replicated_table_options", {"enable_replicated_table_tracker": True})
    table.clusters["hume"].unmount_table(table.copy("hume"), sync=True)
    with refused(1702):
        table.meta.insert_rows(table.path, ROWS)
    assert (table.replica("hume", "mode"), table.replica("pythia", "mode")) == ("sync", "async")


def test_rows_are_pushed_to_a_replicated_queue_with_or_without_a_synchronous_replica(
    queue: Replicated, path: str
) -> None:
    client = queue.meta
    client.create("queue_producer", f"{path}/p")
    client.create_queue_producer_session(f"{path}/p", queue.path, "s")
    rows = [{"data": "a", "$sequence_number": 1, "$tablet_index": 0}]
    client.push_queue_producer(f"{path}/p", queue.path, "s", 0, rows)
    assert [row["data"] for row in client.pull_queue(queue.path, 0, 0)] == ["a"]
    queue.alter("hume", mode="async")
    rows = [{"data": "b", "$sequence_number": 2, "$tablet_index": 0}]
    with refused(1714):
        client.push_queue_producer(f"{path}/p", queue.path, "s", 0, rows)
    client.push_queue_producer(f"{path}/p", queue.path, "s", 0, rows, require_sync_replica=False)
    wait_for(lambda: len(queue.rows("hume", "data")) == 2)
