"""Exponential moving averages of how fast counts grow."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class EmaCounter:
    """A count, and its rates per second over windows of a minute, an hour and a day."""

    count: int = 0
    last_instant: datetime | None = None
    """Of the last update; None before the first."""

    start_instant: datetime | None = None
    """Of the first update."""

    immediate_rate: float = 0.0
    minute_rate: float = 0.0
    hour_rate: float = 0.0
    day_rate: float = 0.0

    def updated(self, count: int, now: datetime) -> EmaCounter:
        """The counter after it was seen at `count`.

        The first count only starts the clock, one that is not later than the last is ignored, and a count that went
        down is a rate of zero.
        """
        if self.last_instant is None:
            return EmaCounter(count, now, now)
        seconds = (now - self.last_instant).total_seconds()
        if seconds <= 0:
            return self
        rate = max(0, count - self.count) / seconds

        def average(old: float, window: timedelta) -> float:
            weight = math.exp(-seconds / (window.total_seconds() / 2))
            return rate * (1 - weight) + old * weight

        return EmaCounter(
            count=count,
            last_instant=now,
            start_instant=self.start_instant,
            immediate_rate=rate,
            minute_rate=average(self.minute_rate, MINUTE),
            hour_rate=average(self.hour_rate, HOUR),
            day_rate=average(self.day_rate, DAY),
        )

    def served(self, now: datetime) -> dict[str, float]:
        """The published rates: a window not yet filled shows what the next shorter one shows."""

        def reliable(window: timedelta) -> bool:
            return self.start_instant is not None and self.start_instant + window <= now

        minute = self.minute_rate if reliable(MINUTE) else self.immediate_rate
        hour = self.hour_rate if reliable(HOUR) else minute
        day = self.day_rate if reliable(DAY) else hour
        return {
            "current": self.immediate_rate,
            "1m_raw": self.minute_rate,
            "1m": minute,
            "1h": hour,
            "1d": day,
        }


def total(counters: Iterable[EmaCounter]) -> EmaCounter:
    """The sum; as young as the youngest of those that ever were updated."""
    return reduce(_add, counters, EmaCounter())


def _add(left: EmaCounter, right: EmaCounter) -> EmaCounter:
    return EmaCounter(
        count=left.count + right.count,
        last_instant=_later(left.last_instant, right.last_instant),
        start_instant=_later(left.start_instant, right.start_instant),
        immediate_rate=left.immediate_rate + right.immediate_rate,
        minute_rate=left.minute_rate + right.minute_rate,
        hour_rate=left.hour_rate + right.hour_rate,
        day_rate=left.day_rate + right.day_rate,
    )


def _later(left: datetime | None, right: datetime | None) -> datetime | None:
    if left is None or right is None:
        return left or right
    return max(left, right)


@dataclass(frozen=True, slots=True)
class Counters:
    """What is counted of a partition."""

    row_count: EmaCounter = EmaCounter()
    data_weight: EmaCounter = EmaCounter()
