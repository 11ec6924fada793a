"""Queues to export, and what tests want to know of exports."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from queue_agent.spark.export.documents import Manifest
from queue_agent.spark.export.exporter import Exporter
from queue_agent.spark.export.parquet_sink import SparkWriter
from queue_agent.spark.export.planning import BatchLimits
from queue_agent.spark.export.ports import ExportOptions
from queue_agent.spark.export.source import ExportSource, SourceOptions
from queue_agent.spark.export.storage import storage_of
from queue_agent.spark.export.table_exporter import TableExporter, TableOptions
from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA: list[dict[str, Any]] = [
    {"name": "number", "type": "int64"},
    {"name": "text", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]


class Quiet:
    """Hears of batches and says nothing."""

    def __init__(self) -> None:
        self.manifests: list[Manifest] = []

    def planned(self, row_count: int) -> None:
        """Nothing is noted of it."""

    def published(self, manifest: Manifest) -> None:
        self.manifests.append(manifest)

    def finished(self) -> None:
        """Nothing is noted of it."""


class World:
    """One queue, its consumer and a directory to export to.

    Args:
        cluster: of the queue and the consumer.
        folder: for both.
        target: of exports.
    """

    def __init__(self, cluster: LocalCluster, folder: str, target: Path, partition_count: int = 2) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.queue = f"{folder}/queue"
        self.consumer = f"{folder}/exporter"
        self.target = target
        self.options = ExportOptions()
        self.now = datetime(2026, 1, 31, 7, 30, tzinfo=UTC)
        self._numbers = itertools.count()
        self.create_queue(partition_count)

    def create_queue(self, partition_count: int, schema: Sequence[dict[str, Any]] = SCHEMA) -> None:
        attributes = {"dynamic": True, "schema": list(schema), "tablet_count": partition_count}
        self.client.create("table", self.queue, attributes=attributes)
        self.client.mount_table(self.queue, sync=True)

    def write(self, *partitions: int, count: int = 10, **more: Any) -> None:
        """Add rows to each of these partitions."""
        for partition in partitions:
            rows = [
                {"number": number, "text": f"row {number}", "$tablet_index": partition, **more}
                for number in itertools.islice(self._numbers, count)
            ]
            self.client.insert_rows(self.queue, rows)

    def source(self, **options: Any) -> ExportSource:
        consumer = options.pop("consumer", self.consumer)
        return ExportSource(SourceOptions(self.queue, consumer, self.cluster.address, **options))

    def exporter(self, spark: SparkSession, stop: Event | None = None, **changes: Any) -> Exporter:
        """A run; changes are those of `ExportOptions`, `rows` the limit of rows of a partition in a batch."""
        source = self.source(**{name: changes.pop(name) for name in ("consumer", "read_options") if name in changes})
        transform = changes.pop("transform", None)
        if "rows" in changes:
            changes["limits"] = BatchLimits(changes.pop("rows"), changes.pop("rows_per_task", 1_000_000))
        return Exporter(
            source,
            SparkWriter(spark, source, storage_of(str(self.target)), transform),
            storage_of(str(self.target)),
            replace(self.options, **{"transformation": "" if transform is None else "changed", **changes}),
            lambda: self.now,
            Quiet(),
            stop or Event(),
        )

    def table_exporter(self, spark: SparkSession, **changes: Any) -> TableExporter:
        """A run that exports to tables beside the queue."""
        options = TableOptions(f"{self.queue}.part-exports")
        source = self.source(**{name: changes.pop(name) for name in ("read_options",) if name in changes})
        if "transform" in changes:
            changes = {"transformation": "changed", **changes}
        return TableExporter(spark, source, replace(options, **changes), lambda: self.now)

    def path(self, version: str = "v1") -> Path:
        """Directory of the export."""
        return self.target / self.cluster.name / self.queue.strip("/") / version

    def exported(self, version: str = "v1") -> Counter[tuple[int, int]]:
        """How often a row is in data files that a glob finds: by partition and row index."""
        rows: Counter[tuple[int, int]] = Counter()
        for file in self.path(version).rglob("*.parquet"):
            if not file.name.startswith("."):
                table = pq.ParquetFile(file).read(columns=list(_SERVICE_COLUMNS))
                rows.update(zip(*(table.column(name).to_pylist() for name in _SERVICE_COLUMNS), strict=True))
        return rows

    def files(self, version: str = "v1") -> list[str]:
        """All files, below the directory of the export."""
        return sorted(
            str(file.relative_to(self.path(version))) for file in self.path(version).rglob("*") if file.is_file()
        )

    def consumed(self) -> dict[int, int]:
        return self.source().consumed()


_SERVICE_COLUMNS = ("__spyt_streaming_src_tablet_index", "__spyt_streaming_src_row_index")


def rows(*ranges: tuple[int, int, int]) -> Counter[tuple[int, int]]:
    """Rows of partitions, each from begin to end, once."""
    return Counter((index, row) for index, begin, end in ranges for row in range(begin, end))
