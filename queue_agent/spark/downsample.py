"""Coarser histories: five minutes of each partition, hours of each consumer; a command as well."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Final

import typer
from pyspark.sql import functions as sf

from queue_agent.spark.history import load_history, parse_moment, told, unique
from queue_agent.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

application = typer.Typer(help="Average the status history over five minutes and hours.")

SUBJECT: Final = ("kind", "cluster", "queue", "consumer")
"""What a row is about, without the partition."""

MEASURES: Final = (
    "lag_rows",
    "lag_bytes",
    "lag_ms",
    "idle_ms",
    "write_rate",
    "write_byte_rate",
    "read_rate",
    "read_byte_rate",
    "trim_held_rows",
)
"""Columns of which there are average, maximum and last value: `lag_rows_avg`, `lag_rows_max`, `lag_rows_last`..."""

_WORST_PARTITION: Final = ("lag_ms",)
_BEST_PARTITION: Final = ("idle_ms",)
_COUNTS: Final = ("sample_count", "error_count", "behind_count", "expired_count")
_CONSTRAINT: Final = ("trim_constraint", "trim_subject", "trim_row_index")
_LAST: Final = (
    "lower",
    "upper",
    "offset",
    "disposition",
    "vital",
    "error_code",
    "error",
)


def five_minutes(history: DataFrame) -> DataFrame:
    """A row for every five minutes of each partition, and of whatever else the history has rows about.

    Args:
        history: as the agent wrote it, see `docs/history.md`; rows that are there twice count once.

    Returns:
        `ts` (begin), `kind`, `cluster`, `queue`, `consumer`, `partition`, `alert`; average, maximum and last value
        of each of `MEASURES`; the last values there were of the other columns; `sample_count`, and of these
        `error_count` with an error, `behind_count` with rows to read, `expired_count` with rows lost.
    """
    order = sf.struct("ts", "agent_instance", "pass_index")

    def last(value: Column | str, name: str) -> Column:
        """Of the rows in which a column is not null."""
        return sf.max_by(value, sf.when(sf.col(name).isNotNull(), order))

    measures = [
        column.alias(f"{name}_{suffix}")
        for name in MEASURES
        for suffix, column in (("avg", sf.avg(name)), ("max", sf.max(name)), ("last", last(name, name)))
    ]
    begin = sf.window("ts", "5 minutes")["start"].alias("begin")
    return (
        unique(history)
        .groupBy(begin, *SUBJECT, "partition", "alert")
        .agg(
            sf.count("*").alias("sample_count"),
            sf.count("error_code").alias("error_count"),
            _count_of("pending_consumption", "expired").alias("behind_count"),
            _count_of("expired").alias("expired_count"),
            *measures,
            *(last(name, name).alias(name) for name in _LAST),
            # Who holds rows belongs to what holds them: the next cause may have nobody.
            last(sf.struct(*_CONSTRAINT), _CONSTRAINT[0]).alias("constraint"),
        )
        .select("*", "constraint.*")
        .drop("constraint")
        .withColumnRenamed("begin", "ts")
    )


def sum_partitions(samples: DataFrame) -> DataFrame:
    """All partitions of a queue, or of a consumer in a queue, in one row for each five minutes.

    Rows and rates are added up; of the age of the next row the partition furthest behind counts, of the time without
    anything happening the one in which something happened last. The maximum of a sum is at most what is given as such.

    Args:
        samples: what `five_minutes` returns; alerts are left out.
    """
    measures = [
        _over_partitions(name)(f"{name}_{suffix}").alias(f"{name}_{suffix}")
        for name in MEASURES
        for suffix in ("avg", "max", "last")
    ]
    return (
        samples.where(sf.col("kind") != "alert")
        .groupBy("ts", *SUBJECT)
        .agg(
            sf.count("partition").alias("partition_count"),
            *(sf.sum(name).alias(name) for name in _COUNTS),
            *measures,
            sf.bool_or("vital").alias("vital"),
        )
    )


def hourly(samples: DataFrame) -> DataFrame:
    """A row for every hour of each queue, and of each consumer in each of its queues.

    Args:
        samples: what `five_minutes` returns.

    Returns:
        The columns of `sum_partitions`, `ts` being the begin of the hour: averages of its averages, maxima of its
        maxima, the last of its last values, sums of its counts.
    """
    measures = [
        column.alias(f"{name}_{suffix}")
        for name in MEASURES
        for suffix, column in (
            ("avg", sf.avg(f"{name}_avg")),
            ("max", sf.max(f"{name}_max")),
            ("last", sf.max_by(f"{name}_last", "ts")),
        )
    ]
    return (
        sum_partitions(samples)
        .groupBy(sf.window("ts", "1 hour")["start"].alias("begin"), *SUBJECT)
        .agg(
            sf.max("partition_count").alias("partition_count"),
            *(sf.sum(name).alias(name) for name in _COUNTS),
            *measures,
            sf.bool_or("vital").alias("vital"),
        )
        .withColumnRenamed("begin", "ts")
    )


def write_days(frame: DataFrame, directory: str, *, by_hour: bool) -> None:
    """Write a frame with whole days of `ts` in it; these days are replaced, all others stay.

    Args:
        frame: with a column `ts`.
        directory: gets directories `dt=2026-01-31`, and with `by_hour` in each `hour=07`, in UTC.
        by_hour: whether there are directories of hours.
    """
    parts = ["dt", "hour"] if by_hour else ["dt"]
    placed = frame.withColumn("dt", sf.date_format("ts", "yyyy-MM-dd"))
    if by_hour:
        placed = placed.withColumn("hour", sf.date_format("ts", "HH"))
    (
        placed.repartition(*parts)
        .sortWithinPartitions(*parts, "cluster", "queue", "consumer", "ts")
        .write.mode("overwrite")
        .option("partitionOverwriteMode", "dynamic")
        .partitionBy(*parts)
        .parquet(directory)
    )


@application.command()
def main(
    history: Annotated[str, typer.Option(help="Directory of the exported history, which has dt=... subdirectories.")],
    five_minutes_directory: Annotated[
        str, typer.Option("--five-minutes", help="Directory for averages and maxima over 5 minutes.")
    ],
    hourly_directory: Annotated[str, typer.Option("--hourly", help="Directory for averages and maxima over 1 hour.")],
    since: Annotated[
        str,
        typer.Option(help="First day (UTC) to compute again: a time, an age (2d, 12h), or 'beginning'."),
    ] = "2d",
) -> None:
    """Update the histories of 5 minutes and 1 hour. Days already done are replaced; safe to run again."""
    first: datetime | None = None
    if since != "beginning":
        try:
            moment = parse_moment(since, datetime.now(UTC))  # noqa: TID251 - a command looks at the clock once
        except ValueError as error:
            raise typer.BadParameter(f"{since}: {error}", param_hint="--since") from error
        first = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    with told(), spark_session("queue-agent downsample") as spark:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        rows = load_history(spark, history, first)
        if not rows.isEmpty():
            write_days(five_minutes(rows), five_minutes_directory, by_hour=True)
            write_days(hourly(load_history(spark, five_minutes_directory, first)), hourly_directory, by_hour=False)


def _count_of(*dispositions: str) -> Column:
    conditions = [sf.col("disposition") == disposition for disposition in dispositions]
    return sf.count_if(reduce(lambda left, right: left | right, conditions))


def _over_partitions(measure: str) -> Callable[[str], Column]:
    function: Callable[[str], Column] = sf.sum
    if measure in _WORST_PARTITION:
        function = sf.max
    elif measure in _BEST_PARTITION:
        function = sf.min
    return function


if __name__ == "__main__":
    application()
