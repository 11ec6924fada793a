"""Exponential moving averages of how fast counts grow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from math import exp

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

# Half the windows, in seconds.
_MINUTE_CONSTANT = MINUTE.total_seconds() / 2
_HOUR_CONSTANT = HOUR.total_seconds() / 2
_DAY_CONSTANT = DAY.total_seconds() / 2


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
        growth = count - self.count
        rate = growth / seconds if growth > 0 else 0.0
        minute_weight = exp(-seconds / _MINUTE_CONSTANT)
        hour_weight = exp(-seconds / _HOUR_CONSTANT)
        day_weight = exp(-seconds / _DAY_CONSTANT)
        return EmaCounter(
            count,
            now,
            self.start_instant,
            rate,
            rate * (1 - minute_weight) + self.minute_rate * minute_weight,
            rate * (1 - hour_weight) + self.hour_rate * hour_weight,
            rate * (1 - day_weight) + self.day_rate * day_weight,
        )

    def rolled(self, now: datetime) -> EmaCounter:
        """The counter after it was seen, any number of times up to `now`, at the count it has.

        One that was never updated stays so.
        """
        return self if self.last_instant is None else self.updated(self.count, now)

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

    def rolled(self, now: datetime, *, data_weight: bool = True) -> Counters:
        """Both counters rolled, or that of rows alone."""
        return Counters(self.row_count.rolled(now), self.data_weight.rolled(now) if data_weight else self.data_weight)
