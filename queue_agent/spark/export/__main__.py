"""`python -m queue_agent.spark.export`: arguments in, exit code out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from queue_agent.spark.connection import client_of, cluster_of
from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.arguments import (
    CheckedConsumer,
    Cluster,
    Compression,
    Consumer,
    Delay,
    Directory,
    FromTime,
    Generation,
    LockTimeout,
    LockWait,
    Master,
    MaxRowsPerPartition,
    Mode,
    ModeOption,
    OnTrimmed,
    OwnConsumer,
    PartitionBy,
    PeriodSeconds,
    Proxy,
    Queue,
    Ranges,
    ReadOptions,
    RowsPerTask,
    SchemaVersion,
    ServiceColumns,
    Slack,
    Target,
    Textfile,
    TransformOption,
    Trimmed,
    Where,
    pairs,
    period_of,
    transform_of,
    transformation_of,
    wanted_ranges,
)
from queue_agent.spark.export.compaction import Compactor
from queue_agent.spark.export.documents import Range
from queue_agent.spark.export.exit_codes import ExitCode, finish
from queue_agent.spark.export.findings import Findings
from queue_agent.spark.export.identity import check_consumer
from queue_agent.spark.export.layout import export_directory
from queue_agent.spark.export.lease import lease
from queue_agent.spark.export.parquet_writer import TIMESTAMP, FileSettings
from queue_agent.spark.export.planning import BatchLimits
from queue_agent.spark.export.reporting import RunSummary, reporter_for, run_logger
from queue_agent.spark.export.source import ExportSource, SourceOptions
from queue_agent.spark.export.stopping import stopping
from queue_agent.spark.export.storage import storage_of
from queue_agent.spark.export.verification import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from queue_agent.spark.export.exporter import Exporter


application = typer.Typer(
    name="python -m queue_agent.spark.export",
    help="Keep the rows of queues in Parquet files or static tables: each row once, and provably all of them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@application.command()
def parquet(
    queue: Queue,
    target: Target,
    proxy: Proxy = None,
    consumer: Consumer = None,
    mode: ModeOption = Mode.CATCH_UP,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two batches in continuous mode.")] = 60,
    ranges: Ranges = None,
    from_time: FromTime = None,
    to_time: Annotated[str | None, typer.Option(help="Commit time to stop before.")] = None,
    partition_by: Annotated[PartitionBy, typer.Option(help="Time span of one directory.")] = PartitionBy.HOUR,
    time_column: Annotated[str, typer.Option(help="Column whose timestamps assign rows to directories.")] = TIMESTAMP,
    max_rows_per_partition: MaxRowsPerPartition = 5_000_000,
    rows_per_task: RowsPerTask = 1_000_000,
    compression: Annotated[Compression, typer.Option(help="Compression of Parquet files.")] = Compression.ZSTD,
    on_trimmed: OnTrimmed = Trimmed.FAIL,
    slack: Slack = 300,
    lock_timeout: LockTimeout = 30,
    lock_wait: LockWait = 60,
    where: Where = None,
    transform: TransformOption = None,
    read_option: ReadOptions = None,
    schema_version: SchemaVersion = 1,
    generation: Generation = 1,
    master: Master = None,
    textfile: Textfile = None,
) -> None:
    """Export a queue to Parquet files."""
    stop = Event()

    def run() -> ExitCode:
        from queue_agent.spark.export.exporter import Exporter
        from queue_agent.spark.export.parquet_sink import SparkWriter
        from queue_agent.spark.export.ports import ExportOptions

        source = ExportSource(SourceOptions(queue, consumer, proxy, pairs(read_option or [])))
        _check_consumer_is_given(consumer, mode)
        change = transform_of(where, transform)
        options = ExportOptions(
            schema_version=schema_version,
            generation=generation,
            files=FileSettings(partition_by.value, time_column, compression.value),
            limits=BatchLimits(max_rows_per_partition, rows_per_task),
            on_trimmed=on_trimmed.value,
            slack=timedelta(seconds=slack),
            lock_timeout=timedelta(seconds=lock_timeout),
            lock_wait=timedelta(seconds=lock_wait),
            transformation=transformation_of(where, transform),
        )
        wanted = wanted_ranges(source, mode, ranges, from_time, to_time)
        storage = storage_of(target)
        with _session(master, proxy) as spark, stopping(stop, run_logger().info):
            writer = SparkWriter(spark, source, storage, change)
            reporter = reporter_for(sys.stderr, run_logger().info)
            exporter = Exporter(source, writer, storage, options, _now, reporter, stop)
            _export(exporter, mode, timedelta(seconds=interval), wanted, (from_time, to_time), textfile)
        return ExitCode.DONE

    with stopping(stop, run_logger().info):
        finish(run)


def _export(
    exporter: Exporter,
    mode: Mode,
    interval: timedelta,
    wanted: Sequence[Range],
    times: tuple[str | None, str | None],
    textfile: Path | None,
) -> None:
    try:
        match mode:
            case Mode.CATCH_UP:
                exporter.catch_up()
            case Mode.CONTINUOUS:
                exporter.follow(interval)
            case Mode.BACKFILL:
                exporter.backfill(wanted)
            case Mode.REPLACE:
                exporter.replace(wanted, period_of(*times))
    finally:
        _report(exporter.summary, textfile)


def _check_consumer_is_given(consumer: str | None, mode: Mode) -> None:
    if consumer is None and mode in (Mode.CATCH_UP, Mode.CONTINUOUS):
        raise OptionError("--consumer is missing: without one rows could be trimmed that are not exported")


@application.command()
def tables(
    queue: Queue,
    directory: Directory,
    consumer: OwnConsumer,
    proxy: Proxy = None,
    period: PeriodSeconds = 3600,
    delay: Delay = 60,
    ttl: Annotated[int | None, typer.Option(min=1, help="Lifetime of tables in seconds; unlimited by default.")] = None,
    service_columns: ServiceColumns = True,
    rows_per_task: Annotated[int, typer.Option(min=1, help="Rows of one task, at most.")] = 1_000_000,
    on_trimmed: OnTrimmed = Trimmed.FAIL,
    lock_timeout: LockTimeout = 30,
    lock_wait: LockWait = 60,
    where: Where = None,
    transform: TransformOption = None,
    read_option: ReadOptions = None,
    master: Master = None,
    textfile: Textfile = None,
) -> None:
    """Export all complete periods to one static table."""
    stop = Event()

    def run() -> ExitCode:
        from queue_agent.spark.export.table_exporter import TableExporter, TableOptions

        source = ExportSource(SourceOptions(queue, consumer, proxy, pairs(read_option or [])))
        options = TableOptions(
            directory,
            period=timedelta(seconds=period),
            delay=timedelta(seconds=delay),
            ttl=None if ttl is None else timedelta(seconds=ttl),
            service_columns=service_columns,
            rows_per_task=rows_per_task,
            on_trimmed=on_trimmed.value,
            lock_timeout=timedelta(seconds=lock_timeout),
            lock_wait=timedelta(seconds=lock_wait),
            transform=transform_of(where, transform),
            transformation=transformation_of(where, transform),
        )
        # The session lets an interrupt end it at once, which is not what is wanted here.
        with _session(master, proxy) as spark, stopping(stop, run_logger().info):
            exporter = TableExporter(spark, source, options, _now)
            try:
                if stop.is_set():
                    exporter.summary.stopped = exporter.summary.succeeded = True
                else:
                    path = exporter.run()
                    run_logger().info("table published" if path else "nothing to export", path=path)
            finally:
                _report(exporter.summary, textfile)
        return ExitCode.DONE

    with stopping(stop, run_logger().info):
        finish(run)


@application.command("verify")
def verify_export(
    queue: Queue,
    target: Target,
    cluster: Cluster = None,
    proxy: Proxy = None,
    consumer: CheckedConsumer = None,
    schema_version: SchemaVersion = 1,
    generation: Generation = 1,
    deep: Annotated[bool, typer.Option("--deep", help="Read all rows, not only the footers of files.")] = False,
    incremental: Annotated[
        bool, typer.Option("--incremental", help="Check only what came after the last whole check of this kind.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Check that an export has every row exactly once. Exit code 3: it does not."""

    def run() -> ExitCode:
        directory = _directory(queue, proxy, cluster, schema_version, generation)
        archive = Archive(storage_of(target).below(directory))
        _check_consumer(archive, consumer)
        consumed = None if consumer is None else ExportSource(SourceOptions(queue, consumer, proxy)).consumed()
        # With the name of the cluster given, exports are verified where it is out of reach.
        is_near = cluster is None
        tablet_ids = _find_tablets(archive, ExportSource(SourceOptions(queue, None, proxy))) if is_near else None
        since = archive.find_verified() if incremental else None
        verdict = verify(archive, directory, consumed=consumed, tablet_ids=tablet_ids, deep=deep, since=since)
        if incremental and verdict.verified is not None:
            archive.save_verified(replace(verdict.verified, verified_at=_now().isoformat(timespec="seconds")))
        return _say(verdict, as_json)

    finish(run)


