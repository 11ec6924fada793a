"""What might be sent to a port: from noise to requests that are right but for one thing."""

from __future__ import annotations

import base64
import gzip
import json
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from queue_agent.local_cluster.commands import COMMANDS
from queue_agent.local_cluster.commands.command import Command
from queue_agent.wire import http, yson

QUEUE: Final = "//tmp/queue"
TABLE: Final = "//tmp/table"

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
_PATHS: Final = (
    "//tmp",
    QUEUE,
    TABLE,
    "/",
    "",
    "//",
    "//tmp/@",
    "//tmp/&/@type",
    f"{QUEUE}/@tablets/0/state",
    f"{TABLE}/@schema/-1/name",
    "//tmp/\\x",
    "//tmp/\\xff",
    "//tmp/*",
    "#0-0-0-0",
    f"<cluster=a>{QUEUE}",
    f"<cluster=nowhere>{QUEUE}",
    "<append=%true",
    f"{TABLE}{{key}}[5:7,#1]",
    f"{TABLE}[[[",
    "//tmp/\ud7ff\U0010ffff",
    "//tmp" + "/a" * 3000,
    "//tmp/" + "a" * 5000,
    "//sys/users/root",
    "//sys/tokens",
)
_QUERIES: Final = (
    f"* from [{TABLE}]",
    f"sum(1) from [{QUEUE}] group by 1",
    "* from",
    f"{'(' * 3000}1{')' * 3000} from [{TABLE}]",
    f"{'not ' * 3000}true from [{TABLE}]",
    f"{'-' * 3000}1 from [{TABLE}]",
    f"1{'+1' * 3000} from [{TABLE}]",
    f"key in ({','.join(map(str, range(3000)))}) from [{TABLE}]",
    f"key = {'9' * 400} from [{TABLE}]",
    f"key / 0, key % 0 from [{TABLE}]",
    f"1e999, -9223372036854775808 - 1 from [{TABLE}]",
    f"'\\xff\ud7ff' from [{TABLE}] limit 99999999999999999999",
    f"key from [{TABLE}] where key = {{placeholder}}",
    f"{'if(true, ' * 500}1{', 1)' * 500} from [{TABLE}]",
)
_NUMBERS: Final = (0, 1, -1, 2**31, -(2**31), 2**63 - 1, -(2**63), yson.Uint64(2**64 - 1), 1e308, -0.0)
_TYPES: Final = (
    "table",
    "map_node",
    "document",
    "link",
    "queue_consumer",
    "queue_producer",
    "user",
    "group",
    "file",
    "list_node",
    "string_node",
    "int64_node",
)
_TEXTS: Final = ("", "x", "true", "\x00", "\ud7ff", "x" * 70000, "%true", "#", "5u", "0-0-0-0", "read", "map_node")
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
    return [Attack(command, [_request("POST", command, parameters)], is_http=True) for command, parameters in requests]


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
        "nested": gzip.compress(b"[" * 2**24),
        "numbers": gzip.compress(b"[" + b"1;" * 2**22 + b"]"),
        "digits": gzip.compress(b"9" * 2**24),
        "string": gzip.compress(b'"' + b"x" * 2**24 + b'"'),
    }
    parameters = {"path": QUEUE, "input_format": "yson"}
    return [
        Attack(
            f"{name} for {command}", [_request("PUT", command, parameters, body, {"Content-Encoding": "gzip"})], True
        )
        for name, body in bodies.items()
        for command in ("set", "insert_rows", "execute_batch")
    ]


