"""What a report tells, as frames: consumers, queues, who pins retention, errors, and curves over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as sf

from queue_agent.spark.downsample import sum_partitions
from queue_agent.trim_policies import ConstraintKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE_SECONDS: Final = 300

NO_CONSTRAINT: Final = tuple(kind.value for kind in ConstraintKind if kind.is_final)
"""What keeps no rows: there are no more, or nobody wants to trim."""


def consumer_table(samples: DataFrame) -> DataFrame:
    """How consumers kept up, the one furthest behind first.

    Args:
        samples: what `downsample.five_minutes` returns.

    Returns:
        For each consumer and queue: `cluster`, `queue`, `consumer`, `vital`; `lag_rows_avg`, `lag_rows_max`,
        `lag_rows_last`; the age of the next row to read in seconds as `freshness_avg`, `freshness_p95` (of five
        minutes' maxima), `freshness_max`, `freshness_last`; `read_rate` in rows per second; the shares of samples
        `behind_share`, `expired_share`, `error_share`.
    """
    summed = sum_partitions(samples.where((sf.col("kind") == "consumer") & sf.col("queue").isNotNull()))
    return (
        summed.groupBy("cluster", "queue", "consumer")
        .agg(
            sf.bool_or("vital").alias("vital"),
            sf.avg("lag_rows_avg").alias("lag_rows_avg"),
            sf.max("lag_rows_max").alias("lag_rows_max"),
            sf.max_by("lag_rows_last", "ts").alias("lag_rows_last"),
            (sf.avg("lag_ms_avg") / 1000).alias("freshness_avg"),
            (sf.percentile_approx("lag_ms_max", 0.95) / 1000).alias("freshness_p95"),
            (sf.max("lag_ms_max") / 1000).alias("freshness_max"),
            (sf.max_by("lag_ms_last", "ts") / 1000).alias("freshness_last"),
            sf.avg("read_rate_avg").alias("read_rate"),
            *(
                (sf.sum(f"{what}_count") / sf.sum("sample_count")).alias(f"{what}_share")
                for what in ("behind", "expired", "error")
            ),
        )
        .orderBy(sf.desc_nulls_last("freshness_max"), sf.desc_nulls_last("lag_rows_max"), "queue", "consumer")
    )


def queue_table(samples: DataFrame) -> DataFrame:
    """How busy queues were, the busiest first.

    Args:
        samples: what `downsample.five_minutes` returns.

    Returns:
        For each queue: `cluster`, `queue`, `partition_count`; `written_rows`, `trimmed_rows`, by growth of row indexes;
        `write_rate_avg` and `write_rate_max`, rows per second, `write_byte_rate_avg`; `stored_rows` at the end;
        `idle_seconds`, since the last row was written, at the end; `error_share` of samples.
    """
    of_queues = samples.where((sf.col("kind") == "queue") & sf.col("partition").isNotNull())
    subject = ["cluster", "queue"]
    in_order = Window.partitionBy(*subject, "partition").orderBy("ts")
    # A recreated queue begins at zero: that is no growth.
    grown = of_queues.select(
        "*",
        *(
            sf.greatest(sf.col(bound) - sf.lag(bound).over(in_order), sf.lit(0)).alias(f"{bound}_growth")
            for bound in ("lower", "upper")
        ),
    )
    partitions = grown.groupBy(*subject, "partition").agg(
        sf.sum("upper_growth").alias("written"),
        sf.sum("lower_growth").alias("trimmed"),
        sf.max_by(sf.col("upper") - sf.col("lower"), "ts").alias("stored"),
    )
    sizes = partitions.groupBy(*subject).agg(
        sf.count("*").alias("partition_count"),
        sf.sum("written").alias("written_rows"),
        sf.sum("trimmed").alias("trimmed_rows"),
        sf.sum("stored").alias("stored_rows"),
    )
    rates = (
        sum_partitions(samples.where(sf.col("kind") == "queue"))
        .groupBy(*subject)
        .agg(
            sf.avg("write_rate_avg").alias("write_rate_avg"),
            sf.max("write_rate_max").alias("write_rate_max"),
            sf.avg("write_byte_rate_avg").alias("write_byte_rate_avg"),
            (sf.max_by("idle_ms_last", "ts") / 1000).alias("idle_seconds"),
            (sf.sum("error_count") / sf.sum("sample_count")).alias("error_share"),
        )
    )
    return rates.join(sizes, subject, "left").orderBy(
        sf.desc_nulls_last("written_rows"), sf.desc_nulls_last("write_rate_avg"), "queue"
    )


def retention_table(samples: DataFrame) -> DataFrame:
    """Who keeps rows from being trimmed, the one that keeps most first.

    Args:
        samples: what `downsample.five_minutes` returns.

    Returns:
        For each queue and each cause: `cluster`, `queue`, `constraint` (see `docs/trimming.md`), `subject`;
        `held_rows_last`, what it kept when it was seen last, and `held_rows_max`, of all partitions together;
        `partition_count`, where it was the cause at any time; `share` of the partitions' time in which it was.
    """
    seen = samples.where((sf.col("kind") == "queue") & sf.col("trim_constraint").isNotNull())
    subject = ["cluster", "queue"]
    cause = [*subject, "trim_constraint", "trim_subject"]
    whole = seen.groupBy(*subject).agg(sf.count("*").alias("whole"))
    moments = seen.groupBy("ts", *cause).agg(
        # The last value is the cause's own; the maximum may be that of a cause before.
        sf.sum("trim_held_rows_last").alias("held"),
        sf.count("*").alias("partitions"),
    )
    return (
        moments.groupBy(*cause)
        .agg(
            sf.max_by("held", "ts").alias("held_rows_last"),
            sf.max("held").alias("held_rows_max"),
            sf.max("partitions").alias("partition_count"),
            sf.sum("partitions").alias("time"),
        )
        .join(whole, subject)
        .withColumn("share", sf.col("time") / sf.col("whole"))
        .drop("time", "whole")
        .withColumnsRenamed({"trim_constraint": "constraint", "trim_subject": "subject"})
        .where(~sf.col("constraint").isin(*NO_CONSTRAINT))
        .orderBy(sf.desc_nulls_last("held_rows_max"), sf.desc("share"), "queue", "constraint", "subject")
    )


def problem_table(samples: DataFrame) -> DataFrame:
    """Errors and alerts, those that lasted longest first.

    Args:
        samples: what `downsample.five_minutes` returns.

    Returns:
        `cluster`, `queue`, `consumer`, `alert`, `error_code`, `error` (the text seen last), `first` and `last` five
        minutes it was seen in, `partition_count`, and `minutes`, rounded up to five.
    """
    return (
        samples.where(sf.col("error_count") > 0)
        .groupBy("cluster", "queue", "consumer", "alert", "error_code")
        .agg(
            sf.max_by("error", sf.when(sf.col("error").isNotNull(), sf.col("ts"))).alias("error"),
            sf.min("ts").alias("first"),
            sf.max("ts").alias("last"),
            sf.count_distinct("partition").alias("partition_count"),
            (sf.count_distinct("ts") * (SAMPLE_SECONDS // 60)).alias("minutes"),
        )
        .orderBy(sf.desc("minutes"), "queue", "consumer", "alert", "error_code")
    )


def consumer_curves(samples: DataFrame, bucket_seconds: int) -> DataFrame:
    """Lag over time: `ts`, `cluster`, `queue`, `consumer`, `lag_rows`, `freshness` (seconds), maxima of each bucket.

    Args:
        samples: what `downsample.five_minutes` returns.
        bucket_seconds: length of a bucket; a multiple of five minutes.
    """
    summed = sum_partitions(samples.where((sf.col("kind") == "consumer") & sf.col("queue").isNotNull()))
    return (
        summed.groupBy(
            sf.window("ts", f"{bucket_seconds} seconds")["start"].alias("begin"), "cluster", "queue", "consumer"
        )
        .agg(sf.max("lag_rows_max").alias("lag_rows"), (sf.max("lag_ms_max") / 1000).alias("freshness"))
        .withColumnRenamed("begin", "ts")
    )
