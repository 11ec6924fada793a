"""`python -m benchmarks.spark.export`: an export to zstd Parquet against pyarrow that writes the same batches."""

from __future__ import annotations

import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.processes import usage
from benchmarks.spark.stand_in import COLUMNS, PARTITIONS, stand_in, value_of
from queue_agent.spark import spark_session
from queue_agent.spark.export.documents import Plan, Range
from queue_agent.spark.export.parquet_sink import SparkWriter
from queue_agent.spark.export.parquet_writer import FileSettings
from queue_agent.spark.export.source import ExportSource, SourceOptions
from queue_agent.spark.types import ROW_INDEX, TABLET_INDEX

ROWS = 1_000_000
"""In each partition."""

ROUNDS = 3
BATCH_ROWS = 65_536


def main() -> None:
    """Print the figures; some two minutes."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    }
    batches = [_batches(index) for index in range(PARTITIONS)]
    with (
        stand_in(ROWS) as address,
        spark_session("benchmark", master=f"local[{PARTITIONS}]", spark_conf_args=settings) as spark,
    ):
        spark.sparkContext.setLogLevel("ERROR")

        def export(directory: str) -> tuple[float, float]:
            writer = SparkWriter(spark, ExportSource(SourceOptions("//tmp/queue", proxy=address)), directory)
            plan = Plan(0, "export", [Range(index, 0, ROWS) for index in range(PARTITIONS)])
            before, started = usage(spark).processor_seconds, time.monotonic()
            files = writer.write(plan, "v1", FileSettings())
            assert sum(file.row_count for file in files) == ROWS * PARTITIONS
            return usage(spark).processor_seconds - before, time.monotonic() - started

        def write(directory: str) -> tuple[float, float]:
            before, started = time.process_time(), time.monotonic()
            with ThreadPoolExecutor(PARTITIONS) as executor:
                list(executor.map(_write, batches, [Path(directory, str(index)) for index in range(PARTITIONS)]))
            return time.process_time() - before, time.monotonic() - started

        ways = {"export": export, "pyarrow": write}
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for round_ in range(ROUNDS + 1):
            for name, way in ways.items():
                with tempfile.TemporaryDirectory() as directory:
                    figure = way(directory)
                if round_:  # the first one starts the workers
                    figures[name].append(figure)
    rows = ROWS * PARTITIONS
    print(f"{rows:,} rows | rows a core second | rows a second")
    rates = {}
    for name, own in figures.items():
        rates[name] = [rows / statistics.median(figure[part] for figure in own) for part in (0, 1)]
        print(f"{name} | {rates[name][0]:,.0f} | {rates[name][1]:,.0f}")
    shares = [one / other for one, other in zip(rates["export"], rates["pyarrow"], strict=True)]
    print(f"export against pyarrow | {shares[0]:.2f}x | {shares[1]:.2f}x")


def _batches(partition_index: int) -> list[pa.RecordBatch]:
    """What tasks write, made beforehand."""
    types = {"int64": pa.int64(), "string": pa.string(), "uint64": pa.int64()}
    columns = {
        TABLET_INDEX: pa.array([partition_index] * ROWS, pa.int64()),
        ROW_INDEX: pa.array(range(ROWS), pa.int64()),
        **{
            name: pa.array([value_of(name, index) for index in range(ROWS)], types[type_name])
            for name, type_name in COLUMNS.items()
        },
    }
    return list(pa.table(columns).to_batches(BATCH_ROWS))


def _write(batches: list[pa.RecordBatch], path: Path) -> None:
    with pq.ParquetWriter(path, batches[0].schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


if __name__ == "__main__":
    main()
