"""What all writers share: progress of tasks, and where Spark says which batch it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from queue_agent.spark.options import BATCH_SIZE_SETTING, WriteOptions
from queue_agent.spark.types import ROW_INDEX, TABLET_INDEX

_QUERY_PROPERTY: Final = "sql.streaming.queryId"


@dataclass
class TaskReport(WriterCommitMessage):
    """What a task has written."""

    row_count: int = 0
    byte_count: int = 0
    row_ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    """First and last row of every partition of the source, if the frame has the service columns."""

    query_id: str | None = None
    """Of a stream: stays as long as its checkpoint does."""

    def add(self, batch: pa.RecordBatch, byte_count: int) -> None:
        """Count what was written."""
        self.row_count += batch.num_rows
        self.byte_count += byte_count
        for partition, (first, last) in _row_ranges(batch).items():
            known = self.row_ranges.get(partition, (first, last))
            self.row_ranges[partition] = (min(known[0], first), max(known[1], last))


def _row_ranges(batch: pa.RecordBatch) -> Mapping[int, tuple[int, int]]:
    if not {TABLET_INDEX, ROW_INDEX} <= set(batch.schema.names):
        return {}
    grouped = (
        pa.Table.from_batches([batch.select([TABLET_INDEX, ROW_INDEX])])
        .group_by(TABLET_INDEX)
        .aggregate([(ROW_INDEX, "min"), (ROW_INDEX, "max")])
    )
    names = (TABLET_INDEX, f"{ROW_INDEX}_min", f"{ROW_INDEX}_max")
    rows = zip(*(grouped[name].to_pylist() for name in names), strict=True)
    return {partition: (first, last) for partition, first, last in rows if partition is not None}


def new_report() -> TaskReport:
    """The report of the task that is running."""
    context = TaskContext.get()
    assert context is not None
    return TaskReport(query_id=context.getLocalProperty(_QUERY_PROPERTY))


def batch_size(options: WriteOptions) -> int:
    """Rows in a request: by the option, else as the session is set now, else as it was when it learned of `yt`."""
    context = TaskContext.get()
    if options.batch_size_is_given or context is None:
        return options.batch_size
    return int(context.getLocalProperty(BATCH_SIZE_SETTING) or options.batch_size)