def _deflate_zeros(size: int) -> bytes:
    compressor = zlib.compressobj(9)
    block = b"\0" * 2**20
    return b"".join([*(compressor.compress(block) for _ in range(size // len(block))), compressor.flush()])


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
    return Attack("mutation", _split(choices, bytes(data)))


def _odd_request(choices: random.Random) -> Attack:
    method = choices.choice(("GET", "PUT", "POST", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW"))
    path = choices.choice(_URLS)
    body = choices.choice((b"", b"{}", b"x" * 1000, b'{"kind": "hang"', b"[" * 100_000))
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return Attack("odd request", _split(choices, head.encode("latin-1", "replace") + body))


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
            parameters[field.alias or name] = _fitting(choices, field.alias or name, str(field.annotation))
    if choices.random() < 0.2:
        parameters["mutation_id"] = _fitting(choices, "mutation_id", "str")
    input_format = choices.choice(("yson", "json"))
    parameters["input_format"] = input_format if choices.random() < 0.9 else _format(choices)
    if choices.random() < 0.4:
        parameters["output_format"] = _format(choices)
    method = choices.choice(("GET", "PUT", "POST"))
    body = _body(choices, command, input_format)
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
            lines.append(http.PARAMETERS.encode() + b": " + _json(parameters))
        case 4:
            query = "?" + "&".join(f"{name}={quote(str(value)[:2000])}" for name, value in parameters.items())
        case _:
            body = _json(parameters)
    if close:
        lines.append(b"Connection: close")
    target = f"{method} {http.COMMAND_PREFIX}{command}{query} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    return target.encode() + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def _json(value: Any) -> bytes:
    return json.dumps(value, default=str, ensure_ascii=True).encode()


def _fitting(choices: random.Random, name: str, annotation: str) -> Any:
    """What fits a parameter of this name and type, more often than not."""
    if choices.random() < 0.1:
        return _value(choices)
    if name == "path" or name.endswith("_path"):
        return choices.choice(_PATHS)
    match name:
        case "query":
            return choices.choice(_QUERIES)
        case "type":
            return choices.choice(_TYPES)
        case "attributes" | "schema":
            schema: Any = choices.choice(
                (
                    [{"name": "a", "type": choices.choice(("int64", "any", "nothing"))}],
                    [{"name": "k", "type": "int64", "sort_order": "ascending"}, {"name": "v", "type": "string"}],
                    [{"name": "k", "type": "uint64", "sort_order": "ascending", "expression": "farm_hash(k)"}],
                    [{"name": "a", "type_v3": {"type_name": "optional", "item": _nested(60, in_maps=True)}}],
                    [],
                    5,
                    [[]],
                )
            )
            table = {
                "dynamic": choices.random() < 0.8,
                "schema": schema,
                "tablet_count": choices.choice((1, 3, -1, 2**60)),
            }
            return schema if name == "schema" else table
        case "requests":
            return [
                {"command": choices.choice(list(COMMANDS)), "parameters": {"path": choices.choice(_PATHS)}}
                for _ in range(choices.randint(0, 5))
            ]
    if "int" in annotation:
        return choices.choice(_NUMBERS[:8])
    if "bool" in annotation:
        return choices.random() < 0.5
    if "list" in annotation:
        return [choices.choice((0, 1, 2, "key", "data")) for _ in range(choices.randint(0, 3))]
    if "dict" in annotation:
        return {choices.choice(_TEXTS): _value(choices, 2) for _ in range(choices.randint(0, 3))}
    return choices.choice(_TEXTS) if "str" in annotation else _value(choices)


def _value(choices: random.Random, depth: int = 0) -> Any:
    match choices.randrange(9 if depth < 4 else 5):
        case 0:
            return choices.choice(_NUMBERS)
        case 1:
            return choices.choice(_TEXTS)
        case 2:
            return choices.random() < 0.5
        case 3:
            return None
        case 4:
            return choices.choice(_PATHS)
        case 5:
            return [_value(choices, depth + 1) for _ in range(choices.randint(0, 4))]
        case 6:
            return {choices.choice(_TEXTS): _value(choices, depth + 1) for _ in range(choices.randint(0, 4))}
        case 7:
            return _nested(choices.choice((10, 60, 250, 300)), in_maps=choices.random() < 0.5)
        case _:
            return yson.with_attributes(choices.choice(_TEXTS), {"a": _value(choices, depth + 1)})


def _nested(depth: int, *, in_maps: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if in_maps else [value]
    return value


def _format(choices: random.Random) -> Any:
    if choices.random() < 0.05:
        return _value(choices)
    name = choices.choices(("yson", "json", "dsv", "arrow"), (8, 8, 1, 1))[0]
    style = choices.choices(("text", "pretty", "binary", "nonsense", 5), (8, 4, 4, 1, 1))[0]
    options = choices.choice(({}, {"format": style}, {"encode_utf8": choices.choice((True, False, "false"))}))
    return yson.with_attributes(name, options) if options else name


def _body(choices: random.Random, command: Command, input_format: str) -> bytes:
    if command.input_type == "null" and choices.random() < 0.9:
        return b""
    if choices.random() < 0.8:
        if command.input_type == "structured":
            return _json(_value(choices)) if input_format == "json" else yson.dumps(_value(choices), "text")
        rows = [_row(choices) for _ in range(choices.choice((0, 1, 3, 500)))]
        if input_format == "json":
            return b"\n".join(map(_json, rows))
        return yson.dumps_rows(rows, choices.choice(("text", "binary")))
    match choices.randrange(3):
        case 0:
            return choices.randbytes(choices.choice((1, 100, 10_000)))
        case 1:
            return choices.choice((b"[", b"{a=", b"<a=1>", b'{"a":', b"(")) * choices.choice((100, 1000, 100_000))
        case _:
            return choices.choice(
                (b"9" * 10_000, b"-", b"1e999", b"NaN", b"%nan", b"5u5", b'"\\ud800"', b'"\xff"', b"\x02" * 11)
            )


def _row(choices: random.Random) -> dict[str, Any]:
    """For one of the tables, with one thing wrong now and then."""
    row: dict[str, Any] = {"data": choices.choice(_TEXTS)}
    if choices.random() < 0.5:
        row["key"] = choices.choice(_NUMBERS[:8])
    for name in ("$tablet_index", "$sequence_number", "$timestamp", "nothing", ""):
        if choices.random() < 0.1:
            row[name] = choices.choice(_NUMBERS)
    if choices.random() < 0.1:
        row["data"] = _value(choices)
    return row


def _split(choices: random.Random, data: bytes) -> Sequence[bytes]:
    """Some packets are smaller than others."""
    cuts = sorted(choices.randrange(len(data) + 1) for _ in range(choices.choice((0, 0, 1, 5))))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
