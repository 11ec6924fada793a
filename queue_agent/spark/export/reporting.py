"""What a run tells: a bar or lines while it goes on, figures at its end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

import structlog
from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from queue_agent.spark.export.documents import Manifest

_BAR_WIDTH: Final = 30
_METRIC_PREFIX: Final = "queue_export_"


@dataclass(slots=True)
class RunSummary:
    """Figures of one run."""

    export: str
    """Cluster, queue and version."""

    batches: int = 0
    rows: int = 0
    """Read from the queue and published."""

    files: int = 0
    bytes: int = 0
    late_rows: int = 0
    trimmed_rows: int = 0
    """That were gone before they could be exported."""

    closed_periods: int = 0
    remaining_rows: int = 0
    """In the queue when it was last looked at, and not exported."""

    seconds: float = 0.0
    finished_at: float = 0.0
    """Unix time."""

    succeeded: bool = False
    stopped: bool = False
    """By a signal, before all was done."""

    error: str | None = None
    next_row_indexes: dict[int, int] = field(default_factory=dict)

    def add(self, manifest: Manifest) -> None:
        """Count a batch."""
        self.batches += 1
        self.rows += manifest.plan.row_count
        self.files += len(manifest.files)
        self.bytes += sum(file.byte_count for file in manifest.files)
        self.late_rows += manifest.late_rows
        self.trimmed_rows += sum(gap.row_count for gap in manifest.plan.gaps)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    def write_textfile(self, path: Path) -> None:
        """Figures for node-exporter's textfile collector, all at once."""
        registry = CollectorRegistry()
        for name, value in asdict(self).items():
            if isinstance(value, (int, float)):
                gauge = Gauge(_METRIC_PREFIX + name, f"{name} of the last run", ["export"], registry=registry)
                gauge.labels(self.export).set(float(value))
        write_to_textfile(str(path), registry)


class Reporter(Protocol):
    """Hears of the progress of a run."""

    def planned(self, row_count: int) -> None:
        """So many rows are to be exported, besides those that have been."""

    def published(self, manifest: Manifest) -> None:
        """A batch is done."""

    def finished(self) -> None:
        """Nothing more will come."""


class Bar:
    """A bar on a terminal.

    Args:
        stream: of the terminal.
        clock: seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._total = 0
        self._done = 0
        self._started = clock()

    def planned(self, row_count: int) -> None:
        self._total = self._done + row_count
        self._draw()

    def published(self, manifest: Manifest) -> None:
        self._done += manifest.plan.row_count
        self._total = max(self._total, self._done)
        self._draw()

    def finished(self) -> None:
        self._stream.write("\n")
        self._stream.flush()

    def _draw(self) -> None:
        share = self._done / self._total if self._total else 1.0
        filled = int(share * _BAR_WIDTH)
        rate = self._done / max(self._clock() - self._started, 0.001)
        bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
        self._stream.write(f"\r[{bar}] {share:4.0%}  {self._done:,} of {self._total:,} rows, {rate:,.0f}/s ")
        self._stream.flush()


class Lines:
    """A line for every batch, for logs.

    Args:
        write: is given events and their fields.
    """

    def __init__(self, write: Callable[..., Any]) -> None:
        self._write = write

    def planned(self, row_count: int) -> None:
        if row_count:
            self._write("rows to export", rows=row_count)

    def published(self, manifest: Manifest) -> None:
        self._write(
            "batch published",
            number=manifest.number,
            kind=manifest.plan.kind,
            rows=manifest.plan.row_count,
            files=len(manifest.files),
            bytes=sum(file.byte_count for file in manifest.files),
            late_rows=manifest.late_rows,
            gaps=[gap.to_json() for gap in manifest.plan.gaps],
            new_partitions=list(manifest.plan.new_partitions),
        )

    def finished(self) -> None:
        """Nothing is left to be said."""


def reporter_for(stream: TextIO, write: Callable[..., Any]) -> Reporter:
    """A bar if somebody looks on, else lines."""
    return Bar(stream) if stream.isatty() else Lines(write)


def run_logger() -> structlog.typing.FilteringBoundLogger:
    """Lines of logfmt on standard error; standard output is for results."""
    processors: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
    ]
    found: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr), processors, structlog.make_filtering_bound_logger("info")
    )
    return found
