"""Both versions of the API, by any method: foreign-clients.md §1 and §2."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yt.wrapper as yt
from yt.wrapper import YtClient

from tests.conformance.harness import Answer, Clients, RawHttp
from yt_wire import http

JSON_HEADERS = {http.HEADER_FORMAT: "json", "Accept": "application/json"}


@pytest.fixture
def node(client: YtClient, home: str) -> str:
    """A document."""
    path = f"{home}/document"
    client.create("document", path, attributes={"value": 1})
    return path


def ask(
    raw: RawHttp, method: str, path: str, parameters: Mapping[str, Any], body: bytes | None = None, **headers: str
) -> Answer:
    """With parameters in a JSON header; the answer is JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return raw.request(method, f"/api/{path}", body, {**JSON_HEADERS, http.PARAMETERS: json.dumps(parameters), **named})


def answer_of(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return json.loads(answer.body) if answer.body else None


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_any_command_comes_by_any_method(raw: RawHttp, node: str, method: str) -> None:
    assert answer_of(ask(raw, method, "v4/exists", {"path": node})) == {"value": True}
    assert answer_of(ask(raw, method, "v4/remove", {"path": node})) == {}
    assert answer_of(ask(raw, method, "v4/exists", {"path": node})) == {"value": False}


def test_the_body_of_a_post_is_parameters_and_never_input(raw: RawHttp, node: str) -> None:
    body = json.dumps({"path": node + "/@from_the_body"}).encode()
    answer = ask(raw, "POST", "v4/exists", {"path": "//nowhere"}, body, Content_Type="application/json")
    assert answer_of(answer) == {"value": False}
    refused = ask(raw, "POST", "v4/set", {"path": node + "/@x"}, b'{"value": 5}', Content_Type="application/json")
    assert refused.status == 400
    assert answer_of(ask(raw, "PUT", "v4/set", {"path": node + "/@x"}, b"5", Content_Type="application/json")) == {}
    assert answer_of(ask(raw, "GET", "v4/get", {"path": node + "/@x"})) == {"value": 5}


def test_a_body_without_a_format_is_written_as_the_input_of_its_command(raw: RawHttp, node: str) -> None:
    yson, as_json = f'{{path="{node}"}}'.encode(), json.dumps({"path": node}).encode()
    assert answer_of(ask(raw, "POST", "v4/exists", {}, yson)) == {"value": True}
    assert ask(raw, "POST", "v4/exists", {}, as_json).status == 400
    # A type with parameters is none of those that are known.
    assert ask(raw, "POST", "v4/exists", {}, as_json, Content_Type="application/json; charset=utf-8").status == 400
    assert answer_of(ask(raw, "POST", "v4/exists", {}, as_json, X_YT_Input_Format='"json"')) == {"value": True}


def test_the_body_of_a_post_is_not_compressed(raw: RawHttp, node: str) -> None:
    body = gzip.compress(f'{{path="{node}"}}'.encode())
    answer = ask(raw, "POST", "v4/exists", {}, body, Content_Encoding="gzip")
    assert answer.status == 400
    assert answer.error
    assert answer.error.message == "Content-Encoding not supported in POST body"


def test_v3_answers_the_bare_value(raw: RawHttp, node: str) -> None:
    assert answer_of(ask(raw, "GET", "v3/exists", {"path": node})) is True
    folder, _, name = node.rpartition("/")
    assert name in answer_of(ask(raw, "GET", "v3/list", {"path": folder}))
    made = answer_of(ask(raw, "POST", "v3/create", {"path": node + "_dir", "type": "map_node"}))
    assert answer_of(ask(raw, "GET", "v3/get", {"path": f"#{made}/@type"})) == "map_node"
    user = answer_of(ask(raw, "POST", "v3/create", {"type": "user", "attributes": {"name": "of_v3"}}))
    assert answer_of(ask(raw, "GET", "v3/get", {"path": "//sys/users/of_v3/@id"})) == user


def test_v3_answers_as_v4_where_the_bare_value_is_wanted(raw: RawHttp, node: str) -> None:
    ask(raw, "PUT", "v3/set", {"path": node + "/@x"}, b'{"value": 5}', Content_Type="application/json")
    for wanted in (True, "true", 1):
        parameters = {"path": node + "/@x", "return_only_value": wanted}
        assert answer_of(ask(raw, "GET", "v3/get", parameters)) == {"value": 5}
        batch = {"requests": [{"command": "get", "parameters": parameters}]}
        assert answer_of(ask(raw, "POST", "v3/execute_batch", batch)) == [{"output": {"value": 5}}]
    assert answer_of(ask(raw, "GET", "v3/get", {"path": node + "/@x"})) == {"value": 5}


def test_v3_answers_nothing_where_v4_answers_an_empty_map(raw: RawHttp, node: str) -> None:
    answer = ask(raw, "PUT", "v3/set", {"path": node + "/@x"}, b"5", Content_Type="application/json")
    assert (answer.status, answer.body) == (200, b"")
    assert "Content-Type" not in answer.headers or answer.headers["Content-Type"] == "application/octet-stream"
    assert ask(raw, "PUT", "v4/set", {"path": node + "/@x"}, b"5", Content_Type="application/json").body == b"{}"


def test_transactions_have_other_names_in_v3(raw: RawHttp, node: str) -> None:
    transaction = answer_of(ask(raw, "POST", "v3/start_tx", {"timeout": 30000}))
    lock = answer_of(ask(raw, "POST", "v3/lock", {"path": node, "transaction_id": transaction}))
    assert isinstance(lock, str)
    assert ask(raw, "POST", "v3/ping_tx", {"transaction_id": transaction}).body == b""
    assert ask(raw, "POST", "v3/commit_tx", {"transaction_id": transaction}).body == b""
    assert answer_of(ask(raw, "GET", "v3/exists", {"path": f"#{transaction}"})) is False


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("v3/start_transaction", 404, 'Command "start_transaction" is not registered'),
        ("v4/start_tx", 404, 'Command "start_tx" is not registered'),
        ("v3/pull_queue", 404, 'Command "pull_queue" is not registered'),
        ("v4/fly", 404, 'Command "fly" is not registered'),
        ("v4/fl1", 404, 'Malformed command name "fl1"'),
        ("v5/get", 400, 'Unsupported API version "/api/v5/get"'),
    ],
)
def test_a_command_that_a_version_does_not_have(raw: RawHttp, path: str, status: int, message: str) -> None:
    answer = ask(raw, "GET", path, {})
    assert answer.error
    assert (answer.status, answer.error.code, answer.error.message) == (status, 1, message)


