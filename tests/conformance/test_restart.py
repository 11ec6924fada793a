"""What a cluster with a data directory still knows after it was stopped and started again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import Clients, ClusterThread, make_queue, make_sorted, rows_of
from yt_local.base.clock import Clock
from yt_wire import yson
from yt_wire.guid import Guid

# All restart the cluster.
pytestmark = pytest.mark.local_only


class Started:
    """Two clusters on a directory, and clients of them."""

    def __init__(self, thread: ClusterThread, clients: Clients) -> None:
        self.client: YtClient = clients.make(thread.address("pythia"))
        self.other: YtClient = clients.make(thread.address("hume"))

    def everything(self) -> Any:
        """All that clients can see of user data, in bytes."""
        names = ["id", "type", "revision", "attribute_revision", "content_revision", "creation_time", "schema"]
        names += ["modification_time", "user_attributes", "tablet_state", "tablet_count", "tablets", "target_path"]
        names += ["chunk_ids", "row_count", "data_weight", "sorted", "md5", "expiration_time", "lock_count"]
        trees = [client.get("//tmp", attributes=[*names, "opaque", "acl"]) for client in (self.client, self.other)]
        tables = [
            list(client.search("//tmp", node_type="table", follow_links=False)) for client in (self.client, self.other)
        ]
        rows = [
            [
                rows_of(client, f"* from [{path}]")
                for path in found
                if client.get(f"{path}/@", attributes=["tablet_state"]) == {"tablet_state": "mounted"}
            ]
            for client, found in zip((self.client, self.other), tables, strict=True)
        ]
        static = [list(self.client.read_table(path)) for path in ("//tmp/static", "//tmp/was_static", "//tmp/frozen")]
        file = self.client.read_file("//tmp/file").read()
        registrations = self.client.list_queue_consumer_registrations()
        values = [client.get("//tmp") for client in (self.client, self.other)]
        return [yson.dumps(part) for part in (*trees, *values, *rows, *static, file, registrations)]


@contextmanager
def started(directory: Path, clock: Clock | None = None) -> Iterator[Started]:
    clients = Clients()
    with ClusterThread(directory, clock) as thread:
        try:
            yield Started(thread, clients)
        finally:
            clients.close()


def fill(cluster: Started) -> None:
    """Something of everything."""
    client, other = cluster.client, cluster.other
    client.set("//tmp/tree", {"a": {"b": yson.Uint64(5), "c": [1, {"d": ["e"]}]}, "s": "\N{CYRILLIC SMALL LETTER ZHE}"})
    client.set("//tmp/tree/@mine", {"x": 1.5, "y": True})
    client.create("document", "//tmp/document", attributes={"value": {"a": [1, 2]}})
    client.link("//tmp/document", "//tmp/link")
    client.link("//tmp/nowhere", "//tmp/broken", force=True)
    queue = make_queue(client, "//tmp/q", tablet_count=2, auto_trim_config={"enable": True})
    client.insert_rows(queue, [{"data": f"{number:03}", "$tablet_index": number % 2} for number in range(20)])
    client.trim_rows(queue, 0, 4)
    make_queue(client, "//tmp/frozen")
    client.insert_rows("//tmp/frozen", [{"data": "cold"}])
    client.freeze_table("//tmp/frozen", sync=True)
    make_queue(client, "//tmp/unmounted")
    client.unmount_table("//tmp/unmounted", sync=True)
    table = make_sorted(client, "//tmp/sorted")
    client.insert_rows(table, [{"key": key, "value": "v", "other": [key]} for key in range(5)])
    client.delete_rows(table, [{"key": 2}])
    other.create("queue_consumer", "//tmp/c")
    client.register_queue_consumer(queue, "<cluster=hume>//tmp/c", vital=True, partitions=[0])
    other.advance_queue_consumer("//tmp/c", f"<cluster=pythia>{queue}", 0, None, 5, client_side=False)
    client.create("queue_producer", "//tmp/p")
    client.create_queue_producer_session("//tmp/p", queue, "s", user_meta={"m": 1})
    client.push_queue_producer("//tmp/p", queue, "s", 0, [{"data": "p", "$sequence_number": 7, "$tablet_index": 0}])
    for path in ("//tmp/moved", "//tmp/gone"):
        make_queue(client, path)
        client.insert_rows(path, [{"data": path}])
        client.unmount_table(path, sync=True)
    client.copy("//tmp/moved", "//tmp/copied")
    client.move("//tmp/moved", "//tmp/moved2")
    client.remove("//tmp/gone")
    columns = [{"name": "key", "type": "int64", "sort_order": "ascending"}, {"name": "value", "type": "any"}]
    client.create("table", "//tmp/static", attributes={"schema": columns, "expiration_time": "2999-01-01"})
    client.write_table("//tmp/static", [{"key": key, "value": [key]} for key in range(20)])
    client.write_table("<append=%true>//tmp/static", [{"key": key} for key in range(20, 25)])
    client.copy("//tmp/static", "//tmp/was_static")
    client.write_table("//tmp/was_static", [{"key": 5}])
    client.write_file("//tmp/file", b"0123456789" * 1000, compute_md5=True)
    client.mount_table("//tmp/moved2", sync=True)
    client.mount_table("//tmp/copied", sync=True)


def test_everything_is_as_it_was(tmp_path: Path) -> None:
    with started(tmp_path) as cluster:
        fill(cluster)
        before = cluster.everything()
    with started(tmp_path) as cluster:
        assert cluster.everything() == before
        client, other = cluster.client, cluster.other
        pulled = other.pull_queue_consumer("//tmp/c", "<cluster=pythia>//tmp/q", offset=None, partition_index=0)
        assert [row["$row_index"] for row in pulled] == [5, 6, 7, 8, 9, 10]
        session = client.create_queue_producer_session("//tmp/p", "//tmp/q", "s")
        assert (session["epoch"], session["sequence_number"], session["user_meta"]) == (1, 7, {"m": 1})
        assert [row["data"] for row in rows_of(client, "* from [//tmp/copied]")] == ["//tmp/moved"]
        client.unfreeze_table("//tmp/frozen", sync=True)
        client.insert_rows("//tmp/frozen", [{"data": "warm"}])
        rows = [row for offset in (0, 1) for row in client.pull_queue("//tmp/frozen", offset=offset, partition_index=0)]
        assert [row["$row_index"] for row in rows] == [0, 1]
        assert [row["$cumulative_data_weight"] for row in rows] == [21, 42]


def test_numbers_go_on_where_they_stopped(tmp_path: Path) -> None:
    clock = Clock(lambda: 1_700_000_000.0)
    ids: list[int] = []
    stamps: list[int] = []
    revisions: list[int] = []
    for _ in range(3):
        with started(tmp_path, clock) as cluster:
            client = cluster.client
            if not client.exists("//tmp/q"):
                make_queue(client, "//tmp/q")
            client.insert_rows("//tmp/q", [{"data": "a"}])
            stamps.append(client.get("//tmp/q/@last_commit_timestamp"))
            stamps.append(client.generate_timestamp())
            ids.append(Guid.parse(client.create("map_node", f"//tmp/{len(ids)}")).counter)
            revisions.append(client.get(f"//tmp/{len(ids) - 1}/@revision"))
        clock.advance(timedelta(hours=-1))
    for numbers in (ids, stamps, revisions):
        assert numbers == sorted(set(numbers))


def test_what_failed_before_a_stop_is_not_there_after_it(tmp_path: Path) -> None:
    with started(tmp_path) as cluster:
        client = cluster.client
        make_queue(client, "//tmp/q")
        with pytest.raises(Exception, match="nope"):
            client.insert_rows("//tmp/q", [{"data": "a"}, {"nope": 1}])
        with pytest.raises(Exception, match="revision"):
            client.create("map_node", "//tmp/a/b", recursive=True, attributes={"revision": 5})
    with started(tmp_path) as cluster:
        assert cluster.client.list("//tmp") == ["q"]
        assert rows_of(cluster.client, "* from [//tmp/q]") == []


def test_clusters_tell_their_new_addresses(tmp_path: Path) -> None:
    with started(tmp_path):
        pass
    with started(tmp_path) as cluster:
        for client in (cluster.client, cluster.other):
            addresses = {
                name: client.get(f"//sys/clusters/{name}/primary_master/addresses/0") for name in ("pythia", "hume")
            }
            assert addresses == {
                "pythia": cluster.client.config["proxy"]["url"],
                "hume": cluster.other.config["proxy"]["url"],
            }


def test_a_cluster_without_a_directory_forgets() -> None:
    for _ in range(2):
        clients = Clients()
        with ClusterThread() as thread:
            client = clients.make(thread.address("pythia"))
            client.create("map_node", "//tmp/a")
            clients.close()
