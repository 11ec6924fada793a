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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from benchmarks.scale.contents import object_id, paths_by_id, revisions, state_tables, tablet_description
from benchmarks.scale.fragments import ANY_BARRIER, END, OUTPUT, barrier, tablet_info, tablet_infos, varint
from benchmarks.scale.group import MAPPING, ROOT, Group
from benchmarks.scale.http_server import Connection
from benchmarks.scale.world import (
    CLUSTER,
    CONSUMER_SCHEMA,
    ROW_WEIGHT,
    STILL,
    TRIMMED,
    Load,
    Size,
    World,
    number_of,
    queue_path,
)
from yt_wire import yson

_QUEUE_SCHEMA: Final = (
    b'<strict=%true;unique_keys=%false>[{name=data;type=string};{name="$timestamp";type=uint64};'
    b'{name="$cumulative_data_weight";type=int64}]'
)
_PAIR: Final = re.compile(r"\((\d+)u, (\d+)u\)")
_TABLE: Final = re.compile(r"from \[([^\]]+)\]")
_RESULTS: Final = b"{\x01\x0eresults=[%s;];}"
_COLUMNS: Final = re.compile(r"\[(\$\w+)\]")


class StandIn:
    """The answers."""

    def __init__(self, size: Size) -> None:
        self.requests: Counter[str] = Counter()
        self._size = size
        self._started = time.monotonic()
        self._load = STILL
        self._group = Group()
        self._paths = paths_by_id(size)
        self._tables = state_tables(size)
        self._revisions = yson.dumps({"value": revisions(size)})
        self._schema = yson.loads(_QUEUE_SCHEMA)
        self._columns = yson.dumps({"value": self._schema})
        self._tablets = [
            [tablet_description(queue, partition) for partition in range(size.partitions)]
            for queue in range(size.queues)
        ]
        self._idle_infos = [
            self._queue_infos(World(size, STILL, 0), queue, range(size.partitions)) for queue in range(size.queues)
        ]
        self._idle_consumer_infos = tablet_infos([tablet_info(0, 0, World(size, STILL, 0).queue_timestamp(0))])
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
            case "insert_rows" if parameters["path"].startswith(ROOT):  # nobody reads again what it keeps there
                return b""
            case "lookup_rows" if parameters["path"] == MAPPING:
                return self._group.look_up(yson.loads(b"[" + body + b"]"))
            case "lookup_rows":
                return self._look_up(world, parameters["path"], yson.loads(b"[" + body + b"]"))
            case _:
                self.requests["light"] -= 1
                result = self._light(world, command, parameters)
                return result[len(OUTPUT) : -len(END)] if result.startswith(OUTPUT) else yson.loads(result)["error"]

    def _light(self, world: World, command: str, parameters: Mapping[str, Any]) -> bytes:
        self.requests["light"] += 1
        path = parameters.get("path", ROOT)
        if path.startswith("#"):
            path = self._paths[path[1:]]
        if command == "get_tablet_infos" and path == MAPPING:
            return tablet_infos([tablet_info(0, 0, self._group.writes)]).replace(ANY_BARRIER, barrier(world))
        if path.startswith(ROOT):
            output = self._group.find(command, parameters)
            if output is not None:
                return OUTPUT + yson.dumps(output) + END
        if command == "get_tablet_infos":
            return self._infos(world, path, parameters["tablet_indexes"]).replace(ANY_BARRIER, barrier(world))
        if path.endswith("/@schema"):
            return OUTPUT + self._columns + END
        if path.endswith("/@tablets"):
            return OUTPUT + yson.dumps({"value": self._tablets[number_of(path[: -len("/@tablets")])]}) + END
        if path == "//sys/@queue_agent_object_revisions":
            return OUTPUT + self._revisions + END
        if path.endswith("/@") and path.startswith("//home/bench/"):
            return self._attributes(path[:-2], tuple(parameters.get("attributes", ())))
        return yson.dumps({"error": _error(500, f"Node {path} does not exist")})

    def _infos(self, world: World, path: str, indexes: Sequence[int]) -> bytes:
        number = number_of(path)
        moves = number in self._moving
        if "/queues/" not in path:
            return (
                tablet_infos([tablet_info(0, 0, world.queue_timestamp(number))]) if moves else self._idle_consumer_infos
            )
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
            "id": object_id(path),
            "attribute_revision": yson.Uint64(7),
            "tablet_count": count,
            "tablet_state": "mounted",
            "tablet_count_by_state": {"mounted": count},
            "schema": self._schema if is_queue else yson.loads(CONSUMER_SCHEMA),
            "tablets": self._tablets[number_of(path)] if is_queue else [],
        }
        value = {name: all_attributes[name] for name in names or all_attributes if name in all_attributes}
        self._known_attributes[path, names] = result = OUTPUT + yson.dumps({"value": value}) + END
        return result

    def _queue_infos(self, world: World, queue: int, partitions: Sequence[int]) -> bytes:
        infos = (
            tablet_info(world.upper(queue, partition), TRIMMED, world.timestamp(queue, partition))
            for partition in partitions
        )
        return tablet_infos(infos)

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
                    varint(partition),
                    varint(world.offset(queue, partition)),
                )
                for partition in range(self._size.partitions)
            )
        columns = _COLUMNS.findall(query.partition(" from ")[0])[2:]
        rows = []
        for partition_text, row_text in _PAIR.findall(query):
            partition, row = int(partition_text), int(row_text)
            if TRIMMED <= row < world.upper(queue, partition):
                values = b"".join(
                    b'"$timestamp"=\x06%s;' % varint(world.timestamp(queue, partition))
                    if column == "$timestamp"
                    else b'"$cumulative_data_weight"=\x02%s;' % varint((row + 1) * ROW_WEIGHT << 1)
                    for column in columns
                )
                rows.append(
                    b'{"$tablet_index"=\x02%s;"$row_index"=\x02%s;%s};'
                    % (varint(partition << 1), varint(row << 1), values)
                )
        return b"".join(rows)

    def _look_up(self, world: World, path: str, keys: Sequence[Mapping[str, Any]]) -> bytes:
        queue = number_of(path)
        rows = []
        for key in keys:
            partition = int(key["partition_index"])
            timestamp = b"\x06" + varint(world.timestamp(queue, partition))
            rows.append(
                b'<write_timestamps=[%s];delete_timestamps=[]>{queue_cluster="%s";queue_path="%s";partition_index=\x06%s;'
                b"offset=[<timestamp=%s>\x06%s];meta=[<timestamp=%s>#]};"
                % (
                    timestamp,
                    CLUSTER.encode(),
                    queue_path(queue).encode(),
                    varint(partition),
                    timestamp,
                    varint(world.offset(queue, partition)),
                    timestamp,
                )
            )
        return b"".join(rows)


def _error(code: int, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "attributes": {}, "inner_errors": []}


async def serve(size: Size, read_line: Callable[[], str]) -> None:
    """Answer until the input ends."""
    stand_in = StandIn(size)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(stand_in.answer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"127.0.0.1:{port}", flush=True)
    while line := await asyncio.to_thread(read_line):
        if line.strip():
            stand_in.move(Load.parse(line.strip()))
        print(json.dumps(stand_in.requests), flush=True)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(Size(*map(int, sys.argv[1:])), sys.stdin.readline))
