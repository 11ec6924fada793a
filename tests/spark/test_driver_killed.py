"""Streams into tables whose driver is killed, or has a rival; drivers are processes of their own."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from tests.spark.queues import DATA, create_consumer, create_queue, create_sorted, offsets, rows_of
from tests.spark.streaming_driver import ENDED, WAITING, Stream, begin, driver, kill
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import FaultSwitch, LocalCluster, LocalClusterSet

pytestmark = pytest.mark.slow

SERVICE = ("__spyt_streaming_src_tablet_index", "__spyt_streaming_src_row_index")
KEYS = [{"name": name, "type": "int64"} for name in SERVICE]
FOLDER = "//tmp/spark-killed"

TAKEN = ("CONCURRENT_STREAM_LOG_UPDATE", "Multiple streaming queries are concurrently using")
"""Spark sees that a batch is planned already before it writes its plan, or is told so when it wants to rename it."""

Sink = Literal["keyed", "ledger", "static"]
Stage = Literal["planned", "written", "committed"]
"""How far a batch is: its offsets are logged; tasks have written; the sink has committed, and Spark has not said so."""


@dataclass(frozen=True)
class Case:
    """A stream into one kind of table, whose driver is killed at one stage of its second batch."""

    sink: Sink
    stage: Stage

    @property
    def stream(self) -> Stream:
        folder = f"{FOLDER}/{self.sink}-{self.stage}"
        ledger = {
            "write_mode": "transaction",
            "ledger_path": f"{folder}/ledger",
            "consumer_path": f"{folder}/consumer",
            "queue_path": f"{folder}/queue",
        }
        # Requests of three rows, so that one of the two that a batch needs can be carried out alone.
        return stream_in(folder, ledger if self.sink == "ledger" else {"spark.yt.write.dynBatchSize": "3"})

    def create(self, home: LocalCluster) -> None:
        create_source(home, self.stream)
        match self.sink:
            case "keyed":
                create_sorted(home, self.stream.result, KEYS, DATA)
            case "ledger":
                create_queue(home, self.stream.result, [*KEYS, *DATA])
            case "static":
                home.client.create("table", self.stream.result, attributes={"schema": [*KEYS, *DATA]})

    def written(self, home: LocalCluster) -> Counter[tuple[int, int]]:
        path = self.stream.result
        return counted(home.client.read_table(path) if self.sink == "static" else rows_of(home, path))

    def hold(self, home: LocalCluster) -> FaultSwitch:
        """Let the next batch get as far as the stage, and no further; what is hit by then."""
        faults, stream = home.faults, self.stream
        match self.stage, self.sink:
            case "planned", _:
                return faults.hang("pull_queue_consumer", path=stream.consumer)
            case "written", "keyed":
                # One request of one task is carried out, and nobody hears of it.
                faults.drop("insert_rows", path=stream.result, count=1, executed=True)
                return faults.hang("insert_rows", path=stream.result)
            case "written", "ledger":
                return faults.hang("advance_consumer", path=stream.consumer)  # right before the commit
            case "written", "static":
                return faults.hang("concatenate", path=stream.result)
            case _:
                return faults.hang("write_file", path=f"{stream.checkpoint}/commits/")

    def seen(self, home: LocalCluster) -> int:
        """Rows of the batch after the first one, which had two of each partition."""
        return (self.written(home) - each_once(2)).total()

    @property
    def held_row_count(self) -> int:
        """How many of the held batch, which has three of each partition, are to be seen."""
        match self.stage, self.sink:
            case "committed", _:
                return 6
            case "written", "keyed":
                return 3
            case _:
                return 0


def is_held(case: Case, fault: FaultSwitch, home: LocalCluster) -> bool:
    return fault.hits > 0 and case.seen(home) == case.held_row_count


CASES = [
    Case("ledger", "planned"),  # no other sink sees that anything was
    *(Case(sink, stage) for sink in get_args(Sink) for stage in ("written", "committed")),
]


def pairs_of_cases() -> list[list[Stream]]:
    """Their streams: two at once begin sooner than one after the other, and do not wait for each other."""
    streams = [case.stream for case in CASES]
    return [streams[index : index + 2] for index in range(0, len(streams), 2)]


def stream_in(folder: str, options: Mapping[str, str]) -> Stream:
    return Stream(f"{folder}/queue", f"{folder}/consumer", f"{folder}/result", f"{folder}/checkpoint", options)


def create_source(home: LocalCluster, stream: Stream) -> None:
    home.client.create("map_node", stream.queue.removesuffix("/queue"), recursive=True)
    create_queue(home, stream.queue, tablets=2)
    create_consumer(home, stream.consumer, stream.queue)


def write(home: LocalCluster, stream: Stream, count: int) -> None:
    """Add so many rows to each of the two partitions of the queue."""
    rows: list[dict[str, Any]] = [{"data": str(number), "$tablet_index": number % 2} for number in range(2 * count)]
    home.client.insert_rows(stream.queue, rows)


def counted(rows: Any) -> Counter[tuple[int, int]]:
    """How often each row is there: by partition and row index."""
    return Counter((row[SERVICE[0]], row[SERVICE[1]]) for row in rows)


def each_once(count: int) -> Counter[tuple[int, int]]:
    return Counter((partition, row) for partition in range(2) for row in range(count))


def logged(home: LocalCluster, stream: Stream, kind: Literal["offsets", "commits"]) -> list[str]:
    """Batches of which the checkpoint says that they were planned, or done."""
    names = map(str, home.client.list(f"{stream.checkpoint}/{kind}"))
    return sorted(name for name in names if not name.startswith("."))


@dataclass(frozen=True)
class Driver:
    """A process that runs streams."""

    home: LocalCluster
    streams: Sequence[Stream]
    process: subprocess.Popen[bytes]
    log: Path

    def begin(self, *streams: Stream) -> None:
        begin(self.process, [self.streams.index(stream) for stream in streams])

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            time.sleep(0.3)

    def wait_for_batch(self, stream: Stream, number: int) -> None:
        """Wait until the checkpoint says that it is done."""
        self.wait_for(lambda: bool(self.home.client.exists(f"{stream.checkpoint}/commits/{number}")))

    def has_said(self, *words: str) -> bool:
        """Whether they are all in one line."""
        return any(all(word in line for word in words) for line in self.log.read_text().splitlines())


@pytest.fixture(scope="module")
def rivalled(clusters: LocalClusterSet) -> Stream:
    """Into an ordered table without a ledger, where a row that is written twice is twice."""
    stream = stream_in(f"{FOLDER}/rivalled", {})
    create_source(clusters["home"], stream)
    create_queue(clusters["home"], stream.result, [*KEYS, *DATA])
    return stream


Drivers = Callable[[str], AbstractContextManager[Driver]]


@pytest.fixture(scope="module")
def drivers(
    clusters: LocalClusterSet,
    spark_settings: dict[str, str],
    rivalled: Stream,
    tmp_path_factory: pytest.TempPathFactory,
) -> Drivers:
    """Starts a driver with a name, for the stream that has a rival and for all cases."""
    folder = tmp_path_factory.mktemp("drivers")
    streams = [rivalled, *(case.stream for case in CASES)]

    @contextmanager
    def start(name: str) -> Iterator[Driver]:
        log = folder / name
        with driver(spark_settings, streams, log) as process:
            yield Driver(clusters["home"], streams, process, log)

    return start


@pytest.fixture(scope="module")
def second(drivers: Drivers) -> Iterator[Driver]:
    """A driver that has begun nothing yet."""
    with drivers("second") as second:
        yield second


@pytest.fixture(scope="module")
def first(clusters: LocalClusterSet, drivers: Drivers, rivalled: Stream, second: Driver) -> Iterator[Driver]:
    """A driver whose streams have done a batch of two rows of each partition, and wait for more.

    The other one starts beside it: that takes both as long as one.
    """
    home = clusters["home"]
    for case in CASES:
        case.create(home)
    with drivers("first") as first:
        for streams in [[rivalled], *pairs_of_cases()]:
            for stream in streams:
                write(home, stream, 2)
            first.begin(*streams)
            for stream in streams:
                first.wait_for_batch(stream, 0)
        yield first


def test_of_two_drivers_with_one_checkpoint_one_goes_on_and_the_other_writes_nothing(
    first: Driver, second: Driver, rivalled: Stream, home: LocalCluster
) -> None:
    second.begin(rivalled)
    second.wait_for(lambda: second.has_said(WAITING, rivalled.result))

    write(home, rivalled, 1)

    second.wait_for(lambda: first.has_said(ENDED) or second.has_said(ENDED))
    second.wait_for_batch(rivalled, 1)
    write(home, rivalled, 1)
    second.wait_for_batch(rivalled, 2)
    assert first.has_said(ENDED) != second.has_said(ENDED), "one of the two goes on"
    loser = first if first.has_said(ENDED) else second
    assert any(loser.has_said(ENDED, words) for words in TAKEN), loser.log.read_text()
    assert counted(rows_of(home, rivalled.result)) == each_once(4)


def test_a_driver_that_is_killed_at_any_stage_of_a_batch_leaves_every_row_once(
    first: Driver, second: Driver, home: LocalCluster
) -> None:
    held = {case: case.hold(home) for case in CASES}
    for case in CASES:
        write(home, case.stream, 3)
    for case, fault in held.items():
        first.wait_for(partial(is_held, case, fault, home))

    kill(first.process)

    assert {case: case.seen(home) for case in CASES} == {case: case.held_row_count for case in CASES}
    for case in CASES:
        assert logged(home, case.stream, "offsets") == ["0", "1"], case
        assert logged(home, case.stream, "commits") == ["0"], case
    home.faults.clear()
    home.clock.advance(60)  # what transactions of the dead have locked becomes free
    for streams in pairs_of_cases():
        second.begin(*streams)
        for stream in streams:
            second.wait_for_batch(stream, 1)
            write(home, stream, 1)
    for case in CASES:
        second.wait_for_batch(case.stream, 2)
        assert case.written(home) == each_once(6), case
        assert logged(home, case.stream, "commits") == ["0", "1", "2"], case
        if case.sink == "ledger":
            assert offsets(home, case.stream.consumer) == {0: 6, 1: 6}, "with the rows, not one batch behind"
