"""How requests may be written and answers come: formats, places of parameters, compression."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from yt.wrapper import JsonFormat as ClientJsonFormat
from yt.wrapper import YsonFormat, YtClient

from tests.conformance.harness import Clients, RawHttp, make_queue
from yt_wire import http, yson

ZHE = "\N{CYRILLIC SMALL LETTER ZHE}"


def yson_format(style: str) -> Any:
    return yson.with_attributes("yson", {"format": style})


@pytest.fixture
def queue(client: YtClient, home: str) -> str:
    path = make_queue(
        client,
        f"{home}/q",
        schema=[{"name": "data", "type": "string"}, {"name": "u", "type": "uint64"}, {"name": "a", "type": "any"}],
    )
    client.insert_rows(path, [{"data": ZHE, "u": yson.Uint64(2**63), "a": {"$x": [1.0, None]}}, {}])
    return path


def pull(raw: RawHttp, queue: str, output_format: Any) -> bytes:
    parameters = {"queue_path": queue, "partition_index": 0, "output_format": output_format}
    answer = raw.command("GET", "pull_queue", parameters)
    assert answer.status == 200, answer.body
    return answer.body


def test_rows_in_text_stand_one_to_a_line(raw: RawHttp, queue: str) -> None:
    assert pull(raw, queue, yson_format("text")) == (
        b'{"$tablet_index"=0;"$row_index"=0;"data"="\\xD0\\xB6";"u"=9223372036854775808u;"a"={"$x"=[1.;#;];};};\n'
        b'{"$tablet_index"=0;"$row_index"=1;"data"=#;"u"=#;"a"=#;};\n'
    )


def test_rows_are_the_same_in_every_style_of_yson(raw: RawHttp, queue: str) -> None:
    rows = [yson.loads_rows(pull(raw, queue, yson_format(style))) for style in ("binary", "text", "pretty")]
    assert rows[0] == rows[1] == rows[2]
    assert rows[0][0][b"data"] == ZHE.encode()
    assert isinstance(rows[0][0][b"u"], yson.Uint64)
    pretty = pull(raw, queue, yson_format("pretty"))
    assert pretty.splitlines()[:2] == [b"{", b'    "$tablet_index" = 0;']


def test_rows_in_json_double_the_dollars_of_their_keys(raw: RawHttp, queue: str) -> None:
    lines = pull(raw, queue, "json").splitlines()
    assert (
        lines[0]
        == (
            '{"$$tablet_index":0,"$$row_index":0,"data":"\xd0\xb6","u":9223372036854775808,"a":{"$$x":[1.0,null]}}'
        ).encode()
    )
    assert json.loads(lines[1])["data"] is None
    plain = pull(raw, queue, yson.with_attributes("json", {"encode_utf8": False})).splitlines()
    assert json.loads(plain[0])["data"] == ZHE
    as_words = pull(raw, queue, yson.with_attributes("json", {"encode_utf8": "false"}))
    assert as_words.splitlines() == plain


def test_bytes_that_are_no_text_come_as_json_too(raw: RawHttp, client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    body = rb'{data="\xff\x00"}'
    assert raw.command("PUT", "insert_rows", {"path": path, "input_format": "yson"}, body).status == 200
    row = json.loads(pull(raw, path, "json"))
    assert row["data"] == "\xff\x00"
    parameters = {
        "queue_path": path,
        "partition_index": 0,
        "output_format": yson.with_attributes("json", {"encode_utf8": False}),
    }
    answer = raw.command("GET", "pull_queue", parameters)
    assert answer.status == 400
    assert answer.error


def test_json_is_pretty_on_demand(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": [1]})
    pretty = yson.with_attributes("json", {"format": "pretty"})
    body = raw.command("GET", "get", {"path": f"{home}/a", "output_format": pretty}).body
    assert json.loads(body) == {"value": {"b": [1]}}
    assert body.count(b"\n") > 3
    assert raw.command("GET", "get", {"path": f"{home}/a", "output_format": "json"}).body == b'{"value":{"b":[1]}}'


def test_values_with_attributes_are_pairs_in_json(raw: RawHttp, client: YtClient, home: str) -> None:
    answer = raw.command(
        "PUT",
        "set",
        {"path": f"{home}/@a", "input_format": "json"},
        b'{"x": {"$value": "v", "$attributes": {"b": true}}, "$$key": 1.0, "big": 18446744073709551615}',
    )
    assert answer.status == 200, answer.body
    found = client.get(f"{home}/@a")
    assert found["x"].attributes == {"b": True}
    assert found["$key"] == 1.0
    assert isinstance(found["big"], yson.Uint64)
    parameters = {"path": f"{home}/@a", "output_format": "json", "return_only_value": True}
    assert json.loads(raw.command("GET", "get", parameters).body) == {
        "x": {"$attributes": {"b": True}, "$value": "v"},
        "$$key": 1.0,
        "big": 18446744073709551615,
    }


@pytest.mark.parametrize("form", ["binary", "text", "pretty"])
def test_yson_is_understood_in_every_style(raw: RawHttp, client: YtClient, home: str, form: yson.Style) -> None:
    path = make_queue(client, f"{home}/q")
    body = yson.dumps_rows([{"data": "a"}, {"data": ZHE}], form)
    assert raw.command("PUT", "insert_rows", {"path": path, "input_format": "yson"}, body).status == 200
    assert [row["data"] for row in client.pull_queue(path, offset=0, partition_index=0)] == ["a", ZHE]


@pytest.mark.parametrize(
    "body",
    [
        b'{"data":"a"}\n{"data":"b"}\n',
        b'{"data":"a"}{"data":"b"}',
        b' {"data":"a"} \r\n\t{"data":"b"}',
        b"{data=a};{data=b}",
    ],
)
def test_rows_of_json_need_nothing_between_them(raw: RawHttp, client: YtClient, home: str, body: bytes) -> None:
    path = make_queue(client, f"{home}/q")
    form = "yson" if body.startswith(b"{d") else "json"
    assert raw.command("PUT", "insert_rows", {"path": path, "input_format": form}, body).status == 200
    assert [row["data"] for row in client.pull_queue(path, offset=0, partition_index=0)] == ["a", "b"]


@pytest.mark.parametrize("client_format", [YsonFormat(), ClientJsonFormat()])
def test_the_client_writes_and_reads_in_its_formats(client: YtClient, home: str, client_format: Any) -> None:
    path = make_queue(client, f"{home}/q")
    client.insert_rows(path, [{"data": ZHE}], format=client_format)
    (row,) = client.pull_queue(path, offset=0, partition_index=0, format=client_format)
    assert row["data"] == ZHE


@pytest.mark.parametrize(
    "config",
    [
        {"proxy": {"retries": {"enable": False}, "content_encoding": "identity"}},
        {"proxy": {"retries": {"enable": False}, "enable_proxy_discovery": False}},
        {"proxy": {"retries": {"enable": False}, "header_format": "json"}},
        {"proxy": {"retries": {"enable": False}, "accept_encoding": "identity"}},
        {"structured_data_format": ClientJsonFormat()},
    ],
)
def test_the_client_may_be_set_up_in_other_ways(
    clients: Clients, proxy: str, home: str, config: Mapping[str, Any]
) -> None:
    client = clients.make(proxy, **config)
    path = make_queue(client, f"{home}/q")
    client.insert_rows(path, [{"data": "a"}])
    assert [row["data"] for row in client.select_rows(f"data from [{path}]")] == ["a"]
    client.set(f"{home}/a", {ZHE: [1]})
    assert client.get(f"{home}/a") == {ZHE: [1]}
    assert client.get(f"{path}/@tablet_state") == "mounted"


@pytest.mark.parametrize(
    "header_format",
    ["json", '"json"', "yson", '<format=text>"yson"', '<"format"="text";>"yson"', "<format=binary>yson", None],
)
def test_the_header_names_its_own_format_in_yson(raw: RawHttp, home: str, header_format: str | None) -> None:
    parameters = {"path": home, "output_format": "json"}
    is_json = header_format is None or "json" in header_format
    text = json.dumps(parameters) if is_json else yson.dumps(parameters, "text").decode()
    headers = {http.PARAMETERS: text} | ({http.HEADER_FORMAT: header_format} if header_format else {})
    answer = raw.request("GET", "/api/v4/exists", headers=headers)
    assert json.loads(answer.body) == {"value": True}


@pytest.mark.parametrize("header_format", ["yson", "<format=pretty>yson", "<format=pretty>json", "json", None])
def test_parameters_of_answers_stand_in_one_line_of_text(
    raw: RawHttp, client: YtClient, home: str, header_format: str | None
) -> None:
    client.write_table(f"{home}/t", [{"a": 1}])
    query = urlencode({"path": f"{home}/t", "output_format": "json"})
    headers = {http.HEADER_FORMAT: header_format} if header_format else {}
    answer = raw.request("GET", f"/api/v4/read_table?{query}", headers=headers)
    assert json.loads(answer.body) == {"a": 1}
    told = answer.headers[http.RESPONSE_PARAMETERS]
    is_yson = header_format is not None and "yson" in header_format
    assert (yson.loads(told.encode()) if is_yson else json.loads(told))["start_row_index"] == 0


@pytest.mark.parametrize("separator", ["", "-"])
def test_long_parameters_may_come_in_pieces(raw: RawHttp, home: str, separator: str) -> None:
    text = base64.b64encode(yson.dumps({"path": home, "output_format": "json"}, "text")).decode()
    third = len(text) // 3
    pieces = [text[:third], text[third : 2 * third], text[2 * third :]]
    headers = {f"{http.PARAMETERS}{separator}{index}": piece for index, piece in enumerate(pieces)}
    headers[http.HEADER_FORMAT] = http.YSON_TEXT_HEADER_FORMAT
    assert json.loads(raw.request("GET", "/api/v4/exists", headers=headers).body) == {"value": True}


def test_parameters_may_stand_in_the_query_string(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": 1})
    query = urlencode(
        {"path": f"{home}/a", "attributes[]": "type", "output_format": "json", "return_only_value": "true"}
    )
    assert json.loads(raw.request("GET", f"/api/v4/get?{query}").body) == {
        "$attributes": {"type": "map_node"},
        "$value": {"b": {"$attributes": {"type": "int64_node"}, "$value": 1}},
    }
    query = urlencode(
        {"path": f"{home}/a/b", "output_format[$value]": "yson", "output_format[$attributes][format]": "text"}
    )
    assert raw.request("GET", f"/api/v4/get?{query}").body == b'{"value"=1;}'


def test_the_body_of_a_post_wins_over_the_header_and_that_over_the_query(raw: RawHttp, home: str) -> None:
    query = urlencode({"type": "document", "path": f"{home}/query", "recursive": "true"})
    headers = {
        http.PARAMETERS: json.dumps({"path": f"{home}/header", "attributes": {"a": 1, "b": 1}}),
        "Content-Type": "application/x-yt-yson-text",
    }
    body = yson.dumps({"path": f"{home}/x/body", "attributes": {"b": 2}}, "text")
    answer = raw.request("POST", f"/api/v4/create?{query}", body, headers)
    assert answer.status == 200, answer.body
    found = raw.command("GET", "get", {"path": f"{home}/x/body/@user_attributes", "return_only_value": True}).value
    assert found == {"a": 1, "b": 2}
    assert raw.command("GET", "get", {"path": f"{home}/x/body/@type", "return_only_value": True}).value == "document"


def test_lists_are_replaced_from_place_to_place(raw: RawHttp, home: str) -> None:
    query = urlencode({"path": home, "attributes[]": "type"})
    parameters = json.dumps({"attributes": ["key"], "return_only_value": True})
    answer = raw.request("GET", f"/api/v4/list?{query}", headers={http.PARAMETERS: parameters})
    assert answer.status == 200
    answer = raw.request("GET", f"/api/v4/get?{query}", headers={http.PARAMETERS: parameters})
    assert list(json.loads(answer.body)["$attributes"]) == ["key"]


def test_formats_are_taken_from_content_type_and_accept(raw: RawHttp, home: str) -> None:
    def get(accept: str) -> bytes:
        headers = {http.PARAMETERS: json.dumps({"path": f"{home}/a"}), "Accept": accept}
        return raw.request("GET", "/api/v4/get", headers=headers).body

    headers = {http.PARAMETERS: json.dumps({"path": f"{home}/a"}), "Content-Type": "application/x-yt-yson-text"}
    assert raw.request("PUT", "/api/v4/set", b"[1;2u]", headers).status == 200
    assert get("application/x-yt-yson-text") == b'{"value"=[1;2u;];}'
    assert get("application/json") == get("*/*") == b'{"value":[1,2]}'
    assert yson.loads(get("application/x-yt-yson-binary")) == {"value": [1, 2]}
    headers = {http.PARAMETERS: json.dumps({"path": f"{home}/b"}), http.INPUT_FORMAT: '"json"'}
    assert raw.request("PUT", "/api/v4/set", b'{"a":1}', headers).status == 200


def test_letters_beyond_ascii_get_through_headers(raw: RawHttp, client: YtClient, home: str) -> None:
    client.set(f"{home}/{ZHE}", 1)
    parameters = f'{{path="{home}/{ZHE}";output_format=json}}'.encode()
    headers = {http.HEADER_FORMAT: "yson", http.PARAMETERS: parameters.decode("latin-1")}
    assert json.loads(raw.request("GET", "/api/v4/get", headers=headers).body) == {"value": 1}


def test_commands_without_a_result_answer_with_an_empty_map(raw: RawHttp, client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    commands: dict[str, dict[str, Any]] = {
        "set": {"path": f"{home}/a", "input_format": "json"},
        "remount_table": {"path": path},
        "trim_rows": {"path": path, "tablet_index": 0, "trimmed_row_count": 0},
        "remove": {"path": f"{home}/a"},
    }
    for name, parameters in commands.items():
        method = "PUT" if name == "set" else "POST"
        body = b"1" if name == "set" else None
        answer = raw.command(method, name, {**parameters, "output_format": "json"}, body)
        assert answer.status == 200
        assert answer.body.strip() == b"{}"


def test_missing_rows_are_entities(raw: RawHttp, home: str, client: YtClient) -> None:
    client.create("queue_consumer", f"{home}/c")
    parameters = {"path": f"{home}/c", "keep_missing_rows": True, "input_format": "yson"}
    key = b"{queue_cluster=a;queue_path=b;partition_index=0u}"
    text = {**parameters, "output_format": yson_format("text")}
    assert raw.command("PUT", "lookup_rows", text, key).body == b"#;\n"
    assert raw.command("PUT", "lookup_rows", {**parameters, "output_format": "json"}, key).body == b"null\n"


def test_the_discovery_endpoints_answer(raw: RawHttp, proxy: str) -> None:
    assert json.loads(raw.request("GET", "/api").body) == ["v3", "v4"]
    assert json.loads(raw.request("GET", "/hosts?address_type=http&role=data").body) == [proxy]
    assert raw.request("GET", "/ping").status == 200
    assert json.loads(raw.request("POST", "/auth/whoami").body)["login"] == "root"
    answer = raw.command("GET", "discover_proxies", {"type": "rpc", "output_format": yson_format("text")})
    assert isinstance(yson.loads(answer.body)["proxies"], list)
    features = raw.command("GET", "get_supported_features", {}).value
    assert set(features) == {"features"}


EXPECTED_DESCRIPTORS = {
    "get list exists check_permission parse_ypath generate_timestamp get_supported_features discover_proxies"
    " list_queue_consumer_registrations": ("null", "structured", False, False),
    "create remove copy move link execute_batch mount_table unmount_table remount_table freeze_table unfreeze_table"
    " reshard_table get_tablet_infos get_tablet_errors register_queue_consumer unregister_queue_consumer"
    " advance_queue_consumer advance_consumer create_queue_producer_session remove_queue_producer_session": (
        "null",
        "structured",
        True,
        False,
    ),
    "set multiset_attributes": ("structured", "structured", True, False),
    "trim_rows": ("null", "structured", True, True),
    "insert_rows delete_rows": ("tabular", "structured", True, True),
    "lookup_rows": ("tabular", "tabular", False, True),
    "select_rows pull_queue pull_queue_consumer pull_consumer": ("null", "tabular", False, True),
}


def test_commands_are_described_as_a_real_cluster_does(raw: RawHttp) -> None:
    described = {item["name"]: item for item in json.loads(raw.request("GET", "/api/v4").body)}
    for names, (input_type, output_type, is_volatile, is_heavy) in EXPECTED_DESCRIPTORS.items():
        for name in names.split():
            assert described[name] == {
                "name": name,
                "input_type": input_type,
                "output_type": output_type,
                "is_volatile": is_volatile,
                "is_heavy": is_heavy,
            }
    assert all(len(item) == 5 for item in described.values())


def test_a_path_is_taken_apart(raw: RawHttp) -> None:
    parsed = raw.command("GET", "parse_ypath", {"path": "<append=%true>hume://tmp/t{a,b}[#1:#5,x]"}).value["path"]
    assert str(parsed) == "//tmp/t"
    assert parsed.attributes == {
        "append": True,
        "cluster": "hume",
        "columns": ["a", "b"],
        "ranges": [
            {"lower_limit": {"row_index": 1}, "upper_limit": {"row_index": 5}},
            {"exact": {"key": ["x"]}},
        ],
    }
    for selectors, ranges in {
        "[#10]": [{"exact": {"row_index": 10}}],
        "[(a,1)]": [{"exact": {"key": ["a", 1]}}],
        "[a:b]": [{"lower_limit": {"key": ["a"]}, "upper_limit": {"key": ["b"]}}],
        "[:]": [{}],
        "[]": [{}],
    }.items():
        path = raw.command("GET", "parse_ypath", {"path": f"//tmp/t{selectors}"}).value["path"]
        assert path.attributes == {"ranges": ranges}
    assert raw.command("GET", "parse_ypath", {"path": "//tmp/t"}).value == {"path": "//tmp/t"}
