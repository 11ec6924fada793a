"""What might be sent to the ports of an agent, of WebHDFS and of the RPC proxy: from noise to almost right."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tests.fuzz.attacks import Attack, split
from tests.fuzz.odd_objects import odd_value
from tests.fuzz.odd_values import QUEUE, TABLE, as_json
from yt_local.commands import METHODS
from yt_wire import bus, orchid, rpc, yson
from yt_wire.bus import Part
from yt_wire.guid import Guid
from yt_wire.proto.rpc_pb2 import TRequestHeader
from yt_wire.proto.ypath_pb2 import TReqExecute

_NAMES: Final = (
    "queues",
    "consumers",
    "queue_agent",
    "controller_info",
    "alerts",
    "service",
    "health",
    "live",
    "api",
    "v1",
    "orchid",
    "metrics",
    "status",
    "partitions",
    "trim-plan",
    "export-plan",
    "a:" + QUEUE,
    "a",
    "@",
    "@name",
    "..",
    ".",
    "*",
    "",
    "\x00",
    "\u0660",
    "\U0010ffff",
    "x" * 9000,
    "0",
    "-1",
    "\\x",
    "\\xff",
    "<",
)
_NUMBERS: Final = (0, 1, -1, 2**31 - 1, 2**31, 2**63 - 1, 2**64 - 1, -(2**31), -(2**63))
_TEXTS: Final = (
    b"",
    b"x",
    b"\xff",
    b"//",
    QUEUE.encode(),
    TABLE.encode(),
    b"[" * 100_000,
    b"{a=" * 300,
    b"#",
    b"9" * 5000,
)
_DEEP: Final = 100_000
_MESSAGE_DEPTH: Final = 4


def attack_bus(choices: random.Random, service: str) -> Attack:
    """A connection to a bus server: a handshake, then packets that are right but for something, or noise."""
    if choices.random() < 0.1:
        return Attack("noise", [choices.randbytes(choices.choice((1, 40, 1000, 100_000)))])
    with_checksums = choices.random() < 0.5
    stream = bytearray()
    if choices.random() < 0.95:
        stream += bus.encode_handshake(Guid(choices.getrandbits(64), 1), with_checksums=with_checksums)
    make = _orchid_call if service == orchid.SERVICE else _api_call
    for _ in range(choices.randint(1, 4)):
        parts = make(choices)
        if choices.random() < 0.2:
            parts = _spoiled(choices, parts)
        packet = bus.encode_message(
            choices.randbytes(16), parts, request_ack=choices.random() < 0.3, with_checksums=with_checksums
        )
        stream += packet
    if choices.random() < 0.3:
        _mutate(choices, stream)
    if choices.random() < 0.1:
        del stream[choices.randrange(len(stream)) :]
    return Attack(f"bus {service}", split(choices, bytes(stream)))


def _spoiled(choices: random.Random, parts: Sequence[Part]) -> Sequence[Part]:
    result = list(parts)
    match choices.randrange(4):
        case 0:
            result[choices.randrange(len(result))] = None
        case 1:
            result[choices.randrange(len(result))] = choices.randbytes(choices.choice((0, 3, 100)))
        case 2:
            result = result * choices.choice((0, 2, 50)) or [b""]
        case _:
            del result[choices.randrange(len(result)) :]
    return result


def _mutate(choices: random.Random, data: bytearray) -> None:
    for _ in range(choices.randint(1, 6)):
        data[choices.randrange(len(data))] = choices.randrange(256)


def _header(choices: random.Random, service: str, method: str) -> TRequestHeader:
    header = TRequestHeader(service=service, method=method)
    header.request_id.CopyFrom(rpc.to_proto_guid(Guid(choices.getrandbits(64), choices.getrandbits(64))))
    if choices.random() < 0.2:
        odd = TRequestHeader()
        odd.CopyFrom(header)
        fill(choices, odd)
        return odd if odd.IsInitialized() else header  # what lacks something cannot be written
    return header


def _orchid_call(choices: random.Random) -> Sequence[Part]:
    verb = choices.choice(list(orchid.Verb))
    header = _header(choices, orchid.SERVICE, choices.choice((orchid.METHOD,) * 9 + ("Nothing",)))
    path = "/" + "".join(f"/{choices.choice(_NAMES)}" for _ in range(choices.choice((0, 1, 2, 3, 4, 200))))
    inner: Sequence[Part] = orchid.encode_request(verb, path)
    if choices.random() < 0.2:
        inner = _spoiled(choices, inner)
    body = TReqExecute().SerializeToString() if choices.random() < 0.8 else choices.randbytes(20)
    return rpc.encode_request(header, body, inner)


def _api_call(choices: random.Random) -> Sequence[Part]:
    name = choices.choice(list(METHODS))
    message = METHODS[name].request_type()
    fill(choices, message)
    attachments = [choices.choice(_TEXTS) for _ in range(choices.choice((0, 0, 1, 3)))]
    body = message.SerializePartialToString()
    header = _header(choices, "ApiService", name)
    match choices.randrange(12):
        case 0:
            return rpc.encode_payload(header, choices.choice(_NUMBERS[:5]) % 2**31, choices.choice((b"x", None)))
        case 1:
            return rpc.encode_feedback(header, choices.choice((0, 1, 2**62)))
        case 2:
            return rpc.encode_cancelation(header)
        case _:
            return rpc.encode_request(header, body, attachments)


def fill(choices: random.Random, message: Message, depth: int = 0) -> None:
    """Set some of the fields of a message, whatever message it is."""
    for field in message.DESCRIPTOR.fields:
        kind: Any = field  # the library's own types differ by version
        if choices.random() > (0.95 if kind.is_required else 0.35):
            continue
        if kind.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            if depth < _MESSAGE_DEPTH:
                inner = getattr(message, kind.name)
                fill(choices, inner.add() if kind.is_repeated else inner, depth + 1)
            continue
        value = _field_value(choices, kind)
        if kind.is_repeated:
            getattr(message, kind.name).extend([value] * choices.choice((1, 2, 20)))
        else:
            setattr(message, kind.name, value)


def _field_value(choices: random.Random, field: Any) -> Any:
    ranges = {
        FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
        FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
        FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
        FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    }
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return choices.choice((*_TEXTS, yson.dumps(odd_value(choices))))
        case FieldDescriptor.CPPTYPE_STRING:
            return choices.choice(("", "x", "//tmp", QUEUE, "\x00", "\U0010ffff", "x" * 5000))
        case FieldDescriptor.CPPTYPE_BOOL:
            return choices.random() < 0.5
        case FieldDescriptor.CPPTYPE_ENUM:
            return choices.choice(field.enum_type.values).number
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return choices.choice((0.0, -1.0, 1e308, float("inf"), float("nan")))
        case kind:
            least, most = ranges[kind]
            return choices.choice((*(number for number in _NUMBERS if least <= number <= most), least, most))


def attack_agent_http(choices: random.Random) -> Attack:
    """A request to the agent's HTTP port: odd paths, queries and bodies."""
    names = [quote(choices.choice(_NAMES), safe=choices.choice(("", "@:*<"))) for _ in range(choices.randint(0, 5))]
    start = choices.choice(
        (
            "/orchid",
            "/api/v1/queues",
            "/api/v1/consumers",
            "/api/v1/queues/a/tmp/queue",
            "/metrics",
            "/health/ready",
            "",
        )
    )
    query = _query(choices, ("verb", "limit", "after", "overview", "name", "x"))
    plan = choices.choice(("/trim-plan", "/export-plan"))
    if choices.random() < 0.4:
        body = choices.choice(
            (
                b"",
                b"{}",
                b"[" * _DEEP,
                b'{"retained_rows":' * _DEEP,
                b'{"retained_rows":' + b"[" * 900 + b"]" * 900 + b"}",
                as_json({"enable": odd_json(choices), "retained_rows": odd_json(choices)}),
                as_json({"retained_lifetime_duration": odd_json(choices)}),
                choices.randbytes(50),
                b"\xff",
            )
        )
        return _http(choices, "POST", f"/api/v1/queues/a/tmp/{quote(choices.choice(_NAMES[:20]))}{plan}{query}", body)
    method = choices.choice(("GET",) * 6 + ("POST", "PUT", "DELETE", "OPTIONS"))
    return _http(choices, method, start + "".join(f"/{name}" for name in names) + query, b"")


