"""Writes the files of a batch by tasks of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.documents import ExportFile, Plan
from queue_agent.spark.export.errors import ExportError
from queue_agent.spark.export.parquet_writer import FileSettings, ParquetTask, check_columns
from queue_agent.spark.export.planning import split
from queue_agent.spark.export.source import ExportSource
from queue_agent.spark.export.storage import storage_of
from queue_agent.spark.export.tasks import run_tasks
from queue_agent.spark.pulling import RangeReader, RowRange

Transform = Callable[[DataFrame], DataFrame]
"""Must keep the service columns and the order of rows, and may change and drop rows one by one."""


class SparkWriter:
    """Writes the files of a batch; every task writes the rows that it reads.

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
        """Write all rows of the plan's ranges.

        Raises:
            ColumnError: a column is missing that tells where a row belongs.
            OptionError: the transformation does not go with the columns.
            ExportError: tasks failed.
        """
        task = _FileTask(self._target, directory, settings, self._owner)
        if self._transform is None:
            written = self._write_directly(plan, task)
        else:
            frame = self._source.frame(self._spark, plan.ranges, plan.rows_per_task)
            frame = transformed(frame, self._transform)
            check_columns(frame.columns, settings)
            written = run_tasks(frame, task)
        return sorted(map(ExportFile.from_json, written), key=lambda file: file.rows)

    def _write_directly(self, plan: Plan, task: _FileTask) -> list[dict[str, Any]]:
        """Read and write in the same process: rows that nobody changes need not pass through the JVM."""
        schema = self._source.frame_schema()
        check_columns(schema.names, task.settings)
        pieces = [piece for rows in plan.ranges for piece in split(rows, plan.rows_per_task)]
        reader = RangeReader(self._source.read, schema)
        ranges = [RowRange(piece.partition_index, piece.begin, piece.end) for piece in pieces]

        def run(own: Iterable[RowRange]) -> Iterable[dict[str, Any]]:
            return (result for rows in own for result in task.run(reader.read(rows)))

        try:
            results: list[dict[str, Any]] = (
                self._spark.sparkContext.parallelize(ranges, len(ranges)).mapPartitions(run).collect()
            )
        except (PySparkException, Py4JError) as error:
            raise ExportError(f"tasks failed: {error}") from error
        return results


def transformed(frame: DataFrame, transform: Transform) -> DataFrame:
    """What a transformation makes of a frame; OptionError if it does not go with the columns."""
    try:
        return transform(frame)
    except AnalysisException as error:
        raise OptionError(f"rows can not be changed like this: {error.getMessage()}") from error


@dataclass(frozen=True, slots=True)
class _FileTask:
    target: str
    directory: str
    settings: FileSettings
    owner: str

    def run(self, batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
        context = TaskContext.get()
        assert context is not None
        storage = storage_of(self.target).below(self.directory)
        with ParquetTask(storage, self.settings, f"{self.owner}-{context.taskAttemptId()}") as task:
            for batch in batches:
                task.write(batch)
            return [file.to_json() for file in task.finish()]
