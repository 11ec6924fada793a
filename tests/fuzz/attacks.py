"""What might be sent to a port: from noise to requests that are right but for one thing."""

from __future__ import annotations

import base64
import gzip
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final
from urllib.parse import quote

from tests.fuzz.odd_values import QUEUE, TABLE, as_json, fitting_value, odd_body, odd_format
from yt_local.commands import COMMANDS
from yt_local.proxy.http.compression import compressed
from yt_wire import http, yson

_TOKENS: Final = (
    b"GET ",
    b"POST ",
    b"PUT ",
    b"/api/v4/get",
    b"/api/v4/insert_rows",
    b" HTTP/1.1\r\n",
    b" HTTP/9.9\r\n",
    b"Host: x\r\n",
    b"\r\n\r\n",
    b"\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked, identity\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Encoding: z-zstd_3\r\n",
    b"Accept-Encoding: br\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\nConnection: upgrade\r\n",
    b"Connection: keep-alive\r\n",
    b'X-YT-Parameters: {path="//"}\r\n',
    b"X-YT-Header-Format: <format=text>yson\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"5\r\nhello\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00",
    b"\xff",
)
_URLS: Final = (
    "/",
    "*",
    "/api",
    "/api/v3/get",
    "/api/v4/",
    "/api/v4/nothing",
    "/api/v4/get/",
    "//api//v4",
    "/hosts",
    "/ping",
    "/auth/whoami",
    "/test/",
    "/test/faults/x",
    "/test/requests?path=%ff",
    "/api/v4/get?path[",
    "/api/v4/get?%zz=1",
    "/api/v4/get?a" + "[b]" * 2000 + "=1",
    "/api/v4/get?path=" + "%2F" * 3000,
    "http://x:99999999/",
    "/\u00e9",
)
_BOMB_BYTES: Final = 400 * 2**20


@dataclass(frozen=True)
class Attack:
    """What one connection is sent."""

    name: str
    pieces: Sequence[bytes]
    """Sent one after the other."""

    is_http: bool = False
    """Whether it is one whole HTTP request, which deserves an answer."""


def preparations() -> Sequence[Attack]:
    """Requests that see to it that there is something to attack; some of them fail when there is."""
    queue = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
    table = [{"name": "key", "type": "int64", "sort_order": "ascending"}, {"name": "data", "type": "any"}]
    requests: list[tuple[str, Mapping[str, Any]]] = [("create", {"type": "map_node", "path": "//tmp"})]
    for path, schema in ((QUEUE, queue), (TABLE, table)):
        attributes = {"dynamic": True, "schema": schema}
        requests += [
            ("create", {"type": "table", "path": path, "attributes": attributes}),
            ("unmount_table", {"path": path}),
            ("mount_table", {"path": path}),
        ]
    return [
        Attack(command, [_request(COMMANDS[command].method, command, parameters)], is_http=True)
        for command, parameters in requests
    ]


def make_attack(choices: random.Random) -> Attack:
    """Any of them; requests for commands are the most frequent."""
    makers: Sequence[tuple[Callable[[random.Random], Attack], int]] = (
        (_noise, 2),
        (_mutation, 4),
        (_odd_request, 2),
        (_command, 20),
        (_headers_without_end, 1),
        (_pipeline, 1),
    )
    make = choices.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0]
    return make(choices)


