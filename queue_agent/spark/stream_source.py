"""Reads a queue as a stream: offsets from the checkpoint, else from the consumer, which follows one batch behind."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from queue_agent.spark.connection import client_of
from queue_agent.spark.errors import ConnectorError, OptionError, QueueChanged, QueueUnavailable
from queue_agent.spark.offsets import PartitionBounds, StreamPosition, cap, plan_end, plan_ranges, plan_start
from queue_agent.spark.options import ReadOptions, StreamOptions
from queue_agent.spark.pulling import RangeReader, RowRange
from queue_agent.spark.queues import Consumer, Queue
from queue_agent.spark.task_planning import plan_tasks

Bounds = Mapping[int, PartitionBounds | None]

_MOUNT_PAUSE = 0.5
"""Seconds between two looks at whether a partition is mounted, before a stream can begin."""


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One queue by one consumer.

    On the driver one object lives as long as the query; executors get copies that only `read`.

    Args:
        options: of any read; a consumer among them.
        stream: of this kind of read.
        schema: of the frame.
    """

    def __init__(self, options: ReadOptions, stream: StreamOptions, schema: StructType) -> None:
        if options.consumer_path is None:
            raise OptionError('option "consumer_path" is missing: a stream needs a consumer that is registered')
        self._options = options
        self._stream = stream
        self._reader = RangeReader(options, schema)
        self._target: dict[int, int] | None = None
        self._latest: dict[str, Any] | None = None
        self._object_id: str | None = None
        self._idle_since: float | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the consumer is; kept at `state_path`, so that a repeated first batch begins at the same rows."""
        if self._stream.state_path is not None:
            client = client_of(self._options.connection)
            if not client.exists(self._stream.state_path):
                attributes = {"value": self._initial_position().to_json()}
                # Whoever comes first is right.
                client.create(
                    "document", self._stream.state_path, attributes=attributes, recursive=True, ignore_existing=True
                )
            return StreamPosition.from_json(client.get(self._stream.state_path)).to_json()
        return self._initial_position().to_json()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The end of the next batch; `start` itself if there is nothing to read.

        Raises:
            QueueChanged: the queue is another one, shorter, or has other partitions than the offsets are about.
        """
        position = StreamPosition.from_json(start)
        if (position.cluster, position.path) != (self._queue.name.cluster, self._queue.path):
            raise QueueChanged(
                f"the checkpoint is about the queue {position.cluster}:{position.path}, not {self._queue.path}; "
                "every queue needs a checkpointLocation of its own"
            )
        self._rest()
        object_id, bounds = self._look()
        begin = position.next_row_indexes
        if position.object_id not in (None, object_id):
            begin = self._begin_anew(position, bounds)
        elif self._stream.commit_on_idle:
            self.commit(start)
        max_rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end = plan_end(begin, bounds, max_rows, self._stream.on_new_partitions)
        if self._target is not None:
            end = cap(end, begin, self._target)
        if end == position.next_row_indexes and position.object_id in (None, object_id):
            self._idle_since = time.monotonic()
            return start
        self._idle_since = None
        return StreamPosition(position.cluster, position.path, end, object_id).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """`max_rows_per_partition`, which Spark hands back to `latestOffset`."""
        rows = self._stream.max_rows_per_partition
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """The end of the queue when it was last looked at; Spark shows it in the progress of the query."""
        return self._latest

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read no further than what is there now."""
        _, bounds = self._look()
        self._target = {index: bound.upper_row_index for index, bound in bounds.items() if bound is not None}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Tasks: a part of a partition that has many rows in the batch each, or several that have few.

        Raises:
            QueueChanged: the batch was planned before a crash, for a queue that is no more.
            QueueUnavailable: a partition that the batch is the first to read is not mounted any more.
        """
        first, last = StreamPosition.from_json(start), StreamPosition.from_json(end)
        if last.object_id not in (None, self._known_object_id()):
            self._check_restart(last.path)
            return []  # its rows are gone, and those of the new queue are for the next batch
        begin = first.next_row_indexes
        if first.object_id not in (None, last.object_id):
            begin = {}
        known: dict[int, PartitionBounds] = {}
        if set(last.next_row_indexes) - set(begin):
            _, bounds = self._look()
            known = {index: bound for index, bound in bounds.items() if bound is not None}
            unmounted = sorted(set(last.next_row_indexes) - set(begin) - set(known))
            if unmounted:
                raise QueueUnavailable(f"partitions {unmounted} of {last.path} are not mounted; start the query again")
        ranges = plan_ranges(begin, last.next_row_indexes, known)
        object_id = last.object_id or self._known_object_id()  # SPYT plans without
        planned = [RowRange(index, *rows, object_id) for index, rows in ranges.items()]
        return [InputPartition(task) for task in plan_tasks(planned, self._options.rows_per_task)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Rows of a task, in order."""
        return self._reader.read(*partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        """Everything before `end` is worked off: move the consumer there, unless it is now about another queue."""
        position = StreamPosition.from_json(end)
        if position.object_id in (None, self._known_object_id()):
            self._consumer.advance(position.next_row_indexes)

    def stop(self) -> None:
        """Nothing is held that would have to be given back."""

    @cached_property
    def _queue(self) -> Queue:
        return Queue(self._options)

    @cached_property
    def _consumer(self) -> Consumer:
        assert self._options.consumer_path is not None
        return Consumer(self._options.connection, self._options.consumer_path, self._queue.name)

    def _look(self) -> tuple[str, Bounds]:
        """Id of the queue and rows of its partitions."""
        info = self._queue.info()
        self._object_id = info.object_id
        bounds = self._queue.bounds(info.tablet_count, self._stream.on_unmounted)
        ends = {index: bound.upper_row_index for index, bound in bounds.items() if bound is not None}
        self._latest = StreamPosition(self._queue.name.cluster, self._queue.path, ends, info.object_id).to_json()
        return info.object_id, bounds

    def _initial_position(self) -> StreamPosition:
        for attempt in range(self._options.connection.retries):
            if attempt:
                time.sleep(_MOUNT_PAUSE * 2 ** (attempt - 1))
            object_id, bounds = self._look()
            known = {index: bound for index, bound in bounds.items() if bound is not None}
            if len(known) == len(bounds):
                start = plan_start(known, self._consumer.next_row_indexes())
                return StreamPosition(self._queue.name.cluster, self._queue.path, start, object_id)
        unmounted = sorted(set(bounds) - set(known))
        raise QueueUnavailable(
            f"partitions {unmounted} of {self._queue.path} are not mounted, so a stream cannot begin; "
            "retries waits for longer"
        )

    def _begin_anew(self, position: StreamPosition, bounds: Bounds) -> Mapping[int, int]:
        self._check_restart(position.path)
        lowest = {index: bound.lower_row_index for index, bound in bounds.items() if bound is not None}
        self._consumer.rewind(lowest)
        return lowest

    def _check_restart(self, path: str) -> None:
        if self._stream.on_recreated == "fail":
            raise QueueChanged(
                f"{path} is another queue than the one that was read so far; "
                "on_recreated=restart reads it from its lowest rows, and sets the consumer back to them"
            )

    def _known_object_id(self) -> str | None:
        """Of the queue when it was last looked at, which is now if it never was."""
        if self._object_id is None:
            self._look()
        return self._object_id

    def _rest(self) -> None:
        """Without a trigger Spark would look a hundred times a second at a queue in which nothing happens."""
        if self._idle_since is not None and self._target is None:
            time.sleep(max(0.0, self._idle_since + self._stream.poll_interval - time.monotonic()))


class RefusedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stands for a reader that cannot be made: PySpark answers with an UnboundLocalError where making one fails.

    Args:
        error: why, which is raised at the first question.
    """

    def __init__(self, error: ConnectorError) -> None:
        self._error = error

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        raise self._error

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        raise self._error

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        raise self._error

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        raise self._error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        raise self._error
