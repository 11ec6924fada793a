"""Exports a queue to static tables, each with the rows of some periods of time, all in one master transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import SparkSession
from yt.wrapper import YtClient
from yt.wrapper.errors import YtNoSuchTransaction, YtResponseError
from yt.wrapper.format import YsonFormat
from yt.wrapper.ypath import TablePath

from queue_agent.spark.connection import new_client
from queue_agent.spark.encoding import RowEncoder
from queue_agent.spark.errors import ColumnError, OptionError
from queue_agent.spark.export.documents import Plan, Range
from queue_agent.spark.export.errors import ExportError, TargetTaken, words_of
from queue_agent.spark.export.identity import check_tablets
from queue_agent.spark.export.parquet_sink import Transform, transformed
from queue_agent.spark.export.planning import BatchLimits, OnTrimmed, plan_export
from queue_agent.spark.export.reporting import RunSummary
from queue_agent.spark.export.row_options import find_difference, row_options
from queue_agent.spark.export.source import ExportSource, SourceInfo
from queue_agent.spark.export.state import ExportState
from queue_agent.spark.export.table_progress import (
    PROGRESS,
    PROVENANCE,
    TableProgress,
    check_progress,
    check_queue,
    find_progress,
    queue_name_of,
)
from queue_agent.spark.export.tasks import run_directly, run_tasks
from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.options import ConnectionOptions
from queue_agent.spark.types import ROW_INDEX, SERVICE_COLUMNS, TABLET_INDEX, columns_of, table_schema

_PART: Final = ".part-"
_NATIVE: Final = "queue_static_export_destination"
_LOCK_CONFLICT: Final = 402
_FORMAT: Final = YsonFormat(format="binary")


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Where to, and how."""

    directory: str
    """On the cluster of the consumer; made if it is missing, and never the directory of a native export."""

    period: timedelta = timedelta(hours=1)
    """Tables are named after whole ones: that of 8:00 has rows written before 8:00."""

    delay: timedelta = timedelta(minutes=1)
    """How long after its end a period is exported: for clocks that differ."""

    ttl: timedelta | None = None
    """How long a table lives; None for ever."""

    service_columns: bool = True
    """Whether tables tell partition and row index of every row."""

    rows_per_task: int = 1_000_000
    on_trimmed: OnTrimmed = "fail"
    lock_timeout: timedelta = timedelta(seconds=30)
    lock_wait: timedelta = timedelta(seconds=60)
    transform: Transform | None = None
    transformation: str = ""
    """What it does, in words that are the same in all runs."""


def table_name(moment: int, period: timedelta) -> str:
    """Name of the table with rows from before a moment, in seconds since 1970, as native exports have it."""
    return f"{moment}-{int(period.total_seconds())}"


