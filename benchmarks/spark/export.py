"""`python -m benchmarks.spark.export`: an export to zstd Parquet against pyarrow that writes the same batches."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.processes import usage
from benchmarks.spark.stand_in import COLUMNS, PARTITIONS, stand_in, value_of
from queue_agent.spark import spark_session
from queue_agent.spark.export.documents import Plan, Range
from queue_agent.spark.export.parquet_sink import SparkWriter
from queue_agent.spark.export.parquet_writer import FileSettings, new_parquet
from queue_agent.spark.export.source import ExportSource, SourceOptions
from queue_agent.spark.export.storage import storage_of
from queue_agent.spark.types import ROW_INDEX, TABLET_INDEX

ROWS = 1_000_000
"""In each partition."""

ROUNDS = 3
CORES = 2
BATCH_ROWS = 65_536


def main() -> None:
    """Print the figures; some three minutes."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    }
    batches = _batches()
    with (
        stand_in(ROWS) as address,
        spark_session("benchmark", master=f"local[{CORES}]", spark_conf_args=settings) as spark,
    ):
        spark.sparkContext.setLogLevel("ERROR")

        def export(directory: str) -> tuple[float, float]:
            writer = SparkWriter(
                spark, ExportSource(SourceOptions("//tmp/queue", proxy=address)), storage_of(directory)
            )
            plan = Plan(0, "export", [Range(index, 0, ROWS) for index in range(PARTITIONS)])
            before, started = usage(spark).processor_seconds, time.monotonic()
            files = writer.write(plan, "v1", FileSettings())
            assert sum(file.row_count for file in files) == ROWS * PARTITIONS
            return usage(spark).processor_seconds - before, time.monotonic() - started

        def write(directory: str, open_file: Callable[[Path, pa.Schema], pq.ParquetWriter]) -> tuple[float, float]:
            before, started = time.process_time(), time.monotonic()
            with ThreadPoolExecutor(CORES) as executor:
                paths = [Path(directory, str(index)) for index in range(PARTITIONS)]
                list(executor.map(lambda path: _write(batches, path, open_file), paths))
            return time.process_time() - before, time.monotonic() - started

        ways: dict[str, Callable[[str], tuple[float, float]]] = {
            "export": export,
            "pyarrow": lambda directory: write(
                directory, lambda path, schema: pq.ParquetWriter(path, schema, compression="zstd")
            ),
            "pyarrow with the encodings of exports": lambda directory: write(
                directory, lambda path, schema: new_parquet(path, schema, "zstd")
            ),
        }
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for round_ in range(ROUNDS + 1):
            for name, way in ways.items():
                with tempfile.TemporaryDirectory() as directory:
                    figure = way(directory)
                if round_:  # the first one starts the workers
                    figures[name].append(figure)
    rows = ROWS * PARTITIONS
    print(f"{rows:,} rows | rows a core second | rows a second | export against it")
    cost = {name: statistics.median(figure[0] for figure in own) for name, own in figures.items()}
    for name, own in figures.items():
        a_second = rows / statistics.median(figure[1] for figure in own)
        print(f"{name} | {rows / cost[name]:,.0f} | {a_second:,.0f} | {cost[name] / cost['export']:.2f}x")


def _batches() -> list[pa.RecordBatch]:
    """What a task writes, made beforehand."""
    types = {"int64": pa.int64(), "string": pa.string(), "uint64": pa.int64()}
    columns = {
        TABLET_INDEX: pa.repeat(pa.scalar(0, pa.int64()), ROWS),
        ROW_INDEX: pa.array(range(ROWS), pa.int64()),
        **{
            name: pa.array([value_of(name, index) for index in range(ROWS)], types[type_name])
            for name, type_name in COLUMNS.items()
        },
    }
    return list(pa.table(columns).to_batches(BATCH_ROWS))


def _write(batches: list[pa.RecordBatch], path: Path, open_file: Callable[[Path, pa.Schema], pq.ParquetWriter]) -> None:
    with open_file(path, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


if __name__ == "__main__":
    main()
