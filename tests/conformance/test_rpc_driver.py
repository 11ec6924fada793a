"""A client that speaks RPC alone: ytsaurus-client with the driver of YTsaurus, unmodified."""

from __future__ import annotations

import importlib.util
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from yt.wrapper import TablePath, YtClient
from yt.yson import YsonUint64, to_yson_type

from tests.conformance.harness import QUEUE_SCHEMA, SORTED_SCHEMA, refused
from tests.conformance.rpc_driver import DriverProcess
from yt_local.thread import ClusterThread

pytestmark = [
    pytest.mark.local_only,
    pytest.mark.skipif(
        importlib.util.find_spec("yt_driver_rpc_bindings") is None, reason="there is no driver for this machine"
    ),
]

ALL_TYPES = [
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float double boolean string utf8 json uuid date datetime",
    "timestamp interval date32 datetime64 timestamp64 interval64 any void",
]


@pytest.fixture(scope="module")
def clusters() -> Iterator[ClusterThread]:
    with ClusterThread(["pythia", "hume"], tokens={"a-token": "root"}) as thread:
        yield thread


@pytest.fixture(scope="module")
def driver(clusters: ClusterThread) -> Iterator[DriverProcess]:
    with DriverProcess(clusters.address("pythia")) as process:
        yield process


@pytest.fixture
def home(driver: DriverProcess) -> str:
    path = f"//home/{uuid.uuid4().hex}"
    driver.do("create", "map_node", path, recursive=True)
    return path


@pytest.fixture
def table(driver: DriverProcess, home: str) -> str:
    driver.do("create", "table", f"{home}/t", attributes={"dynamic": True, "schema": SORTED_SCHEMA})
    driver.do("mount_table", f"{home}/t", sync=True)
    return f"{home}/t"


@pytest.fixture
def queue(driver: DriverProcess, home: str) -> str:
    attributes = {"dynamic": True, "schema": QUEUE_SCHEMA, "tablet_count": 2}
    driver.do("create", "table", f"{home}/q", attributes=attributes)
    driver.do("mount_table", f"{home}/q", sync=True)
    return f"{home}/q"


def test_the_tree_is_read_and_changed(driver: DriverProcess, home: str) -> None:
    driver.do("set", f"{home}/d", {"a": [1, 2.5, "s", [], True, YsonUint64(2**64 - 1)]})
    assert driver.do("get", f"{home}/d") == {"a": [1, 2.5, "s", [], True, 2**64 - 1]}
    driver.do("create", "map_node", f"{home}/d/a/before:0", attributes={"colour": "red"})
    assert driver.do("get", f"{home}/d/a/0/@path") == f"{home}/d/a/0"
    assert driver.do("get", f"{home}/d/a", attributes=["colour"])[0].attributes == {"colour": "red"}
    driver.do("remove", f"{home}/d/a/0")
    assert driver.do("get", f"{home}/d/a/0") == 1
    driver.do("copy", f"{home}/d", f"{home}/e")
    driver.do("move", f"{home}/e", f"{home}/f")
    driver.do("link", f"{home}/f", f"{home}/l")
    driver.do("set", f"{home}/@note", "text")
    driver.do("remove", f"{home}/d", recursive=True)
    assert sorted(driver.do("list", home)) == ["f", "l"]
    assert driver.do("get", f"{home}/@note") == "text"
    assert [node.attributes["type"] for node in driver.do("list", home, attributes=["type"])] == ["map_node", "link"]
    assert driver.do("exists", f"{home}/l/a") and not driver.do("exists", f"{home}/d")
    with refused(500, "Error resolving path", "nope"):
        driver.do("get", f"{home}/nope")
    with refused(501, "already exists"):
        driver.do("create", "map_node", f"{home}/f")


def _in_a_master_transaction(client: YtClient, home: str) -> list[Any]:
    with client.Transaction() as transaction:
        client.set(f"{home}/inside", 1)
        lock = client.lock(f"{home}/inside", mode="exclusive")
        seen = [client.exists(f"{home}/inside"), client.get(f"#{transaction.transaction_id}/@type")]
    return [*seen, sorted(lock)]


def test_master_transactions_are_begun_pinged_and_committed(driver: DriverProcess, home: str) -> None:
    found = driver.run(_in_a_master_transaction, home)
    assert found == [True, "transaction", ["lock_id", "node_id", "revision"]]
    assert driver.do("get", f"{home}/inside") == 1


