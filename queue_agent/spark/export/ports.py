"""What an exporter is told, and what it works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from queue_agent.spark.export.documents import ExportFile, Plan
from queue_agent.spark.export.parquet_writer import FileSettings
from queue_agent.spark.export.planning import BatchLimits, OnTrimmed
from queue_agent.spark.export.source import SourceInfo
from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.options import ReadOptions


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Where to, and how."""

    schema_version: int = 1
    """Goes up when the schema changes in a way that files of one directory cannot follow."""

    generation: int = 1
    """Goes up when the queue has been re-created."""

    files: FileSettings = field(default_factory=FileSettings)
    limits: BatchLimits = field(default_factory=BatchLimits)
    on_trimmed: OnTrimmed = "fail"
    slack: timedelta = timedelta(minutes=5)
    """How long after its end a period of time is complete in an idle partition."""

    lock_timeout: timedelta = timedelta(seconds=30)
    """After which others may go on when this exporter has died."""

    lock_wait: timedelta = timedelta(seconds=60)
    """How long to wait for another exporter to end."""

    transformation: str = ""
    """What the writer does to rows, in words that are the same in all runs; empty: nothing, none is left out."""


class Source(Protocol):
    """The queue, and the consumer of the export; `ExportSource` is one."""

    @property
    def consumer_path(self) -> str | None:
        """Of the consumer; None if there is none."""

    @property
    def read(self) -> ReadOptions:
        """How rows are read."""

    def info(self) -> SourceInfo:
        """Look at the queue."""

    def bounds(self, tablet_count: int) -> Mapping[int, PartitionBounds | None]:
        """Rows that partitions have; None for one that cannot be read."""

    def ensure_consumer(self) -> None:
        """Make and register the consumer if it is missing."""

    def exclusively(self, timeout: timedelta, wait: timedelta) -> AbstractContextManager[Right]:
        """The right to publish, for as long as the context is open; TargetTaken if somebody else has it."""

    def consumed(self) -> Mapping[int, int]:
        """Next rows of the consumer by partition."""

    def rewind(self, starts: Mapping[int, int]) -> None:
        """Move the consumer back where it is ahead of these rows, or else of the lowest."""

    def advance(self, next_row_indexes: Mapping[int, int]) -> None:
        """Let rows below these go."""


class Right(Protocol):
    """To publish."""

    def check(self) -> None:
        """TargetTaken if it is lost."""


class BatchWriter(Protocol):
    """Writes the files of a batch; `SparkWriter` is one."""

    def check(self, settings: FileSettings) -> None:
        """ColumnError or OptionError if rows cannot be written like this."""

    def write(self, plan: Plan, directory: str, settings: FileSettings) -> Sequence[ExportFile]:
        """Write all rows of the plan's ranges into files below a directory of the target."""
