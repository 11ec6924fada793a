"""No row is there twice, whichever answer of a cluster is lost while it is written.

Cases are made from what a writer asks for when nothing goes wrong: each of its requests that could add rows loses its
answer, once or as often as it is sent. No session is needed: writers are called as Spark's workers call them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.types import LongType, StructType
from yt.wrapper.errors import YtError

from queue_agent.spark import connection
from queue_agent.spark.data_source import YtDataSource
from queue_agent.spark.errors import ConnectorError, OutcomeUnknown
from queue_agent.spark.kept_batches import Batch, KeptBatches
from queue_agent.spark.options import ConnectionOptions
from queue_agent.spark.queues import Consumer, QueueName
from queue_agent.spark.requests import Request, TransactionLimits
from queue_agent.spark.transaction_sink import TransactionWriter
from tests.component.cutting_relay import CuttingRelay, Where
from tests.spark.queues import create_consumer, create_queue, offsets, rows_of
from yt_local.testing import LocalCluster

pytestmark = pytest.mark.slow

_NUMBERS: Final = [{"name": "number", "type": "int64"}]
_SCHEMA: Final = StructType().add("number", LongType())
_ROWS: Final = [0, 1, 2, 3]
_LOST: Final = (YtError, ConnectorError, OSError)
"""What writers fail with: requests' errors are of the system's."""


class LoneTask(TaskContext):
    """What Spark tells a task, without Spark."""

    def __new__(cls) -> LoneTask:
        return object.__new__(cls)

    def __init__(self) -> None:
        self._localProperties = {"sql.streaming.queryId": "query"}
        self._partitionId = 0


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskContext, "_taskContext", LoneTask())


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    config = connection._config
    # For so long the thread that pings a transaction keeps those waiting who end it.
    monkeypatch.setattr(connection, "_config", lambda options: {**config(options), "transaction_sleep_period": 1})
    monkeypatch.setattr(connection, "_FIRST_PAUSE", 1)
    monkeypatch.setattr(connection, "_LONGEST_PAUSE", 1)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Of relays: clients here block the thread of the test."""
    loop = asyncio.new_event_loop()
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(loop.run_forever)
        yield loop
        loop.call_soon_threadsafe(loop.stop)
        running.result()
    loop.close()


@dataclass(frozen=True, slots=True)
class World:
    """A cluster, and the way to it through a relay."""

    cluster: LocalCluster
    folder: str
    loop: asyncio.AbstractEventLoop

    @contextmanager
    def relay(self) -> Iterator[CuttingRelay]:
        relay = CuttingRelay(self.cluster.address)
        asyncio.run_coroutine_threadsafe(relay.__aenter__(), self.loop).result()
        try:
            yield relay
        finally:
            connection.close_clients()
            asyncio.run_coroutine_threadsafe(relay.__aexit__(None, None, None), self.loop).result()


@pytest.fixture
def world(home: LocalCluster, folder: str, loop: asyncio.AbstractEventLoop) -> World:
    return World(home, folder, loop)


Write = Callable[[], None]
"""Does the work, and may be called again as Spark does after a failure."""

Writer = Callable[[World, str, str, int], tuple[Write, Callable[[], list[int]]]]
"""Of a proxy, a path that nobody else uses and a number of attempts; how to write, and what is there."""


def _source(proxy: str, path: str, retries: int, **options: str) -> YtDataSource:
    return YtDataSource({"proxy": proxy, "path": path, "retries": str(retries), **options})


def _batches() -> Iterator[pa.RecordBatch]:
    return iter(pa.table({"number": _ROWS}).to_batches())


def _queue_rows(world: World, path: str) -> list[int]:
    return [row["number"] for row in rows_of(world.cluster, path)]


def appended_frame(world: World, proxy: str, path: str, retries: int) -> tuple[Write, Callable[[], list[int]]]:
    create_queue(world.cluster, path, _NUMBERS)
    options = {"inconsistent_dynamic_write": "true", "spark.yt.write.dynBatchSize": "2"}

    def write() -> None:
        _source(proxy, path, retries, **options).writer(_SCHEMA, False).write(_batches())

    return write, lambda: _queue_rows(world, path)


def static_stream(world: World, proxy: str, path: str, retries: int) -> tuple[Write, Callable[[], list[int]]]:
    world.cluster.client.create("table", path, attributes={"schema": _NUMBERS})

    def write() -> None:
        writer = _source(proxy, path, retries).streamWriter(_SCHEMA, False)
        writer.commit([writer.write(_batches())], 0)

    return write, lambda: [row["number"] for row in world.cluster.client.read_table(path)]


