"""Many light commands in one request."""

from __future__ import annotations

from typing import Any

from yt.wrapper import YtClient

from tests.conformance.harness import RawHttp, make_queue
from yt_wire import yson


def batch(raw: RawHttp, *requests: dict[str, Any]) -> list[Any]:
    """Results of a batch."""
    results: list[Any] = raw.command("POST", "execute_batch", {"requests": list(requests), "concurrency": 50}).value[
        "results"
    ]
    return results


def test_every_command_has_its_own_result_or_error(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    results = batch(
        raw,
        {"command": "get", "parameters": {"path": f"{home}/a"}},
        {"command": "get", "parameters": {"path": f"{home}/a", "return_only_value": True}},
        {"command": "get", "parameters": {"path": f"{home}/nope"}},
        {"command": "set", "parameters": {"path": f"{home}/b"}, "input": {"c": yson.Uint64(5)}},
        {"command": "exists", "parameters": {"path": f"{home}/b/c"}},
        {"command": "get", "parameters": {}},
        {"command": "list", "parameters": {"path": home, "return_only_value": True}},
    )
    assert results[0] == {"output": {"value": 1}}
    assert results[1] == {"output": 1}
    assert results[2]["error"]["code"] == 500
    assert results[3] == {"output": {}}
    assert results[4] == {"output": {"value": True}}
    assert "path" in results[5]["error"]["message"]
    assert sorted(results[6]["output"]) == ["a", "b"]
    assert isinstance(client.get(f"{home}/b/c"), yson.Uint64)


def test_tablet_infos_of_many_tables_come_at_once(raw: RawHttp, client: YtClient, home: str) -> None:
    paths = [make_queue(client, f"{home}/q{number}") for number in range(3)]
    client.insert_rows(paths[1], [{"data": "a"}])
    client.unmount_table(paths[2], sync=True)
    results = batch(
        raw,
        *({"command": "get_tablet_infos", "parameters": {"path": path, "tablet_indexes": [0]}} for path in paths),
    )
    assert [result["output"]["tablets"][0]["total_row_count"] for result in results[:2]] == [0, 1]
    assert results[2]["error"]["code"] == 1702


def test_a_command_nobody_knows_fails_the_whole_batch(raw: RawHttp, client: YtClient, home: str) -> None:
    requests = [
        {"command": "create", "parameters": {"type": "map_node", "path": f"{home}/a"}},
        {"command": "fly", "parameters": {}},
    ]
    answer = raw.command("POST", "execute_batch", {"requests": requests})
    assert answer.error
    assert "fly" in answer.error.message
    assert client.list(home) == []


def test_rows_do_not_travel_in_batches(raw: RawHttp, home: str) -> None:
    for name in ("insert_rows", "select_rows", "pull_queue", "execute_batch"):
        answer = raw.command("POST", "execute_batch", {"requests": [{"command": name, "parameters": {}}]})
        assert answer.error
        assert name in answer.error.message


def test_the_batch_client_works(client: YtClient, home: str) -> None:
    batch_client = client.create_batch_client()
    created = [batch_client.create("map_node", f"{home}/{number}") for number in range(150)]
    batch_client.commit_batch()
    assert all(item.is_ok() for item in created)
    read = batch_client.get(f"{home}/7/@type")
    failed = batch_client.get(f"{home}/nope")
    batch_client.commit_batch()
    assert read.get_result() == "map_node"
    assert not failed.is_ok()
    assert failed.get_error()["code"] == 500
    assert len(client.list(home)) == 150


def test_an_empty_batch_is_one(raw: RawHttp) -> None:
    assert batch(raw) == []
