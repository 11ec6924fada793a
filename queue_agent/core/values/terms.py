"""For how long an agent has led something."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """Since when an agent has led something without a break; both times are of its own clock, which is never set."""

    since: float
    now: float

    def passed_since(self, instant: float) -> float:
        """Seconds since an instant of the same clock."""
        return self.now - instant
