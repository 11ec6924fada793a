"""Reads what is part of an export: no more, and no less, whatever else lies in its directories."""

from __future__ import annotations

import re
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.state import live_files
from queue_agent.spark.export.storage import LocalStorage, storage_of

_SECOND = 1 << 30


def read_export(spark: SparkSession, target: str, directory: str) -> DataFrame:
    """All rows of an export that lies where the executors can see it, in no order.

    Args:
        spark: any session; `format("yt")` is not needed.
        target: a directory; Spark itself reads no buckets without further jars.
        directory: of the export below it, such as `pythia/home/app/events/v1`.

    Raises:
        OptionError: the target is a bucket, or nothing has been exported.
    """
    storage = storage_of(target).below(directory)
    if not isinstance(storage, LocalStorage):
        raise OptionError(f"Spark reads no files of {target}; pyarrow.dataset does")
    paths = [_literal(f"{storage.root}/{path}") for path in sorted(live_files(Archive(storage).manifests()))]
    if not paths:
        raise OptionError(f"nothing has been exported to {storage.root}")
    return spark.read.option("mergeSchema", "true").parquet(*paths)


def _literal(path: str) -> str:
    """A path as a pattern that only it matches; Spark takes paths for patterns."""
    return re.sub(r"([{}\[\]*?\\])", r"\\\1", path)


def with_commit_time(frame: DataFrame) -> DataFrame:
    """The same rows with `committed_at`: the second of `$timestamp`, as a time of Spark."""
    return frame.withColumn("committed_at", sql.timestamp_seconds(sql.floor(frame["`$timestamp`"] / _SECOND)))


def in_period(frame: DataFrame, since: datetime, until: datetime) -> DataFrame:
    """Rows committed in a half-open period, by `$timestamp`; both ends with their time zone, in whole seconds."""
    begin, end = (int(moment.timestamp()) * _SECOND for moment in (since, until))
    return frame.where((frame["`$timestamp`"] >= begin) & (frame["`$timestamp`"] < end))