def test_rows_are_written_and_read(driver: DriverProcess, table: str) -> None:
    rows: list[dict[str, Any]] = [
        {"key": 1, "value": "a", "other": {"x": [1]}},
        {"key": 2, "value": None, "other": "text"},
    ]
    driver.do("insert_rows", table, rows)
    driver.do("insert_rows", table, [{"key": 1, "value": "b"}], update=True)
    rows[0]["value"] = "b"
    assert driver.do("select_rows", f"* from [{table}]") == rows
    assert driver.do("lookup_rows", table, [{"key": 7}, {"key": 2}], keep_missing_rows=True) == [None, rows[1]]
    assert driver.do("lookup_rows", table, [{"key": 1}], column_names=["value"]) == [{"value": "b"}]
    (versions,) = driver.do("lookup_rows", table, [{"key": 1}], versioned=True)
    assert [str(version) for version in versions["value"]] == ["b", "a"]
    driver.do("delete_rows", table, [{"key": 1}])
    assert driver.do("select_rows", f"sum(1) as n from [{table}] group by 1") == [{"n": 1}]
    with refused(1, "nope"):
        driver.do("select_rows", f"nope from [{table}]")
    driver.do("unmount_table", table, sync=True)
    with refused(1702, "unmounted"):
        driver.do("insert_rows", table, rows)
    driver.do("reshard_table", table, pivot_keys=[[], [5], [100]], sync=True)
    assert driver.do("get", f"{table}/@pivot_keys") == [[], [5], [100]]
    driver.do("mount_table", table, sync=True)
    assert driver.do("select_rows", f"key from [{table}]") == [{"key": 2}]


def _in_a_tablet_transaction(client: YtClient, table: str, key: int) -> int:
    with client.Transaction(type="tablet"):
        client.insert_rows(table, [{"key": key, "value": "inside"}])
        client.insert_rows(table, [{"key": key + 1, "value": "inside"}])
        client.delete_rows(table, [{"key": key + 1}])
        return len(list(client.select_rows(f"* from [{table}]")))


def test_tablet_transactions_become_visible_at_once(driver: DriverProcess, table: str) -> None:
    assert driver.run(_in_a_tablet_transaction, table, 1) == 0
    assert [row["key"] for row in driver.do("select_rows", f"* from [{table}]")] == [1]


def _conflicting(client: YtClient, table: str, lock_type: str) -> None:
    with client.Transaction(type="tablet"):
        client.lock_rows(table, [{"key": 1}], locks=["group"], lock_type=lock_type)
        with client.Transaction(transaction_id="0-0-0-0", ping=False, acquire=False):
            client.insert_rows(table, [{"key": 1, "value": 1}], update=True)


def test_locked_rows_are_not_written_by_others(driver: DriverProcess, home: str) -> None:
    schema = [
        {"name": "key", "type": "int64", "sort_order": "ascending"},
        {"name": "value", "type": "int64", "lock": "group"},
        {"name": "sum", "type": "int64", "aggregate": "sum"},
    ]
    driver.do("create", "table", f"{home}/t", attributes={"dynamic": True, "schema": schema})
    driver.do("mount_table", f"{home}/t", sync=True)
    for lock_type in ("shared_weak", "shared_strong"):
        with refused(1700, "conflict"):
            driver.run(_conflicting, f"{home}/t", lock_type)
    for _ in range(2):
        driver.do("insert_rows", f"{home}/t", [{"key": 5, "sum": 3}], aggregate=True, update=True)
    assert driver.do("lookup_rows", f"{home}/t", [{"key": 5}], column_names=["sum"]) == [{"sum": 6}]


def test_values_of_all_types_come_back(driver: DriverProcess, home: str) -> None:
    names = " ".join(ALL_TYPES).split()
    schema = [
        {"name": "key", "type": "int64", "sort_order": "ascending"},
        *({"name": name, "type": name} for name in names),
        {"name": "list", "type_v3": {"type_name": "list", "item": "int64"}},
        {"name": "decimal", "type_v3": {"type_name": "decimal", "precision": 4, "scale": 2}},
    ]
    driver.do("create", "table", f"{home}/t", attributes={"dynamic": True, "schema": schema})
    driver.do("mount_table", f"{home}/t", sync=True)
    row = {"key": 1, "int8": -3, "uint64": 2**64 - 1, "float": 1.5, "boolean": False, "utf8": "ü", "json": "{}"}
    row |= {"uuid": "0123456789abcdef", "date": 3, "interval64": -4, "any": {"a": None}, "list": [1, 2]}
    row |= {"decimal": "\x7f\x00", "void": None}
    driver.do("insert_rows", f"{home}/t", [row])
    (found,) = driver.do("select_rows", f"* from [{home}/t]")
    assert {name: value for name, value in found.items() if value is not None} == {
        name: value for name, value in row.items() if value is not None
    }