def attack_webhdfs(choices: random.Random, secret: str) -> Attack:
    """A request to the WebHDFS port, with the secret or a wrong one."""
    operation = choices.choice(
        (
            "GETFILESTATUS",
            "LISTSTATUS",
            "GETFILEBLOCKLOCATIONS",
            "OPEN",
            "CREATE",
            "MKDIRS",
            "RENAME",
            "DELETE",
            "GETHOMEDIRECTORY",
            "APPEND",
            "",
            "\x00",
        )
    )
    methods = {"CREATE": "PUT", "MKDIRS": "PUT", "RENAME": "PUT", "DELETE": "DELETE", "APPEND": "POST"}
    method = methods.get(operation, "GET") if choices.random() < 0.9 else choices.choice(("GET", "PUT", "POST", "BREW"))
    parts = [secret if choices.random() < 0.9 else choices.choice(_NAMES), "a", "tmp"][
        : choices.choice((1, 2, 3, 3, 3))
    ]
    parts += [choices.choice(_NAMES) for _ in range(choices.randint(0, 3))]
    path = "/webhdfs/v1/" + "/".join(quote(part, safe=choices.choice(("", ".*"))) for part in parts)
    query = _query(
        choices, ("offset", "length", "overwrite", "destination", "recursive", "buffersize", "user.name", "data")
    )
    body = choices.choice((b"", b"x", b"\x00" * 1000)) if method == "PUT" else b""
    return _http(choices, method, f"{path}?op={quote(operation)}{query.replace('?', '&', 1)}", body)


def odd_json(choices: random.Random) -> Any:
    return choices.choice(
        (None, True, "true", -1, 2**63, 2**64, 10**400, 1e308, 0.5, [], {}, [[]], {"a": {"b": 1}}, "x" * 9000)
    )


def _query(choices: random.Random, names: Sequence[str]) -> str:
    values = (*_NAMES, "true", "false", "list", "get", "18446744073709551616", "1e5", "%ff", "%zz", "\u0661")
    chosen = [
        f"{choices.choice(names)}={choices.choice(values) if choices.random() < 0.3 else quote(choices.choice(values))}"
        for _ in range(choices.choice((0, 0, 1, 2)))
    ]
    printable = [pair for pair in chosen if pair.isprintable() and pair.isascii() and " " not in pair]
    return "?" + "&".join(printable) if printable else ""


def _http(choices: random.Random, method: str, target: str, body: bytes) -> Attack:
    lines = {"Host": "127.0.0.1", "Connection": "close", "Content-Length": str(len(body))}
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    return Attack(f"{method} {target[:200]}", split(choices, head.encode() + body), is_http=True)


Make = Callable[[random.Random], Attack]
