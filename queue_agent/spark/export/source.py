"""The queue of an export, and the consumer that keeps its rows from being trimmed before they are exported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from yt.wrapper import YtClient
from yt.wrapper.errors import YtResponseError
from yt.wrapper.ypath import TablePath

from queue_agent.spark.batch_source import plan_batch
from queue_agent.spark.connection import cluster_of, new_client
from queue_agent.spark.environment import driver_environment
from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.documents import Range
from queue_agent.spark.export.errors import RangeRefused
from queue_agent.spark.export.lease import Lease, lease
from queue_agent.spark.export.parquet_writer import TIMESTAMP
from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.options import OptionReader, ReadOptions
from queue_agent.spark.queues import Consumer, Queue, queue_connection
from queue_agent.spark.times import first_rows_since
from queue_agent.spark.types import Column, spark_schema

_ALREADY_EXISTS = 501

_OWN_OPTIONS: Final = frozenset(
    {
        "path",
        "consumer_path",
        "include_service_columns",
        "on_trimmed",
        "ranges",
        "from_time",
        "to_time",
        "rows_per_task",
    }
)
"""Of reading, which say what of a queue is exported, not how rows of it are to look."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Which queue, and how it is read."""

    queue: str
    """Path, `<cluster=...>//path` if its cluster is not the consumer's."""

    consumer: str | None = None
    """Path of the consumer; None for an export that is made once and keeps nothing from being trimmed."""

    proxy: str | None = None
    """Of the consumer's cluster; by default `YT_PROXY`."""

    read_options: Mapping[str, str] = field(default_factory=dict)
    """Further options of `format("yt")`, such as `parsing_type_v3`."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What a queue is."""

    cluster: str
    path: str
    object_id: str
    schema: Sequence[Mapping[str, Any]]
    """As `@schema` has it."""

    tablet_ids: Sequence[str]
    """By index: after a reshard the same index is that of other rows."""

    @property
    def tablet_count(self) -> int:
        return len(self.tablet_ids)