def transactions(world: World, proxy: str, path: str, retries: int) -> tuple[Write, Callable[[], list[int]]]:
    """With a batch that takes two of them."""
    create_queue(world.cluster, path, _NUMBERS)
    options = {"write_mode": "transaction", "ledger_path": f"{path}.ledger", "spark.yt.write.dynBatchSize": "3"}

    def write() -> None:
        writer = _source(proxy, path, retries, **options).streamWriter(_SCHEMA, False)
        assert isinstance(writer, TransactionWriter)
        writer._limits = TransactionLimits(row_count=3)
        writer.commit([writer.write(_batches())], 0)

    return write, lambda: _queue_rows(world, path)


_REPEATED: Final = (static_stream, transactions)
"""Streams: what was repeated is there once."""

_ADDING: Final = frozenset({"insert_rows", "write_table", "write_file", "concatenate", "commit_transaction"})

_RETRIES: Final = 2


def _asked(world: World, writer: Writer) -> Counter[str]:
    """What a writer asks for that adds rows, when nothing goes wrong."""
    with world.relay() as relay:
        write, there = writer(world, relay.address, f"{world.folder}/undisturbed", _RETRIES)
        write()
        assert there() == _ROWS
        return Counter({command: count for command, count in relay.came.items() if command in _ADDING})


@pytest.mark.parametrize("lost", [1, _RETRIES])
@pytest.mark.parametrize("writer", [appended_frame, static_stream, transactions])
def test_no_row_is_there_twice_whichever_answer_is_lost(world: World, writer: Writer, lost: int) -> None:
    asked = _asked(world, writer)
    assert asked["commit_transaction"]
    for command, count in asked.items():
        for number in range(count):
            with world.relay() as relay:
                path = f"{world.folder}/{command}-{number}"
                write, there = writer(world, relay.address, path, _RETRIES)
                for _ in range(lost):
                    relay.cut(command, Where.BEFORE_ANSWER, skip=number)
                try:
                    write()
                except _LOST:
                    assert there() == _ROWS[: len(there())], (command, number)
                else:
                    assert there() == _ROWS, (command, number)
                assert relay.came[command] > number, "the answer was lost"
                relay.cut_no_more()
                if writer in _REPEATED:
                    write()
                    assert there() == _ROWS, (command, number)


def test_a_commit_without_an_answer_is_told_and_not_repeated(world: World) -> None:
    with world.relay() as relay:
        write, there = appended_frame(world, relay.address, f"{world.folder}/queue", 1)
        relay.cut("commit_transaction", Where.BEFORE_ANSWER)
        with pytest.raises(OutcomeUnknown, match="no answer tells whether it was"):
            write()
        assert there() == _ROWS[:2]


def test_what_is_kept_of_a_batch_is_what_was_written_whichever_answer_is_lost(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = connection._config

    def in_pieces(options: ConnectionOptions) -> dict[str, Any]:
        made = config(options)
        # Between one and two of these is written piece by piece; more goes to files of its own, which are put together.
        return made | {"write_retries": {**made["write_retries"], "chunk_size": 16}}

    monkeypatch.setattr(connection, "_config", in_pieces)
    batch = Batch("query", 0, [Request(letter * 8, 1) for letter in (b"A", b"B", b"C")], {})
    content = b"".join(request.rows for request in batch.requests)
    ledger = f"{world.folder}/ledger"
    with world.relay() as relay:
        kept = KeptBatches(ConnectionOptions(relay.address, None, _RETRIES), ledger)
        assert kept.load(kept.keep(batch), "query", 0) == batch
        commits = relay.came["commit_transaction"]
        assert relay.came["write_file"] == 2, "only the first piece replaces what there is"
        assert not relay.came["concatenate"]
        refused = 0
        for number in range(commits):
            for _ in range(_RETRIES):
                relay.cut("commit_transaction", Where.BEFORE_ANSWER, skip=number)
            try:
                path = kept.keep(batch)
            except _LOST:
                refused += 1
            else:
                assert world.cluster.client.read_file(path).read() == content, number
                assert kept.load(path, "query", 0) == batch, number
            relay.cut_no_more()
    assert 0 < refused < commits


def test_a_consumer_whose_move_was_not_answered_is_where_it_should_be(world: World) -> None:
    queue, consumer = f"{world.folder}/queue", f"{world.folder}/consumer"
    create_queue(world.cluster, queue, _NUMBERS)
    create_consumer(world.cluster, consumer, queue)
    world.cluster.client.insert_rows(queue, [{"number": number} for number in _ROWS])
    with world.relay() as relay:
        options = ConnectionOptions(relay.address, None, 1)
        own = Consumer(options, consumer, QueueName("home", queue))
        relay.cut("commit_transaction", Where.BEFORE_ANSWER)
        with pytest.raises(OutcomeUnknown):
            own.advance({0: 3})
        own.advance({0: 3})
    assert offsets(world.cluster, consumer) == {0: 3}
