"""Rows per second into and out of a local cluster over HTTP, against bare SQLite and YSON without a cluster."""

from __future__ import annotations

import http.client
import marshal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, Protocol

import yt.wrapper

from benchmarks.cluster_process import cluster_process
from queue_agent.wire import yson
from queue_agent.wire.http import COMMAND_PREFIX, HEADER_FORMAT, PARAMETERS, YSON_TEXT_HEADER_FORMAT, encode_parameters

ROUNDS: Final = 5
QUEUE: Final = "//tmp/queue"
"""Takes the inserted rows."""

FULL_QUEUE: Final = "//tmp/full-queue"
"""Has the rows that are pulled."""

FULL_QUEUE_ROWS: Final = 20_000
PULLED_ROWS: Final = 1000
"""In one answer."""

SCHEMA: Final = [
    {"name": "id", "type": "int64"},
    {"name": "user", "type": "string"},
    {"name": "data", "type": "string"},
    {"name": "value", "type": "double"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]
ROW_BYTES: Final = 130
"""Of the values a client gives: two numbers and two strings."""

BINARY_YSON: Final = yson.with_attributes("yson", {"format": "binary"})

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """What is timed: so many requests of so many rows."""

    name: str
    row_count: int
    request_count: int

    @property
    def total(self) -> int:
        return self.row_count * self.request_count


INSERTS: Final = [Work("insert, 5 rows a request", 5, 200), Work("insert, 1000 rows a request", 1000, 20)]
PULL: Final = Work(f"pull, {PULLED_ROWS} rows a request", PULLED_ROWS, FULL_QUEUE_ROWS // PULLED_ROWS)


class Way(Protocol):
    """One way to store rows and to get them back."""

    name: str

    def insert(self, path: str, batches: Sequence[Sequence[Row]]) -> Callable[[], None]:
        """What is to be timed; whatever a client may have prepared long before is done already."""

    def pull(self, offsets: Sequence[int]) -> int:
        """Read `PULLED_ROWS` rows of the full queue from each offset on; the number of rows, or of their bytes."""


class Baseline:
    """YSON read into rows, rows written to SQLite, and back: what no cluster of this kind can do without.

    Args:
        file: of the database; None for memory.
    """

    name = "bare SQLite and YSON, in one process"

    def __init__(self, file: Path | None) -> None:
        self._database = sqlite3.connect(file or ":memory:", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(
            "CREATE TABLE row (queue TEXT, row_index INTEGER, value BLOB, PRIMARY KEY (queue, row_index)) WITHOUT ROWID"
        )
        self._counts = {QUEUE: 0, FULL_QUEUE: 0}

    def close(self) -> None:
        self._database.close()

    def insert(self, path: str, batches: Sequence[Sequence[Row]]) -> Callable[[], None]:
        bodies = [yson.dumps_rows(batch) for batch in batches]

        def run() -> None:
            for body in bodies:
                rows = yson.loads_rows(body)
                start = self._counts[path]
                self._database.execute("BEGIN")
                self._database.executemany(
                    "INSERT INTO row VALUES (?, ?, ?)",
                    [(path, row_index, marshal.dumps(row)) for row_index, row in enumerate(rows, start)],
                )
                self._database.execute("COMMIT")
                self._counts[path] += len(rows)

        return run

    def pull(self, offsets: Sequence[int]) -> int:
        query = "SELECT value FROM row WHERE queue = ? AND row_index >= ? ORDER BY row_index LIMIT ?"
        size = 0
        for offset in offsets:
            found = self._database.execute(query, (FULL_QUEUE, offset, PULLED_ROWS))
            size += len(yson.dumps_rows([marshal.loads(value) for (value,) in found]))
        return size


class RawHttp:
    """Encoded rows over one connection: what the cluster takes, whatever the client."""

    name = "local cluster, raw HTTP"

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address)

    def close(self) -> None:
        self._connection.close()

    def insert(self, path: str, batches: Sequence[Sequence[Row]]) -> Callable[[], None]:
        bodies = [yson.dumps_rows(batch) for batch in batches]

        def run() -> None:
            for body in bodies:
                self._call("PUT", "insert_rows", {"path": path, "input_format": BINARY_YSON}, body)

        return run

    def pull(self, offsets: Sequence[int]) -> int:
        parameters = {"queue_path": FULL_QUEUE, "partition_index": 0, "max_row_count": PULLED_ROWS}
        return sum(
            len(self._call("GET", "pull_queue", {**parameters, "offset": offset, "output_format": BINARY_YSON}))
            for offset in offsets
        )

    def _call(self, method: str, command: str, parameters: Mapping[str, Any], body: bytes | None = None) -> bytes:
        headers = {HEADER_FORMAT: YSON_TEXT_HEADER_FORMAT, PARAMETERS: encode_parameters(parameters)}
        self._connection.request(method, COMMAND_PREFIX + command, body, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{command}: HTTP status {response.status}: {answer!r}")
        return answer


class Wrapper:
    """Rows as Python objects, in and out."""

    name = "local cluster, ytsaurus-client"

    def __init__(self, client: Any) -> None:
        self._client = client
        self._format = yt.wrapper.YsonFormat(format="binary")

    def insert(self, path: str, batches: Sequence[Sequence[Row]]) -> Callable[[], None]:
        def run() -> None:
            for batch in batches:
                self._client.insert_rows(path, batch, format=self._format)

        return run

    def pull(self, offsets: Sequence[int]) -> int:
        return sum(
            len(list(self._client.pull_queue(FULL_QUEUE, offset, 0, max_row_count=PULLED_ROWS, format=self._format)))
            for offset in offsets
        )


def main() -> None:
    print(f"Rows of {ROW_BYTES} bytes; medians of {ROUNDS} rounds. Baseline of the ratios: {Baseline.name}.")
    measure_storage("In memory", None)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as directory:
        measure_storage("With a data directory", Path(directory))


def measure_storage(title: str, directory: Path | None) -> None:
    print(f"\n{title:40}{'rows/s':>9}{'MB/s':>8}{'ratio':>8}")
    with cluster_process(directory) as process:
        client = yt.wrapper.YtClient(proxy=process.address)
        for path in (QUEUE, FULL_QUEUE):
            client.create("table", path, attributes={"dynamic": True, "schema": SCHEMA})
            client.mount_table(path)
        baseline = Baseline(directory / "baseline.sqlite" if directory else None)
        raw = RawHttp(process.address)
        try:
            ways: list[Way] = [baseline, raw, Wrapper(client)]
            for way in (baseline, raw):
                way.insert(FULL_QUEUE, make_batches(PULL))()
            for work in INSERTS:
                batches = make_batches(work)
                report(work, {way.name: way.insert(QUEUE, batches) for way in ways})
            offsets = range(0, FULL_QUEUE_ROWS, PULLED_ROWS)
            report(PULL, {way.name: pull_checked(way, offsets) for way in ways})
        finally:
            baseline.close()
            raw.close()


def make_batches(work: Work) -> Sequence[Sequence[Row]]:
    rows: list[Row] = [
        {"id": index, "user": f"user-{index % 10_000:05}", "data": f"{index:0104}", "value": index / 7}
        for index in range(work.total)
    ]
    assert all(16 + len(row["user"]) + len(row["data"]) == ROW_BYTES for row in rows)
    return [rows[start : start + work.row_count] for start in range(0, work.total, work.row_count)]


def pull_checked(way: Way, offsets: Sequence[int]) -> Callable[[], None]:
    expected = way.pull(offsets)
    assert expected >= FULL_QUEUE_ROWS

    def run() -> None:
        assert way.pull(offsets) == expected

    return run


def report(work: Work, runs: Mapping[str, Callable[[], None]]) -> None:
    """Time everything turn by turn, so that what else the machine does falls on all; the baseline comes first."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for round_index in range(ROUNDS + 1):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            elapsed = time.perf_counter() - started
            if round_index:  # the first round warms up
                seconds[name].append(elapsed)
    print(work.name)
    baseline = next(iter(seconds.values()))
    for name, taken in seconds.items():
        rate = work.total / median(taken)
        ratio = median(base / own for base, own in zip(baseline, taken, strict=True))
        print(f"  {name:38}{rate:9,.0f}{rate * ROW_BYTES / 1e6:8.1f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
