"""Rows per second into and out of a local cluster, by the processor time of its process."""

from __future__ import annotations

import argparse
import http.client
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import yt.wrapper

from benchmarks.cluster_process import ClusterProcess, cluster_process
from yt_wire import yson
from yt_wire.http import COMMAND_PREFIX, HEADER_FORMAT, PARAMETERS, YSON_TEXT_HEADER_FORMAT, encode_parameters

BATCH: Final = 1000
"""Rows of a request."""

SMALL: Final = 10_000
"""Rows of a table, and of a round."""

ROW_BYTES: Final = (100, 1024)
"""Of the values a client gives."""

VALUE_COLUMNS: Final = [{"name": "user", "type": "string"}, {"name": "data", "type": "string"}]
QUEUE_SCHEMA: Final = [
    {"name": "id", "type": "int64"},
    *VALUE_COLUMNS,
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]
SORTED_SCHEMA: Final = [{"name": "id", "type": "int64", "sort_order": "ascending"}, *VALUE_COLUMNS]

BINARY_YSON: Final = yson.with_attributes("yson", {"format": "binary"})

Row = Mapping[str, Any]


class RawHttp:
    """Encoded rows over one connection: what the cluster takes, whatever the client."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address)

    def close(self) -> None:
        self._connection.close()

    def insert(self, path: str, body: bytes) -> None:
        self._call("PUT", "insert_rows", {"path": path, "input_format": BINARY_YSON}, body)

    def pull(self, path: str, offset: int) -> bytes:
        parameters = {"queue_path": path, "partition_index": 0, "offset": offset, "max_row_count": BATCH}
        return self._call("GET", "pull_queue", {**parameters, "output_format": BINARY_YSON})

    def select(self, query: str) -> bytes:
        return self._call("GET", "select_rows", {"query": query, "output_format": BINARY_YSON})

    def lookup(self, path: str, keys: bytes) -> bytes:
        parameters = {"path": path, "input_format": BINARY_YSON, "output_format": BINARY_YSON}
        return self._call("PUT", "lookup_rows", parameters, keys)

    def _call(self, method: str, command: str, parameters: Mapping[str, Any], body: bytes | None = None) -> bytes:
        headers = {HEADER_FORMAT: YSON_TEXT_HEADER_FORMAT, PARAMETERS: encode_parameters(parameters)}
        self._connection.request(method, COMMAND_PREFIX + command, body, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{command}: HTTP status {response.status}: {answer!r}")
        return answer


@dataclass
class Tables:
    """A queue and a sorted table with the same rows, and what is done with them."""

    raw: RawHttp
    row_bytes: int
    queue: str
    table: str
    row_count: int = 0

    @classmethod
    def create(cls, client: Any, raw: RawHttp, name: str, row_bytes: int, row_count: int) -> Tables:
        tables = cls(raw, row_bytes, f"//tmp/{name}-queue", f"//tmp/{name}-table")
        for path, schema in ((tables.queue, QUEUE_SCHEMA), (tables.table, SORTED_SCHEMA)):
            client.create("table", path, attributes={"dynamic": True, "schema": schema})
            client.mount_table(path)
        while tables.row_count < row_count:
            for path in (tables.queue, tables.table):
                for body in tables.next_bodies():
                    raw.insert(path, body)
            tables.row_count += SMALL
        return tables

    def rows(self, start: int) -> Sequence[Row]:
        width = self.row_bytes - 18
        return [
            {"id": index, "user": f"user-{index % 10_000:05}", "data": f"{index:0{width}}"}
            for index in range(start, start + BATCH)
        ]

    def next_bodies(self) -> Sequence[bytes]:
        starts = range(self.row_count, self.row_count + SMALL, BATCH)
        return [yson.dumps_rows(self.rows(start)) for start in starts]

    def works(self, choices: random.Random) -> Iterator[tuple[str, Callable[[], object]]]:
        """Each kind of work on as many rows as `SMALL`; what a client prepares is done already."""
        bodies = self.next_bodies()
        self.row_count += SMALL  # by the first two
        offsets = [choices.randrange(0, self.row_count - BATCH + 1) for _ in range(SMALL // BATCH)]
        keys = [yson.dumps_rows([{"id": choices.randrange(self.row_count)} for _ in range(BATCH)]) for _ in range(10)]
        where = [f"between {offset} and {offset + BATCH - 1}" for offset in offsets]
        queue = f"* from [{self.queue}] where [$tablet_index] = 0 and [$row_index]"
        table = f"* from [{self.table}] where id"
        yield "insert, queue", partial(_each, partial(self.raw.insert, self.queue), bodies)
        yield "insert, sorted table", partial(_each, partial(self.raw.insert, self.table), bodies)
        yield "pull", partial(_each, partial(self.raw.pull, self.queue), offsets)
        yield "select, queue", partial(_each, self.raw.select, [f"{queue} {rows}" for rows in where])
        yield "select, sorted table", partial(_each, self.raw.select, [f"{table} {rows}" for rows in where])
        yield "lookup, keys at random", partial(_each, partial(self.raw.lookup, self.table), keys)


def _each(act: Callable[[Any], object], arguments: Sequence[Any]) -> None:
    for argument in arguments:
        act(argument)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", type=int, default=1_000_000, help="rows of the large table; 0 leaves it out")
    arguments = parser.parse_args()
    print(f"Batches of {BATCH} rows, tables of {SMALL:,} rows and more; medians of {arguments.rounds} rounds.")
    measure("in memory", None, arguments.rounds, arguments.large)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as directory:
        measure("with a data directory", Path(directory), arguments.rounds, arguments.large)


def measure(title: str, directory: Path | None, rounds: int, large: int) -> None:
    with cluster_process(directory) as process:
        client = yt.wrapper.YtClient(proxy=process.address)
        raw = RawHttp(process.address)
        try:
            for row_bytes in ROW_BYTES:
                tables = Tables.create(client, raw, f"{row_bytes}-bytes", row_bytes, SMALL)
                report_rates(f"{row_bytes} bytes a row, {title}", process, tables, rounds)
            if large:
                report_ratios(f"{large:,} rows a tablet, {title}", process, client, raw, rounds, large)
        finally:
            raw.close()


def report_rates(title: str, process: ClusterProcess, tables: Tables, rounds: int) -> None:
    server, wall = Seconds(), Seconds()
    choices = random.Random(1)
    for _ in range(rounds):
        for name, work in tables.works(choices):
            started = time.perf_counter()
            server.add(name, server_seconds(process, work))
            wall.add(name, time.perf_counter() - started)
    print(f"\n{title + ', rows/s':45}{'server':>10}{'wall':>10}{'client':>10}")
    encoding, decoding = client_rates(tables)
    for name in server.names:
        client_rate = encoding if name.startswith("insert") else decoding
        print(f"{name:45}{server.rate(name):10,.0f}{wall.rate(name):10,.0f}{client_rate:10,.0f}")


def report_ratios(title: str, process: ClusterProcess, client: Any, raw: RawHttp, rounds: int, row_count: int) -> None:
    """Small tables and a large one turn by turn, so that what else the machine does falls on both."""
    full = Tables.create(client, raw, "large", ROW_BYTES[0], row_count)
    small, large = Seconds(), Seconds()
    choices = random.Random(1)
    for index in range(rounds):
        fresh = Tables.create(client, raw, f"small-{index}", ROW_BYTES[0], SMALL)
        for (name, work), (_, large_work) in zip(fresh.works(choices), full.works(choices), strict=True):
            small.add(name, server_seconds(process, work))
            large.add(name, server_seconds(process, large_work))
    print(f"\n{title + ', rows/s':45}{f'of {SMALL:,}':>10}{'large':>10}{'ratio':>10}")
    for name in small.names:
        ratio = large.rate(name) / small.rate(name)
        print(f"{name:45}{small.rate(name):10,.0f}{large.rate(name):10,.0f}{ratio:10.2f}")


class Seconds:
    """What rounds of each work have taken."""

    def __init__(self) -> None:
        self._taken: dict[str, list[float]] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._taken)

    def add(self, name: str, seconds: float) -> None:
        self._taken.setdefault(name, []).append(seconds)

    def rate(self, name: str) -> float:
        return SMALL / median(self._taken[name])


def server_seconds(process: ClusterProcess, work: Callable[[], object]) -> float:
    before = process.processor_seconds()
    work()
    return process.processor_seconds() - before


def client_rates(tables: Tables) -> tuple[float, float]:
    """Rows a client encodes, and decodes, in a second of its own processor time, by the bindings alone."""
    rows = tables.rows(0)
    answer = tables.raw.pull(tables.queue, 0)
    rates = []
    for act in (partial(yson.dumps_rows, rows), partial(yson.loads_rows, answer)):
        started = time.process_time()
        for _ in range(SMALL // BATCH):
            act()
        rates.append(SMALL / (time.process_time() - started))
    return rates[0], rates[1]


if __name__ == "__main__":
    main()
