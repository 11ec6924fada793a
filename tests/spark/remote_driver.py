"""Run as a process: an export by executors that are processes with working directories of their own."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from threading import Event

from queue_agent.spark import spark_session
from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.exporter import Exporter
from queue_agent.spark.export.parquet_sink import SparkWriter
from queue_agent.spark.export.ports import ExportOptions
from queue_agent.spark.export.source import ExportSource, SourceOptions
from queue_agent.spark.export.storage import LocalStorage, Storage, storage_of
from tests.spark.export_world import Quiet

MOMENT = datetime(2026, 1, 31, 7, 30, tzinfo=UTC)


def main(queue: str, consumer: str, proxy: str) -> None:
    """Export to a directory that every process takes for another, and then to a relative path."""
    with spark_session("test", master="local-cluster[1,1,1024]") as spark:

        def export(target: Storage) -> str:
            source = ExportSource(SourceOptions(queue, consumer, proxy))
            writer = SparkWriter(spark, source, target)
            exporter = Exporter(
                source,
                writer,
                target,
                ExportOptions(),
                lambda: MOMENT,
                Quiet(),
                Event(),
            )
            try:
                exporter.catch_up()
            except OptionError as error:
                return str(error)
            return "done"

        print(json.dumps([export(LocalStorage("not-shared")), export(storage_of("relative"))]))


if __name__ == "__main__":
    main(*sys.argv[1:])
