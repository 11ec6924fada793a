"""A stand-in for a cluster: answers what the agent asks from fragments of YSON, and does nothing else.

A process of its own: its arguments are the numbers of queues, partitions and consumers; it prints its address. A line
of its input is the load from now on; it answers with the requests it has had by command.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from benchmarks.scale.group import MAPPING, ROOT, Group
from benchmarks.scale.world import (
    CLUSTER,
    CONSUMER_SCHEMA,
    ROW_WEIGHT,
    STAGE,
    START,
    STILL,
    TRIMMED,
    Load,
    Size,
    World,
    consumer_path,
    number_of,
    queue_path,
)
from queue_agent.wire import yson

_QUEUE_SCHEMA: Final = (
    b'<strict=%true;unique_keys=%false>[{name=data;type=string};{name="$timestamp";type=uint64};'
    b'{name="$cumulative_data_weight";type=int64}]'
)
_CELL: Final = "1-2-3e902bc-4"
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
_PAIR: Final = re.compile(r"\((\d+)u, (\d+)u\)")
_TABLE: Final = re.compile(r"from \[([^\]]+)\]")
_ANY_BARRIER: Final = b"<barrier>"
_RESULTS: Final = b"{\x01\x0eresults=[%s;];}"
_OUTPUT: Final = b"{\x01\x0coutput="
_END: Final = b";}"
_TABLETS: Final = b"{\x01\x0etablets=[%s;];}"
_COLUMNS: Final = re.compile(r"\[(\$\w+)\]")


class StandIn:
    """The answers."""

    def __init__(self, size: Size) -> None:
        self.requests: Counter[str] = Counter()
        self._size = size
        self._started = time.monotonic()
        self._load = STILL
        self._group = Group()
        self._tables = _state_tables(size)
        self._revisions = _dump({"value": _revisions(size)})
        self._columns = _dump({"value": yson.loads(_QUEUE_SCHEMA)})
        self._tablets = [
            _dump({"value": [_tablet(queue, partition) for partition in range(size.partitions)]})
            for queue in range(size.queues)
        ]
        self._idle_infos = [
            self._queue_infos(World(size, STILL, 0), queue, range(size.partitions)) for queue in range(size.queues)
        ]
        self._idle_consumer_infos = _tablet_infos([_info(0, 0, World(size, STILL, 0).queue_timestamp(0))])
        self._known_attributes: dict[tuple[str, tuple[str, ...]], bytes] = {}
        self._moving: frozenset[int] = frozenset()
        """Queues."""

    def move(self, load: Load) -> None:
        """Let those partitions move from now on."""
        self._load = load
        world = World(self._size, load, 0)
        self._moving = frozenset(queue for queue in range(self._size.queues) if world.any_moves(queue))

    def answer(self, command: str, parameters: Mapping[str, Any], body: bytes) -> bytes | dict[str, Any]:
        """Body of the answer, or an error."""
        self.requests[command] += 1
        world = World(self._size, self._load, int(time.monotonic() - self._started))
        match command:
            case "execute_batch":
                results = (self._light(world, one["command"], one["parameters"]) for one in parameters["requests"])
                return _RESULTS % b";".join(results)
            case "select_rows":
                return self._select(world, parameters["query"])
            case "insert_rows" if parameters["path"] == MAPPING:
                self._group.insert(yson.loads(b"[" + body + b"]"))
                return b""
            case "lookup_rows" if parameters["path"] == MAPPING:
                return self._group.look_up(yson.loads(b"[" + body + b"]"))
            case "lookup_rows":
                return self._look_up(world, parameters["path"], yson.loads(b"[" + body + b"]"))
            case _:
                self.requests["light"] -= 1
                result = self._light(world, command, parameters)
                return result[len(_OUTPUT) : -len(_END)] if result.startswith(_OUTPUT) else yson.loads(result)["error"]

    def _light(self, world: World, command: str, parameters: Mapping[str, Any]) -> bytes:
        self.requests["light"] += 1
        path = parameters.get("path", ROOT)
        if command == "get_tablet_infos" and path == MAPPING:
            return _tablet_infos([_info(0, 0, self._group.writes)]).replace(_ANY_BARRIER, _barrier(world))
        if path.startswith(ROOT):
            output = self._group.find(command, parameters)
            if output is not None:
                return _OUTPUT + _dump(output) + _END
        if command == "get_tablet_infos":
            return self._infos(world, path, parameters["tablet_indexes"]).replace(_ANY_BARRIER, _barrier(world))
        if path.endswith("/@schema"):
            return _OUTPUT + self._columns + _END
        if path.endswith("/@tablets"):
            return _OUTPUT + self._tablets[number_of(path[: -len("/@tablets")])] + _END
        if path == "//sys/@queue_agent_object_revisions":
            return _OUTPUT + self._revisions + _END
        if path.endswith("/@") and path.startswith("//home/bench/"):
            return self._attributes(path[:-2], tuple(parameters.get("attributes", ())))
        return _dump({"error": _error(500, f"Node {path} does not exist")})

    def _infos(self, world: World, path: str, indexes: Sequence[int]) -> bytes:
        number = number_of(path)
        moves = number in self._moving
        if "/queues/" not in path:
            return _tablet_infos([_info(0, 0, world.queue_timestamp(number))]) if moves else self._idle_consumer_infos
        if moves or len(indexes) != self._size.partitions:
            return self._queue_infos(world, number, indexes)
        return self._idle_infos[number]

    def _attributes(self, path: str, names: tuple[str, ...]) -> bytes:
        """Those asked for; the same few are asked for again and again."""
        known = self._known_attributes.get((path, names))
        if known is not None:
            return known
        is_queue = "/queues/" in path
        count = self._size.partitions if is_queue else 1
        all_attributes = {
            "id": _object_id(path),
            "attribute_revision": yson.Uint64(7),
            "tablet_count": count,
            "tablet_state": "mounted",
            "tablet_count_by_state": {"mounted": count},
        }
        value = {name: all_attributes[name] for name in names or all_attributes if name in all_attributes}
        self._known_attributes[path, names] = result = _OUTPUT + _dump({"value": value}) + _END
        return result

    def _queue_infos(self, world: World, queue: int, partitions: Sequence[int]) -> bytes:
        infos = (
            _info(world.upper(queue, partition), TRIMMED, world.timestamp(queue, partition)) for partition in partitions
        )
        return _tablet_infos(infos)

    def _select(self, world: World, query: str) -> bytes:
        found = _TABLE.search(query)
        assert found, query
        path = found[1]
        if path == MAPPING:
            return self._group.select()
        if path in self._tables:
            return self._tables[path]
        if not path.startswith("//home/bench/"):
            return b""
        queue = number_of(path)
        if "/consumers/" in path:
            return b"".join(
                b'{queue_cluster="%s";queue_path="%s";partition_index=\x06%s;offset=\x06%s;meta=#};'
                % (
                    CLUSTER.encode(),
                    queue_path(queue).encode(),
                    _varint(partition),
                    _varint(world.offset(queue, partition)),
                )
                for partition in range(self._size.partitions)
            )
        columns = _COLUMNS.findall(query.partition(" from ")[0])[2:]
        rows = []
        for partition_text, row_text in _PAIR.findall(query):
            partition, row = int(partition_text), int(row_text)
            if TRIMMED <= row < world.upper(queue, partition):
                values = b"".join(
                    b'"$timestamp"=\x06%s;' % _varint(world.timestamp(queue, partition))
                    if column == "$timestamp"
                    else b'"$cumulative_data_weight"=\x02%s;' % _varint((row + 1) * ROW_WEIGHT << 1)
                    for column in columns
                )
                rows.append(
                    b'{"$tablet_index"=\x02%s;"$row_index"=\x02%s;%s};'
                    % (_varint(partition << 1), _varint(row << 1), values)
                )
        return b"".join(rows)

    def _look_up(self, world: World, path: str, keys: Sequence[Mapping[str, Any]]) -> bytes:
        queue = number_of(path)
        rows = []
        for key in keys:
            partition = int(key["partition_index"])
            timestamp = b"\x06" + _varint(world.timestamp(queue, partition))
            rows.append(
                b'<write_timestamps=[%s];delete_timestamps=[]>{queue_cluster="%s";queue_path="%s";partition_index=\x06%s;'
                b"offset=[<timestamp=%s>\x06%s];meta=[<timestamp=%s>#]};"
                % (
                    timestamp,
                    CLUSTER.encode(),
                    queue_path(queue).encode(),
                    _varint(partition),
                    timestamp,
                    _varint(world.offset(queue, partition)),
                    timestamp,
                )
            )
        return b"".join(rows)


class _Connection(asyncio.Protocol):
    """Just enough HTTP/1.1 for the clients there are."""

    def __init__(self, stand_in: StandIn) -> None:
        self._stand_in = stand_in
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
        answer = self._stand_in.answer(command, parameters, body)
        if isinstance(answer, dict):
            return _json_answer("400 Bad Request", answer)
        if command in ("select_rows", "lookup_rows"):
            # As a proxy does it: the end of a stream of rows is told in trailers.
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


def _state_tables(size: Size) -> dict[str, bytes]:
    ok = {"code": 0, "message": "", "attributes": {}}
    schema = yson.loads(CONSUMER_SCHEMA)
    queues = [
        {
            "cluster": CLUSTER,
            "path": queue_path(queue),
            "row_revision": yson.Uint64(1),
            "revision": yson.Uint64(7),
            "object_type": "table",
            "dynamic": True,
            "sorted": False,
            "auto_trim_config": {"enable": False},
            "static_export_config": None,
            "queue_agent_stage": STAGE,
            "object_id": _object_id(queue_path(queue)),
            "queue_agent_banned": None,
            "synchronization_error": ok,
            "queue_profiling_tag": None,
        }
        for queue in range(size.queues)
    ]
    pairs = [(queue, consumer) for queue in range(size.queues) for consumer in range(size.consumers)]
    consumers = [
        {
            "cluster": CLUSTER,
            "path": consumer_path(queue, consumer),
            "row_revision": yson.Uint64(1),
            "revision": yson.Uint64(7),
            "object_type": "table",
            "treat_as_queue_consumer": True,
            "schema": [schema],
            "queue_agent_stage": STAGE,
            "queue_agent_banned": None,
            "synchronization_error": ok,
            "queue_consumer_profiling_tag": None,
        }
        for queue, consumer in pairs
    ]
    registrations = [
        {
            "queue_cluster": CLUSTER,
            "queue_path": queue_path(queue),
            "consumer_cluster": CLUSTER,
            "consumer_path": consumer_path(queue, consumer),
            "consumer_name": "",
            "vital": consumer == 0,
            "partitions": None,
        }
        for queue, consumer in pairs
    ]
    return {
        "//sys/queue_agents/queues": yson.dumps_rows(queues),
        "//sys/queue_agents/consumers": yson.dumps_rows(consumers),
        "//sys/queue_agents/consumer_registrations": yson.dumps_rows(registrations),
    }


def _revisions(size: Size) -> dict[str, dict[str, int]]:
    return {
        "queues": {queue_path(queue): yson.Uint64(7) for queue in range(size.queues)},
        "consumers": {
            consumer_path(queue, consumer): yson.Uint64(7)
            for queue in range(size.queues)
            for consumer in range(size.consumers)
        },
    }


def _tablet(queue: int, partition: int) -> dict[str, Any]:
    """As a real master describes it, statistics left out in part."""
    return {
        "index": partition,
        "tablet_id": f"{queue:x}-{partition:x}-3e902be-4",
        "cell_id": _CELL,
        "cell_leader_address": "node-1.bench:9022",
        "state": "mounted",
        "statistics": {"chunk_count": 3, "compressed_data_size": 123456, "uncompressed_data_size": 1234567},
        "performance_counters": {"dynamic_row_write_count": 123456, "dynamic_row_read_count": 123},
        "last_commit_timestamp": yson.Uint64(START << 30),
        "trimmed_row_count": TRIMMED,
        "flushed_row_count": 12345,
        "error_count": 0,
    }


def _object_id(path: str) -> str:
    return f"{number_of(path):x}-1-3e90191-{path[-1]}"


def _error(code: int, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "attributes": {}, "inner_errors": []}


def _tablet_infos(infos: Iterable[bytes]) -> bytes:
    return _OUTPUT + _TABLETS % b";".join(infos) + _END


def _info(total: int, trimmed: int, timestamp: int) -> bytes:
    return (
        b"{\x01\x1etotal_row_count=\x02%s;\x01\x22trimmed_row_count=\x02%s;\x01\x34delayed_lockless_row_count=\x02\x00;"
        b"\x01\x22barrier_timestamp=\x06%s;\x01\x28last_write_timestamp=\x06%s;}"
        % (_varint(total << 1), _varint(trimmed << 1), _ANY_BARRIER, _varint(timestamp))
    )


def _barrier(world: World) -> bytes:
    """No answer equals the one before: this number grows on every cluster all the time."""
    return _varint(START + (1 << 20) + world.second << 30)


def _varint(value: int) -> bytes:
    """An unsigned number as binary YSON has it; a signed one that is not negative has to be doubled before."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def _dump(value: Any) -> bytes:
    return yson.dumps(value)


async def serve(size: Size, read_line: Callable[[], str]) -> None:
    """Answer until the input ends."""
    stand_in = StandIn(size)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(stand_in), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"127.0.0.1:{port}", flush=True)
    while line := await asyncio.to_thread(read_line):
        if line.strip():
            stand_in.move(Load.parse(line.strip()))
        print(json.dumps(stand_in.requests), flush=True)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(Size(*map(int, sys.argv[1:])), sys.stdin.readline))
