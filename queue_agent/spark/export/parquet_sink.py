"""Writes the files of a batch by tasks of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DecimalType, IntegralType, StructType, TimestampNTZType, TimestampType

from queue_agent.spark.errors import ColumnError, OptionError
from queue_agent.spark.export.documents import ExportFile, Plan
from queue_agent.spark.export.parquet_writer import FileSettings, ParquetTask, check_columns
from queue_agent.spark.export.source import ExportSource
from queue_agent.spark.export.storage import Storage
from queue_agent.spark.export.tasks import run_directly, run_tasks

Transform = Callable[[DataFrame], DataFrame]
"""Must keep the service columns and the order of rows, and may change and drop rows one by one."""


class SparkWriter:
    """Writes the files of a batch; every task writes the rows that it reads.

    Args:
        spark: knows `format("yt")`.
        source: the queue.
        target: where to; tasks get it as it is here, so a path means the same to them.
        transform: what is done to rows on the way.
    """

    def __init__(
        self, spark: SparkSession, source: ExportSource, target: Storage, transform: Transform | None = None
    ) -> None:
        self._spark = spark
        self._source = source
        self._target = target
        self._transform = transform
        self._owner = uuid4().hex[:12]

    def check(self, settings: FileSettings) -> None:
        """Look whether rows can be written like this, before anything is.

        Raises:
            ColumnError: a column is missing that tells where a row belongs, or has no equal in Spark.
            OptionError: the transformation does not go with the columns, or executors do not share the target.
        """
        if self._transform is None:
            schema = self._source.frame_schema()
        else:
            schema = transformed(self._source.frame(self._spark, [], 1), self._transform).schema
        check_schema(schema, settings)
        self._check_target()

    def _check_target(self) -> None:
        """OptionError if what a task writes is not at the target for this process; rows are not read for nothing."""
        context = self._spark.sparkContext
        if str(context.master).partition("[")[0] == "local":
            return
        storage, name = self._target, f".probe-{uuid4().hex}"

        def leave(_: int) -> None:
            storage.put(name, b"")

        context.parallelize([0], 1).foreach(leave)
        if storage.find(name) is None:
            raise OptionError(
                "executors do not share the target with the driver: a file that a task wrote there is not found. Name"
                " a directory that all of them see, or s3://bucket/prefix"
            )
        storage.remove(name)

    def write(self, plan: Plan, directory: str, settings: FileSettings) -> list[ExportFile]:
        """Write all rows of the plan's ranges.

        Raises:
            ColumnError: a column is missing that tells where a row belongs.
            OptionError: the transformation does not go with the columns.
            ExportError: tasks failed.
        """
        task = _FileTask(self._target, directory, settings, self._owner)
        if self._transform is None:
            check_schema(self._source.frame_schema(), settings)
            written = run_directly(self._spark, self._source, plan, task)
        else:
            frame = self._source.frame(self._spark, plan.ranges, plan.rows_per_task)
            frame = transformed(frame, self._transform)
            check_schema(frame.schema, settings)
            written = run_tasks(frame, task)
        return sorted(map(ExportFile.from_json, written), key=lambda file: file.rows)


def transformed(frame: DataFrame, transform: Transform) -> DataFrame:
    """What a transformation makes of a frame; OptionError if it does not go with the columns, or makes no frame."""
    try:
        made = transform(frame)
    except AnalysisException as error:
        raise OptionError(f"rows cannot be changed like this: {error.getMessage()}") from error
    except Exception as error:  # somebody else's function may raise anything
        raise OptionError(f"rows cannot be changed like this: {type(error).__name__}: {error}") from error
    if not isinstance(made, DataFrame):
        raise OptionError(f"rows cannot be changed like this: a {type(made).__name__} came of it, no DataFrame")
    return made


def check_schema(schema: StructType, settings: FileSettings) -> None:
    """ColumnError if rows do not tell where they belong."""
    check_columns(schema.names, settings)
    if settings.partitioning != "none":
        kind = schema[settings.time_column].dataType
        is_whole = isinstance(kind, IntegralType) or (isinstance(kind, DecimalType) and kind.scale == 0)
        if not is_whole and not isinstance(kind, (TimestampType, TimestampNTZType)):
            raise ColumnError(f'column "{settings.time_column}" is {kind.simpleString()}, which is no time')


@dataclass(frozen=True, slots=True)
class _FileTask:
    target: Storage
    directory: str
    settings: FileSettings
    owner: str

    def run(self, batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
        context = TaskContext.get()
        assert context is not None
        storage = self.target.below(self.directory)
        with ParquetTask(storage, self.settings, f"{self.owner}-{context.taskAttemptId()}") as task:
            for batch in batches:
                task.write(batch)
            return [file.to_json() for file in task.finish()]
