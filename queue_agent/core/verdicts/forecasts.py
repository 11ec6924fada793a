"""Forecasts: how long a consumer needs to catch up, and the forecast that speaks for several partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from queue_agent.core.verdicts.values import Forecast, Rate, Seconds, Verdict

_FASTER: Final = 1.02
NOT_READING: Final = frozenset({Verdict.STOPPED, Verdict.STALLED})

# One of each for all positions, of which there are very many.
CAUGHT_UP: Final = Forecast(0.0, "caught_up", 0.0, 0.0)
UNKNOWN_FORECAST: Final = Forecast(None, "unknown")
_NOT_CATCHING_UP: Final = Forecast(None, "not_catching_up")


class Backlog(NamedTuple):
    """Unread rows of a partition, and how they change."""

    now: Seconds
    offset: int
    end: int
    drainable: int
    age: Seconds | None
    """Of the next row to read; None: not known."""

    activity: Verdict
    is_losing: bool
    read: Rate | None
    """None: not known."""

    written: Rate | None
    """None: not known."""

    patience: Seconds | None


def time_to_catch_up(backlog: Backlog) -> Forecast:
    """Seconds until nothing is unread, at the rates of the judging window."""
    if backlog.drainable == 0:
        return CAUGHT_UP
    if backlog.activity in NOT_READING:
        return _NOT_CATCHING_UP
    if backlog.read is None or backlog.written is None:
        return UNKNOWN_FORECAST
    if backlog.read.mean <= _FASTER * backlog.written.mean:
        return _NOT_CATCHING_UP
    fast = backlog.read.high - backlog.written.low
    slow = backlog.read.low - backlog.written.high
    return Forecast(
        backlog.drainable / (backlog.read.mean - backlog.written.mean),
        "reading",
        backlog.drainable / fast if fast > 0 else None,
        backlog.drainable / slow if slow > 0 else None,
    )


def slowest(forecasts: Iterable[Forecast]) -> Forecast:
    """Of several partitions: the one that takes longest; None if one of them is not known."""
    found = list(forecasts)
    unknown = next((one for one in found if one.value is None), None)
    return unknown or max(found, key=lambda one: one.value or 0.0, default=CAUGHT_UP)


def soonest(forecasts: Iterable[Forecast]) -> Forecast:
    """Of several partitions: the one that is first; one without a value is later than any."""
    found = list(forecasts)
    known = [one for one in found if one.value is not None]
    if known:
        return min(known, key=lambda one: one.value or 0.0)
    unknown = next((one for one in found if one.cause == "unknown"), None)
    return unknown or next(iter(found), Forecast(None, "none"))
