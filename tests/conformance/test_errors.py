"""Wrong input: each with its code and the name of the culprit, and nothing changed by it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from yt.wrapper import YtClient, errors
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import Clients, RawHttp, make_queue, refused, rows_of
from tests.conformance.scene import Scene, check_envelope
from tests.waiting import LIMIT_SECONDS
from yt_wire import yson

METHODS = dict.fromkeys(("advance_queue_consumer", "create", "execute_batch", "remove", "trim_rows"), "POST")
"""Of the commands that are asked here by hand; the others read."""


def test_an_unknown_command(raw: RawHttp, scene: Scene) -> None:
    for name in ("fly", "fly-high", "FLY"):
        check_envelope(raw.command("POST", name, {}), 404, 1, name.lower())
    check_envelope(raw.request("GET", "/nowhere"), 404, 1, "/nowhere")
    batch = {"requests": [{"command": "fly", "parameters": {}}, {"command": "exists", "parameters": {"path": "//tmp"}}]}
    check_envelope(raw.command("POST", "execute_batch", batch), 400, 1, "fly")


@pytest.mark.parametrize(
    ("command", "parameters", "culprit"),
    [
        ("get", {}, "path"),
        ("create", {"path": "//tmp/x"}, "type"),
        ("select_rows", {}, "query"),
        ("pull_queue", {"queue_path": "//tmp/x"}, "partition_index"),
        ("advance_queue_consumer", {"queue_path": "//a", "consumer_path": "//b", "partition_index": 0}, "new_offset"),
        ("trim_rows", {"path": "//tmp/x", "tablet_index": 0}, "trimmed_row_count"),
    ],
)
def test_a_parameter_that_is_missing(
    raw: RawHttp, scene: Scene, command: str, parameters: Mapping[str, Any], culprit: str
) -> None:
    check_envelope(raw.command(METHODS.get(command, "GET"), command, parameters), 400, 1, f"/{culprit}")


@pytest.mark.parametrize(
    ("command", "parameters", "culprit"),
    [
        ("get", {"path": 5}, "/path: Path must be a string, got 5"),
        ("get", {"path": b"//tmp/\xff"}, '/path: Path is not UTF-8, got "//tmp/\\xFF"'),
        ("get", {"path": "//tmp", "max_size": [None, {"a": True}]}, 'got [#;{"a"=%true;};]'),
        ("get", {"path": "//tmp", "transaction_id": "nonsense"}, "/transaction_id: an id must be"),
        ("get", {"path": "//tmp", "attributes": 5}, "attributes"),
        ("get", {"path": "//tmp", "max_size": "many"}, "max_size"),
        ("pull_queue", {"queue_path": "//tmp", "partition_index": "first"}, "partition_index"),
        ("pull_queue", {"queue_path": "//tmp", "partition_index": 2**64 - 1}, "partition_index"),
        ("trim_rows", {"path": "//tmp/x", "tablet_index": 0, "trimmed_row_count": 1.5}, "trimmed_row_count"),
        ("create", {"path": "//tmp/x", "type": "table", "attributes": 5}, "attributes"),
        ("execute_batch", {"requests": 5}, "requests"),
        ("execute_batch", {"requests": [{"parameters": {}}]}, "command"),
        ("remove", {"path": "//tmp/x", "mutation_id": [1]}, "mutation_id"),
        ("get", {"path": "//tmp", "output_format": 5}, "5"),
        ("get", {"path": "//tmp", "output_format": "parchment"}, "parchment"),
        ("get", {"path": "//tmp", "output_format": yson.with_attributes("yson", {"format": "rune"})}, "rune"),
    ],
)
def test_a_parameter_of_the_wrong_kind(
    raw: RawHttp, scene: Scene, command: str, parameters: Mapping[str, Any], culprit: str
) -> None:
    check_envelope(raw.command(METHODS.get(command, "GET"), command, parameters), 400, 1, culprit)


def test_a_path_that_is_not_there(client: YtClient, raw: RawHttp, scene: Scene) -> None:
    with pytest.raises(errors.YtResolveError):
        client.get(f"{scene.home}/nope")
    check_envelope(raw.command("GET", "get", {"path": f"{scene.home}/nope"}), 400, 500, scene.home, '"nope"')
    for call in (
        lambda: client.insert_rows(f"{scene.home}/nope", [{"data": "x"}]),
        lambda: client.mount_table(f"{scene.home}/nope"),
        lambda: rows_of(client, f"* from [{scene.home}/nope]"),
        lambda: client.trim_rows(f"{scene.home}/nope", 0, 1),
        lambda: client.get_tablet_infos(f"{scene.home}/nope", [0]),
        lambda: client.copy(f"{scene.home}/nope", f"{scene.home}/x"),
    ):
        with refused(500, "nope"):
            call()


@pytest.mark.parametrize(
    ("row", "culprit"),
    [
        ({"data": 5}, "data"),
        ({"nope": "x"}, "nope"),
        ({"$timestamp": yson.Uint64(1), "data": "x"}, "$timestamp"),
        ({"$cumulative_data_weight": 1, "data": "x"}, "$cumulative_data_weight"),
        ({"$row_index": 1, "data": "x"}, "$row_index"),
        ({"$tablet_index": "first", "data": "x"}, "$tablet_index"),
        ({"data": {"a": 1}}, "data"),
    ],
)
def test_a_row_against_the_schema(client: YtClient, raw: RawHttp, scene: Scene, row: Any, culprit: str) -> None:
    with refused(307, culprit):
        client.insert_rows(scene.queue, [{"data": "fine"}, row])
    body = yson.dumps_rows([{"data": "fine"}, row])
    answer = raw.command("PUT", "insert_rows", {"path": scene.queue, "input_format": "yson"}, body)
    check_envelope(answer, 400, 307, culprit)


def test_a_tablet_that_is_not_there(client: YtClient, scene: Scene) -> None:
    for index in (1, -1, 2**62):
        with pytest.raises(errors.YtNoSuchTablet):
            client.insert_rows(scene.queue, [{"data": "x", "$tablet_index": 0}, {"data": "x", "$tablet_index": index}])


def test_an_offset_conflict(client: YtClient, raw: RawHttp, scene: Scene) -> None:
    with refused(3100, scene.consumer, "partition 0", "offset 0", "offset 1"):
        client.advance_queue_consumer(scene.consumer, scene.queue, 0, old_offset=0, new_offset=2)
    parameters = {
        "consumer_path": scene.consumer,
        "queue_path": scene.queue,
        "partition_index": 0,
        "old_offset": 0,
        "new_offset": 2,
    }
    answer = raw.command("POST", "advance_queue_consumer", parameters)
    check_envelope(answer, 400, 3100, scene.consumer)
    assert answer.error
    assert answer.error.attributes["current_offset"] == 1


def test_a_wrong_epoch(client: YtClient, scene: Scene) -> None:
    with refused(3101, "7", "0"):
        client.push_queue_producer(scene.producer, scene.queue, "s", 7, [{"data": "x", "$sequence_number": 1}])
    with refused(1, "nobody"):
        client.push_queue_producer(scene.producer, scene.queue, "nobody", 0, [{"data": "x", "$sequence_number": 1}])


def test_a_consumer_without_registration(client: YtClient, raw: RawHttp, scene: Scene, home: str) -> None:
    with refused(901, scene.consumer, f"{home}/other"):
        make_queue(client, f"{home}/other")
        try:
            list(client.pull_queue_consumer(scene.consumer, f"{home}/other", offset=0, partition_index=0))
        finally:
            parameters = {"consumer_path": scene.consumer, "queue_path": f"{home}/other", "partition_index": 0}
            answer = raw.command("GET", "pull_queue_consumer", parameters)
            client.remove(f"{home}/other")
    check_envelope(answer, 400, 901, scene.consumer)


def test_a_table_that_is_not_mounted(client: YtClient, raw: RawHttp, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.unmount_table(path, sync=True)
    with pytest.raises(errors.YtTabletNotMounted):
        client.insert_rows(path, [{"data": "x"}])
    answer = raw.command("PUT", "insert_rows", {"path": path, "input_format": "yson"}, b"{data=x}")
    check_envelope(answer, 400, 1702, path)
    client.mount_table(path, sync=True)
    assert rows_of(client, f"* from [{path}]") == []


def test_the_clients_own_retry_waits_for_a_mount(clients: Clients, client: YtClient, proxy: str, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.unmount_table(path, sync=True)
    backoff = {"policy": "constant_time", "constant_time": 50}
    patient = clients.make(proxy, dynamic_table_retries={"enable": True, "count": 100, "backoff": backoff})
    writer = threading.Thread(target=lambda: patient.insert_rows(path, [{"data": "patience"}]))
    writer.start()
    try:
        assert writer.is_alive()
    finally:
        client.mount_table(path, sync=True)
        writer.join(LIMIT_SECONDS)
    assert [row["data"] for row in rows_of(client, f"* from [{path}]")] == ["patience"]


def test_a_row_that_is_wrong_is_told_with_its_table(client: YtClient, raw: RawHttp, scene: Scene) -> None:
    fine = {"data": "fine"}
    words = f"Error parsing row 2 of table {scene.queue}"
    with refused(307, words):
        client.insert_rows(scene.queue, [fine, fine, {"nonsense": 1}, {"worse": 2}])
    key = {"queue_cluster": "a", "queue_path": "b", "partition_index": yson.Uint64(0)}
    for command, rows in (
        ("insert_rows", [{**key, "offset": yson.Uint64(1)}, {"queue_cluster": 5}]),
        ("delete_rows", [key, {**key, "offset": 5}]),
        ("lookup_rows", [key, {"queue_cluster": "a"}]),
    ):
        parameters = {"path": scene.consumer, "input_format": "yson", "output_format": "yson"}
        answer = raw.command("PUT", command, parameters, yson.dumps_rows(rows))
        check_envelope(answer, 400, 307, f"Error parsing row 1 of table {scene.consumer}")


def test_parameters_that_can_not_be_read_are_told_with_their_header(raw: RawHttp) -> None:
    for header in ("X-YT-Parameters", "X-YT-Output-Format"):
        answer = raw.request("GET", "/api/v4/get?path=//tmp", headers={header: "{nonsense"})
        assert answer.status == 400
        assert f"Unable to parse header {header}" in str(answer.error)


def test_an_error_about_something_long_still_reaches_the_client(client: YtClient, raw: RawHttp, scene: Scene) -> None:
    name = "n" * 100_000
    with pytest.raises(YtClientError) as caught:
        client.insert_rows(scene.queue, [{name: "x"}])
    assert caught.value.contains_code(307)
    answer = raw.command("PUT", "insert_rows", {"path": scene.queue, "input_format": "yson"}, b"{%s=x}" % name.encode())
    assert max(len(value) for value in answer.headers.values()) < 8190
    [inner] = json.loads(answer.body)["inner_errors"]
    assert name in inner["message"]


def test_a_transaction_that_is_not_there(raw: RawHttp, scene: Scene) -> None:
    parameters = {"path": "//tmp", "transaction_id": "1-2-3-4"}
    check_envelope(raw.command("GET", "get", parameters), 400, 11000, "1-2-3-4")
    assert raw.command("GET", "exists", {**parameters, "transaction_id": "0-0-0-0"}).status == 200


def test_parameters_nobody_knows_are_ignored(raw: RawHttp, scene: Scene) -> None:
    assert raw.command("GET", "exists", {"path": "//tmp", "brightness": {"a": 5}}).value == {"value": True}