def test_queues_are_pulled_and_consumers_advanced(driver: DriverProcess, home: str, queue: str) -> None:
    consumer = f"{home}/c"
    driver.do("create", "queue_consumer", consumer)
    driver.do("register_queue_consumer", queue, consumer, vital=True, partitions=[0, 1])
    (registration,) = driver.do("list_queue_consumer_registrations", queue_path=queue)
    assert registration["queue_path"].attributes == {"cluster": "pythia"} and registration["partitions"] == [0, 1]
    driver.do("insert_rows", queue, [{"data": word, "$tablet_index": 0} for word in ("a", "b", "c")])
    driver.do("insert_rows", queue, [{"data": "anywhere"}])
    assert [row["data"] for row in driver.do("pull_queue", queue, offset=1, partition_index=0)][:2] == ["b", "c"]
    pulled = driver.do("pull_queue_consumer", consumer, queue, offset=0, partition_index=0)
    assert [row["$row_index"] for row in pulled][:3] == [0, 1, 2]
    for client_side, old, new in ((True, 0, 1), (False, 1, 2)):
        options = {"partition_index": 0, "new_offset": new, "client_side": client_side}
        driver.do("advance_queue_consumer", consumer, queue, old_offset=old, **options)
        with refused(3100, f"found offset {new}"):
            driver.do("advance_queue_consumer", consumer, queue, old_offset=old, **options)
    driver.do("trim_rows", queue, 0, 2)
    infos = driver.do("get_tablet_infos", queue, [0])["tablets"]
    assert infos[0]["trimmed_row_count"] == 2
    assert driver.do("pull_queue", queue, offset=0, partition_index=0)[0]["$row_index"] == 2
    driver.do("unregister_queue_consumer", queue, consumer)
    with refused(901, "not registered"):
        driver.do("pull_queue_consumer", consumer, queue, offset=0, partition_index=0)


def test_producers_push_what_they_have_not_pushed(driver: DriverProcess, home: str, queue: str) -> None:
    producer = f"{home}/p"
    driver.do("create", "queue_producer", producer)
    session = driver.do("create_queue_producer_session", producer, queue, "s", user_meta={"a": 1})
    assert session == {"epoch": 0, "sequence_number": -1, "user_meta": {"a": 1}}
    rows = [{"data": str(number), "$sequence_number": number} for number in (1, 2)]
    pushed = driver.do("push_queue_producer", producer, queue, "s", 0, rows)
    assert pushed == {"last_sequence_number": 2, "skipped_row_count": 0}
    rows.append({"data": "3", "$sequence_number": 3})
    pushed = driver.do("push_queue_producer", producer, queue, "s", 0, rows)
    assert pushed == {"last_sequence_number": 3, "skipped_row_count": 2}
    assert driver.do("create_queue_producer_session", producer, queue, "s")["epoch"] == 1
    with refused(3102, "zombie"):
        driver.do("push_queue_producer", producer, queue, "s", 0, rows)
    driver.do("remove_queue_producer_session", producer, queue, "s")


def test_static_tables_are_streamed_in_both_directions(driver: DriverProcess, home: str) -> None:
    rows = [{"n": 1, "s": "x", "b": True, "a": [1, {"z": "q"}], "u": YsonUint64(3), "f": 0.5}, {"n": "mixed"}]
    driver.do("write_table", f"{home}/t", rows)
    driver.do("write_table", TablePath(f"{home}/t", append=True), [{"n": 5}])
    assert driver.do("read_table", f"{home}/t") == [*rows, {"n": 5}]
    assert driver.do("read_table", f"{home}/t{{n}}[#1:#3]") == [{"n": "mixed"}, {"n": 5}]
    schema = to_yson_type([{"name": "k", "type": "int64", "sort_order": "ascending"}])
    driver.do("write_table", TablePath(f"{home}/many", schema=schema), [{"k": number} for number in range(20_000)])
    assert driver.do("read_table", f"{home}/many[7:9]") == [{"k": 7}, {"k": 8}]
    assert len(driver.do("read_table", f"{home}/many")) == 20_000
    driver.do("write_table", f"{home}/empty", [])
    assert driver.do("read_table", f"{home}/empty") == []
    with refused(1, "Sort order violation"):
        driver.do("write_table", TablePath(f"{home}/many", append=True), [{"k": 1}])
    with refused(500, "nope"):
        driver.do("read_table", f"{home}/nope")


def _file_round_trip(client: YtClient, path: str, size: int) -> bool:
    content = bytes(range(256)) * (size // 256)
    client.write_file(path, content)
    part = client.read_file(path, offset=3, length=4).read()
    return bool(client.read_file(path).read() == content and part == content[3:7])


@pytest.mark.parametrize("size", [0, 20 << 20])
def test_files_are_streamed_in_both_directions(driver: DriverProcess, home: str, size: int) -> None:
    assert driver.run(_file_round_trip, f"{home}/f", size)


def test_what_is_not_there_is_an_unknown_method(driver: DriverProcess) -> None:
    with refused(103, "Unknown method"):
        driver.do("get_operation", "1-2-3-4")


def test_a_fixed_list_of_proxies_and_a_token_are_enough(clusters: ClusterThread) -> None:
    with DriverProcess(clusters.rpc_address("hume"), by_http=False, token="a-token") as process:
        assert process.do("get", "//sys/@cluster_name") == "hume"
        assert process.do("list", "//sys/rpc_proxies") == [clusters.rpc_address("hume")]
