"""Streams into tables whose driver is killed, or has a rival, in a process of its own."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from queue_agent.testing import FaultSwitch, LocalCluster, LocalClusterSet
from tests.spark.queues import DATA, create_consumer, create_queue, create_sorted, offsets, rows_of
from tests.spark.streaming_driver import ENDED, Stream, driver, kill, start_next
from tests.spark.streams import DEADLINE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    """A stream into one kind of table."""

    sink: Sink

    @property
    def stream(self) -> Stream:
        folder = f"{FOLDER}/{self.sink}"
        ledger = {
            "write_mode": "transaction",
            "ledger_path": f"{folder}/ledger",
            "consumer_path": f"{folder}/consumer",
            "queue_path": f"{folder}/queue",
        }
        return stream_in(folder, ledger if self.sink == "ledger" else {})

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

    def hold(self, home: LocalCluster, stage: Stage) -> FaultSwitch:
        """Let the next batch get as far as a stage, and no further; what is hit by then."""
        faults, stream = home.faults, self.stream
        match stage, self.sink:
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

    def row_count(self, stage: Stage) -> int:
        """How many of the held batch, which has three of each partition, are to be seen at a stage."""
        match stage, self.sink:
            case "committed", _:
                return 6
            case "written", "keyed":
                return 3
            case _:
                return 0


CASES = [Case("keyed"), Case("ledger"), Case("static")]


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
    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE
        while not condition():
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            time.sleep(0.1)

    def wait_for_batch(self, stream: Stream, number: int) -> None:
        """Wait until the checkpoint says that it is done."""
        self.wait_for(lambda: bool(self.home.client.exists(f"{stream.checkpoint}/commits/{number}")))

    def wait_until_held(self, case: Case, stage: Stage, fault: FaultSwitch) -> None:
        self.wait_for(lambda: fault.hits > 0 and case.seen(self.home) == case.row_count(stage))

    def kill_at(self, stage: Stage, held: Mapping[Case, FaultSwitch]) -> None:
        """Kill it once all streams are held at a stage."""
        for case in held:
            self.wait_until_held(case, stage, held[case])
        kill(self.process)
        assert {case: case.seen(self.home) for case in held} == {case: case.row_count(stage) for case in held}
        for case in held:
            assert logged(self.home, case.stream, "offsets") == ["0", "1"], case
            assert logged(self.home, case.stream, "commits") == ["0"], case
        self.home.faults.clear()
        self.home.clock.advance(60)  # what transactions of the dead have locked becomes free


@dataclass(frozen=True)
class Drivers:
    """Starts such processes."""

    home: LocalCluster
    settings: Mapping[str, str]
    folder: Path

    @contextmanager
    def start(self, *streams: Stream) -> Iterator[Driver]:
        log = self.folder / "log"
        with driver(self.settings, streams, log) as process:
            yield Driver(self.home, process, log)


@pytest.fixture(scope="module")
def drivers(
    clusters: LocalClusterSet, spark_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Drivers:
    return Drivers(clusters["home"], spark_settings, tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def rivalled(clusters: LocalClusterSet) -> Stream:
    """Into an ordered table without a ledger, where a row that is written twice is twice."""
    stream = stream_in(f"{FOLDER}/rivalled", {})
    create_source(clusters["home"], stream)
    create_queue(clusters["home"], stream.result, [*KEYS, *DATA])
    return stream


@pytest.fixture(scope="module")
def streaming(drivers: Drivers, rivalled: Stream) -> Iterator[Driver]:
    """All streams have done a batch of two rows of each partition, and wait for more."""
    home = drivers.home
    for case in CASES:
        case.create(home)
    streams = [*(case.stream for case in CASES), rivalled]
    for stream in streams:
        write(home, stream, 2)
    with drivers.start(*streams) as running:
        for stream in streams:
            start_next(running.process)
            running.wait_for_batch(stream, 0)
        yield running


def test_of_two_drivers_with_one_checkpoint_one_goes_on_and_the_other_writes_nothing(
    spark: SparkSession, streaming: Driver, rivalled: Stream, home: LocalCluster
) -> None:
    rival = rivalled.start(spark)
    try:
        streaming.wait_for(lambda: rival.status["message"] == "Waiting for next trigger")

        write(home, rivalled, 1)

        streaming.wait_for(lambda: not rival.isActive or ENDED in streaming.log.read_text())
        loser = str(rival.exception()) if not rival.isActive else streaming.log.read_text().partition(ENDED)[2]
        assert any(words in loser for words in TAKEN), loser
        streaming.wait_for_batch(rivalled, 1)
        write(home, rivalled, 1)
        streaming.wait_for_batch(rivalled, 2)
        assert rival.isActive == (ENDED in streaming.log.read_text()), "one of the two goes on"
    finally:
        rival.stop()
    assert counted(rows_of(home, rivalled.result)) == each_once(4)


@pytest.mark.timeout(600)
def test_a_driver_that_is_killed_at_every_stage_of_a_batch_leaves_every_row_once(
    spark: SparkSession, streaming: Driver, drivers: Drivers, home: LocalCluster
) -> None:
    planned = {case: case.hold(home, "planned") for case in CASES}
    for case in CASES:
        write(home, case.stream, 3)
    streaming.kill_at("planned", planned)
    stages: tuple[Stage, Stage] = ("written", "committed")
    for stage in stages:
        held = {case: case.hold(home, stage) for case in CASES}
        with drivers.start(*(case.stream for case in CASES)) as restarted:
            for case, fault in held.items():
                start_next(restarted.process)
                restarted.wait_until_held(case, stage, fault)
            restarted.kill_at(stage, held)
    for case in CASES:
        write(home, case.stream, 1)

    queries = [case.stream.writer(spark).trigger(availableNow=True).start() for case in CASES]

    for query in queries:
        assert query.awaitTermination(DEADLINE), f"a query goes on: {query.lastProgress}"
    for case in CASES:
        assert case.written(home) == each_once(6), case
        assert logged(home, case.stream, "commits") == ["0", "1", "2"], case
    assert offsets(home, Case("ledger").stream.consumer) == {0: 6, 1: 6}, "with the rows, not one batch behind"
