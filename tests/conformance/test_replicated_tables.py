"""Replicated tables as ytsaurus-client and the `yt` command see them, with replicas on two clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.yson import YsonUint64

from tests.conformance.harness import QUEUE_SCHEMA, Cli, ClusterThread, refused, rows_of, wait_for
from tests.conformance.replicated import ROWS, SCHEMA, Replicated, make
from tests.conformance.test_restart import started

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


def test_a_replica_is_an_object_that_tells_of_itself(table: Replicated) -> None:
    assert table.meta.get(f"{table.path}/@type") == "replicated_table"
    described = table.meta.get(f"{table.path}/@replicas")
    assert described[table.ids["hume"]] == {
        "cluster_name": "hume",
        "replica_path": table.copy("hume"),
        "state": "enabled",
        "mode": "sync",
        "replication_lag_time": 0,
        "error_count": 0,
        "replicated_table_tracker_enabled": True,
    }
    assert table.replica("hume", "type") == "table_replica"
    assert table.replica("hume", "table_path") == table.path
    assert table.replica("hume", "state") == "enabled"
    [tablet] = table.replica("hume", "tablets")
    assert tablet["tablet_id"] == table.meta.get(f"{table.path}/@tablets/0/tablet_id")
    assert table.clusters["hume"].get(f"{table.copy('hume')}/@upstream_replica_id") == table.ids["hume"]


def test_a_write_is_in_the_synchronous_replica_at_once_and_in_the_others_soon(table: Replicated) -> None:
    table.meta.insert_rows(table.path, ROWS)
    assert table.rows("hume") == ROWS
    wait_for(lambda: table.rows("pythia") == ROWS)
    assert rows_of(table.meta, f"value from [{table.path}] where key = 2") == [{"value": "two"}]
    assert [dict(row) for row in table.meta.lookup_rows(table.path, [{"key": 1}], column_names=["value"])] == [
        {"value": "one"}
    ]


def test_whatever_is_done_to_rows_is_done_in_all_replicas(table: Replicated) -> None:
    table.meta.insert_rows(table.path, ROWS)
    table.meta.insert_rows(table.path, [{"key": 1, "views": 5}], update=True, aggregate=True)
    table.meta.insert_rows(table.path, [{"key": 1, "value": "new"}], update=True)
    table.meta.delete_rows(table.path, [{"key": 2}])
    expected = [{"key": 1, "value": "new", "views": 6}]
    assert table.rows("hume") == expected
    wait_for(lambda: table.rows("pythia") == expected)


def test_timestamps_are_those_of_the_transaction_in_all_replicas(table: Replicated) -> None:
    table.meta.insert_rows(table.path, ROWS[:1])
    wait_for(lambda: bool(table.rows("pythia")))
    stamps = [
        next(iter(client.lookup_rows(table.copy(name), [{"key": 1}], versioned=True))).attributes["write_timestamps"]
        for name, client in table.clusters.items()
    ]
    assert stamps[0] == stamps[1]


def test_a_transaction_writes_to_replicated_and_other_tables_or_to_none(table: Replicated, path: str) -> None:
    table.meta.create(
        "table", f"{path}/plain", attributes={"dynamic": True, "schema": [{"name": "data", "type": "string"}]}
    )
    table.meta.mount_table(f"{path}/plain", sync=True)
    with table.meta.Transaction(type="tablet"):
        table.meta.insert_rows(table.path, ROWS)
        table.meta.insert_rows(f"{path}/plain", [{"data": "x"}])
    assert table.rows("hume") == ROWS
    table.clusters["hume"].unmount_table(table.copy("hume"), sync=True)
    with refused(1702, '"unmounted" state'), table.meta.Transaction(type="tablet"):
        table.meta.insert_rows(f"{path}/plain", [{"data": "y"}])
        table.meta.insert_rows(table.path, [{"key": 3, "value": "three"}])
    assert [row["data"] for row in rows_of(table.meta, f"data from [{path}/plain]")] == ["x"]
    table.clusters["hume"].mount_table(table.copy("hume"), sync=True)
    assert table.rows("hume") == ROWS
    assert table.meta.get_tablet_infos(table.path, [0])["tablets"][0]["total_row_count"] == len(ROWS)


def test_two_transactions_that_write_one_row_conflict(table: Replicated) -> None:
    with refused(1700), table.meta.Transaction(type="tablet"):
        table.meta.insert_rows(table.path, ROWS)
        other = YtClient(config=table.meta.config)
        with other.Transaction(type="tablet", acquire=True):
            other.insert_rows(table.path, [{"key": 1, "value": "first"}])
    assert table.rows("hume", "key, value") == [{"key": 1, "value": "first"}]


def test_a_transaction_deletes_and_conflicts_with_who_writes_the_row(table: Replicated) -> None:
    table.meta.insert_rows(table.path, ROWS)
    with table.meta.Transaction(type="tablet"):
        table.meta.delete_rows(table.path, [{"key": 1}])
    left = [row for row in ROWS if row["key"] != 1]
    assert table.rows("hume") == left
    with refused(1700), table.meta.Transaction(type="tablet"):
        table.meta.delete_rows(table.path, [{"key": 2}])
        other = YtClient(config=table.meta.config)
        with other.Transaction(type="tablet", acquire=True):
            other.insert_rows(table.path, [{"key": 2, "views": 7}], update=True)
    assert [row["key"] for row in table.rows("hume")] == [row["key"] for row in left]


def test_replicas_are_not_written_to_directly(table: Replicated) -> None:
    with refused(1, "direct modifications are forbidden", table.ids["hume"]):
        table.clusters["hume"].insert_rows(table.copy("hume"), ROWS)
    hume = table.clusters["hume"]
    hume.unmount_table(table.copy("hume"), sync=True)
    hume.alter_table(table.copy("hume"), upstream_replica_id="0-0-0-0")
    hume.mount_table(table.copy("hume"), sync=True)
    hume.insert_rows(table.copy("hume"), ROWS[:1])
    with refused(1, "not bound to any upstream replica"):
        table.meta.insert_rows(table.path, ROWS[1:])


def test_a_write_fails_whose_synchronous_replica_belongs_to_another(table: Replicated) -> None:
    other, copy = table.clusters["hume"], table.copy("hume")
    other.unmount_table(copy, sync=True)
    other.alter_table(copy, upstream_replica_id=table.ids["pythia"])
    other.mount_table(copy, sync=True)
    with refused(1718):
        table.meta.insert_rows(table.path, ROWS)
    assert table.rows("hume") == []
    other.unmount_table(copy, sync=True)
    other.alter_table(copy, upstream_replica_id=table.ids["hume"])
    other.mount_table(copy, sync=True)
    table.meta.insert_rows(table.path, ROWS)
    assert table.rows("hume") == ROWS


def test_without_a_synchronous_replica_writes_must_allow_it_and_reads_fail(table: Replicated) -> None:
    table.alter("hume", mode="async")
    with refused(1714, "require_sync_replica"):
        table.meta.insert_rows(table.path, ROWS)
    table.meta.insert_rows(table.path, ROWS, require_sync_replica=False)
    with refused(1736, f"No in-sync replicas found for table {table.path}"):
        rows_of(table.meta, f"key from [{table.path}]")
    wait_for(lambda: table.rows("hume") == table.rows("pythia") == ROWS)


def test_a_disabled_replica_falls_behind_and_catches_up(local: ClusterThread, table: Replicated) -> None:
    table.alter("pythia", enabled=False)
    table.meta.insert_rows(table.path, ROWS)
    local.clock.advance(30)
    assert table.replica("pythia", "state") == "disabled"
    assert 29_000 <= table.replica("pythia", "replication_lag_time") <= 40_000
    assert table.replica("pythia", "tablets")[0]["current_replication_row_index"] == 0
    now = table.meta.generate_timestamp()
    assert table.meta.get_in_sync_replicas(table.path, now, [{"key": 1}]) == [table.ids["hume"]]
    table.alter("pythia", enabled=True)
    wait_for(lambda: table.replica("pythia", "replication_lag_time") == 0)
    assert table.rows("pythia") == ROWS
    assert sorted(table.meta.get_in_sync_replicas(table.path, now, [], all_keys=True)) == sorted(table.ids.values())


def test_a_replica_that_becomes_synchronous_gets_what_it_lacks_first(table: Replicated) -> None:
    table.alter("pythia", enabled=False)
    table.meta.insert_rows(table.path, ROWS)
    table.alter("pythia", enabled=True, mode="sync")
    table.meta.insert_rows(table.path, [{"key": 3, "value": "three"}])
    assert [row["key"] for row in table.rows("pythia")] == [row["key"] for row in table.rows("hume")]
    table.alter("hume", mode="async")
    assert len(rows_of(table.meta, f"key from [{table.path}]")) == 3


def test_why_a_replica_gets_no_rows_can_be_seen(table: Replicated) -> None:
    table.meta.unmount_table(table.copy("pythia"), sync=True)
    table.meta.insert_rows(table.path, ROWS)
    wait_for(lambda: table.replica("pythia", "error_count") == 1)
    [tablet] = table.replica("pythia", "tablets")
    assert "unmounted" in str(tablet["replication_error"])
    assert list(table.meta.get_tablet_errors(table.path)["replication_errors"]) == [table.ids["pythia"]]


def test_errors_are_told_up_to_a_limit(table: Replicated) -> None:
    table.alter("hume", mode="async")
    for cluster in ("pythia", "hume"):
        table.clusters[cluster].unmount_table(table.copy(cluster), sync=True)
    table.meta.insert_rows(table.path, ROWS, require_sync_replica=False)
    for cluster in ("pythia", "hume"):
        wait_for(lambda cluster=cluster: table.replica(cluster, "error_count") == 1)  # type: ignore[misc]
    whole = table.meta.get_tablet_errors(table.path)
    assert len(whole["replication_errors"]) == 2
    assert "incomplete" not in whole
    part = table.meta.get_tablet_errors(table.path, limit=1)
    assert len(part["replication_errors"]) == 1
    assert part["incomplete"]
    with refused(1, "limit"):
        table.meta.get_tablet_errors(table.path, limit=-1)
    table.meta.mount_table(table.copy("pythia"), sync=True)
    wait_for(lambda: table.replica("pythia", "error_count") == 0)
    assert table.rows("pythia") == ROWS


def test_rows_older_than_wanted_are_not_replicated(table: Replicated) -> None:
    table.alter("pythia", enabled=False)
    table.meta.insert_rows(table.path, ROWS[:1])
    path = table.copy("late")
    attributes = {
        "table_path": table.path,
        "cluster_name": "hume",
        "replica_path": path,
        "start_replication_timestamp": YsonUint64(table.meta.generate_timestamp()),
    }
    replica = table.meta.create("table_replica", attributes=attributes)
    hume = table.clusters["hume"]
    hume.create("table", path, attributes={"dynamic": True, "schema": SCHEMA, "upstream_replica_id": replica})
    hume.mount_table(path, sync=True)
    table.meta.alter_table_replica(replica, enabled=True)
    table.meta.insert_rows(table.path, ROWS[1:])
    wait_for(lambda: rows_of(hume, f"key from [{path}]") == [{"key": 2}])


def test_replicas_come_once_and_go_by_their_ids(table: Replicated) -> None:
    attributes = {"table_path": table.path, "cluster_name": "hume", "replica_path": table.copy("hume")}
    with refused(1705, "already exists"):
        table.meta.create("table_replica", attributes=attributes)
    table.meta.remove(f"#{table.ids['pythia']}")
    assert list(table.meta.get(f"{table.path}/@replicas")) == [table.ids["hume"]]
    table.meta.remove(table.path)
    assert not table.meta.exists(f"#{table.ids['hume']}")


def test_requests_that_make_no_sense_are_refused(client: YtClient, table: Replicated, path: str) -> None:
    with refused(1, "not a replicated table"):
        client.create(
            "table_replica",
            attributes={"table_path": table.copy("pythia"), "cluster_name": "hume", "replica_path": "//tmp/x"},
        )
    with refused(500, "replica_path"):
        client.create("table_replica", attributes={"table_path": table.path, "cluster_name": "hume"})
    with refused(1, "must be dynamic"):
        client.create("replicated_table", f"{path}/static", attributes={"schema": SCHEMA})
    with refused(1706, "incompatible atomicity"):
        client.create(
            "table_replica",
            attributes={
                "table_path": table.path,
                "cluster_name": "hume",
                "replica_path": "//tmp/x",
                "atomicity": "none",
                "preserve_timestamps": False,
            },
        )
    with refused(1, "max_sync_replica_count"):
        client.set(
            f"{table.path}/@replicated_table_options", {"min_sync_replica_count": 2, "max_sync_replica_count": 1}
        )


def test_pivot_keys_can_be_asked_for(client: YtClient, cli: Cli, path: str) -> None:
    schema = [{"name": "key", "type": "int64", "sort_order": "ascending"}, {"name": "value", "type": "string"}]
    attributes = {"dynamic": True, "schema": schema, "pivot_keys": [[], [10]]}
    client.create("table", f"{path}/sharded", attributes=attributes)
    answer = cli.run("execute", "get_table_pivot_keys", f'{{path="{path}/sharded"; output_format=json}}')
    assert answer.stdout.split() == [b"[[],[10]]"]


def test_replicated_tables_survive_a_restart(tmp_path: Any) -> None:
    with started(tmp_path) as cluster:
        table = make(cluster.client, cluster.other, "//tmp/t")
        table.alter("pythia", enabled=False)
        table.meta.insert_rows(table.path, ROWS)
        ids = table.ids
    with started(tmp_path) as cluster:
        table = Replicated(cluster.client, {"pythia": cluster.client, "hume": cluster.other}, "//tmp/t", ids)
        assert table.replica("pythia", "tablets")[0]["current_replication_row_index"] == 0
        assert table.replica("hume", "tablets")[0]["current_replication_row_index"] == len(ROWS)
        table.alter("pythia", enabled=True)
        table.meta.insert_rows(table.path, [{"key": 1, "views": 10}], update=True, aggregate=True)
        expected = [{**ROWS[0], "views": 11}, ROWS[1]]
        assert table.rows("hume") == expected
        wait_for(lambda: table.rows("pythia") == expected)


def test_a_cluster_that_is_off_takes_part_again_when_it_is_back(local: ClusterThread, table: Replicated) -> None:
    local.ask(lambda cluster: cluster.faults.turn_off(), "hume")
    try:
        with refused(105, "hume"):
            table.meta.insert_rows(table.path, ROWS)
    finally:
        local.ask(lambda cluster: cluster.faults.turn_on(), "hume")
    table.meta.insert_rows(table.path, ROWS)
    assert table.rows("hume") == ROWS


def test_a_chaos_replicated_table_is_a_node_without_rows(client: YtClient, path: str) -> None:
    chaos = f"{path}/chaos"
    attributes = {"schema": QUEUE_SCHEMA, "replication_card_id": "1-2-3-4", "queue_agent_stage": "other"}
    client.create("chaos_replicated_table", chaos, attributes=attributes)
    assert client.get(f"{chaos}/@type") == "chaos_replicated_table"
    assert client.get(f"{chaos}/@replication_card_id") == "1-2-3-4"
    assert client.get(f"{chaos}/@queue_agent_stage") == "other"
    assert chaos in client.get("//sys/@queue_agent_object_revisions")["queues"]
    with refused(1, "chaos"):
        client.insert_rows(chaos, [{"data": "a"}])
    with refused(1, "chaos"):
        client.mount_table(chaos)
    client.create("chaos_replicated_table", f"{path}/bare", attributes={"replication_card_id": "1-2-3-4"})
    with refused(1, "chaos"):
        rows_of(client, f"* from [{path}/bare]")


def test_who_may_write_to_a_table_may_change_its_replicas(table: Replicated) -> None:
    table.meta.set(f"{table.path}/@inherit_acl", False)
    table.meta.set(f"{table.path}/@acl", [{"action": "allow", "subjects": ["everyone"], "permissions": ["read"]}])
    guest = YtClient(config={**table.meta.config, "impersonation_user": "guest"})
    assert guest.get(f"#{table.ids['hume']}/@mode") == "sync"
    with refused(901):
        guest.alter_table_replica(table.ids["hume"], mode="async")
    with refused(901):
        guest.insert_rows(table.path, ROWS)


def test_who_may_read_a_table_needs_no_right_to_its_replicas(table: Replicated) -> None:
    table.meta.insert_rows(table.path, ROWS)
    table.clusters["hume"].set(f"{table.copy('hume')}/@inherit_acl", False)
    guest = YtClient(config={**table.meta.config, "impersonation_user": "guest"})
    assert [row["value"] for row in guest.lookup_rows(table.path, [{"key": 2}])] == ["two"]
    assert len(rows_of(guest, f"* from [{table.path}]")) == 2
    table.meta.set(f"{table.path}/@inherit_acl", False)
    with refused(901):
        list(guest.lookup_rows(table.path, [{"key": 2}]))
    with refused(901):
        rows_of(guest, f"* from [{table.path}]")


def test_replicas_may_follow_a_table_that_has_got_a_column(table: Replicated) -> None:
    table.alter("pythia", enabled=False)
    table.meta.insert_rows(table.path, ROWS)
    wider = [*SCHEMA, {"name": "more", "type": "string"}]
    paths = {table.path: table.meta, **{table.copy(name): client for name, client in table.clusters.items()}}
    for path, client in paths.items():
        client.unmount_table(path, sync=True)
        client.alter_table(path, schema=wider)
        client.mount_table(path, sync=True)
    table.meta.insert_rows(table.path, [{"key": 3, "more": "x"}])
    table.alter("pythia", enabled=True)
    wait_for(lambda: len(table.rows("pythia")) == 3)
    assert table.rows("pythia", "key, value, views, more") == table.rows("hume", "key, value, views, more")


def test_many_rows_come_in_the_order_they_were_written(table: Replicated) -> None:
    table.alter("pythia", enabled=False)
    for start in range(0, 24_000, 8_000):
        rows = [{"key": index % 7_000, "views": 1} for index in range(start, start + 8_000)]
        table.meta.insert_rows(table.path, rows, update=True, aggregate=True)
    table.alter("pythia", enabled=True)
    wait_for(lambda: table.replica("pythia", "replication_lag_time") == 0)
    wait_for(lambda: len(table.rows("pythia", "key")) == 7_000)
    assert table.rows("pythia") == table.rows("hume")
    assert sum(row["views"] for row in table.rows("pythia", "views")) == 24_000
