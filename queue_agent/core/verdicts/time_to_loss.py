"""How long until rows that a consumer has not read are gone, by all that may remove them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isinf
from typing import Final

from queue_agent.core.verdicts.forecasts import UNKNOWN_FORECAST, Backlog
from queue_agent.core.verdicts.values import Forecast, Rate, Seconds

FARTHEST: Final = 30 * 86400.0
"""What is further away counts as never."""


@dataclass(frozen=True, slots=True)
class VitalOffset:
    """A vital consumer in the partition; rows that it has not read stay."""

    name: str
    offset: int
    read: Rate | None = None
    """Rows a second; None: not known."""


@dataclass(frozen=True, slots=True)
class ExportTask:
    """A static export; rows that it does not have stay."""

    name: str
    due: Seconds | None
    """When it has the next row to read, an instant; infinity: never, as things are; None: not known."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What removes rows of a partition, and what keeps them."""

    is_vital: bool = False
    """The consumer in question holds its rows against trimming."""

    trims: bool = False
    """Agents trim the queue: its owner wishes it, and nothing is wrong."""

    is_ours: bool = True
    """This agent may trim; otherwise rows go only if somebody else has trimmed lately."""

    vitals: Sequence[VitalOffset] | None = ()
    """None: one of them is not known."""

    exports: Sequence[ExportTask] | None = ()
    """None: how far they are is not known."""

    retained_rows: int | None = None
    retained_lifetime: Seconds | None = None
    data_ttl: Seconds | None = None
    """The cluster removes older rows, whether they were read or not; None: it removes none."""

    grace_end: Seconds | None = None
    """Until then trims take nothing that somebody has not read, an instant; None: they do not wait."""

    released_at: Seconds | None = None
    """When this vital consumer holds its rows no longer, an instant; None: it holds them."""

    @property
    def slowest_vital(self) -> str | None:
        """Name of the vital consumer that is furthest back; None: there is none, or it is not known."""
        slowest = min(self.vitals or (), key=lambda one: one.offset, default=None)
        return None if slowest is None else slowest.name


NO_RETENTION: Final = Retention()


@dataclass(frozen=True, slots=True)
class _Rates:
    """Which end of each rate a scenario takes."""

    read: float | None
    written: float | None
    of_vitals: str
    """`mean`, `low` or `high`."""


@dataclass(frozen=True, slots=True)
class _Crossing:
    """When something lets the row go."""

    after: Seconds | None
    """From now; infinity: never; None: not known."""

    cause: str
    subject: str | None = None


_NEVER: Final = _Crossing(inf, "none")
_LOSING: Final = Forecast(0.0, "losing", 0.0, 0.0)
_NOTHING: Final = Forecast(None, "none")
_PROTECTED: Final = Forecast(None, "protected")


def time_to_loss(backlog: Backlog, retention: Retention) -> Forecast:
    """Seconds until the next row to read is gone, by whatever is the first to remove it."""
    if backlog.is_losing:
        return _LOSING
    if backlog.drainable == 0:
        return _NOTHING
    read, written = backlog.read, backlog.written
    crossing = _first(backlog, retention, _Rates(_end(read, "mean"), _end(written, "mean"), "mean"))
    if crossing.after is None:
        return UNKNOWN_FORECAST
    if crossing.after > FARTHEST:
        return _PROTECTED if retention.is_vital and retention.data_ttl is None else _NOTHING
    value = crossing.after
    early = _first(backlog, retention, _Rates(_end(read, "low"), _end(written, "high"), "high")).after
    late = _first(backlog, retention, _Rates(_end(read, "high"), _end(written, "low"), "low")).after
    # A batch reader reads nothing before its turn.
    unread = _first(backlog, retention, _Rates(0.0, _end(written, "high"), "high")).after
    earliest = min(value, value if early is None else early)
    if unread is not None and unread <= (backlog.patience or 0.0):
        earliest = min(earliest, unread)
    latest = None if late is None or isinf(late) else max(value, late)
    return Forecast(value, crossing.cause, earliest, latest, crossing.subject)


def _end(rate: Rate | None, which: str) -> float | None:
    return None if rate is None else {"mean": rate.mean, "low": rate.low, "high": rate.high}[which]


def _first(backlog: Backlog, retention: Retention, rates: _Rates) -> _Crossing:
    """The mechanism that removes the row first."""
    mechanisms = [_own_trimming(backlog, retention, rates)]
    if retention.data_ttl is not None:
        mechanisms.append(_Crossing(_by_age(backlog, retention.data_ttl, rates), "ttl"))
    known = [one for one in mechanisms if one.after is not None]
    if len(known) < len(mechanisms) and all(one.after != 0.0 for one in known):
        return _Crossing(None, "unknown")
    return min(known, key=lambda one: one.after or 0.0)


def _own_trimming(backlog: Backlog, retention: Retention, rates: _Rates) -> _Crossing:
    """All that keeps the row against trimming has to give way, so the last of it counts."""
    if (retention.is_vital and retention.released_at is None) or not retention.trims:
        return _NEVER
    keepers = list(_keepers(backlog, retention, rates))
    known = [one for one in keepers if one.after is not None]
    if len(known) < len(keepers) and all(one.after != inf for one in known):
        return _Crossing(None, "unknown")
    return max(known, key=lambda one: one.after or 0.0)


def _keepers(backlog: Backlog, retention: Retention, rates: _Rates) -> Iterator[_Crossing]:
    if retention.vitals is None:
        yield _Crossing(None, "vital_trimming")
    for vital in retention.vitals or ():
        yield _Crossing(_by_vital(backlog, vital, rates), "vital_trimming", vital.name)
    if retention.exports is None:
        yield _Crossing(None, "export_trimming")
    for export in retention.exports or ():
        after = None if export.due is None else max(0.0, export.due - backlog.now)
        yield _Crossing(after, "export_trimming", export.name)
    if retention.retained_rows is not None:
        yield _Crossing(_by_rows(backlog, retention.retained_rows, rates), "retained_rows")
    if retention.retained_lifetime is not None:
        yield _Crossing(_by_age(backlog, retention.retained_lifetime, rates), "retained_lifetime_duration")
    if retention.grace_end is not None:
        yield _Crossing(max(0.0, retention.grace_end - backlog.now), "grace")
    if retention.released_at is not None:
        yield _Crossing(max(0.0, retention.released_at - backlog.now), "quarantine")


def _by_vital(backlog: Backlog, vital: VitalOffset, rates: _Rates) -> Seconds | None:
    if vital.offset > backlog.offset:
        return 0.0
    speed = _end(vital.read, rates.of_vitals)
    if speed == 0.0:
        return inf
    if speed is None or rates.read is None:
        return None
    return (backlog.offset - vital.offset) / (speed - rates.read) if speed > rates.read else inf


def _by_rows(backlog: Backlog, retained: int, rates: _Rates) -> Seconds | None:
    distance = backlog.offset - backlog.end + retained
    if distance < 0:
        return 0.0
    if rates.read is None or rates.written is None:
        return None
    return distance / (rates.written - rates.read) if rates.written > rates.read else inf


def _by_age(backlog: Backlog, lifetime: Seconds, rates: _Rates) -> Seconds | None:
    """By the growth of the lag: a second each second if nothing is read."""
    if backlog.age is None:
        return None
    if backlog.age >= lifetime:
        return 0.0
    if rates.read == 0.0:
        return lifetime - backlog.age
    if rates.read is None or rates.written is None:
        return None
    growth = 1.0 - rates.read / rates.written if rates.written > 0 else 0.0
    return (lifetime - backlog.age) / growth if growth > 0 else inf
