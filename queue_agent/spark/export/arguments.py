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


Queue = Annotated[str, typer.Option(help="Path of the queue; <cluster=...>//path if it is not the consumer's cluster.")]
Target = Annotated[str, typer.Option(help="A directory, or s3://bucket/prefix?endpoint_override=...&region=...")]
Proxy = Annotated[str | None, typer.Option(help="HTTP proxy of the cluster; YT_PROXY by default.")]
Consumer = Annotated[str | None, typer.Option(help="Consumer of this export alone; made and registered if missing.")]
SchemaVersion = Annotated[int, typer.Option(min=1, help="Next one after a change that old files can not follow.")]
Generation = Annotated[int, typer.Option(min=1, help="Next one after the queue was created anew.")]
Textfile = Annotated[
    Path | None, typer.Option(callback=_in_a_directory, help="Write metrics of the run here, for node-exporter.")
]
Ranges = Annotated[
    str | None, typer.Option(help='Rows to backfill or replace, as {"PARTITION": [BEGIN, END]}; END is exclusive.')
]
TransformOption = Annotated[
    str | None, typer.Option(metavar="MODULE:FUNCTION", help="Takes and gives a DataFrame, row by row.")
]
ReadOptions = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help='Of format("yt"); may be repeated.')]
Master = Annotated[str | None, typer.Option(help="Of Spark; by default what spark-submit says, or local[*].")]


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
    """The period of time that is meant; OptionError if it can not be read."""
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
        raise OptionError(f"--transform {name} can not be found: {error}") from error
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
