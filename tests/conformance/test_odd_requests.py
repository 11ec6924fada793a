"""Requests that nobody should send: each is answered with an error, and leaves the cluster as it was."""

from __future__ import annotations

import json
import socket

import pytest

from tests.conformance.harness import ClusterThread, RawHttp, wait_for
from tests.conformance.scene import Scene, check_envelope
from tests.waiting import LIMIT_SECONDS
from yt_wire import http

METHODS = dict.fromkeys(("advance_queue_consumer", "create", "execute_batch", "remove", "trim_rows"), "POST")
"""Of the commands that are asked here by hand; the others read."""


@pytest.mark.parametrize(
    ("input_format", "body", "culprit"),
    [
        ("yson", b"{data=", "YSON"),
        ("yson", b"{data=fine};{data=\xff\xfe", "YSON"),
        ("yson", b"[1;2]", ""),
        ("yson", b"5", "5"),
        ("yson", b"[" * 100_000, "YSON"),
        ("yson", b"\x02\xff\xff\xff\xff", "YSON"),
        ("json", b'{"data": ', "JSON"),
        ("json", b'{"data": "fine"} nonsense', "JSON"),
        ("json", b"[1]", ""),
        ("json", b"5", "5"),
        ("json", b'{"$data": 1}', "$data"),
        ("json", b'{"data": NaN}', "JSON"),
        ("json", b'{"data": 1e999}', "too large for a double"),
        ("json", b'{"data": 99999999999999999999}', "99999999999999999999"),
        ("json", b'{"data": "\xff"}', "JSON"),
        ("json", b'{"data": "\\ud800"}', "JSON"),
        ("json", '{"data": "\N{CYRILLIC SMALL LETTER ZHE}"}'.encode(), "255"),
        ("json", b"[" * 100_000, "JSON"),
        ("json", b'{"a":' * 100_000, "JSON"),
        ("json", b'{"data": {"$value": 1, "$attributes": 5}}', "$attributes"),
    ],
)
def test_malformed_rows(raw: RawHttp, scene: Scene, input_format: str, body: bytes, culprit: str) -> None:
    answer = raw.command("PUT", "insert_rows", {"path": scene.queue, "input_format": input_format}, body)
    assert answer.status == 400
    assert answer.error
    assert culprit in str(answer.error)
    assert "Internal error" not in answer.error.message


@pytest.mark.parametrize("header_format", ["<format=text>yson", "json"])
@pytest.mark.parametrize("text", ["{path=", '{"path":', "5", "[1]", "\xff\xfe", ""])
def test_malformed_parameters(raw: RawHttp, scene: Scene, header_format: str, text: str) -> None:
    headers = {http.HEADER_FORMAT: header_format, http.PARAMETERS: text}
    answer = raw.request("GET", "/api/v4/get", headers=headers)
    assert answer.status == 400
    assert answer.error
    assert "Internal error" not in answer.error.message
    answer = raw.request(
        "POST", "/api/v4/create", text.encode("latin-1"), {"Content-Type": "application/x-yt-yson-text"}
    )
    assert answer.status == 400
    assert answer.error
    assert "Internal error" not in answer.error.message


@pytest.mark.parametrize("header_format", ["<format=", "csv", "5", "<format=rune>yson", "\xff"])
def test_a_header_format_that_is_none(raw: RawHttp, scene: Scene, header_format: str) -> None:
    headers = {http.HEADER_FORMAT: header_format, http.PARAMETERS: "{}"}
    answer = raw.request("GET", "/api/v4/get", headers=headers)
    assert answer.status == 400
    assert answer.error
    assert "Internal error" not in answer.error.message


def test_split_parameters_that_are_not_base64(raw: RawHttp, scene: Scene) -> None:
    answer = raw.request("GET", "/api/v4/get", headers={f"{http.PARAMETERS}0": "{}"})
    check_envelope(answer, 400, 1, http.PARAMETERS)


def test_a_header_that_is_too_long(proxy: str, scene: Scene) -> None:
    host, port = proxy.split(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT_SECONDS) as connection:
        connection.sendall(b"GET /api/v4/get HTTP/1.1\r\nHost: x\r\nX-YT-Parameters: ")
        chunk = b"x" * 2**20
        try:
            for _ in range(8):
                connection.sendall(chunk)
            connection.sendall(b"x" * 100 + b"\r\n\r\n")
        except ConnectionError:
            pass  # the server may have had enough before the end
        answer = connection.makefile("rb").read(2**16)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"400" in head.splitlines()[0]
    error = json.loads(body)
    assert "8388608" in error["message"]
    assert max(map(len, head.splitlines())) < 8190


def test_numbers_no_node_can_hold(raw: RawHttp, scene: Scene) -> None:
    parameters = {"path": f"{scene.home}/a", "input_format": "json"}
    for body in (b"99999999999999999999", b'{"a": {"b": -9223372036854775809}}', b'{"": 1}'):
        answer = raw.command("PUT", "set", parameters, body)
        assert answer.status == 400
        assert answer.error
        assert "Internal error" not in answer.error.message


def test_http_that_is_none_is_answered_with_an_error(proxy: str, scene: Scene) -> None:
    host, port = proxy.split(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT_SECONDS) as connection:
        connection.sendall(b"this is no HTTP\r\n\r\n")
        answer = connection.makefile("rb").read(2**16)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"400" in head.splitlines()[0]
    assert json.loads(body)["code"] == 1


@pytest.mark.local_only
def test_a_client_that_hangs_up_leaves_nothing_half_done(proxy: str, scene: Scene, local: ClusterThread) -> None:
    host, port = proxy.split(":")
    parameters = http.encode_parameters({"path": scene.queue, "input_format": "yson"})
    with socket.create_connection((host, int(port)), timeout=LIMIT_SECONDS) as connection:
        head = f"PUT /api/v4/insert_rows HTTP/1.1\r\nHost: x\r\n{http.HEADER_FORMAT}: <format=text>yson\r\n"
        connection.sendall(f"{head}{http.PARAMETERS}: {parameters}\r\nContent-Length: 100\r\n\r\n{{data=a}};".encode())
    wait_for(lambda: local.ask(lambda cluster: cluster.name) == "pythia")


def test_an_attribute_key_that_is_no_text(raw: RawHttp, scene: Scene) -> None:
    parameters = {"path": f"{scene.home}/@", "input_format": "yson"}
    check_envelope(raw.command("PUT", "multiset_attributes", parameters, rb'{"\xff"=1}'), 400, 1, "key", "UTF-8")
    check_envelope(raw.command("PUT", "multiset_attributes", parameters, b'{""=1}'), 400, 1, "key", "empty")
    for body, words in ((rb'{"\xff"=1}', "UTF-8"), (b'{""=1}', "empty")):
        answer = raw.command("PUT", "set", {"path": f"{scene.home}/new", "input_format": "yson"}, body)
        check_envelope(answer, 400, 1, words)
