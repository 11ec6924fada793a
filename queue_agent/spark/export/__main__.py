"""`python -m queue_agent.spark.export`: arguments in, exit code out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from queue_agent.spark.connection import client_of, cluster_of
from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.arguments import (
    Compression,
    Consumer,
    Generation,
    Master,
    Mode,
    PartitionBy,
    Proxy,
    Queue,
    Ranges,
    ReadOptions,
    SchemaVersion,
    Target,
    Textfile,
    TransformOption,
    Trimmed,
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
    mode: Annotated[Mode, typer.Option(help="Up to the present end, for ever, or given rows.")] = Mode.CATCH_UP,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks, when continuous.")] = 60,
    ranges: Ranges = None,
    from_time: Annotated[str | None, typer.Option(help="Rows since then, such as 2026-01-31T07:00Z.")] = None,
    to_time: Annotated[str | None, typer.Option(help="Rows before then.")] = None,
    partition_by: Annotated[PartitionBy, typer.Option(help="Directories of time.")] = PartitionBy.HOUR,
    time_column: Annotated[str, typer.Option(help="Whose time it is.")] = TIMESTAMP,
    max_rows_per_partition: Annotated[int, typer.Option(min=1, help="In one batch.")] = 5_000_000,
    rows_per_task: Annotated[int, typer.Option(min=1, help="Which is also the most of a file.")] = 1_000_000,
    compression: Annotated[Compression, typer.Option(help="Of Parquet files.")] = Compression.ZSTD,
    on_trimmed: Annotated[Trimmed, typer.Option(help="Stop at rows that are gone, or leave a gap.")] = Trimmed.FAIL,
    slack: Annotated[float, typer.Option(min=0, help="Seconds after which an idle hour is complete.")] = 300,
    lock_timeout: Annotated[float, typer.Option(min=1, help="Seconds a dead exporter keeps others waiting.")] = 30,
    lock_wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for another exporter.")] = 60,
    where: Annotated[str | None, typer.Option(help="SQL condition; other rows are left out.")] = None,
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
    directory: Annotated[str, typer.Option(help="Cypress directory on the consumer's cluster, for tables alone.")],
    consumer: Annotated[str, typer.Option(help="Consumer of this export alone; made and registered if missing.")],
    proxy: Proxy = None,
    period: Annotated[int, typer.Option(min=1, help="Seconds; a table has the rows of whole periods.")] = 3600,
    delay: Annotated[float, typer.Option(min=0, help="Seconds after its end at which a period is exported.")] = 60,
    ttl: Annotated[int | None, typer.Option(min=1, help="Seconds that tables live; for ever by default.")] = None,
    service_columns: Annotated[bool, typer.Option(help="Keep partition and row index of every row.")] = True,
    rows_per_task: Annotated[int, typer.Option(min=1, help="Rows read and written by one task.")] = 1_000_000,
    on_trimmed: Annotated[Trimmed, typer.Option(help="Stop at rows that are gone, or leave a gap.")] = Trimmed.FAIL,
    lock_timeout: Annotated[float, typer.Option(min=1, help="Seconds a dead exporter keeps others waiting.")] = 30,
    lock_wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for another exporter.")] = 60,
    where: Annotated[str | None, typer.Option(help="SQL condition; other rows are left out.")] = None,
    transform: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="Takes and gives a DataFrame, row by row.")
    ] = None,
    read_option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help='Of format("yt"); may be repeated.')
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Of Spark; by default what spark-submit says, or local[*].")
    ] = None,
    textfile: Textfile = None,
) -> None:
    """Export the rows of all periods that are over to one static table."""
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
    cluster: Annotated[
        str | None, typer.Option(help="Name of the queue's cluster; asked of the proxy if missing.")
    ] = None,
    proxy: Proxy = None,
    consumer: Annotated[str | None, typer.Option(help="Look whether it lets rows go that are not exported.")] = None,
    schema_version: SchemaVersion = 1,
    generation: Generation = 1,
    deep: Annotated[bool, typer.Option("--deep", help="Read all data, not only footers of files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Prove that an export has every row once; exit code 3 if it does not."""

    def run() -> ExitCode:
        directory = _directory(queue, proxy, cluster, schema_version, generation)
        archive = Archive(storage_of(target).below(directory))
        _check_consumer(archive, consumer)
        consumed = None if consumer is None else ExportSource(SourceOptions(queue, consumer, proxy)).consumed()
        # With the name of the cluster given, exports are verified where it is out of reach.
        is_near = cluster is None
        tablet_ids = _find_tablets(archive, ExportSource(SourceOptions(queue, None, proxy))) if is_near else None
        verdict = verify(archive, directory, consumed=consumed, tablet_ids=tablet_ids, deep=deep)
        return _say(verdict, as_json)

    finish(run)


@application.command("verify-tables")
def verify_tables_of_export(
    queue: Queue,
    directory: Annotated[str, typer.Option(help="Cypress directory of the export.")],
    proxy: Proxy = None,
    consumer: Annotated[str | None, typer.Option(help="Look whether it lets rows go that are not exported.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Prove that an export to static tables has every row once; exit code 3 if it does not."""

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
    consumer: Annotated[str, typer.Option(help="Of the export; its lock keeps exporters away meanwhile.")],
    proxy: Proxy = None,
    target_bytes: Annotated[int, typer.Option(min=1, help="Size up to which files are merged.")] = 256 << 20,
    grace: Annotated[float, typer.Option(min=0, help="Seconds for which replaced files stay.")] = 86400,
    lock_timeout: Annotated[float, typer.Option(min=1, help="Seconds a dead exporter keeps others waiting.")] = 30,
    lock_wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for another exporter.")] = 60,
    schema_version: SchemaVersion = 1,
    generation: Generation = 1,
) -> None:
    """Merge the files of complete hours, and remove those that were replaced a while ago."""

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
