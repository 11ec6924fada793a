"""Runs tasks that hand back what they did: over a frame, which needs no shuffle, or over rows as they are."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from queue_agent.spark.export.documents import Plan
from queue_agent.spark.export.errors import task_failure
from queue_agent.spark.export.source import ExportSource
from queue_agent.spark.pulling import RangeReader, RowRange
from queue_agent.spark.task_planning import plan_tasks

_NAME: Final = "yt_export_tasks"
_FILE: Final = "results.json"


class Task(Protocol):
    """What is done with the rows of one task; it must be possible to pickle it."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
        """Use all rows, in their order; JSON values tell what came of them."""


def run_tasks(frame: DataFrame, task: Task) -> list[dict[str, Any]]:
    """Run a task over every part of a frame, as it is read.

    Returns:
        What tasks handed back; attempts that failed, or were not the first to end, are not among them.

    Raises:
        ExportError: a task failed as often as Spark lets it.
        ColumnError: with a value that has no equal; OptionError: with an option.
    """
    pickled = pickle.dumps(task)
    # The workers that Spark commits with run beside this process: a file leads back from them.
    with tempfile.TemporaryDirectory(prefix="queue-export-") as results:
        try:
            _register(frame, pickled, results)
            frame.write.format(_NAME).mode("append").save()
        except (PySparkException, Py4JError) as error:
            raise task_failure(error) from error
        found: list[dict[str, Any]] = json.loads(Path(results, _FILE).read_text())
        return found


def run_directly(spark: SparkSession, source: ExportSource, plan: Plan, task: Task) -> list[dict[str, Any]]:
    """Run a task over the rows of a plan in the processes that read them: they need not pass through the JVM.

    Returns and raises what `run_tasks` does.
    """
    reader = RangeReader(source.read, source.frame_schema())
    ranges = [RowRange(rows.partition_index, rows.begin, rows.end) for rows in plan.ranges]
    tasks = plan_tasks(ranges, plan.rows_per_task)

    def run(own: Iterable[Sequence[RowRange]]) -> Iterable[dict[str, Any]]:
        return (result for ranges in own for result in task.run(reader.read(*ranges)))

    try:
        results: list[dict[str, Any]] = spark.sparkContext.parallelize(tasks, len(tasks)).mapPartitions(run).collect()
    except (PySparkException, Py4JError) as error:
        raise task_failure(error) from error
    return results


def _register(frame: DataFrame, pickled_task: bytes, results_directory: str) -> None:
    """Options would be shown in plans, and tasks may have tokens; the class itself is pickled and not shown."""

    class TaskSink(DataSource):
        @classmethod
        def name(cls) -> str:
            return _NAME

        def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
            return _TaskWriter(pickled_task, results_directory)

    frame.sparkSession.dataSource.register(TaskSink)


@dataclass
class _Done(WriterCommitMessage):
    results: list[dict[str, Any]]


class _TaskWriter(DataSourceArrowWriter):
    def __init__(self, pickled_task: bytes, results: str) -> None:
        self._pickled_task = pickled_task
        self._results = results

    def write(self, iterator: Iterator[pa.RecordBatch]) -> _Done:
        task: Task = pickle.loads(self._pickled_task)
        return _Done(task.run(iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        results = [result for message in messages if isinstance(message, _Done) for result in message.results]
        Path(self._results, _FILE).write_text(json.dumps(results))
