"""Forecasts: how long a consumer needs to catch up, and how long until rows that it has not read are gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isinf
from typing import Final

from queue_agent.core.verdicts.recent import Rate
from queue_agent.core.verdicts.values import Forecast, Seconds, Verdict

_FASTER: Final = 1.02
_FARTHEST: Final = 30 * 86400.0
_NOT_READING: Final = frozenset({Verdict.STOPPED, Verdict.STALLED})

CAUGHT_UP: Final = Forecast(0.0, "caught_up", 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Retention:
    """What removes rows of a partition; only what the agent knows of."""

    trims: bool
    """This agent trims the queue."""

    is_vital: bool
    """The consumer in question holds its rows."""

    slowest_vital: int | None = None
    """Offset of the vital consumer that is furthest back; None: not known."""

    slowest_vital_name: str | None = None
    retained_rows: int | None = None
    retained_lifetime: Seconds | None = None
    has_exports: bool = False
    """Exports hold rows as well, and nobody knows until when."""


NO_RETENTION: Final = Retention(trims=False, is_vital=False)


@dataclass(frozen=True, slots=True)
class Backlog:
    """Unread rows of a partition, and how they change."""

    offset: int
    end: int
    drainable: int
    age: Seconds | None
    """Of the next row to read; None: not known."""

    activity: Verdict
    is_losing: bool
    read: Rate | None
    written: Rate | None
    patience: Seconds | None


def time_to_catch_up(backlog: Backlog) -> Forecast:
    """Seconds until nothing is unread, at the rates of the judging window."""
    if backlog.drainable == 0:
        return CAUGHT_UP
    if backlog.activity in _NOT_READING:
        return Forecast(None, "not_catching_up")
    if backlog.read is None or backlog.written is None:
        return Forecast(None, "unknown")
    if backlog.read.mean <= _FASTER * backlog.written.mean:
        return Forecast(None, "not_catching_up")
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


def time_to_loss(backlog: Backlog, retention: Retention) -> Forecast:
    """Seconds until the next row to read is gone."""
    if backlog.is_losing:
        return Forecast(0.0, "losing", 0.0, 0.0)
    if backlog.drainable == 0:
        return Forecast(None, "none")
    if retention.is_vital:
        return Forecast(None, "protected")
    if not retention.trims:
        return Forecast(None, "none")
    crossing = _crossing(backlog, retention, _rates(backlog, "mean", "mean"))
    if crossing is None:
        return Forecast(None, "unknown")
    value, cause, subject = crossing
    if value > _FARTHEST:
        return Forecast(None, "none")
    early = _crossing(backlog, retention, _rates(backlog, "low", "high")) or crossing
    late = _crossing(backlog, retention, _rates(backlog, "high", "low")) or crossing
    earliest = min(value, early[0])
    unread = _crossing(backlog, retention, (0.0, None if backlog.written is None else backlog.written.high)) or crossing
    if unread[0] <= (backlog.patience or 0.0):
        earliest = min(earliest, unread[0])
    return Forecast(value, cause, earliest, None if isinf(late[0]) else max(value, late[0]), subject)


def _rates(backlog: Backlog, read: str, written: str) -> tuple[float | None, float | None]:
    """Rows read and written a second: the `mean`, or the `low` or `high` end of either."""
    return _rate(backlog.read, read), _rate(backlog.written, written)


def _rate(rate: Rate | None, which: str) -> float | None:
    return None if rate is None else {"mean": rate.mean, "low": rate.low, "high": rate.high}[which]


def _crossing(
    backlog: Backlog, retention: Retention, rates: tuple[float | None, float | None]
) -> tuple[Seconds, str, str | None] | None:
    """When the last of all that keeps the row gives way, and which that is; infinity: never; None: not known."""
    read, written = rates
    found: list[tuple[Seconds | None, str, str | None]] = [
        (_vital(backlog, retention), "vital_trimming", retention.slowest_vital_name)
    ]
    if retention.retained_rows is not None:
        found.append((_rows(backlog, retention.retained_rows, read, written), "retained_rows", None))
    if retention.retained_lifetime is not None:
        lifetime = _lifetime(backlog, retention.retained_lifetime, read, written)
        found.append((lifetime, "retained_lifetime_duration", None))
    if retention.has_exports:
        found.append((None, "export_trimming", None))
    known = [(value, cause, subject) for value, cause, subject in found if value is not None]
    never = next((one for one in known if isinf(one[0])), None)
    if never is not None or len(known) == len(found):
        return never or max(known, key=lambda one: one[0])
    return None


def _vital(backlog: Backlog, retention: Retention) -> Seconds | None:
    """Vital consumers that have passed the row no longer keep it; when others will is not known."""
    if retention.slowest_vital is None:
        return None
    return 0.0 if retention.slowest_vital > backlog.offset else None


def _rows(backlog: Backlog, retained: int, read: float | None, written: float | None) -> Seconds | None:
    distance = backlog.offset - backlog.end + retained
    if distance < 0:
        return 0.0
    if read is None or written is None:
        return None
    return distance / (written - read) if written > read else inf


def _lifetime(backlog: Backlog, lifetime: Seconds, read: float | None, written: float | None) -> Seconds | None:
    """By the growth of the lag: a second each second if nothing is read."""
    if backlog.age is None or read is None or written is None:
        return None
    growth = 1.0 if read == 0 else 1.0 - read / written if written > 0 else 0.0
    return max(0.0, lifetime - backlog.age) / growth if growth > 0 else inf
