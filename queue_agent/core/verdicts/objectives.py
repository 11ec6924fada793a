"""Freshness objectives: how long each consumer met its own, to the second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

from queue_agent.core.values.error_info import ErrorInfo

Seconds = float
"""As in `values`, which imports this module."""


@dataclass(frozen=True, slots=True)
class Objective:
    """Wish of a consumer's owner, for one queue."""

    max_lag: Seconds | None = None
    """Oldest age that the next row to read may have; None: seconds are not counted."""

    target: float | None = None
    """Share of seconds that are to be good, between 0 and 1; there if `max_lag` is."""

    window_days: int = 28
    """Period of the error budget."""

    max_gap: Seconds | None = None
    """Longest silence that is usual; None: it is learned."""

    def to_map(self) -> dict[str, Any]:
        return {
            "max_lag_seconds": self.max_lag,
            "target": self.target,
            "window_days": None if self.max_lag is None else self.window_days,
            "max_gap_seconds": self.max_gap,
        }


@dataclass(frozen=True, slots=True)
class ObjectiveSeconds:
    """Seconds since an objective was first seen; each is in one of the three, and all three only grow."""

    good: Seconds = 0.0
    bad: Seconds = 0.0
    unknown: Seconds = 0.0
    until: Seconds | None = None
    """Seconds before are counted; None: there is no objective at the moment."""

    late_at: Seconds = inf
    """When the oldest unread row of the last poll became, or will become, too old; infinity: there is none."""

    is_known: bool = False
    """The last poll returned the age of all next rows; not so before the first poll of an agent."""

    @property
    def met_ratio(self) -> float | None:
        """Share of good seconds; None: none are known."""
        known = self.good + self.bad
        return self.good / known if known else None

    def added(
        self, until: Seconds, good: Seconds = 0.0, bad: Seconds = 0.0, unknown: Seconds = 0.0
    ) -> ObjectiveSeconds:
        """The seconds with more of them."""
        return replace(self, good=self.good + good, bad=self.bad + bad, unknown=self.unknown + unknown, until=until)

    def through(self, now: Seconds) -> ObjectiveSeconds:
        """Count up to `now` while nothing has changed since the last poll."""
        since = self.until
        if since is None or now <= since:
            return self
        late = min(max(self.late_at, since), now)
        if self.is_known:
            return self.added(now, good=late - since, bad=now - late)
        return self.added(now, unknown=late - since, bad=now - late)


NO_SECONDS: Final = ObjectiveSeconds()


@dataclass(frozen=True, slots=True)
class ObjectiveStatus:
    """An objective as it is published."""

    objective: Objective | None
    """None: it cannot be read, and the error says why."""

    error: ErrorInfo | None = None
    seconds: ObjectiveSeconds | None = None
    """As they are kept; None: not known, for what is kept cannot be read."""

    def to_map(self) -> dict[str, Any]:
        if self.objective is None:
            return {"error": None if self.error is None else self.error.to_map()}
        if self.objective.max_lag is None or self.seconds is None:
            return self.objective.to_map()
        return {
            **self.objective.to_map(),
            "good_seconds": self.seconds.good,
            "bad_seconds": self.seconds.bad,
            "unknown_seconds": self.seconds.unknown,
            "met_ratio": self.seconds.met_ratio,
        }
