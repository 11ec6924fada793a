"""A change that is sent again, because its first answer was lost, happens once."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import Answer, RawHttp, make_queue
from yt_wire import yson


def twice(raw: RawHttp, method: str, command: str, parameters: dict[str, Any], body: bytes | None = None) -> Answer:
    """Send a command and send it again, as a client does that has heard nothing; both answers are the same."""
    mutation_id = str(uuid.uuid4())
    answers = [
        raw.command(method, command, {**parameters, "mutation_id": mutation_id, "retry": retry}, body)
        for retry in (False, True)
    ]
    assert answers[0].status == answers[1].status
    assert answers[0].body == answers[1].body
    return answers[0]


def test_a_node_is_created_once(raw: RawHttp, client: YtClient, home: str) -> None:
    answer = twice(raw, "POST", "create", {"type": "map_node", "path": f"{home}/a"})
    assert answer.value["node_id"] == client.get(f"{home}/a/@id")


def test_a_node_is_moved_and_removed_once(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    assert twice(raw, "POST", "move", {"source_path": f"{home}/a", "destination_path": f"{home}/b"}).status == 200
    assert twice(raw, "POST", "remove", {"path": f"{home}/b"}).status == 200
    assert client.list(home) == []


def test_an_item_is_appended_once(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/l", [])
    twice(raw, "PUT", "set", {"path": f"{home}/l/end", "input_format": "yson"}, b"5")
    assert client.get(f"{home}/l") == [5]


def test_an_epoch_is_raised_once(raw: RawHttp, client: YtClient, home: str) -> None:
    client.create("queue_producer", f"{home}/p")
    parameters = {"producer_path": f"{home}/p", "queue_path": f"{home}/q", "session_id": "s"}
    assert twice(raw, "POST", "create_queue_producer_session", parameters).value["epoch"] == 0
    assert twice(raw, "POST", "create_queue_producer_session", parameters).value["epoch"] == 1


def test_an_offset_moves_once_without_a_conflict(raw: RawHttp, client: YtClient, home: str) -> None:
    make_queue(client, f"{home}/q")
    client.create("queue_consumer", f"{home}/c")
    parameters = {
        "consumer_path": f"{home}/c",
        "queue_path": f"{home}/q",
        "partition_index": 0,
        "old_offset": 0,
        "new_offset": 3,
        "client_side": True,
    }
    assert twice(raw, "POST", "advance_queue_consumer", parameters).status == 200


def test_a_batch_is_carried_out_once(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/l", [])
    request = {"command": "set", "parameters": {"path": f"{home}/l/end"}, "input": 1}
    twice(raw, "POST", "execute_batch", {"requests": [request]})
    assert client.get(f"{home}/l") == [1]


def test_commands_in_a_batch_have_ids_of_their_own(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/l", [])
    mutation_id = str(uuid.uuid4())
    parameters = {"path": f"{home}/l/end", "mutation_id": mutation_id}
    request = {"command": "set", "parameters": parameters, "input": 1}
    for _ in range(2):
        assert raw.command("POST", "execute_batch", {"requests": [request]}).status == 200
    assert client.get(f"{home}/l") == [1]


def test_what_failed_may_be_tried_again(raw: RawHttp, client: YtClient, home: str) -> None:
    parameters = {"type": "map_node", "path": f"{home}/a/b", "mutation_id": str(uuid.uuid4())}
    assert raw.command("POST", "create", parameters).status == 400
    client.create("map_node", f"{home}/a")
    assert raw.command("POST", "create", {**parameters, "retry": True}).status == 200


@pytest.mark.parametrize("command", ["create", "remove"])
def test_other_ids_are_other_changes(raw: RawHttp, client: YtClient, home: str, command: str) -> None:
    parameters = {"type": "map_node", "path": f"{home}/a"}
    if command == "remove":
        client.create("map_node", f"{home}/a")
    codes = [raw.command("POST", command, {**parameters, "mutation_id": str(uuid.uuid4())}).status for _ in range(2)]
    assert codes == [200, 400]


def test_reading_is_never_answered_from_memory(raw: RawHttp, client: YtClient, home: str) -> None:
    parameters = {"path": f"{home}/a", "mutation_id": str(uuid.uuid4()), "return_only_value": True}
    for value in (1, 2):
        client.set(f"{home}/a", value)
        assert raw.command("GET", "get", parameters).value == value == yson.loads(b"%d" % value)
