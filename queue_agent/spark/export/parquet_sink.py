"""Runs the tasks that write files: a data source that is only written to, as Arrow and without a shuffle."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from queue_agent.spark.export.documents import ExportFile, Plan
from queue_agent.spark.export.errors import ExportError
from queue_agent.spark.export.parquet_writer import FileSettings, ParquetTask, check_columns
from queue_agent.spark.export.source import ExportSource
from queue_agent.spark.export.storage import storage_of

_NAME: Final = "yt_export_files"
_JOB: Final = "job"
_RESULTS: Final = "results.json"


Transform = Callable[[DataFrame], DataFrame]
"""Must keep the service columns and the order of rows, and may change and drop rows one by one."""


class SparkWriter:
    """Writes the files of a batch by tasks of Spark.

    Args:
        spark: knows `format("yt")`.
        source: the queue.
        target: see `storage_of`.
        transform: what is done to rows on the way.
    """

    def __init__(
        self, spark: SparkSession, source: ExportSource, target: str, transform: Transform | None = None
    ) -> None:
        self._spark = spark
        self._source = source
        self._target = target
        self._transform = transform
        self._owner = uuid4().hex[:12]

    def write(self, plan: Plan, directory: str, settings: FileSettings) -> list[ExportFile]:
        """Write all rows of the plan's ranges; ExportError if tasks failed."""
        frame = self._source.frame(self._spark, plan.ranges, plan.rows_per_task)
        if self._transform is not None:
            frame = self._transform(frame)
        try:
            return write_files(frame, self._target, directory, settings, self._owner)
        except (PySparkException, Py4JError) as error:
            raise ExportError(f"tasks failed: {error}") from error


def write_files(frame: DataFrame, target: str, directory: str, settings: FileSettings, owner: str) -> list[ExportFile]:
    """Write the rows of a frame into files; they are part of nothing before a manifest names them.

    Every task writes the rows it reads, so tasks must hold rows in the order of the queue.

    Args:
        frame: with service columns, and the column of time.
        target: see `storage_of`.
        directory: of the export, below the target.
        settings: of the files.
        owner: of temporary files.

    Returns:
        The files, in the order of their rows; those of attempts of tasks that failed are not among them.

    Raises:
        ColumnError: a column is missing that tells where a row belongs.
    """
    check_columns(frame.columns, settings)
    frame.sparkSession.dataSource.register(_FileSink)
    with tempfile.TemporaryDirectory(prefix="queue-export-") as results:
        job = {
            "target": target,
            "directory": directory,
            "owner": owner,
            "results": results,
            "partitioning": settings.partitioning,
            "time_column": settings.time_column,
            "compression": settings.compression,
            "revision": settings.revision,
        }
        frame.write.format(_NAME).mode("append").option(_JOB, json.dumps(job)).save()
        documents = json.loads(Path(results, _RESULTS).read_text())
    return sorted(map(ExportFile.from_json, documents), key=lambda file: file.rows)


class _FileSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return _NAME

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return _FileWriter(json.loads(self.options[_JOB]))


@dataclass
class _Written(WriterCommitMessage):
    files: list[dict[str, Any]]


class _FileWriter(DataSourceArrowWriter):
    def __init__(self, job: Mapping[str, Any]) -> None:
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> _Written:
        job = self._job
        context = TaskContext.get()
        assert context is not None
        settings = FileSettings(job["partitioning"], job["time_column"], job["compression"], job["revision"])
        storage = storage_of(job["target"]).below(job["directory"])
        with ParquetTask(storage, settings, f"{job['owner']}-{context.taskAttemptId()}") as task:
            for batch in iterator:
                task.write(batch)
            return _Written([file.to_json() for file in task.finish()])

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        files = [file for message in messages if isinstance(message, _Written) for file in message.files]
        Path(self._job["results"], _RESULTS).write_text(json.dumps(files))
