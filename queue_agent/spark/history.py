"""The agent's status history in Spark: where it is read from, and its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import typer
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as sf

from queue_agent.spark.errors import ConnectorError
from queue_agent.spark.worker_errors import words_of_spark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

NATURAL_KEY: Final = (
    "agent_instance",
    "ts",
    "pass_index",
    "kind",
    "cluster",
    "queue",
    "consumer",
    "partition",
    "alert",
)
"""Two rows that agree in these are one that was copied twice."""

_UNITS: Final = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_CLOCKS_APART: Final = timedelta(hours=1)


class NoHistory(ConnectorError):
    """Where the history was to be read from, there is none."""


@contextmanager
def told() -> Iterator[None]:
    """What goes wrong in a command becomes a line and an exit code: 2 without a history, 1 for all that may pass."""
    try:
        yield
    except NoHistory as error:
        raise typer.BadParameter(str(error)) from error
    except (ConnectorError, PySparkException, Py4JError, OSError) as error:
        typer.echo(f"{type(error).__name__}: {words_of_spark(error)}", err=True)
        raise typer.Exit(1) from error


def load_history(spark: SparkSession, directory: str, since: datetime | None = None) -> DataFrame:
    """Rows that the export job has written to Parquet.

    Args:
        spark: the session.
        directory: the one with the directories `dt=...` in it.
        since: rows before are left out.

    Raises:
        NoHistory: there is nothing, or something else.
    """
    try:
        history = spark.read.parquet(directory)
    except AnalysisException as error:
        raise NoHistory(f"{directory}: no history is there ({error.getCondition()})") from error
    if "ts" not in history.columns:
        raise NoHistory(f"{directory}: there is something else than a history, without a column ts")
    if since is None:
        return history
    if "dt" in history.columns:
        # Directories go by the time of commit, which is not before that of the pass.
        history = history.where(sf.col("dt") >= sf.lit(f"{since - _CLOCKS_APART:%Y-%m-%d}"))
    return history.where(sf.col("ts") >= sf.lit(since))


def load_queue(spark: SparkSession, path: str, since: datetime | None = None) -> DataFrame:
    """Rows that are still in the queue itself; the session must know `format("yt")`.

    Args:
        spark: the session.
        path: of the queue.
        since: rows before are left out.

    Raises:
        NoHistory: the queue is not there, or is another one; or a cluster that should say so cannot be asked.
    """
    reader = spark.read.format("yt")
    if since is not None:
        reader = reader.option("from_time", (since - _CLOCKS_APART).isoformat())
    try:
        history = reader.load(path)
    except AnalysisException as error:
        raise NoHistory(f"{path}: {words_of_spark(error)}") from error
    if "ts" not in history.columns:
        raise NoHistory(f"{path}: it is no history, without a column ts")
    return history if since is None else history.where(sf.col("ts") >= sf.lit(since))


def unique(history: DataFrame) -> DataFrame:
    """Each row once, even if what copied it did so more than once."""
    return history.dropDuplicates(list(NATURAL_KEY))


def in_period(since: datetime, until: datetime) -> Column:
    """Whether `ts` is within, the end excluded."""
    return (sf.col("ts") >= sf.lit(since)) & (sf.col("ts") < sf.lit(until))


def parse_moment(text: str, now: datetime) -> datetime:
    """Read a moment: ISO 8601, UTC if it names no zone, or how long ago it was, such as `90m`, `12h`, `7d`, `2w`.

    Raises:
        ValueError: it is neither.
    """
    ago = re.fullmatch(r"(\d+)([mhdw])", text)
    if ago:
        return now - int(ago[1]) * _UNITS[ago[2]]
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
