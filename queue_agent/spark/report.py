"""A report on queues and consumers over a period: tables and plots; a command as well."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from queue_agent.spark import report_tables as tables
from queue_agent.spark.downsample import five_minutes
from queue_agent.spark.history import in_period, load_history, load_queue, parse_moment, told
from queue_agent.spark.report_data import ReportData, bucket_for, build_curves, grid, label_queues
from queue_agent.spark.report_page import render_page
from queue_agent.spark.report_plots import draw_plots
from queue_agent.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

application = typer.Typer(help="Draw the status history as a page with pictures.")

PAGE_NAME: Final = "report.html"

_PARTITIONS: Final = 16
"""Of samples, which are few; Spark would make two hundred tasks of nearly nothing out of them."""


@dataclass(frozen=True, slots=True)
class Period:
    """What a report is about; the end is excluded."""

    since: datetime
    until: datetime


def collect_report(samples: DataFrame, period: Period) -> ReportData:
    """All a report on a period tells.

    Args:
        samples: what `downsample.five_minutes` returns, of this period or more.
        period: moments are aware.
    """
    bucket = bucket_for(period.until - period.since)
    samples = samples.where(in_period(period.since, period.until)).coalesce(_PARTITIONS).cache()
    try:
        if samples.isEmpty():
            return ReportData(period.since, period.until, bucket)
        times = grid(period.since, period.until, bucket)
        consumers = _rows(tables.consumer_table(samples))
        queues = _rows(tables.queue_table(samples))
        points = _rows(tables.consumer_curves(samples, int(bucket.total_seconds())))
        return ReportData(
            since=period.since,
            until=period.until,
            bucket=bucket,
            consumers=consumers,
            queues=queues,
            retention=_rows(tables.retention_table(samples)),
            problem=_rows(tables.problem_table(samples)),
            times=times,
            curves=build_curves(consumers, points, times),
            queue_labels=label_queues(queues),
        )
    finally:
        samples.unpersist()


def write_report(data: ReportData, directory: Path, title: str, made_at: datetime) -> Path:
    """Write the page, each plot as PNG and each table as CSV; returns the path of the page."""
    directory.mkdir(parents=True, exist_ok=True)
    plots = draw_plots(data)
    for name, content in plots.items():
        (directory / f"{name}.png").write_bytes(content)
    for name, rows in (
        ("consumers", data.consumers),
        ("queues", data.queues),
        ("retention", data.retention),
        ("errors", data.problem),
    ):
        _write_csv(directory / f"{name}.csv", rows)
    page = directory / PAGE_NAME
    page.write_text(render_page(data, plots, title, made_at), encoding="utf-8")
    return page


@application.command()
def main(
    out: Annotated[Path, typer.Option(file_okay=False, help="Directory for report.html, PNG and CSV files.")],
    history: Annotated[str | None, typer.Option(help="Directory of the exported history.")] = None,
    five_minutes_directory: Annotated[
        str | None, typer.Option("--five-minutes", help="Directory made by queue_agent.spark.downsample.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option(help="Path of the history queue; the report covers only what it still holds.")
    ] = None,
    proxy: Annotated[str | None, typer.Option(help="Cluster of the queue; YT_PROXY by default.")] = None,
    since: Annotated[str, typer.Option(help="Begin: ISO 8601, or how long ago: 90m, 12h, 7d, 2w.")] = "1d",
    until: Annotated[str | None, typer.Option(help="End; now by default.", show_default=False)] = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Queues and consumers",
) -> None:
    """Write a report on lag, freshness, busy and idle queues, retention, errors and alerts of one period."""
    now = datetime.now(UTC)  # noqa: TID251 - a command looks at the clock once
    sources = [source for source in (history, five_minutes_directory, queue) if source is not None]
    if len(sources) != 1:
        raise typer.BadParameter("one of --history, --five-minutes and --queue says where the history is")
    try:
        period = Period(parse_moment(since, now), now if until is None else parse_moment(until, now))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if period.since >= period.until:
        raise typer.BadParameter("--since is not before --until")
    with told(), spark_session("queue-agent report", yt_proxy=proxy) as spark:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        data = collect_report(_load(spark, period.since, history, five_minutes_directory, queue), period)
        typer.echo(write_report(data, out, title, now))


def _load(
    spark: SparkSession, since: datetime, history: str | None, five_minutes_directory: str | None, queue: str | None
) -> DataFrame:
    if five_minutes_directory is not None:
        return load_history(spark, five_minutes_directory, since)
    if history is not None:
        return five_minutes(load_history(spark, history, since))
    assert queue is not None, "one of the three is given"
    return five_minutes(load_queue(spark, queue, since))


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    return [{name: _aware(value) for name, value in row.asDict().items()} for row in frame.collect()]


def _aware(value: Any) -> Any:
    """Moments with their zone: Spark gives them in the machine's, without saying so."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _write_csv(path: Path, rows: Sequence[dict[str, Any] | Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        if rows:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    application()