@application.command("verify-tables")
def verify_tables_of_export(
    queue: Queue,
    directory: Annotated[str, typer.Option(help="Cypress directory of the export.")],
    proxy: Proxy = None,
    consumer: CheckedConsumer = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Check that an export to static tables has every row exactly once. Exit code 3: it does not."""

    def run() -> ExitCode:
        from queue_agent.spark.export.table_progress import check_progress
        from queue_agent.spark.export.table_verification import read_export_of, verify_tables

        source = ExportSource(SourceOptions(queue, consumer, proxy))
        consumed = source.consumed()  # before the progress: an exporter may be at work
        progress, found = read_export_of(client_of(source.read.connection), directory)
        check_progress(progress, directory, source.info(), consumer)
        return _say(verify_tables(directory, progress, found, consumed), as_json)

    finish(run)


@application.command()
def compact(
    queue: Queue,
    target: Target,
    consumer: Annotated[str, typer.Option(help="Consumer of the export; its lock keeps exporters out meanwhile.")],
    proxy: Proxy = None,
    target_bytes: Annotated[int, typer.Option(min=1, help="Size up to which files are merged.")] = 256 << 20,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to keep replaced files.")] = 86400,
    lock_timeout: LockTimeout = 30,
    lock_wait: LockWait = 60,
    schema_version: SchemaVersion = 1,
    generation: Generation = 1,
) -> None:
    """Merge files of complete hours, and delete files replaced longer ago than --grace."""

    def run() -> ExitCode:
        source = ExportSource(SourceOptions(queue, consumer, proxy))
        directory = _directory(queue, proxy, None, schema_version, generation)
        archive = Archive(storage_of(target).below(directory))
        _check_consumer(archive, consumer)
        with lease(source.read.connection, cluster_of(consumer)[1], lock_timeout, lock_wait) as right:
            report = Compactor(archive, _now, right.check).run(target_bytes, timedelta(seconds=grace))
        typer.echo(
            json.dumps(
                {
                    "merged_files": report.merged_files,
                    "new_files": report.new_files,
                    "removed_files": report.removed_files,
                }
            )
        )
        return ExitCode.DONE

    finish(run)


def _say(verdict: Findings, as_json: bool) -> ExitCode:
    typer.echo(json.dumps(verdict.to_json(), indent=2) if as_json else verdict.to_text())
    return ExitCode.DONE if verdict.is_whole else ExitCode.NOT_WHOLE


def _directory(queue: str, proxy: str | None, cluster: str | None, schema_version: int, generation: int) -> str:
    named, path = cluster_of(queue)
    name = cluster or named or ExportSource(SourceOptions(queue, None, proxy)).queue.name.cluster
    return export_directory(name, path, schema_version, generation)


def _find_tablets(archive: Archive, source: ExportSource) -> Sequence[str] | None:
    """Of the exported queue as it is now; None if it is no more."""
    identity = archive.find_identity()
    if identity is None or source.queue.find_object_id() != identity.queue_id:
        return None
    return source.info().tablet_ids


def _check_consumer(archive: Archive, consumer: str | None) -> None:
    """TargetTaken if an export is another consumer's, whose lock and place would say nothing of it."""
    identity = archive.find_identity()
    if identity is not None:
        check_consumer(identity, consumer)


@contextmanager
def _session(master: str | None, proxy: str | None) -> Iterator[SparkSession]:
    """A session; it lets an interrupt end it at once, so `stopping` has to be entered after it."""
    from queue_agent.spark import spark_session

    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.ui.showConsoleProgress": "false",
    }
    with spark_session("queue export", master=master, yt_proxy=proxy, spark_conf_args=settings) as spark:
        yield spark


def _report(summary: RunSummary, textfile: Path | None) -> None:
    typer.echo(summary.to_json())
    if textfile is not None:
        summary.write_textfile(textfile)


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - here the clock comes from


if __name__ == "__main__":
    application()
