"""`python -m benchmarks.spark`: reading against ytsaurus-client and Parquet, micro-batches, memory."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from yt.wrapper import YtClient

from benchmarks.spark.processes import usage
from benchmarks.spark.stand_in import COLUMNS, PARTITIONS, stand_in, value_of
from queue_agent.spark import spark_session
from yt_local.testing import LocalCluster, local_clusters

ROWS = 1_000_000
"""In each partition of the large queue."""

ROUNDS = 3

ARROW_TYPES = {"int64": pa.int64(), "string": pa.string(), "uint64": pa.int64()}
ARROW_SCHEMA = pa.schema({name: ARROW_TYPES[type_name] for name, type_name in COLUMNS.items()})

Row = Mapping[str, Any]


def main() -> None:
    """Print the figures; some three minutes."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    with spark_session("benchmark", master="local[2]", spark_conf_args=settings) as spark:
        spark.sparkContext.setLogLevel("ERROR")
        with stand_in(ROWS) as large, stand_in(ROWS // 10) as small:
            memory(spark, small, large)
            reading(spark, large)
        with local_clusters("local") as clusters:
            micro_batches(spark, clusters["local"])


def queue_frame(spark: SparkSession, address: str) -> DataFrame:
    return spark.read.format("yt").options(proxy=address, rows_per_task=ROWS).load("//tmp/queue")


def consume(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def memory(spark: SparkSession, small: str, large: str) -> None:
    """The memory of a worker that reads ten times as many rows."""
    consume(queue_frame(spark, small))
    before = usage(spark).largest_worker
    consume(queue_frame(spark, large))
    after = usage(spark).largest_worker
    print(f"largest Python worker: {before >> 20} MB after {ROWS // 10:,} rows a task, {after >> 20} MB after {ROWS:,}")


def reading(spark: SparkSession, address: str) -> None:
    """Rows a second of processor time: the connector, ytsaurus-client, the JVM from Parquet."""
    rows = ROWS * PARTITIONS
    with tempfile.TemporaryDirectory() as directory:
        write_parquet(Path(directory))
        parquet = spark.read.parquet(directory)
        frame = queue_frame(spark, address)
        ways: dict[str, Callable[[], tuple[float, float]]] = {
            "connector": lambda: spark_cost(spark, frame),
            "JVM from Parquet": lambda: spark_cost(spark, parquet),
            "ytsaurus-client, 1,000 rows a request": lambda: client_cost(address, 1_000, count),
            "the same, to Arrow": lambda: client_cost(address, 1_000, to_arrow),
            "ytsaurus-client, 50,000 rows a request": lambda: client_cost(address, 50_000, count),
            "the same, to Arrow, 50,000 rows a request": lambda: client_cost(address, 50_000, to_arrow),
        }
        figures = [{name: run() for name, run in ways.items()} for _ in range(ROUNDS)]
    print(f"\n{rows:,} rows | rows a core second | rows a second | connector against it")
    own = rows / statistics.median(figure["connector"][0] for figure in figures)
    for name in ways:
        a_core = rows / statistics.median(figure[name][0] for figure in figures)
        a_second = rows / statistics.median(figure[name][1] for figure in figures)
        print(f"{name} | {a_core:,.0f} | {a_second:,.0f} | {own / a_core:.2f}x")


def spark_cost(spark: SparkSession, frame: DataFrame) -> tuple[float, float]:
    before, started = usage(spark), time.monotonic()
    consume(frame)
    return usage(spark).processor_seconds - before.processor_seconds, time.monotonic() - started


def client_cost(address: str, row_count: int, use: Callable[[Iterator[Row]], int]) -> tuple[float, float]:
    """A loop over ytsaurus-client, on a tenth of the rows; scaled to all of them."""
    client = YtClient(address)
    processor, started = time.process_time(), time.monotonic()
    end = ROWS * PARTITIONS // 10
    position = 0
    while position < end:
        position += use(client.pull_queue("//tmp/queue", position, 0, max_row_count=row_count))
    return (time.process_time() - processor) * 10, (time.monotonic() - started) * 10


def count(rows: Iterator[Row]) -> int:
    """Take every row, and do nothing with it."""
    return sum(1 for _ in rows)


def to_arrow(rows: Iterator[Row]) -> int:
    """Make what the connector makes of an answer."""
    return int(pa.RecordBatch.from_pylist(list(rows), ARROW_SCHEMA).num_rows)


def write_parquet(directory: Path) -> None:
    columns = [pa.array([value_of(field.name, index) for index in range(ROWS)], field.type) for field in ARROW_SCHEMA]
    for index in range(PARTITIONS):
        pyarrow.parquet.write_table(pa.table(columns, ARROW_SCHEMA), directory / f"{index}.parquet")


def micro_batches(spark: SparkSession, cluster: LocalCluster) -> None:
    """What a batch of a stream costs that has next to no rows: queue of four partitions, table, local checkpoint."""
    client = cluster.client
    schema = [{"name": "data", "type": "string"}]
    for path, tablets in (("//tmp/queue", 4), ("//tmp/result", 1)):
        client.create("table", path, attributes={"dynamic": True, "schema": schema, "tablet_count": tablets})
        client.mount_table(path, sync=True)
    client.create("queue_consumer", "//tmp/consumer")
    client.mount_table("//tmp/consumer", sync=True)
    client.register_queue_consumer("//tmp/queue", "//tmp/consumer", vital=True)
    client.insert_rows("//tmp/queue", [{"data": "x" * 100, "$tablet_index": i % 4} for i in range(120)])
    frame = (
        spark.readStream.format("yt")
        .options(proxy=cluster.address, consumer_path="//tmp/consumer", max_rows_per_partition=1)
        .load("//tmp/queue")
    )
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            frame.writeStream.format("yt")
            .option("proxy", cluster.address)
            .option("path", "//tmp/result")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        progress = [batch for batch in query.recentProgress if batch.numInputRows]
    parts = ("triggerExecution", "addBatch", "walCommit", "commitOffsets", "latestOffset", "queryPlanning")
    print(f"\nfirst batch {progress[0].durationMs['triggerExecution']} ms, later ones (median, ms): ", end="")
    medians = {name: statistics.median(batch.durationMs.get(name, 0) for batch in progress[5:]) for name in parts}
    print(", ".join(f"{name} {median:.0f}" for name, median in medians.items()))


if __name__ == "__main__":
    main()
