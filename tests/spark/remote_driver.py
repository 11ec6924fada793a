"""Programs of a driver, which know nothing of the tests: `remote_driver.py PROGRAM ARGUMENT...`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event

from queue_agent.spark import spark_session
from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.exporter import Exporter
from queue_agent.spark.export.parquet_sink import SparkWriter
from queue_agent.spark.export.ports import ExportOptions
from queue_agent.spark.export.reporting import Lines
from queue_agent.spark.export.source import ExportSource, SourceOptions
from queue_agent.spark.export.storage import LocalStorage, Storage, storage_of

MOMENT = datetime(2026, 1, 31, 7, 30, tzinfo=UTC)


def export_twice(queue: str, consumer: str, proxy: str) -> None:
    """Export to a directory that every process takes for another, and then to a relative path."""
    with spark_session() as spark:

        def export(target: Storage) -> str:
            source = ExportSource(SourceOptions(queue, consumer, proxy))
            writer = SparkWriter(spark, source, target)
            reporter = Lines(lambda *_, **__: None)
            exporter = Exporter(source, writer, target, ExportOptions(), lambda: MOMENT, reporter, Event())
            try:
                exporter.catch_up()
            except OptionError as error:
                return str(error)
            return "done"

        print(json.dumps([export(LocalStorage("not-shared")), export(storage_of("relative"))]), flush=True)


def copy(proxy: str, queue: str, table: str) -> None:
    """A batch: from a queue to a new static table."""
    with spark_session(yt_proxy=proxy) as spark:
        frame = spark.read.format("yt").option("include_service_columns", "true").option("rows_per_task", "5")
        frame.load(queue).write.format("yt").mode("append").save(table)


def stream(proxy: str, streams: str) -> None:
    """From queues to tables, until this process is killed; JSON says which, with the options of reading and writing."""
    with spark_session(yt_proxy=proxy) as spark:
        for reading, writing in json.loads(streams):
            frame = spark.readStream.format("yt").options(include_service_columns=True, poll_interval=1, **reading)
            frame.load().writeStream.format("yt").options(**writing).trigger(processingTime="1 second").start()
        spark.streams.awaitAnyTermination()


PROGRAMS: dict[str, Callable[..., None]] = {"export_twice": export_twice, "copy": copy, "stream": stream}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