class TableExporter:
    """One run; it makes at most one table.

    Args:
        spark: knows `format("yt")`.
        source: the queue.
        options: where to, and how.
        clock: gives the present, with its time zone.
    """

    def __init__(
        self, spark: SparkSession, source: ExportSource, options: TableOptions, clock: Callable[[], datetime]
    ) -> None:
        self._spark = spark
        self._source = source
        self._options = options
        self._clock = clock
        self.summary = RunSummary(options.directory)

    def run(self) -> str | None:
        """Export the rows of all periods that are over and were not exported.

        Returns:
            Path of the new table; None if there were no rows.

        Raises:
            ExportError: see its subclasses; nothing is to be seen of this run then.
        """
        started = self._clock()
        if (self._options.transform is None) != (not self._options.transformation):
            raise OptionError("transform and transformation go together: the words are kept with the export")
        if self._source.consumer_path is None:
            raise OptionError("an export needs a consumer: without one rows could be trimmed that are not exported")
        try:
            # Before a consumer keeps rows that this run is not going to export.
            info = self._source.info()
            if self._find_progress(new_client(self._source.read.connection), info) is None:
                self._schema(info)
            self._source.ensure_consumer()
            with self._source.exclusively(self._options.lock_timeout, self._options.lock_wait) as right:
                table = self._export(started, right.check)
            self.summary.succeeded = True
            return table
        except Exception as error:
            self.summary.error = f"{type(error).__name__}: {words_of(error)}"
            raise
        finally:
            finished = self._clock()
            self.summary.seconds = (finished - started).total_seconds()
            self.summary.finished_at = finished.timestamp()

    def _export(self, now: datetime, check: Callable[[], None]) -> str | None:
        period = int(self._options.period.total_seconds())
        seconds = int((now - self._options.delay).timestamp())
        moment = seconds - seconds % period
        with self._transaction() as (client, transaction_id, commit):
            self._prepare_directory(client)
            info = self._source.info()
            progress = self._read_progress(client, info)
            # What a run published that died before it could move the consumer.
            self._source.advance(progress.next_row_indexes)
            self.summary.next_row_indexes = dict(progress.next_row_indexes)
            if moment + 2 * period < progress.last_export_unix_ts:
                raise ExportError(
                    f"the last table has rows from before {datetime.fromtimestamp(progress.last_export_unix_ts, UTC)}, "
                    f"and the clock of this machine says {now}: one of the clocks was wrong; if it was that "
                    f"of the last run, set {self._options.directory}/@{PROGRESS}/last_export_unix_ts to the present"
                )
            bounds = self._source.bounds(info.tablet_count)
            self.summary.remaining_rows = _remaining(bounds, progress.next_row_indexes)
            plan = None if moment <= progress.last_export_unix_ts else self._plan(bounds, progress, moment)
            if plan is None:
                return None
            path = f"{self._options.directory}/{table_name(moment, self._options.period)}"
            if plan.ranges:
                self._write(client, transaction_id, path, plan, info)
                now_there = self._source.info()
                check_queue(info.object_id, now_there)
                check_tablets(dict(enumerate(info.tablet_ids)), now_there, "run the export again")
            following = dict(progress.next_row_indexes)
            for rows in sorted([*plan.gaps, *plan.ranges]):
                following[rows.partition_index] = rows.end
            done = TableProgress(
                info.object_id,
                moment,
                progress.rows,
                following,
                queue_name_of(info),
                self._source.consumer_path or "",
                {index: info.tablet_ids[index] for index in sorted(following)},
                [*progress.gaps, *(() if plan.ranges else plan.gaps)],
            )
            client.set(f"{self._options.directory}/@{PROGRESS}", done.to_yson())
            check()
            commit()
        self._source.advance(following)
        self.summary.batches += 1
        self.summary.rows += plan.row_count
        self.summary.trimmed_rows += sum(gap.row_count for gap in plan.gaps)
        self.summary.remaining_rows = _remaining(bounds, following)
        self.summary.next_row_indexes = following
        return path if plan.ranges else None

    def _plan(self, bounds: Mapping[int, PartitionBounds | None], progress: TableProgress, moment: int) -> Plan | None:
        unreadable = [index for index, bound in bounds.items() if bound is None]
        if unreadable:
            raise ExportError(f"partitions {unreadable} cannot be read now, and tables would lack their rows")
        ends = self._source.ends_before(datetime.fromtimestamp(moment, UTC), bounds)
        state = ExportState(next_row_indexes=progress.next_row_indexes)
        everything = max((end for end in ends.values()), default=0) + 1
        limits = BatchLimits(everything, self._options.rows_per_task)
        return plan_export(state, bounds, ends, limits, self._options.on_trimmed, {})

    def _schema(self, info: SourceInfo) -> tuple[Sequence[Mapping[str, Any]], RowEncoder]:
        """That of a table, and what makes its rows.

        Raises:
            ColumnError: of a column there is no equal, or it is missing and tells where rows belong.
            OptionError: the transformation does not go with the columns.
        """
        types = self._source.read.types.parsing_type_v3
        if self._options.transform is None:
            rows = self._source.frame_schema()
            queue_schema = [_without_key(column) for column in info.schema]
            schema = [{"name": name, "type": "int64"} for name in SERVICE_COLUMNS] + queue_schema
        else:
            rows = transformed(self._source.frame(self._spark, [], 1), self._options.transform).schema
            for name in SERVICE_COLUMNS:
                if name not in rows.names:
                    raise ColumnError(f'column "{name}" is missing: it tells into which order rows belong')
            schema = table_schema(rows, type_v3=types)
        dropped = () if self._options.service_columns else SERVICE_COLUMNS
        schema = [column for column in schema if column["name"] not in dropped]
        encoder = RowEncoder(rows, columns_of(schema), is_queue=False, write_type_v3=types, dropped=SERVICE_COLUMNS)
        return schema, encoder

    def _write(self, client: YtClient, transaction_id: str, path: str, plan: Plan, info: SourceInfo) -> None:
        schema, encoder = self._schema(info)
        attributes: dict[str, Any] = {
            "schema": schema,
            PROVENANCE: {
                "cluster": info.cluster,
                "queue": info.path,
                "queue_id": info.object_id,
                "ranges": [rows.to_json() for rows in plan.ranges],
                "gaps": [rows.to_json() for rows in plan.gaps],
            },
        }
        if self._options.ttl is not None:
            attributes["expiration_time"] = (self._clock() + self._options.ttl).isoformat()
        client.create("table", path, attributes=attributes)
        task = _TableTask(self._source.read.connection, transaction_id, path, schema, encoder)
        if self._options.transform is None:
            parts = run_directly(self._spark, self._source, plan, task)
        else:
            frame = self._source.frame(self._spark, plan.ranges, plan.rows_per_task)
            parts = run_tasks(transformed(frame, self._options.transform), task)
        parts.sort(key=lambda part: (part["partition"], part["begin"]))
        self._check_counts(plan.ranges, parts)
        paths = [part["path"] for part in parts]
        if paths:
            client.concatenate(paths, path)
        wanted, found = sum(part["rows"] for part in parts), int(client.get(f"{path}/@row_count"))
        if found != wanted:
            raise ExportError(f"{path} has {found} rows where tasks have written {wanted}; nothing is published")
        for part in client.search(
            self._options.directory, node_type="table", path_filter=lambda name: name.startswith(f"{path}{_PART}")
        ):
            client.remove(part)  # those of attempts that failed as well
        self.summary.files += 1
        self.summary.bytes += int(client.get(f"{path}/@compressed_data_size"))

    def _check_counts(self, ranges: Sequence[Range], parts: Sequence[Mapping[str, Any]]) -> None:
        written: Counter[int] = Counter()
        for part in parts:
            written.update(dict(part["counts"]))
        for rows in ranges:
            have = written[rows.partition_index]
            if have > rows.row_count or (have < rows.row_count and self._options.transform is None):
                raise ExportError(
                    f"{have} rows of partition {rows.partition_index} were written where {rows.row_count} were planned"
                )

    def _prepare_directory(self, client: YtClient) -> None:
        directory = self._options.directory
        client.create("map_node", directory, recursive=True, ignore_existing=True)
        if client.exists(f"{directory}/@{_NATIVE}"):
            raise OptionError(f"{directory} is the directory of a native export; take another one")
        try:
            client.lock(directory, mode="shared", attribute_key=PROGRESS)
        except YtResponseError as error:
            if error.contains_code(_LOCK_CONFLICT):
                raise TargetTaken(f"another exporter is at work in {directory}: {words_of(error)}") from error
            raise

    def _read_progress(self, client: YtClient, info: SourceInfo) -> TableProgress:
        progress = self._find_progress(client, info)
        if progress is None:
            self._source.rewind({})
            return TableProgress(info.object_id, 0, self._rows())
        return progress

    def _find_progress(self, client: YtClient, info: SourceInfo) -> TableProgress | None:
        """How far the export is; None before the first run."""
        directory = self._options.directory
        progress = find_progress(client, directory)
        if progress is None:
            return None
        check_progress(progress, directory, info, self._source.consumer_path)
        difference = find_difference(progress.rows, self._rows())
        if difference is not None:
            raise OptionError(
                f"the export to {directory} was begun with {difference}, and rows of its tables are "
                "alike; another directory begins with the rows that the queue has now"
            )
        return progress

    def _rows(self) -> dict[str, Any]:
        """What is kept of how rows are made."""
        rows = row_options(self._source.read, self._options.transformation)
        rows["service_columns"] = self._options.service_columns
        return rows

    @contextmanager
    def _transaction(self) -> Iterator[tuple[YtClient, str, Callable[[], None]]]:
        """A client in whose transaction all runs, its id, and how to commit it; else it is aborted in the end."""
        holder = new_client(self._source.read.connection)
        attributes = {"title": f"Spark export to {self._options.directory}"}
        timeout = int(self._options.lock_timeout.total_seconds() * 1000)
        transaction = holder.Transaction(timeout=timeout, attributes=attributes)
        client = new_client(self._source.read.connection)
        committed = False

        def commit() -> None:
            nonlocal committed
            transaction.commit()
            committed = True

        try:
            with client.Transaction(transaction_id=transaction.transaction_id, ping=False):
                yield client, str(transaction.transaction_id), commit
        finally:
            if not committed:
                _abort(transaction)


