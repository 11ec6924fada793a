"""Consumers: reading from where one stands, and saying where one stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError
from yt.yson import to_yson_type

from tests.conformance.harness import QUEUE_SCHEMA, Cli, RawHttp, make_queue, make_sorted, refused, rows_of, tree_of
from yt_wire import yson


def pull(client: YtClient, consumer: str, queue: str, offset: int | None = None, **options: Any) -> list[str]:
    options = {"partition_index": 0, **options}
    return [row["data"] for row in client.pull_queue_consumer(consumer, queue, offset=offset, **options)]


def advance(client: YtClient, consumer: str, queue: str, new: int, old: int | None = None, **options: Any) -> None:
    options = {"partition_index": 0, "client_side": False, **options}
    client.advance_queue_consumer(consumer, queue, old_offset=old, new_offset=new, **options)


@pytest.fixture
def queue(client: YtClient, home: str) -> str:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    client.insert_rows(path, [{"$tablet_index": 0, "data": f"{number:03}"} for number in range(6)])
    return path


@pytest.fixture
def consumer(client: YtClient, home: str, queue: str) -> Iterator[str]:
    path = f"{home}/c"
    client.create("queue_consumer", path)
    client.register_queue_consumer(queue, path, vital=True)
    yield path
    client.unregister_queue_consumer(queue, path)


def test_a_consumer_is_a_mounted_sorted_table_with_a_mark(client: YtClient, consumer: str) -> None:
    assert client.get(f"{consumer}/@type") == "table"
    assert client.get(f"{consumer}/@treat_as_queue_consumer")
    assert client.get(f"{consumer}/@tablet_state") == "mounted"
    schema = client.get(f"{consumer}/@schema")
    assert [(column["name"], column["type"], bool(column["required"])) for column in schema] == [
        ("queue_cluster", "string", True),
        ("queue_path", "string", True),
        ("partition_index", "uint64", True),
        ("offset", "uint64", True),
        ("meta", "any", False),
    ]
    assert client.exists(f"{consumer}/@queue_consumer_status")


def test_a_new_consumer_starts_at_the_beginning(client: YtClient, consumer: str, queue: str) -> None:
    assert pull(client, consumer, queue) == ["000", "001", "002", "003", "004", "005"]
    assert pull(client, consumer, queue, max_row_count=2) == ["000", "001"]
    assert pull(client, consumer, queue, partition_index=1) == []


def test_a_consumer_goes_on_where_it_stands(client: YtClient, consumer: str, queue: str) -> None:
    advance(client, consumer, queue, 4)
    assert pull(client, consumer, queue) == ["004", "005"]
    assert pull(client, consumer, queue, offset=1, max_row_count=1) == ["001"]
    assert pull(client, consumer, queue, offset=0) == pull(client, consumer, queue, offset=0)
    advance(client, consumer, queue, 6, old=4)
    assert pull(client, consumer, queue) == []


def test_a_null_offset_is_as_good_as_none(raw: RawHttp, client: YtClient, consumer: str, queue: str) -> None:
    advance(client, consumer, queue, 5)
    parameters = {"consumer_path": consumer, "queue_path": queue, "partition_index": 0, "offset": None}
    for command in ("pull_queue_consumer", "pull_consumer"):
        answer = raw.command("GET", command, parameters)
        assert [row[b"data"] for row in yson.loads_rows(answer.body)] == [b"005"]


def test_the_offset_is_a_row_of_the_consumers_table(client: YtClient, consumer: str, queue: str) -> None:
    advance(client, consumer, queue, 3)
    (row,) = rows_of(client, f"* from [{consumer}]")
    assert row["queue_cluster"] == client.get("//sys/@cluster_name")
    assert row["queue_path"] == queue
    assert (row["partition_index"], row["offset"]) == (0, 3)
    assert isinstance(row["offset"], yson.Uint64)
    client.insert_rows(consumer, [{**row, "offset": yson.Uint64(5)}])
    assert pull(client, consumer, queue) == ["005"]


def test_the_offset_remembers_weight_and_time(client: YtClient, consumer: str, queue: str) -> None:
    rows = list(client.pull_queue(queue, offset=0, partition_index=0))

    def meta() -> Any:
        return rows_of(client, f"meta from [{consumer}]")[0]["meta"]

    advance(client, consumer, queue, 3)
    assert meta() == {"cumulative_data_weight": 60, "offset_timestamp": rows[3]["$timestamp"]}
    assert isinstance(meta()["offset_timestamp"], yson.Uint64)
    advance(client, consumer, queue, 0)
    assert meta() == {"offset_timestamp": rows[0]["$timestamp"]}
    advance(client, consumer, queue, 6)
    assert meta() == {"cumulative_data_weight": 120}
    advance(client, consumer, queue, 7)
    assert meta() == None  # noqa: E711 - the bindings have an entity of their own
    advance(client, consumer, queue, 3, client_side=True)
    assert meta() == None  # noqa: E711 - the bindings have an entity of their own


def test_an_offset_that_moved_meanwhile_is_a_conflict(client: YtClient, consumer: str, queue: str) -> None:
    for client_side in (True, False):
        advance(client, consumer, queue, 2)
        with refused(3100, "partition 0", consumer, "0", "2"):
            advance(client, consumer, queue, 4, old=0, client_side=client_side)
        assert pull(client, consumer, queue)[0] == "002"
        advance(client, consumer, queue, 4, old=2, client_side=client_side)
        assert pull(client, consumer, queue)[0] == "004"


def test_a_conflict_tells_the_facts(client: YtClient, consumer: str, queue: str) -> None:
    advance(client, consumer, queue, 2)
    with pytest.raises(YtClientError) as caught:
        advance(client, consumer, queue, 4, old=1)
    facts = next(item["attributes"] for item in tree_of(caught.value) if item["code"] == 3100)
    assert {"partition": 0, "consumer": consumer, "expected_offset": 1, "current_offset": 2}.items() <= facts.items()
    written = rows_of(client, f"[queue_path] from [{consumer}]")
    assert written
    assert facts["current_offset_timestamp"] > client.get(f"{queue}/@last_commit_timestamp")


def test_an_offset_may_go_anywhere(client: YtClient, consumer: str, queue: str) -> None:
    for new in (5, 1, 10**12, 2**63 - 1, 0):
        advance(client, consumer, queue, new)
        assert rows_of(client, f"[offset] from [{consumer}]") == [{"offset": new}]
    advance(client, consumer, queue, 1, partition_index=77)


def test_trimmed_rows_are_skipped(client: YtClient, consumer: str, queue: str) -> None:
    client.trim_rows(queue, 0, 4)
    assert pull(client, consumer, queue) == ["004", "005"]


def test_a_consumer_without_meta_is_a_consumer(client: YtClient, home: str, queue: str) -> None:
    path = f"{home}/old"
    columns = {"queue_cluster": "string", "queue_path": "string", "partition_index": "uint64"}
    keys = [{"name": name, "type": kind, "sort_order": "ascending", "required": True} for name, kind in columns.items()]
    schema = to_yson_type([*keys, {"name": "offset", "type": "uint64", "required": True}], {"unique_keys": True})
    client.create("table", path, attributes={"dynamic": True, "schema": schema, "treat_as_queue_consumer": True})
    client.mount_table(path, sync=True)
    client.register_queue_consumer(queue, path, vital=False)
    advance(client, path, queue, 4)
    assert pull(client, path, queue) == ["004", "005"]
    client.unregister_queue_consumer(queue, path)


def test_another_table_is_no_consumer(client: YtClient, home: str, queue: str) -> None:
    path = make_sorted(client, f"{home}/t")
    client.register_queue_consumer(queue, path, vital=False)
    with refused(1, "consumer schema"):
        pull(client, path, queue)
    with refused(1, "consumer schema"):
        advance(client, path, queue, 1)
    client.unregister_queue_consumer(queue, path)


def test_without_a_registration_nothing_is_read_or_moved(client: YtClient, consumer: str, queue: str) -> None:
    client.unregister_queue_consumer(queue, consumer)
    with refused(901, consumer, queue):
        pull(client, consumer, queue)
    with refused(901, consumer, queue):
        advance(client, consumer, queue, 1)
    assert rows_of(client, f"* from [{consumer}]") == []


def test_a_consumer_reads_over_links(client: YtClient, consumer: str, queue: str, home: str) -> None:
    client.link(queue, f"{home}/ql")
    client.link(consumer, f"{home}/cl")
    advance(client, f"{home}/cl", f"{home}/ql", 5)
    assert pull(client, consumer, queue) == ["005"]
    assert rows_of(client, f"queue_path from [{consumer}]") == [{"queue_path": queue}]


def test_a_consumer_reads_from_another_cluster(client: YtClient, other: YtClient, queue: str, other_home: str) -> None:
    here, there = client.get("//sys/@cluster_name"), other.get("//sys/@cluster_name")
    consumer = f"{other_home}/c"
    other.create("queue_consumer", consumer)
    client.register_queue_consumer(queue, f"<cluster={there}>{consumer}", vital=True)
    far_queue = f"<cluster={here}>{queue}"
    for queue_path in (far_queue, f"{here}:{queue}", to_yson_type(queue, {"cluster": here})):
        assert len(pull(other, consumer, queue_path)) == 6
    advance(other, consumer, far_queue, 4, old=0)
    assert pull(other, consumer, far_queue) == ["004", "005"]
    assert pull(client, f"<cluster={there}>{consumer}", queue) == ["004", "005"]
    (row,) = rows_of(other, f"* from [{consumer}]")
    assert (row["queue_cluster"], row["queue_path"]) == (here, queue)
    assert row["meta"]["cumulative_data_weight"] == 80
    with refused(500, "Failed to get table mount info to perform registration manager resolutions", queue):
        pull(other, consumer, queue)
    other.unregister_queue_consumer(far_queue, consumer)


def test_an_unknown_cluster_is_named(client: YtClient, consumer: str, queue: str) -> None:
    with refused(1, "atlantis"):
        client.pull_queue(f"<cluster=atlantis>{queue}", offset=0, partition_index=0)
    client.register_queue_consumer(f"<cluster=atlantis>{queue}", consumer, vital=False)
    with refused(1, "atlantis"):
        pull(client, consumer, f"<cluster=atlantis>{queue}")
    for client_side in (False, True):
        with refused(1, f'Queue cluster "atlantis" was not found for path {queue}'):
            advance(client, consumer, f"<cluster=atlantis>{queue}", 1, client_side=client_side)
    assert rows_of(client, f"* from [{consumer}]") == []
    client.unregister_queue_consumer(f"<cluster=atlantis>{queue}", consumer)


def test_paths_are_resolved_before_registrations_are_looked_for(client: YtClient, consumer: str, home: str) -> None:
    words = f'registration manager resolutions for object "{client.get("//sys/@cluster_name")}:{home}/nope"'
    with refused(500, "Failed to get table mount info to perform", words):
        pull(client, consumer, f"{home}/nope")
    with refused(500, "Failed to get table mount info to perform", words):
        advance(client, consumer, f"{home}/nope", 1)
    assert rows_of(client, f"* from [{consumer}]") == []


def test_a_negative_offset_is_named(client: YtClient, consumer: str, queue: str) -> None:
    for client_side in (False, True):
        with refused(1, "Queue consumer offset -1 cannot be negative"):
            advance(client, consumer, queue, -1, client_side=client_side)


def test_what_is_no_queue_is_not_pulled_from(client: YtClient, consumer: str, home: str) -> None:
    client.create("table", f"{home}/static")
    for path, words in ((consumer, "not ordered"), (f"{home}/static", "not dynamic"), (home, home)):
        with refused(1, words):
            client.pull_queue(path, offset=0, partition_index=0)
    with refused(500, "nope"):
        client.pull_queue(f"{home}/nope", offset=0, partition_index=0)


@pytest.mark.parametrize(("new", "old", "partition"), [(-1, None, 0), (1, None, -1), (2**63, None, 0), (1, 2**64, 0)])
def test_numbers_out_of_range_are_refused(
    client: YtClient, consumer: str, queue: str, new: int, old: int | None, partition: int
) -> None:
    with pytest.raises(YtClientError):
        advance(client, consumer, queue, new, old=old, partition_index=partition)
    assert rows_of(client, f"* from [{consumer}]") == []


def test_a_hint_of_the_weight_of_rows_lowers_their_number(raw: RawHttp, queue: str) -> None:
    parameters = {"queue_path": queue, "partition_index": 0, "max_data_weight": 100, "data_weight_per_row_hint": 40}
    assert len(yson.loads_rows(raw.command("GET", "pull_queue", parameters).body)) == 2


def test_an_offset_that_is_not_given_is_zero(raw: RawHttp, queue: str) -> None:
    answer = raw.command("GET", "pull_queue", {"queue_path": queue, "partition_index": 0, "max_row_count": 1})
    assert [row[b"$row_index"] for row in yson.loads_rows(answer.body)] == [0]


def test_the_command_line_pulls_and_advances(cli: Cli, client: YtClient, consumer: str, queue: str) -> None:
    position = ("--partition-index", "0")
    done = cli.run("advance-queue-consumer", consumer, queue, *position, "--old-offset", "0", "--new-offset", "4")
    assert done.returncode == 0, done.stderr
    options = ("--offset", "4", "--max-row-count", "5", "--format", "<format=text>yson")
    pulled = cli.run("pull-queue-consumer", consumer, queue, *position, *options)
    assert [row["data"] for row in yson.loads(b"[" + pulled.stdout + b"]")] == ["004", "005"]
    failed = cli.run("advance-queue-consumer", consumer, queue, *position, "--old-offset", "0", "--new-offset", "5")
    assert failed.returncode != 0
    assert b"expected offset 0, found offset 4" in failed.stderr


def test_any_ordered_table_is_a_queue(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/plain", schema=QUEUE_SCHEMA[:1])
    client.insert_rows(path, [{"data": "x"}])
    assert len(list(client.pull_queue(path, offset=0, partition_index=0))) == 1
    assert client.exists(f"{path}/@queue_status")
