"""What a report tells, as plain values: names short enough to be read, curves on one grid of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import nan
from typing import Any, Final

Row = Mapping[str, Any]
"""A row of one of the tables of `report_tables`."""

_BUCKETS: Final = tuple(timedelta(minutes=count) for count in (5, 15, 30, 60, 180, 360, 720, 1440, 7 * 1440))
_MAX_BUCKETS: Final = 300
_LABEL_LENGTH: Final = 46


@dataclass(frozen=True, slots=True)
class Curve:
    """One consumer over time; NaN where nothing is known."""

    label: str
    lag_rows: Sequence[float]
    freshness: Sequence[float]
    """Age of the next row to read, in seconds."""


@dataclass(frozen=True, slots=True)
class ReportData:
    """All a report tells."""

    since: datetime
    until: datetime
    bucket: timedelta
    consumers: Sequence[Row] = ()
    queues: Sequence[Row] = ()
    retention: Sequence[Row] = ()
    problem: Sequence[Row] = ()
    times: Sequence[datetime] = ()
    """Begin of every bucket of the curves."""

    curves: Sequence[Curve] = ()
    """In order of the consumers."""

    queue_labels: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By cluster and path."""

    @property
    def is_empty(self) -> bool:
        return not (self.consumers or self.queues or self.problem)


def bucket_for(period: timedelta) -> timedelta:
    """How long the buckets of curves are, so that there are not too many."""
    return next((bucket for bucket in _BUCKETS if period <= bucket * _MAX_BUCKETS), _BUCKETS[-1])


def grid(since: datetime, until: datetime, bucket: timedelta) -> list[datetime]:
    """Begins of all buckets that have a part in the period; buckets begin at multiples of their length."""
    epoch = datetime.fromtimestamp(0, since.tzinfo)
    begin = epoch + (since - epoch) // bucket * bucket
    return [begin + bucket * index for index in range(max(0, -((begin - until) // bucket)))]


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """The last part of each path, with as many of those before it as it takes to tell them apart.

    Args:
        paths: with slashes; what stands before a first `:` or `;>` is a part as well.
    """
    parts = {path: [part for part in path.replace(";>", "/").replace(":", "/").split("/") if part] for path in paths}

    def name(path: str, length: int) -> str:
        return "/".join(parts[path][-length:]) or path

    lengths = dict.fromkeys(parts, 1)
    while True:
        counts = Counter(name(path, length) for path, length in lengths.items())
        longer = [
            path for path, length in lengths.items() if counts[name(path, length)] > 1 and length < len(parts[path])
        ]
        if not longer:
            return {path: name(path, length) for path, length in lengths.items()}
        for path in longer:
            lengths[path] += 1


def cut(label: str, length: int = _LABEL_LENGTH) -> str:
    """A label that fits, its middle left out."""
    if len(label) <= length:
        return label
    head = (length - 1) // 2
    return f"{label[:head]}…{label[-(length - 1 - head) :]}"


def build_curves(consumers: Sequence[Row], points: Sequence[Row], times: Sequence[datetime]) -> list[Curve]:
    """Curves on a grid of time.

    Args:
        consumers: rows of the table of consumers.
        points: rows of `consumer_curves`.
        times: the grid.
    """
    queues = short_names(sorted({f"{row['cluster']}:{row['queue']}" for row in consumers}))
    names = short_names(sorted({row["consumer"] for row in consumers}))
    positions = {time: position for position, time in enumerate(times)}
    values: dict[tuple[str, str, str], tuple[list[float], list[float]]] = {
        _consumer_key(row): ([nan] * len(times), [nan] * len(times)) for row in consumers
    }
    for point in points:
        position = positions.get(point["ts"])
        if position is not None:
            for curve, name in zip(values[_consumer_key(point)], ("lag_rows", "freshness"), strict=True):
                curve[position] = nan if point[name] is None else max(0.0, float(point[name]))
    return [
        Curve(cut(f"{names[consumer]} ← {queues[f'{cluster}:{queue}']}"), *curves)
        for (cluster, queue, consumer), curves in values.items()
    ]


def label_queues(queues: Sequence[Row]) -> dict[tuple[str, str], str]:
    """Short names of queues, by cluster and path."""
    paths = {(row["cluster"], row["queue"]): f"{row['cluster']}:{row['queue']}" for row in queues}
    names = short_names(sorted(paths.values()))
    return {key: cut(names[path]) for key, path in paths.items()}


def _consumer_key(row: Row) -> tuple[str, str, str]:
    return row["cluster"], row["queue"], row["consumer"]