class ExportSource:
    """One queue; every method asks the cluster again.

    Args:
        options: which queue.

    Raises:
        OptionError: an option is missing or wrong.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        for name in options.read_options:
            if name.lower() in _OWN_OPTIONS:
                raise OptionError(f'option "{name}" is for the export itself to set, which has arguments of its own')
        given = dict(options.read_options) | {"path": options.queue}
        if options.proxy is not None:
            given["proxy"] = options.proxy
        if options.consumer is not None:
            given["consumer_path"] = options.consumer
        reader = OptionReader(given, {}, driver_environment({}))
        self._read = reader.read_options()
        reader.batch_options()
        reader.refuse_others()
        self.queue = Queue(self.read)

    @property
    def read(self) -> ReadOptions:
        """How rows are read."""
        return self._read

    @property
    def consumer_path(self) -> str | None:
        """Where the consumer is, as one can tell it from consumers of other clusters by."""
        return self._options.consumer

    def info(self) -> SourceInfo:
        """Look at the queue."""
        info = self.queue.info()
        schema = [dict(column) for column in self._queue_client.get(f"{self.queue.path}/@schema")]
        tablets = sorted(self._queue_client.get(f"{self.queue.path}/@tablets"), key=lambda tablet: int(tablet["index"]))
        ids = [str(tablet["tablet_id"]) for tablet in tablets]
        return SourceInfo(self.queue.name.cluster, self.queue.path, info.object_id, schema, ids)

    def bounds(self, tablet_count: int) -> dict[int, PartitionBounds | None]:
        """Rows that partitions have; None for one that is not mounted."""
        return self.queue.bounds(tablet_count, "wait")

    def ensure_consumer(self) -> None:
        """Make the consumer if it is missing, and register it as a vital one.

        Raises:
            OptionError: it is registered, but not as vital: rows may be trimmed that are not exported; or it is none.
        """
        consumer = self._consumer  # one of another cluster is refused before anything is made
        if self._options.consumer is None or consumer is None:
            return
        _, path = cluster_of(self._options.consumer)
        try:
            self._consumer_client.create("queue_consumer", path, recursive=True)
        except YtResponseError as error:
            if not error.contains_code(_ALREADY_EXISTS):
                raise
            attributes = self._consumer_client.get(f"{path}/@", attributes=["treat_as_queue_consumer", "type"])
            if not attributes.get("treat_as_queue_consumer", False):
                raise OptionError(
                    f"{path} is no consumer but a {attributes['type']}; name another --consumer"
                ) from error
        cluster = str(self._consumer_client.get("//sys/@cluster_name"))
        rich = TablePath(path, attributes={"cluster": cluster})
        found = self._queue_client.list_queue_consumer_registrations(
            queue_path=self.queue.name.rich_path, consumer_path=rich
        )
        if not list(found):
            self._queue_client.register_queue_consumer(self.queue.name.rich_path, rich, vital=True)
        elif not all(bool(registration["vital"]) for registration in found):
            raise OptionError(
                f"the consumer {self._options.consumer} is registered, but not as vital: rows could be trimmed that "
                "are not exported; register it as vital"
            )

    @contextmanager
    def exclusively(self, timeout: timedelta, wait: timedelta) -> Iterator[Lease]:
        """The right to export by this consumer; without one, whoever publishes first wins. See `lease`."""
        if self._options.consumer is None:
            yield Lease(None, "")
            return
        path = cluster_of(self._options.consumer)[1]
        with lease(self.read.connection, path, timeout.total_seconds(), wait.total_seconds()) as right:
            yield right

    def consumed(self) -> dict[int, int]:
        """Next rows of the consumer by partition; none without a consumer."""
        return {} if self._consumer is None else self._consumer.next_row_indexes()

    def rewind(self, starts: Mapping[int, int]) -> None:
        """Move the consumer back where it is ahead of the first row to be exported, which by default is the lowest."""
        if self._consumer is None:
            return
        bounds = self.bounds(self.info().tablet_count)
        moves = {}
        for index, row in self._consumer.next_row_indexes().items():
            bound = bounds.get(index)
            start = starts.get(index, 0 if bound is None else bound.lower_row_index)
            if row > start:
                moves[index] = start
        if moves:
            self._consumer.rewind(moves)

    def advance(self, next_row_indexes: Mapping[int, int]) -> None:
        """Let rows go that have been exported; ConsumerMoved if somebody else moves the consumer."""
        if self._consumer is not None:
            self._consumer.advance(next_row_indexes)

    def ranges(self, ranges: str | None, from_time: str | None, to_time: str | None) -> list[Range]:
        """Rows that are in the queue now, of those that are wanted; arguments as options of `format("yt")`.

        Raises:
            OptionError: an argument cannot be read, or times are given for a queue without `$timestamp`.
            RangeRefused: times are given, and a partition cannot be asked which rows are of them.
        """
        given = {"ranges": ranges, "from_time": from_time, "to_time": to_time}
        reader = OptionReader({name: value for name, value in given.items() if value is not None}, {}, {})
        batch = reader.batch_options()
        known = self.bounds(self.info().tablet_count)
        bounds = {index: bound for index, bound in known.items() if bound is not None}
        if batch.ranges is not None and from_time is None and to_time is None:
            # Not cut to what is there: rows that are not must be noticed.
            return [_closed(index, wanted, bounds) for index, wanted in sorted(batch.ranges.items())]
        unreadable = [index for index in known if index not in bounds and index in (batch.ranges or known)]
        if unreadable:
            raise RangeRefused(f"partitions {unreadable} cannot be read now; are they mounted?")
        since = first_rows_since(self.read, self.queue, bounds, batch.from_time) if batch.from_time else None
        until = first_rows_since(self.read, self.queue, bounds, batch.to_time) if batch.to_time else None
        found = plan_batch(bounds, batch.ranges, since, until)
        return [Range(rows.partition_index, rows.begin, rows.end) for rows in found]

    def ends_before(self, moment: datetime, bounds: Mapping[int, PartitionBounds | None]) -> dict[int, int]:
        """By partition: one past the last row written before a moment; all rows of a queue without `$timestamp`."""
        readable = {index: bound for index, bound in bounds.items() if bound is not None}
        if all(column.name != TIMESTAMP for column in self.queue.info().columns):
            return {index: bound.upper_row_index for index, bound in readable.items()}
        return first_rows_since(self.read, self.queue, readable, moment)

    def frame_schema(self) -> StructType:
        """The schema of `frame`; ColumnError if a column has no equal in Spark, OptionError if one is not there."""
        columns: Sequence[Column] = self.queue.info().columns
        if self.read.columns is not None:
            by_name = {column.name: column for column in columns}
            unknown = [name for name in self.read.columns if name not in by_name]
            if unknown:
                raise OptionError(f'option "columns": there are no columns {unknown}, only {list(by_name)}')
            columns = [by_name[name] for name in self.read.columns]
        return spark_schema(columns, self.read.types, service_columns=True)

    def frame(self, spark: SparkSession, ranges: Sequence[Range], rows_per_task: int) -> DataFrame:
        """Rows of these ranges with service columns, in the order of the queue within every task."""
        reader = spark.read.format("yt").options(**self._options.read_options)
        if self._options.proxy is not None:
            reader = reader.option("proxy", self._options.proxy)
        wanted = {str(rows.partition_index): [rows.begin, rows.end] for rows in ranges}
        return (
            reader.option("include_service_columns", "true")
            .option("on_trimmed", "fail")
            .option("ranges", json.dumps(wanted))
            .option("rows_per_task", str(rows_per_task))
            .load(self._options.queue)
        )

    @cached_property
    def _queue_client(self) -> YtClient:
        return new_client(queue_connection(self.read))

    @cached_property
    def _consumer_client(self) -> YtClient:
        return new_client(self.read.connection)

    @cached_property
    def _consumer(self) -> Consumer | None:
        if self._options.consumer is None:
            return None
        return Consumer(self.read.connection, self._options.consumer, self.queue.name)


def _closed(index: int, wanted: tuple[int | None, int | None], bounds: Mapping[int, PartitionBounds]) -> Range:
    bound = bounds.get(index, PartitionBounds(0, 0))
    begin, end = wanted
    return Range(
        index, bound.lower_row_index if begin is None else begin, bound.upper_row_index if end is None else end
    )
