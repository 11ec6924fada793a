"""Reads a queue in a batch: all of it, ranges of rows, or a period of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from queue_agent.spark.errors import OptionError
from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.options import BatchOptions, ReadOptions
from queue_agent.spark.pulling import RangeReader, RowRange
from queue_agent.spark.queues import Queue
from queue_agent.spark.task_planning import plan_tasks
from queue_agent.spark.times import first_rows_since


class QueueReader(DataSourceReader):
    """Reads what the queue holds when the read is planned.

    Args:
        options: of any read.
        batch: of this kind of read.
        schema: of the frame.
    """

    def __init__(self, options: ReadOptions, batch: BatchOptions, schema: StructType) -> None:
        self._options = options
        self._batch = batch
        self._reader = RangeReader(options, schema)

    def partitions(self) -> list[InputPartition]:
        """Tasks: a part of a large partition each, or several small partitions."""
        queue = Queue(self._options)
        # Partitions that nobody asked for may be unmounted.
        info = queue.info()
        known = queue.bounds(info.tablet_count, "fail" if self._batch.ranges is None else "wait")
        bounds = {index: bound for index, bound in known.items() if bound is not None}
        since = self._batch.from_time and first_rows_since(self._options, queue, bounds, self._batch.from_time)
        until = self._batch.to_time and first_rows_since(self._options, queue, bounds, self._batch.to_time)
        ranges = plan_batch(bounds, self._batch.ranges, since or None, until or None)
        planned = [replace(rows, object_id=info.object_id) for rows in ranges]
        return [InputPartition(task) for task in plan_tasks(planned, self._options.rows_per_task)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Rows of a task; none for the one that Spark makes up when there are no tasks."""
        return self._reader.read(*partition.value) if partition.value is not None else iter(())


def plan_batch(
    bounds: Mapping[int, PartitionBounds],
    ranges: Mapping[int, tuple[int | None, int | None]] | None,
    since: Mapping[int, int] | None,
    until: Mapping[int, int] | None,
) -> list[RowRange]:
    """What to read: the ranges that were asked for, cut by time, up to the end of every partition.

    Raises:
        OptionError: there is no such partition.
    """
    unknown = sorted(set(ranges or ()) - set(bounds))
    if unknown:
        raise OptionError(f'option "ranges": the queue has no partitions {unknown}')
    tasks = []
    for index, bound in sorted(bounds.items()):
        if ranges is not None and index not in ranges:
            continue
        begin, end = (ranges or {}).get(index, (None, None))
        first = bound.lower_row_index if begin is None else begin
        last = bound.upper_row_index if end is None else min(end, bound.upper_row_index)
        if since is not None:
            first = max(first, since[index])
        if until is not None:
            last = min(last, until[index])
        if first < last:
            tasks.append(RowRange(index, first, last))
    return tasks