@dataclass(frozen=True, slots=True)
class _TableTask:
    connection: ConnectionOptions
    transaction_id: str
    path: str
    schema: Sequence[Mapping[str, Any]]
    encoder: RowEncoder

    def run(self, batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
        """Write a table that only this attempt knows of; the driver takes those that attempts report."""
        context = TaskContext.get()
        assert context is not None
        client = new_client(self.connection)
        part: dict[str, Any] | None = None
        with client.Transaction(transaction_id=self.transaction_id, ping=False):
            for batch in batches:
                if not batch.num_rows:
                    continue
                if part is None:
                    path = f"{self.path}{_PART}{uuid4().hex}"
                    client.create("table", path, attributes={"schema": self.schema})
                    part = {
                        "path": path,
                        "partition": batch.column(TABLET_INDEX)[0].as_py(),
                        "begin": batch.column(ROW_INDEX)[0].as_py(),
                        "rows": 0,
                    }
                    counts: Counter[int] = Counter()
                client.write_table(
                    TablePath(part["path"], append=True), self.encoder.encode(batch), format=_FORMAT, raw=True
                )
                part["rows"] += batch.num_rows
                for entry in pc.value_counts(batch.column(TABLET_INDEX)).to_pylist():
                    counts[entry["values"]] += entry["counts"]
        return [] if part is None else [{**part, "counts": sorted(counts.items())}]


def _remaining(bounds: Mapping[int, PartitionBounds | None], next_row_indexes: Mapping[int, int]) -> int:
    """Rows of partitions that can be looked at, and were not exported."""
    return sum(
        bound.upper_row_index - max(bound.lower_row_index, next_row_indexes.get(index, bound.lower_row_index))
        for index, bound in bounds.items()
        if bound is not None
    )


def _without_key(column: Mapping[str, Any]) -> dict[str, Any]:
    """A column as a static table that is not sorted can have it."""
    return {name: value for name, value in column.items() if name in ("name", "type", "type_v3", "required")}


def _abort(transaction: Any) -> None:
    try:
        transaction.abort()
    except YtNoSuchTransaction:
        return  # it has run out, or its commit was not heard of
