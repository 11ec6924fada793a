"""Just enough HTTP/1.1 for clients of a cluster."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from yt_wire import yson

_REQUEST: Final = re.compile(rb"(GET|PUT|POST) /api/v4/(\w+)[^\n]*\n")
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_CHUNKED: Final = re.compile(rb"(?i)\r\ntransfer-encoding: *chunked")
_COMMANDS: Final = [
    {"name": name, "input_type": input_type, "output_type": output_type, "is_volatile": False, "is_heavy": heavy}
    for name, input_type, output_type, heavy in (
        ("get_tablet_infos", "null", "structured", False),
        ("select_rows", "null", "tabular", True),
        ("lookup_rows", "tabular", "tabular", True),
    )
]
"""Those that clients look up before they send them."""

_PARAMETERS: Final = re.compile(rb"(?i)\r\nx-yt-parameters: *([^\r]+)")


FindAnswer = Callable[[str, Mapping[str, Any], bytes], bytes | dict[str, Any]]
"""Command, parameters and body to the body of the answer, or to an error."""


class Connection(asyncio.Protocol):
    """Just enough HTTP/1.1 for the clients there are."""

    def __init__(self, find_answer: FindAnswer) -> None:
        self._find_answer = find_answer
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (request := _split_request(self._data)) is not None:
            head, body, self._data = request
            assert self._transport is not None
            self._transport.write(self._answer(head, body))

    def _answer(self, head: bytes, body: bytes) -> bytes:
        request = _REQUEST.match(head)
        if request is None:
            if head.startswith(b"GET /api/v4 "):
                return _json_answer("200 OK", _COMMANDS)
            return _json_answer("404 Not Found", {})
        method, command = request[1].decode(), request[2].decode()
        given = _PARAMETERS.search(head)
        parameters = yson.loads(given[1]) if given else {}
        if method == "POST":
            parameters, body = {**parameters, **_parse(body)}, b""
        answer = self._find_answer(command, parameters, body)
        if isinstance(answer, dict):
            return _json_answer("400 Bad Request", answer)
        if command in ("select_rows", "lookup_rows"):
            # As a proxy does it: trailers mark the end of a stream of rows.
            chunk = b"%x\r\n%s\r\n" % (len(answer), answer) if answer else b""
            return (
                b"HTTP/1.1 200 OK\r\nContent-Type: application/x-yt-yson-binary\r\nTransfer-Encoding: chunked\r\n"
                b"Trailer: X-YT-Error, X-YT-Response-Code, X-YT-Response-Message\r\nX-YT-Request-Id: 1-2-3-4\r\n\r\n"
                + chunk
                + b"0\r\nX-YT-Response-Code: 0\r\n\r\n"
            )
        return (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-yt-yson-binary\r\nContent-Length: %d\r\n"
            b"X-YT-Request-Id: 1-2-3-4\r\n\r\n" % len(answer)
        ) + answer


def _split_request(data: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Head, body, and what follows; None if there is not all of it yet."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    head, rest = data[: end + 2], data[end + 4 :]
    if _CHUNKED.search(head):
        body = b""
        while (line := rest.find(b"\r\n")) >= 0:
            size = int(rest[:line], 16)
            if len(rest) < line + 2 + size + 2:
                return None
            body += rest[line + 2 : line + 2 + size]
            rest = rest[line + 2 + size + 2 :]
            if size == 0:
                return head, body, rest
        return None
    length = _LENGTH.search(head)
    size = int(length[1]) if length else 0
    return None if len(rest) < size else (head, rest[:size], rest[size:])


@lru_cache(maxsize=1024)
def _parse(body: bytes) -> dict[str, Any]:
    """A batch comes again and again."""
    parameters: dict[str, Any] = yson.loads(body)
    return parameters


def _json_answer(status: str, value: Any) -> bytes:
    body = json.dumps(value).encode()
    is_error = isinstance(value, dict) and "code" in value
    code = f"X-YT-Error: {json.dumps(value)}\r\nX-YT-Response-Code: {value['code']}\r\n" if is_error else ""
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{code}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
