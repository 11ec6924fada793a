"""What SPYT's manual shows in Python works, but for addresses and the import."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession as Session
from pyspark.sql.functions import length, lit

from queue_agent.spark import spark_session
from tests.spark.queues import create_consumer, create_queue, offsets, rows_of
from tests.spark.streams import active_query, running, wait_for
from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = [f"row {number}" for number in range(10)]


@pytest.fixture
def queue_path(home: LocalCluster, folder: str) -> str:
    path = f"{folder}/queue"
    create_queue(home, path, [{"name": "data", "type": "string"}], tablets=2)
    home.client.insert_rows(path, [{"data": value, "$tablet_index": i % 2} for i, value in enumerate(VALUES)])
    return path


@pytest.fixture
def consumer_path(home: LocalCluster, folder: str, queue_path: str) -> str:
    path = f"{folder}/consumer"
    create_consumer(home, path, queue_path)
    return path


@pytest.fixture
def result_table_path(folder: str) -> str:
    return f"{folder}/result"


@pytest.fixture
def checkpoints_path(tmp_path: Path) -> str:
    return (tmp_path / "checkpoints").as_uri()


def test_listing_3_queues_in_python(
    spark: SparkSession,
    home: LocalCluster,
    queue_path: str,
    consumer_path: str,
    result_table_path: str,
    checkpoints_path: str,
) -> None:
    create_queue(
        home,
        result_table_path,
        [{"name": "data", "type": "string"}, {"name": "data_length", "type": "int64"}],
    )
    session = spark

    def stop_when_written() -> None:
        query = active_query(session)
        with running(query):
            wait_for(query, lambda: len(rows_of(home, result_table_path)) == len(VALUES))

    watcher = threading.Thread(target=stop_when_written)
    watcher.start()

    with spark_session() as spark:
        df = spark.readStream.format("yt").option("consumer_path", consumer_path).load(queue_path)
        df.select("data").withColumn("data_length", length("data")).writeStream.format("yt").option(
            "checkpointLocation", checkpoints_path
        ).option("path", result_table_path).start().awaitTermination()

    watcher.join()
    written = {row["data"]: row["data_length"] for row in rows_of(home, result_table_path)}
    assert written == {value: len(value) for value in VALUES}
    assert session.range(1).count() == 1, "a session that was there before goes on"


def test_listing_4_service_columns(
    spark: SparkSession,
    home: LocalCluster,
    queue_path: str,
    consumer_path: str,
    result_table_path: str,
    checkpoints_path: str,
) -> None:
    yt = home.client
    spark = Session.builder.appName("streaming example").getOrCreate()

    schema = [
        {"name": "src_queue_path", "type": "string", "sort_order": "ascending"},
        {"name": "tablet_idx", "type": "int64", "sort_order": "ascending"},
        {"name": "row_idx", "type": "int64", "sort_order": "ascending"},
        {"name": "data", "type": "string"},
    ]
    yt.create("table", result_table_path, recursive=True, attributes={"dynamic": "true", "schema": schema})
    yt.mount_table(result_table_path, sync=True)

    df = (
        spark.readStream.format("yt")
        .option("consumer_path", consumer_path)
        .option("include_service_columns", True)
        .load(queue_path)
        .withColumnRenamed("__spyt_streaming_src_tablet_index", "tablet_idx")
        .withColumnRenamed("__spyt_streaming_src_row_index", "row_idx")
        .withColumn("src_queue_path", lit(queue_path))
    )

    query = (
        df.writeStream.outputMode("append")
        .format("yt")
        .option("checkpointLocation", checkpoints_path)
        .option("path", result_table_path)
        .start()
    )

    with running(query):
        wait_for(query, lambda: len(rows_of(home, result_table_path)) == len(VALUES))
    written = {(row["tablet_idx"], row["row_idx"]): row["data"] for row in rows_of(home, result_table_path)}
    assert written == {(number % 2, number // 2): value for number, value in enumerate(VALUES)}


@pytest.fixture
def batch_size_of_100(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.unset("spark.yt.write.dynBatchSize")


def test_listing_5_rows_in_a_batch(
    spark: SparkSession,
    home: LocalCluster,
    queue_path: str,
    consumer_path: str,
    result_table_path: str,
    checkpoints_path: str,
    batch_size_of_100: None,
) -> None:
    home.client.insert_rows(queue_path, [{"data": f"more {i}", "$tablet_index": 0} for i in range(2000)])
    create_queue(home, result_table_path)
    home.forget_requests()

    spark = Session.builder.appName("streaming example").config("spark.yt.write.dynBatchSize", 100).getOrCreate()

    df = (
        spark.readStream.format("yt")
        .option("consumer_path", consumer_path)
        .option("max_rows_per_partition", 1000)
        .load(queue_path)
    )

    query = (
        df.writeStream.outputMode("append")
        .format("yt")
        .option("checkpointLocation", checkpoints_path)
        .option("path", result_table_path)
        .start()
    )

    with running(query):
        wait_for(query, lambda: sum(progress.numInputRows for progress in query.recentProgress) == 2000 + len(VALUES))
        batches = [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]
    assert batches == [1005, 1000, 5]
    assert len(home.requests("insert_rows", result_table_path)) == 10 + 1 + 10 + 1
    assert offsets(home, consumer_path) == {0: 2000, 1: 5}, "one batch behind"


def test_listing_6_composite_types(
    spark: SparkSession,
    home: LocalCluster,
    folder: str,
    result_table_path: str,
    checkpoints_path: str,
) -> None:
    queue_path, consumer_path = f"{folder}/composite", f"{folder}/composite_consumer"
    point = {"type_name": "struct", "members": [{"name": "x", "type": "int64"}, {"name": "name", "type": "utf8"}]}
    schema: list[Any] = [
        {"name": "numbers", "type_v3": {"type_name": "list", "item": "int64"}},
        {"name": "point", "type_v3": {"type_name": "optional", "item": point}},
        {"name": "names", "type_v3": {"type_name": "dict", "key": "string", "value": "uint64"}},
    ]
    create_queue(home, queue_path, schema)
    create_queue(home, result_table_path, schema)
    create_consumer(home, consumer_path, queue_path)
    rows = [
        {"numbers": [1, 2], "point": [7, "seven"], "names": [["a", 1], ["b", 2]]},
        {"numbers": [], "point": None, "names": []},
    ]
    home.client.insert_rows(queue_path, rows)

    df = (
        spark.readStream.format("yt")
        .option("consumer_path", consumer_path)
        .option("parsing_type_v3", "true")
        .load(queue_path)
    )

    query = (
        df.writeStream.outputMode("append")
        .format("yt")
        .option("write_type_v3", True)
        .option("checkpointLocation", checkpoints_path)
        .option("path", result_table_path)
        .start()
    )

    with running(query):
        wait_for(query, lambda: len(rows_of(home, result_table_path)) == 2)
    assert df.schema.simpleString() == (
        "struct<numbers:array<bigint>,point:struct<x:bigint,name:string>,names:map<string,bigint>>"
    )
    names = ("numbers", "point", "names")
    assert [{name: row[name] for name in names} for row in rows_of(home, result_table_path)] == rows
