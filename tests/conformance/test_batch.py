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


def test_answers_of_rows_and_bytes_are_not_part_of_a_batch(raw: RawHttp, client: YtClient, home: str) -> None:
    types = {"select_rows": "output", "pull_queue": "output", "read_file": "output", "write_file": "input"}
    for name, direction in types.items():
        requests = [
            {"command": "create", "parameters": {"type": "map_node", "path": f"{home}/a"}},
            {"command": name, "parameters": {}, "input": "x"},
        ]
        answer = raw.command("POST", "execute_batch", {"requests": requests})
        assert answer.error
        kind = "binary" if name.endswith("file") else "tabular"
        words = f'Command "{name}" cannot be part of a batch since it has inappropriate {direction} type "{kind}"'
        assert words in answer.error.message
    answer = raw.command("POST", "execute_batch", {"requests": [{"command": "execute_batch", "parameters": {}}]})
    assert answer.error
    assert client.list(home) == []


def test_a_command_without_the_input_it_needs_fails_the_whole_batch(raw: RawHttp, home: str) -> None:
    for name in ("set", "insert_rows"):
        answer = raw.command("POST", "execute_batch", {"requests": [{"command": name, "parameters": {"path": home}}]})
        assert answer.error
        assert f'Command "{name}" requires input' in answer.error.message


def test_rows_are_written_in_a_batch(raw: RawHttp, client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.create("table", f"{home}/t")
    in_format = {"path": path, "input_format": "json"}
    results = batch(
        raw,
        {"command": "insert_rows", "parameters": in_format, "input": '{"data":"a"}{"data":"b"}'},
        {"command": "insert_rows", "parameters": {"path": path}, "input": {"data": "c"}},
        {"command": "insert_rows", "parameters": {"path": path}, "input": [{"data": "d"}]},
        {"command": "insert_rows", "parameters": in_format, "input": {"data": "e"}},
        {"command": "write_table", "parameters": {"path": f"{home}/t", "input_format": "yson"}, "input": "{x=1};{x=2}"},
    )
    assert [list(result) for result in results] == [["output"], ["output"], ["error"], ["error"], ["output"]]
    assert [row["data"] for row in client.pull_queue(path, offset=0, partition_index=0)] == ["a", "b", "c"]
    assert [row["x"] for row in client.read_table(f"{home}/t")] == [1, 2]


def test_in_sync_replicas_are_asked_for_in_a_batch(client: YtClient, home: str) -> None:
    schema = [{"name": "key", "type": "int64", "sort_order": "ascending"}, {"name": "value", "type": "string"}]
    client.create("replicated_table", f"{home}/r", attributes={"dynamic": True, "schema": schema})
    batch_client = client.create_batch_client()
    asked = batch_client.get_in_sync_replicas(f"{home}/r", 1, [{"key": 1}])
    batch_client.commit_batch()
    assert asked.is_ok(), asked.get_error()
    assert asked.get_result() == []


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
