"""Figures of the history before those that an agent remembers itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final, TypeAlias

from queue_agent.core.status.time_series import GROUP, RECENT, STEP, TimeSeriesView

_LONGEST_STEP: Final = timedelta(seconds=3 * STEP)
_WHOLE_SECONDS: Final = 1000

Figures: TypeAlias = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Sample:
    """What the history says of one object at one instant, its partitions added up."""

    instant: datetime
    figures: Figures


@dataclass(frozen=True, slots=True)
class PastTotals:
    """Sums over the partitions of one pass; None: unknown."""

    instant: datetime
    is_whole: bool
    """Whether all partitions could be read: otherwise the sums are too small."""

    sums: Figures


MakeSamples: TypeAlias = Callable[[Sequence[PastTotals]], list[Sample]]


def queue_samples(totals: Sequence[PastTotals]) -> list[Sample]:
    """Figures of a queue, ascending; sums are `backlog`, `trimmed`, `write_rate` and `write_byte_rate`."""
    rates = [None, *(_trim_rate(one, other) for one, other in pairwise(totals))]
    return [
        Sample(
            one.instant,
            _known(
                one,
                {
                    "write_rows_rate": one.sums["write_rate"],
                    "write_bytes_rate": one.sums["write_byte_rate"],
                    "trim_rows_rate": rate,
                    "backlog_rows": one.sums["backlog"],
                },
            ),
        )
        for one, rate in zip(totals, rates, strict=False)
    ]


def consumer_samples(totals: Sequence[PastTotals]) -> list[Sample]:
    """Figures of a consumer in a queue, ascending; sums are `lag_rows`, `lag_ms` (the longest) and `read_rate`.

    The history does not tell the time to loss.
    """
    return [
        Sample(
            one.instant,
            _known(
                one,
                {
                    "lag_rows": one.sums["lag_rows"],
                    "lag_time": _seconds(one.sums["lag_ms"]),
                    "read_rows_rate": one.sums["read_rate"],
                    "time_to_loss": None,
                },
            ),
        )
        for one in totals
    ]


def join_past(samples: Sequence[Sample], view: TimeSeriesView | None, since: datetime, now: datetime) -> TimeSeriesView:
    """What the history says up to what the agent remembers, and then that.

    Steps are those of `TimeSeries`: minutes, and averages of ten minutes for what is older than two hours.

    Args:
        samples: ascending.
        view: what the agent remembers.
        since: older samples are left out.
        now: for the length of steps.
    """
    until = view.times[0] if view is not None and view.times else now
    steps = _steps(since, until, now)
    found: dict[int, list[Figures]] = {}
    for sample in samples:
        if since <= sample.instant < until:
            found.setdefault(_step_of(sample.instant, now), []).append(sample.figures)
    if not found:
        return view or TimeSeriesView([], {})
    steps = [step for step in steps if step >= min(found)]
    names = samples[0].figures.keys() if view is None else view.series.keys()
    return TimeSeriesView(
        [*(datetime.fromtimestamp(step * STEP, UTC) for step in steps), *(() if view is None else view.times)],
        {
            name: [
                *(_average(one.get(name) for one in found.get(step, ())) for step in steps),
                *(() if view is None else view.series[name]),
            ]
            for name in names
        },
    )


def _steps(since: datetime, until: datetime, now: datetime) -> list[int]:
    """Minutes at which steps begin, ascending, before `until`."""
    instants = range(int(since.timestamp()), int(until.timestamp()), STEP)
    return sorted({_step_of(datetime.fromtimestamp(instant, UTC), now) for instant in instants})


def _step_of(instant: datetime, now: datetime) -> int:
    step = int(instant.timestamp()) // STEP
    recent = int(now.timestamp()) // STEP - RECENT
    return step if step >= -(-recent // GROUP) * GROUP else step // GROUP * GROUP


def _trim_rate(one: PastTotals, other: PastTotals) -> float | None:
    before, after = one.sums["trimmed"], other.sums["trimmed"]
    passed = other.instant - one.instant
    if not (one.is_whole and other.is_whole) or before is None or after is None:
        return None
    # A queue that has been made again begins at 0; after a gap the rate would be that of the gap.
    if after < before or not timedelta(0) < passed <= _LONGEST_STEP:
        return None
    return (after - before) / passed.total_seconds()


def _known(totals: PastTotals, figures: Figures) -> Figures:
    return figures if totals.is_whole else dict.fromkeys(figures)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / _WHOLE_SECONDS


def _average(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(f"{sum(known) / len(known):.7g}") if known else None
