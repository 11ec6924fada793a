"""Arguments of the export command: those that several subcommands take, and what they mean."""

from __future__ import annotations

import importlib
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.documents import Range
from queue_agent.spark.export.planning import Period
from queue_agent.spark.export.source import ExportSource
from queue_agent.spark.options import OptionReader

if TYPE_CHECKING:
    from queue_agent.spark.export.parquet_sink import Transform


class Mode(Enum):
    """How far a run goes."""

    CATCH_UP = "catch-up"
    CONTINUOUS = "continuous"
    BACKFILL = "backfill"
    REPLACE = "replace"


class PartitionBy(Enum):
    """Which directories there are."""

    HOUR = "hour"
    DAY = "day"
    NONE = "none"


class Compression(Enum):
    """What Parquet files are packed by."""

    ZSTD = "zstd"
    SNAPPY = "snappy"
    GZIP = "gzip"
    NONE = "none"


class Trimmed(Enum):
    """What is done about rows that are gone."""

    FAIL = "fail"
    SKIP = "skip"


def _in_a_directory(path: Path | None) -> Path | None:
    """A run takes a while, and writes there only in the end."""
    if path is not None and not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no directory {path.absolute().parent}")
    return path


Queue = Annotated[
    str, typer.Option(help="Path of the queue; <cluster=...>//path if it is on another cluster than the consumer.")
]
Target = Annotated[str, typer.Option(help="A directory, or s3://bucket/prefix?endpoint_override=...&region=...")]
Proxy = Annotated[str | None, typer.Option(help="HTTP proxy of the cluster; YT_PROXY by default.")]
Consumer = Annotated[
    str | None, typer.Option(help="Consumer that only this export uses; created and registered if missing.")
]
SchemaVersion = Annotated[
    int, typer.Option(min=1, help="Version of the schema; increase it after an incompatible change.")
]
Generation = Annotated[
    int, typer.Option(min=1, help="Generation of the queue; increase it after the queue was re-created.")
]
Textfile = Annotated[
    Path | None,
    typer.Option(
        callback=_in_a_directory, help="File for metrics of the run, in the textfile format of node-exporter."
    ),
]
Ranges = Annotated[
    str | None, typer.Option(help='Rows to backfill or replace, as {"PARTITION": [BEGIN, END]}; END is exclusive.')
]
TransformOption = Annotated[
    str | None,
    typer.Option(metavar="MODULE:FUNCTION", help="Function from DataFrame to DataFrame that maps or filters rows."),
]
ReadOptions = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help='Option of format("yt"); may be repeated.')
]
FromTime = Annotated[str | None, typer.Option(help="First commit time to export, such as 2026-01-31T07:00Z.")]
MaxRowsPerPartition = Annotated[int, typer.Option(min=1, help="Rows of one queue partition in one batch, at most.")]
RowsPerTask = Annotated[int, typer.Option(min=1, help="Rows of one task, and so of one file, at most.")]
Slack = Annotated[float, typer.Option(min=0, help="Seconds after which an hour without new rows is complete.")]
Directory = Annotated[
    str, typer.Option(help="Cypress directory for the tables, on the consumer's cluster; for nothing else.")
]
OwnConsumer = Annotated[
    str, typer.Option(help="Consumer that only this export uses; created and registered if missing.")
]
PeriodSeconds = Annotated[int, typer.Option(min=1, help="Length of a period in seconds; a table has whole periods.")]
Delay = Annotated[float, typer.Option(min=0, help="Seconds to wait after the end of a period before it is exported.")]
ServiceColumns = Annotated[bool, typer.Option(help="Keep the partition and the row index of each row as columns.")]
Cluster = Annotated[str | None, typer.Option(help="Name of the queue's cluster; by default the proxy tells it.")]
ModeOption = Annotated[
    Mode,
    typer.Option(
        help="catch-up: up to the current end. continuous: keep running. backfill, replace: only the given rows."
    ),
]
OnTrimmed = Annotated[Trimmed, typer.Option(help="At trimmed rows: fail, or skip them and record the gap.")]
LockTimeout = Annotated[float, typer.Option(min=1, help="Seconds after which the lock of a dead exporter expires.")]
LockWait = Annotated[float, typer.Option(min=0, help="Seconds to wait for another exporter.")]
Where = Annotated[str | None, typer.Option(help="SQL condition; rows that do not match are left out.")]
CheckedConsumer = Annotated[
    str | None, typer.Option(help="Consumer of the export; check that it has not passed rows that are not exported.")
]
Master = Annotated[str | None, typer.Option(help="Spark master; by default that of spark-submit, or local[*].")]


def wanted_ranges(
    source: ExportSource, mode: Mode, ranges: str | None, from_time: str | None, to_time: str | None
) -> list[Range]:
    """The rows that backfilling and replacing are about; OptionError if they and the mode do not go together."""
    given = ranges is not None or from_time is not None or to_time is not None
    if mode in (Mode.CATCH_UP, Mode.CONTINUOUS):
        if given:
            raise OptionError("--ranges, --from-time and --to-time go with --mode backfill or replace")
        return []
    if not given:
        raise OptionError("--ranges, --from-time or --to-time says which rows to backfill or replace")
    return source.ranges(ranges, from_time, to_time)


def period_of(from_time: str | None, to_time: str | None) -> Period:
    """The period of time that is meant; OptionError if it cannot be read."""
    given = {"from_time": from_time, "to_time": to_time}
    options = OptionReader({name: value for name, value in given.items() if value is not None}, {}, {}).batch_options()
    return options.from_time, options.to_time


def transform_of(where: str | None, name: str | None) -> Transform | None:
    """What changes rows on the way; OptionError if it is not to be found."""
    if where is not None and name is not None:
        raise OptionError("--where and --transform do not go together: filter in the function")
    if where is not None:
        return lambda frame: frame.where(where)
    if name is None:
        return None
    module, colon, function = name.partition(":")
    if not colon:
        raise OptionError(f"--transform is MODULE:FUNCTION, got {name!r}")
    try:
        found: Any = getattr(importlib.import_module(module), function)
    except Exception as error:  # a module may do anything when it is imported
        raise OptionError(f"--transform {name} cannot be found: {error}") from error
    if not callable(found):
        raise OptionError(f"--transform {name} is no function")
    return cast("Transform", found)


def transformation_of(where: str | None, name: str | None) -> str:
    """What is kept of it with an export: what is said, not what a function does."""
    if where is not None:
        return f"--where {where}"
    return "" if name is None else f"--transform {name}"


def pairs(options: list[str]) -> dict[str, str]:
    """Options for reading, each as NAME=VALUE."""
    pairs = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise OptionError(f"--read-option is NAME=VALUE, got {option!r}")
        pairs[name] = value
    return pairs
