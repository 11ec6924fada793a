"""Clusters for other people's tests: what they switch is what unmodified clients see."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path

import aiohttp
import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError
from yt.yson.common import YsonError

from tests.conformance.harness import wait_for
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import FaultSwitch, LocalCluster, LocalClusterSet, YtError, local_clusters

SCHEMA = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
QUEUE = "//tmp/queue"

Refusal = Callable[[LocalCluster], FaultSwitch]


@pytest.fixture
def queue(yt_client: YtClient) -> str:
    yt_client.create("table", QUEUE, attributes={"dynamic": True, "schema": SCHEMA, "tablet_count": 2})
    yt_client.mount_table(QUEUE)
    return QUEUE


def row_count(client: YtClient, path: str = QUEUE) -> int:
    return len(list(client.select_rows(f"[$row_index] from [{path}]")))


def insert(client: YtClient, path: str = QUEUE) -> None:
    client.insert_rows(path, [{"data": "x", "$tablet_index": 0}])


def codes(error: YtClientError) -> list[int]:
    tree = [error.simplify()]
    for item in tree:
        tree.extend(item.get("inner_errors", ()))
    return [item["code"] for item in tree]


def test_every_test_gets_a_cluster_of_its_own(yt_clusters: Callable[..., LocalClusterSet]) -> None:
    first, second = yt_clusters("a")["a"], yt_clusters("a")["a"]
    first.client.set("//tmp/x", 1)
    assert not second.client.exists("//tmp/x")


def test_clusters_of_one_set_know_each_other(yt_clusters: Callable[..., LocalClusterSet]) -> None:
    clusters = yt_clusters("a", "b")
    clusters["a"].client.create("table", QUEUE, attributes={"dynamic": True, "schema": SCHEMA})
    clusters["b"].client.create("queue_consumer", "//tmp/c")
    clusters["b"].client.register_queue_consumer(f"<cluster=a>{QUEUE}", "//tmp/c", vital=True)
    [registration] = clusters["a"].client.list_queue_consumer_registrations(QUEUE)
    assert str(registration["consumer_path"]) == "//tmp/c"


def test_data_can_be_kept_for_the_next_cluster(tmp_path: Path) -> None:
    with local_clusters("a", data_dir=tmp_path) as clusters:
        clusters["a"].client.set("//tmp/x", 1)
    with local_clusters("a", data_dir=tmp_path) as clusters:
        assert clusters["a"].client.get("//tmp/x") == 1


def test_the_clock_can_be_set_and_moved(yt_cluster: LocalCluster, queue: str) -> None:
    def timestamp() -> float:
        insert(yt_cluster.client)
        return int(max(row["$timestamp"] for row in yt_cluster.client.select_rows(f"* from [{queue}]"))) >> 30

    before = timestamp()
    yt_cluster.clock.advance(3600)
    assert 3600 <= timestamp() - before < 3660
    moment = datetime(2044, 5, 6, tzinfo=UTC)
    yt_cluster.clock.set(moment)
    assert 0 <= timestamp() - moment.timestamp() < 60
    yt_cluster.client.set("//tmp/x", 1)
    assert yt_cluster.client.get("//tmp/x/@modification_time").startswith("2044-05-06T00:0")
    with pytest.raises(ValueError, match="time zone"):
        yt_cluster.clock.set(datetime(2044, 5, 6))  # noqa: DTZ001 - that is what is wrong with it


def test_the_time_at_the_start_can_be_chosen(yt_clusters: Callable[..., LocalClusterSet]) -> None:
    cluster = yt_clusters("a", now=datetime(2001, 2, 3, tzinfo=UTC))["a"]
    assert cluster.client.get("//tmp/@creation_time").startswith("2001-02-03T00:00:")


def test_the_next_so_many_commands_on_a_path_are_refused_and_do_nothing(yt_cluster: LocalCluster, queue: str) -> None:
    error = YtError("No space left", 901, inner_errors=[YtError("Disk is full", 12345)])
    client = yt_cluster.client
    with yt_cluster.faults.refuse("insert_rows", path=queue, count=3, error=error) as fault:
        for _ in range(3):
            with pytest.raises(YtClientError, match="No space left") as caught:
                insert(client)
            assert {901, 12345} <= set(codes(caught.value))
        insert(client)
        assert fault.hits == 3
    assert row_count(client) == 1


def test_what_is_refused_without_an_error_is_unavailable(yt_cluster: LocalCluster) -> None:
    with yt_cluster.faults.refuse(), pytest.raises(YtClientError) as caught:
        yt_cluster.client.get("/")
    assert 105 in codes(caught.value)
    assert yt_cluster.client.exists("/")


def test_clients_that_try_again_get_through_in_the_end(yt_cluster: LocalCluster, queue: str) -> None:
    quick = {"enable": True, "count": 5, "backoff": {"policy": "constant_time", "constant_time": 1}}
    patient = yt_cluster.make_client(proxy={"retries": quick})
    with yt_cluster.faults.http_status("exists", status=503, count=2) as fault:
        assert patient.exists(queue)
        assert fault.hits == 2
    assert [request.status for request in yt_cluster.requests("exists")] == [503, 503, 200]


@pytest.mark.parametrize("executed", [False, True])
def test_a_dropped_connection_loses_the_request_or_its_answer(
    yt_cluster: LocalCluster, queue: str, executed: bool
) -> None:
    with (
        yt_cluster.faults.drop("insert_rows", path=queue, count=1, executed=executed),
        pytest.raises(OSError),
    ):
        insert(yt_cluster.client)
    assert row_count(yt_cluster.client) == executed


def test_a_cut_answer_has_a_beginning_and_no_end(yt_cluster: LocalCluster) -> None:
    yt_cluster.client.set("//tmp/x", "0123456789" * 10)
    connection = HTTPConnection(yt_cluster.address, timeout=LIMIT_SECONDS)
    try:
        with yt_cluster.faults.cut("get", path="//tmp/x"):
            connection.request("GET", "/api/v4/get?path=//tmp/x")
            response = connection.getresponse()
            assert response.status == 200
            with pytest.raises(IncompleteRead) as caught:
                response.read()
            assert b"01234" in caught.value.partial
    finally:
        connection.close()
    with yt_cluster.faults.cut("get"), pytest.raises(YsonError):  # half of what is compressed may be nothing
        yt_cluster.client.get("//tmp/x")


def test_a_delayed_command_is_executed_when_the_fault_is_turned_off(yt_cluster: LocalCluster) -> None:
    fault = yt_cluster.faults.delay("set", seconds=1000)
    writing = threading.Thread(target=yt_cluster.client.set, args=("//tmp/x", 1))
    writing.start()
    wait_for(lambda: fault.hits == 1)
    reader = yt_cluster.make_client()
    assert not reader.exists("//tmp/x")
    fault.turn_off()
    writing.join()
    assert reader.get("//tmp/x") == 1


def test_a_delay_ends_by_itself(yt_cluster: LocalCluster) -> None:
    with yt_cluster.faults.delay("exists", seconds=0.1):
        start = time.monotonic()
        assert yt_cluster.client.exists("/")
        assert time.monotonic() - start >= 0.1


def test_a_hanging_request_gets_no_answer_and_a_closed_connection_in_the_end(yt_cluster: LocalCluster) -> None:
    failures: list[Exception] = []

    def write() -> None:
        try:
            yt_cluster.client.set("//tmp/x", 1)
        except (YtClientError, OSError) as error:
            failures.append(error)

    fault = yt_cluster.faults.hang("set")
    writing = threading.Thread(target=write)
    writing.start()
    wait_for(lambda: fault.hits == 1)
    assert failures == []
    fault.turn_off()
    writing.join()
    assert len(failures) == 1
    assert not yt_cluster.client.exists("//tmp/x")


def test_a_set_of_clusters_can_be_left_while_requests_hang(tmp_path: Path) -> None:
    failed = threading.Event()

    def read(client: YtClient) -> None:
        with pytest.raises((YtClientError, OSError)):
            client.get("/")
        failed.set()

    with local_clusters("a") as clusters:
        fault = clusters["a"].faults.hang("get")
        reading = threading.Thread(target=read, args=(clusters["a"].make_client(),))
        reading.start()
        wait_for(lambda: fault.hits == 1)
    reading.join()
    assert failed.is_set()


def test_a_refused_part_of_a_batch_leaves_the_others_alone(yt_cluster: LocalCluster) -> None:
    batch = yt_cluster.client.create_batch_client(raise_errors=False)
    answers = [batch.exists("//tmp"), batch.exists("//home")]
    with yt_cluster.faults.refuse("exists", path="//home", error=YtError("No", 901)):
        batch.commit_batch()
    assert [answer.is_ok() for answer in answers] == [True, False]
    assert [request.command for request in yt_cluster.requests("exists", path="//home")] == ["execute_batch"]


def test_a_cluster_that_is_off_reaches_nobody_and_nobody_reaches_it(
    yt_clusters: Callable[..., LocalClusterSet],
) -> None:
    clusters = yt_clusters("a", "b")
    client, other = clusters["a"].client, clusters["b"].client
    client.create("table", QUEUE, attributes={"dynamic": True, "schema": SCHEMA})
    other.create("queue_consumer", "//tmp/c")
    with clusters["a"].off():
        for _ in range(2):
            with pytest.raises(OSError):
                client.exists("/")
        with pytest.raises(OSError):
            clusters["a"].make_client().exists("/")
        with pytest.raises(YtClientError, match='Cluster "a" is not available') as caught:
            other.register_queue_consumer(f"<cluster=a>{QUEUE}", "//tmp/c", vital=True)
        assert 105 in codes(caught.value)
    assert client.exists("/")
    other.register_queue_consumer(f"<cluster=a>{QUEUE}", "//tmp/c", vital=True)


def test_a_tablet_can_be_unmounted_under_a_client(yt_cluster: LocalCluster, queue: str) -> None:
    client = yt_cluster.client
    yt_cluster.unmount_tablet(queue, 0)
    with pytest.raises(YtClientError) as caught:
        insert(client)
    assert 1702 in codes(caught.value)
    client.insert_rows(queue, [{"data": "x", "$tablet_index": 1}])
    yt_cluster.mount_tablet(queue, 0)
    insert(client)
    yt_cluster.freeze_tablet(queue)
    with pytest.raises(YtClientError):
        insert(client)
    assert row_count(client) == 2
    yt_cluster.unfreeze_tablet(queue)
    insert(client)


def test_requests_are_told_in_the_order_in_which_they_came(yt_cluster: LocalCluster, queue: str) -> None:
    client = yt_cluster.client
    insert(client)  # before its first rows a client reads its configuration
    yt_cluster.forget_requests()
    insert(client)
    with pytest.raises(YtClientError):
        client.get("//tmp/nothing")
    with yt_cluster.faults.drop("exists"), pytest.raises(OSError):
        client.exists(queue)
    client.set("//tmp/x", 1)
    seen = [(request.command, request.status, request.error_code, request.fault) for request in yt_cluster.requests()]
    assert seen == [
        ("insert_rows", 200, 0, None),
        ("get", 400, 500, None),
        ("exists", None, 0, "drop"),
        ("set", 200, 0, None),
    ]
    [request] = yt_cluster.requests(path=queue, command="insert_rows")
    assert request.parameters["path"] == queue
    assert len(yt_cluster.requests(path="//tmp/nothing")) == 1


def test_a_command_that_does_not_exist_can_not_be_disturbed(yt_cluster: LocalCluster) -> None:
    with pytest.raises(YtError, match="insert_row"):
        yt_cluster.faults.refuse("insert_row")


async def test_clients_with_an_event_loop_are_served_just_as_well(yt_cluster: LocalCluster) -> None:
    async with aiohttp.ClientSession() as session:
        with yt_cluster.faults.refuse("get", count=1):
            async with session.get(f"{yt_cluster.url}/api/v4/get", params={"path": "//tmp"}) as response:
                assert (await response.json())["code"] == 105
        async with session.get(f"{yt_cluster.url}/api/v4/get", params={"path": "//tmp"}) as response:
            assert await response.json() == {"value": {}}
