"""Writing: what is in a table after everything that can go wrong has gone wrong."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType
from yt.wrapper.errors import YtResponseError

from queue_agent.spark.data_source import YtDataSource
from queue_agent.spark.errors import OptionError
from queue_agent.spark.ledger import create_ledger
from queue_agent.spark.options import BATCH_SIZE_SETTING, OptionReader
from queue_agent.spark.static_sink import WrittenPart
from tests.spark.queues import create_consumer, create_queue, create_sorted, offsets, rows_of
from tests.spark.streams import drain
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import LocalCluster, YtError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

VALUES = [f"row {number}" for number in range(12)]
SERVICE = ("__spyt_streaming_src_tablet_index", "__spyt_streaming_src_row_index")
REFUSED = YtError("Something is wrong with this request", 1)


class Sink:
    """A queue of two partitions with rows, and a checkpoint of a stream from it."""

    def __init__(self, spark: SparkSession, home: LocalCluster, folder: str, directory: Path) -> None:
        self.spark = spark
        self.home = home
        self.folder = folder
        self.queue = f"{folder}/queue"
        self.consumer = f"{folder}/consumer"
        self.result = f"{folder}/result"
        self.checkpoint = directory / "checkpoint"
        create_queue(home, self.queue, tablets=2)
        create_consumer(home, self.consumer, self.queue)
        rows = [{"data": value, "$tablet_index": number % 2} for number, value in enumerate(VALUES)]
        home.client.insert_rows(self.queue, rows)

    def stream(self, **options: Any) -> DataStreamWriter:
        frame = (
            self.spark.readStream.format("yt")
            .options(consumer_path=self.consumer, include_service_columns=True, max_rows_per_partition=4, retries=2)
            .load(self.queue)
        )
        return (
            frame.writeStream.format("yt")
            .options(retries=2, **options)
            .option("checkpointLocation", self.checkpoint.as_uri())
            .option("path", self.result)
        )

    @property
    def transactional(self) -> dict[str, str]:
        return {
            "write_mode": "transaction",
            "ledger_path": f"{self.folder}/ledger",
            "consumer_path": self.consumer,
            "queue_path": self.queue,
        }


@pytest.fixture
def sink(spark: SparkSession, home: LocalCluster, folder: str, tmp_path: Path) -> Sink:
    return Sink(spark, home, folder, tmp_path)


def test_a_keyed_table_has_every_row_once_whatever_is_repeated(sink: Sink) -> None:
    create_sorted(
        sink.home,
        sink.result,
        [{"name": name, "type": "int64"} for name in SERVICE],
        [{"name": "data", "type": "string"}],
    )
    one_task = sink.home.faults.refuse("insert_rows", path=sink.result, count=1, error=REFUSED)
    answer_lost = sink.home.faults.drop("insert_rows", path=sink.result, count=1, executed=True)

    drain(sink.stream())

    assert one_task.hits == answer_lost.hits == 1
    written = {(row[SERVICE[0]], row[SERVICE[1]]): row["data"] for row in rows_of(sink.home, sink.result)}
    assert written == {(number % 2, number // 2): value for number, value in enumerate(VALUES)}


def test_a_transaction_writes_rows_ledger_and_consumer_or_nothing(sink: Sink) -> None:
    create_queue(sink.home, sink.result)
    task_fails = sink.home.faults.refuse("pull_queue_consumer", count=1, error=REFUSED)
    sink.home.faults.refuse("commit_transaction", count=1, error=REFUSED)

    with pytest.raises(Exception, match="Something is wrong with this request"):
        drain(sink.stream(**sink.transactional))
    assert task_fails.hits == 1
    assert rows_of(sink.home, sink.result) == rows_of(sink.home, f"{sink.folder}/ledger") == []
    assert offsets(sink.home, sink.consumer) == {}

    drain(sink.stream(**sink.transactional))

    assert sorted(row["data"] for row in rows_of(sink.home, sink.result)) == sorted(VALUES)
    assert [row["batch_id"] for row in rows_of(sink.home, f"{sink.folder}/ledger")] == [1]
    assert offsets(sink.home, sink.consumer) == {0: 6, 1: 6}, "with the rows, not one batch behind"


def test_a_static_table_has_every_batch_once(sink: Sink) -> None:
    schema = [*({"name": name, "type": "int64"} for name in SERVICE), {"name": "data", "type": "string"}]
    sink.home.client.create("table", sink.result, attributes={"schema": schema})
    task_fails = sink.home.faults.refuse("write_table", count=1, error=REFUSED)
    sink.home.faults.refuse("concatenate", count=1, error=REFUSED)

    with pytest.raises(Exception, match="Something is wrong with this request"):
        drain(sink.stream())
    assert task_fails.hits == 1
    assert sink.home.client.get(f"{sink.result}/@row_count") == 0

    drain(sink.stream())

    assert sorted(row["data"] for row in sink.home.client.read_table(sink.result)) == sorted(VALUES)


def test_a_frame_makes_a_static_table_and_replaces_it(spark: SparkSession, home: LocalCluster, folder: str) -> None:
    path = f"{folder}/made"
    frame = spark.createDataFrame([(1, "a", [1, 2]), (2, None, [])], "number int, text string, numbers array<bigint>")

    frame.write.format("yt").mode("append").option("write_type_v3", True).save(path)
    frame.limit(1).write.format("yt").mode("append").option("write_type_v3", True).save(path)

    rows = [{"number": 1, "text": "a", "numbers": [1, 2]}, {"number": 2, "text": None, "numbers": []}]
    assert list(home.client.read_table(path)) == [*rows, rows[0]]
    frame.limit(1).write.format("yt").mode("overwrite").option("write_type_v3", True).save(path)
    assert list(home.client.read_table(path)) == [rows[0]]
    assert not home.client.exists(f"{path}.parts") or home.client.list(f"{path}.parts") == []


def test_composite_columns_that_are_never_null_go_to_a_new_table_as_any(
    spark: SparkSession, home: LocalCluster, folder: str
) -> None:
    path = f"{folder}/made"
    kind = StructType(
        [StructField("numbers", ArrayType(LongType()), nullable=False), StructField("n", LongType(), False)]
    )
    frame = spark.createDataFrame([([1, 2], 3)], kind)

    frame.write.format("yt").mode("append").save(path)

    assert list(home.client.read_table(path)) == [{"numbers": [1, 2], "n": 3}]
    required = {column["name"]: column["required"] for column in home.client.get(f"{path}/@schema")}
    assert required == {"numbers": False, "n": True}


def test_a_frame_is_written_to_a_dynamic_table_only_if_it_may_be_inconsistent(
    spark: SparkSession, home: LocalCluster, folder: str
) -> None:
    path = f"{folder}/queue"
    create_queue(home, path)
    frame = spark.createDataFrame([("a",), ("b",)], "data string").coalesce(1)

    with pytest.raises(Exception, match="inconsistent_dynamic_write=true says that this is well"):
        frame.write.format("yt").mode("append").save(path)
    spark.conf.set(BATCH_SIZE_SETTING, 2)
    home.forget_requests()
    frame.write.format("yt").mode("append").options(**{"inconsistent_dynamic_write": True, BATCH_SIZE_SETTING: 1}).save(
        path
    )
    spark.conf.unset(BATCH_SIZE_SETTING)

    assert [row["data"] for row in rows_of(home, path)] == ["a", "b"]
    assert len(home.requests("insert_rows")) == 2, "an option comes before the session"


def test_a_stream_into_what_is_not_there_is_refused(home: LocalCluster, folder: str) -> None:
    source = YtDataSource({"path": f"{folder}/missing", "proxy": home.address})

    with pytest.raises(OptionError, match=r"the table .* is not there; create it"):
        source.streamWriter(StructType([]), overwrite=False)


def test_a_ledger_that_was_made_and_not_mounted_is_mounted(home: LocalCluster, folder: str) -> None:
    ledger = f"{folder}/ledger"
    given = {"path": ledger, "proxy": home.address, "write_mode": "transaction", "ledger_path": ledger}
    connection = OptionReader(given, {}, {}).write_options().connection
    died = home.faults.refuse("mount_table", count=1, error=REFUSED)
    with pytest.raises(YtResponseError, match="Something is wrong with this request"):
        create_ledger(connection, ledger)
    assert died.hits == 1

    create_ledger(connection, ledger)

    assert rows_of(home, ledger) == []


def test_queries_that_add_to_one_static_table_wait_for_each_other(home: LocalCluster, folder: str) -> None:
    path = f"{folder}/static"
    home.client.create("table", path, attributes={"schema": [{"name": "data", "type": "string"}]})
    schema = StructType([StructField("data", StringType())])
    writer = YtDataSource({"path": path, "proxy": home.address}).streamWriter(schema, overwrite=False)
    with ThreadPoolExecutor(1) as executor:
        with home.client.Transaction():
            home.client.lock(path)
            written = executor.submit(writer.commit, [WrittenPart(query_id="query")], 3)
            deadline = time.monotonic() + LIMIT_SECONDS
            while not any(lock["state"] == "pending" for lock in home.client.get(f"{path}/@locks")):
                assert not written.done(), written.exception()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        written.result()

    assert home.client.get(f"{path}/@spark_batches") == {"query": 3}