def test_a_batch_of_v3_is_a_list_of_answers_of_v3(raw: RawHttp, node: str) -> None:
    requests = [
        {"command": "get", "parameters": {"path": node + "/@type"}},
        {"command": "set", "parameters": {"path": node + "/@x"}, "input": 7},
        {"command": "get", "parameters": {"path": "//nowhere"}},
        {"command": "start_tx", "parameters": {}},
    ]
    got, changed, missing, started = answer_of(ask(raw, "POST", "v3/execute_batch", {"requests": requests}))
    assert (got, changed) == ({"output": "document"}, {})
    assert missing["error"]["code"] == 500
    assert isinstance(started["output"], str)
    refused = ask(raw, "POST", "v3/execute_batch", {"requests": [{"command": "start_transaction", "parameters": {}}]})
    assert refused.status == 400
    assert refused.error
    assert refused.error.message == 'Unknown command "start_transaction"'


def test_descriptors_tell_the_names_and_outputs_of_their_version(raw: RawHttp) -> None:
    assert json.loads(raw.request("GET", "/api").body) == ["v3", "v4"]
    of_v3, of_v4 = (
        {one["name"]: one for one in json.loads(raw.request("GET", f"/api/{version}").body)} for version in ("v3", "v4")
    )
    assert of_v3["set"]["output_type"] == "null"
    assert of_v4["set"]["output_type"] == "structured"
    assert "start_tx" in of_v3
    assert "start_tx" not in of_v4
    assert "pull_queue" in of_v4.keys() - of_v3.keys()


def test_null_stands_for_a_parameter_that_is_not_given(raw: RawHttp, node: str) -> None:
    assert answer_of(ask(raw, "GET", "v4/exists", {"path": node, "transaction_id": None})) == {"value": True}
    answer = ask(raw, "GET", "v4/get", {"path": None})
    assert answer.error
    assert answer.error.message == "Missing required parameter /path"


def test_a_value_that_cannot_be_read_is_named_once(raw: RawHttp, node: str) -> None:
    answer = ask(raw, "POST", "v4/remove", {"path": node, "force": "maybe"})
    assert answer.error
    assert answer.error.message == 'Error reading parameter /force: Error parsing boolean value "maybe"'


def test_an_old_browser_changes_nothing_by_looking_at_a_page(raw: RawHttp, node: str) -> None:
    agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15"
    refused = ask(raw, "GET", "v4/remove", {"path": node}, User_Agent=agent)
    assert refused.status == 403
    own_page = ask(raw, "GET", "v4/remove", {"path": node}, User_Agent=agent, Sec_Fetch_Site="same-origin")
    assert own_page.status == 200


def test_the_python_client_works_over_v3(clients: Clients, raw: RawHttp, node: str) -> None:
    client = clients.make(raw.proxy, api_version="v3")
    table = node + "_static"
    with client.Transaction():
        client.write_table(table, [{"x": 1}, {"x": 2}])
    assert list(client.read_table(yt.TablePath(table))) == [{"x": 1}, {"x": 2}]
    client.set(table + "/@note", "a")
    assert client.get(table + "/@note") == "a"
    assert client.list(table + "/@")
    client.remove(table)
    assert not client.exists(table)


def test_who_somebody_is_comes_with_a_token_for_the_web_interface(raw: RawHttp) -> None:
    answer = raw.request("GET", "/auth/whoami")
    said = json.loads(answer.body)
    assert said["login"] == "root"
    assert re.fullmatch(r"[0-9a-f]{64}:[0-9]{10}", said["csrf_token"])
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_proxy_tells_its_version_and_its_hosts(raw: RawHttp) -> None:
    version = raw.request("GET", "/version").body.decode()
    assert re.match(r"\d+\.\d+\.\d+", version)
    assert answer_of(ask(raw, "POST", "v4/get_version", {})) == {"version": version}
    assert answer_of(ask(raw, "POST", "v3/get_version", {})) == version
    assert json.loads(raw.request("GET", "/service").body)["version"] == version
    assert json.loads(raw.request("GET", "/hosts").body) == [raw.proxy]
    assert raw.request("GET", "/hosts", headers={"Accept": "text/plain"}).body.decode() == f"{raw.proxy}\n"
    [host] = json.loads(raw.request("GET", "/hosts/all").body)
    assert (host["name"], host["role"], host["dead"], host["banned"]) == (raw.proxy, "data", False, False)
    found = json.loads(raw.request("GET", "/internal/discover_versions/v2").body)
    assert found["summary"]["total"]["http_proxy"] == {"total": 1, "banned": 0, "offline": 0}
    assert {item["version"] for item in found["details"]} == {version}