def bombs() -> Sequence[Attack]:
    """Little data that wants to become much, in every place where it can."""
    members = [gzip.compress(b"") * 10_000, *(gzip.compress(b"\0" * 2**20) for _ in range(2))]
    deflated = _deflate_zeros(_BOMB_BYTES)
    rows = gzip.compress(b"{};" * 2**22)
    bodies = {
        "zeros": deflated,
        "members": b"".join(members),
        "rows": rows,
        "as many rows as a body can hold": gzip.compress(b"{};" * (2**27 // 3)),
        "nested": gzip.compress(b"[" * 2**24),
        "numbers": gzip.compress(b"[" + b"1;" * 2**22 + b"]"),
        "digits": gzip.compress(b"9" * 2**24),
        "string": gzip.compress(b'"' + b"x" * 2**24 + b'"'),
    }
    parameters = {"path": QUEUE, "input_format": "yson"}
    return [
        Attack(
            f"{name} for {command}",
            [_request(COMMANDS[command].method, command, parameters, body, {"Content-Encoding": encoding})],
            True,
        )
        for encoding, named in (("gzip", bodies), *map(_zeros, ("br", "zstd", "z-zstd_3", "z-brotli_6", "z-snappy")))
        for name, body in named.items()
        for command in ("set", "insert_rows", "execute_batch")
    ]


def _zeros(encoding: str) -> tuple[str, Mapping[str, bytes]]:
    pieces = repeat(bytes(2**20), _BOMB_BYTES // 2**20)
    return encoding, {f"zeros in {encoding}": b"".join(compressed(encoding, pieces))}


def _deflate_zeros(size: int) -> bytes:
    block = b"\0" * 2**20
    compressor = zlib.compressobj(9)
    first, next_ = (compressor.compress(block) + compressor.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    # Behind such a flush equal blocks have equal bytes, and need not be compressed again.
    return first + next_ * (size // len(block) - 1) + compressor.flush()


def _noise(choices: random.Random) -> Attack:
    if choices.random() < 0.3:
        return Attack("noise", [choices.randbytes(choices.choice((1, 10, 1000, 200_000)))])
    return Attack("tokens", choices.choices(_TOKENS, k=choices.randint(1, 30)))


def _mutation(choices: random.Random) -> Attack:
    """A right request with some bytes wrong."""
    data = bytearray(_command(choices).pieces[0][:100_000])
    for _ in range(choices.randint(1, 8)):
        position = choices.randrange(len(data))
        match choices.randrange(4):
            case 0:
                data[position] = choices.randrange(256)
            case 1:
                del data[position : position + choices.randint(1, 20)]
            case 2:
                data[position:position] = choices.choice(_TOKENS)
            case _:
                data[position:position] = data[position : position + choices.randint(1, 500)]
        if not data:
            break
    return Attack("mutation", split(choices, bytes(data)))


def _odd_request(choices: random.Random) -> Attack:
    method = choices.choice(("GET", "PUT", "POST", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW"))
    path = choices.choice(_URLS)
    body = choices.choice((b"", b"{}", b"x" * 1000, b'{"kind": "hang"', b"[" * 100_000))
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return Attack("odd request", split(choices, head.encode("latin-1", "replace") + body))


def _headers_without_end(choices: random.Random) -> Attack:
    line = b"X-Header-%d: " + b"x" * choices.choice((1, 1000, 100_000)) + b"\r\n"
    return Attack("headers", [b"GET / HTTP/1.1\r\n", *(line % number for number in range(300))])


def _pipeline(choices: random.Random) -> Attack:
    return Attack("pipeline", [_request("GET", "exists", {"path": "//tmp"}, close=False) * 50, b"GET / HT"])


def _command(choices: random.Random) -> Attack:
    """A request for a command, as a whole proper HTTP."""
    command = choices.choice(list(COMMANDS.values()))
    parameters: dict[str, Any] = {}
    for name, field in command.parameters.model_fields.items():
        if choices.random() < (0.97 if field.is_required() else 0.3):
            parameters[field.alias or name] = fitting_value(choices, field.alias or name, str(field.annotation))
    if choices.random() < 0.2:
        parameters["mutation_id"] = fitting_value(choices, "mutation_id", "str")
    input_format = choices.choice(("yson", "json"))
    parameters["input_format"] = input_format if choices.random() < 0.9 else odd_format(choices)
    if choices.random() < 0.4:
        parameters["output_format"] = odd_format(choices)
    method = command.method if choices.random() < 0.95 else choices.choice(("GET", "PUT", "POST"))
    body = odd_body(choices, command, input_format)
    headers: dict[str, str] = {}
    if choices.random() < 0.1:
        headers["Content-Encoding"] = choices.choice(("gzip", "deflate", "identity", "br", "gzip, gzip", ""))
        if choices.random() < 0.7:
            body = choices.choice((gzip.compress, zlib.compress, lambda data: gzip.compress(data)[:-3]))(body)
    if choices.random() < 0.05:
        headers["Content-Type"] = choices.choice(("application/json", "application/x-yt-yson-text", "nonsense", ";"))
    return Attack(command.name, [_request(method, command.name, parameters, body, headers, choices)], is_http=True)


def _request(
    method: str,
    command: str,
    parameters: Mapping[str, Any],
    body: bytes = b"",
    headers: Mapping[str, str] = {},
    choices: random.Random | None = None,
    *,
    close: bool = True,
) -> bytes:
    """One request; parameters go into a header, in one of the ways there are."""
    way = choices.choices(range(6), (8, 1, 1, 2, 1, 0 if body else 1))[0] if choices else 0
    query = ""
    text = yson.dumps(dict(parameters), "text")
    lines = [f"{name}: {value}".encode("latin-1") for name, value in headers.items()]
    if way <= 2:
        lines.append(f"{http.HEADER_FORMAT}: <format=text>yson".encode())
    match way:
        case 0:
            lines.append(http.PARAMETERS.encode() + b": " + text.replace(b"\n", b" ").replace(b"\0", b" "))
        case 1:
            encoded = base64.b64encode(text)
            size = max(1, len(encoded) // 3 + 1)
            pieces = [encoded[start : start + size] for start in range(0, len(encoded), size)]
            lines += [f"{http.PARAMETERS}{index}: ".encode() + piece for index, piece in enumerate(pieces)]
        case 2:
            opened = choices.choice((b"[", b"{a=", b"<a=", b'{"a":')) if choices else b""
            broken = text[: len(text) // 2].replace(b"\n", b" ") + opened * 50_000
            lines.append(http.PARAMETERS.encode() + b": " + broken)
        case 3:
            lines.append(http.PARAMETERS.encode() + b": " + as_json(parameters))
        case 4:
            query = "?" + "&".join(f"{name}={quote(str(value)[:2000])}" for name, value in parameters.items())
        case _:
            body = as_json(parameters)
    if close:
        lines.append(b"Connection: close")
    version = choices.choice(("v3", "v4")) if choices else "v4"
    target = f"{method} /api/{version}/{command}{query} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    return target.encode() + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def split(choices: random.Random, data: bytes) -> Sequence[bytes]:
    """Some packets are smaller than others."""
    cuts = sorted(choices.randrange(len(data) + 1) for _ in range(choices.choice((0, 0, 1, 5))))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
