"""How often a consumer usually commits while it has rows to read, learned from the gaps between its commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log2
from typing import Final, NamedTuple

from queue_agent.core.verdicts.values import Confidence, PaceView, Seconds

LEAST_PATIENCE: Final = 120.0
FIRST_PATIENCE: Final = 600.0
_KNOWN_GAPS: Final = 5
_HALF_LIFE: Final = 7 * 86400.0
_MOST_HALF_LIVES: Final = 1000.0
"""Of an old row that somebody has edited there may be more."""

_USUAL_SHARE: Final = 0.95
_LARGEST_WEIGHT: Final = 2.0**40
_TRUSTED_AFTER: Final = 86400.0
_ALIKE: Final = 2.0
_OUTAGES_OF_A_HABIT: Final = 3
_REMEMBERED_FOR: Final = 10.0
"""Outages and habits are remembered for so many times their length."""

_REMEMBERED_OUTAGES: Final = 12
_LEAST_WINDOW: Final = 900.0
_NO_SECONDS: Final[Mapping[int, float]] = {}


@dataclass(frozen=True, slots=True)
class Habit:
    """Silences of a length that came back."""

    length: Seconds
    last_at: Seconds


class Pace(NamedTuple):
    """What is known of a consumer's gaps in one queue."""

    gaps: int = 0
    longest: Seconds = 0.0
    seconds: Mapping[int, float] = _NO_SECONDS
    """Time spent in gaps by bucket `i`, gaps up to `2^(i/4)` s; newer seconds weigh more, as of `origin`."""

    origin: Seconds = 0.0
    outages: tuple[tuple[Seconds, Seconds], ...] = ()
    """End and length of silences that were called stopped, oldest first."""

    habits: tuple[Habit, ...] = ()
    polled_since: Seconds | None = None
    """First poll of the consumer."""

    @property
    def usual(self) -> Seconds | None:
        """Upper edge of the bucket in which 95 % of the seconds are reached: an hourly job is hourly whatever else."""
        if not self.seconds:
            return None
        rest = sum(self.seconds.values()) * _USUAL_SHARE
        buckets = sorted(self.seconds)
        for bucket in buckets[:-1]:
            rest -= self.seconds[bucket]
            if rest <= 0:
                return float(2.0 ** (bucket / 4))
        return float(2.0 ** (buckets[-1] / 4))

    @property
    def window(self) -> Seconds:
        """The judging window: long enough for four usual gaps."""
        return max(_LEAST_WINDOW, 4 * (self.usual or 0.0))

    def patience(self, now: Seconds, max_gap: Seconds | None = None) -> Seconds | None:
        """Silence that is still usual; None: nothing is known of the consumer.

        Args:
            now: time of day.
            max_gap: what the owner calls usual, whatever is learned.
        """
        if max_gap is not None:
            return max_gap
        if self.gaps == 0:
            return None
        if self.gaps < _KNOWN_GAPS:
            return max(FIRST_PATIENCE, 5 * self.longest)
        habit = max((one.length for one in self.habits if _is_remembered(one.last_at, one.length, now)), default=0.0)
        return max(LEAST_PATIENCE, 2 * (self.usual or 0.0), 2 * habit)

    def learned(self, gap: Seconds, now: Seconds) -> Pace:
        """The pace after a gap that was nothing unusual."""
        gap = max(gap, 1.0)
        bucket = max(0, ceil(4 * log2(gap) - 1e-9))
        seconds, origin = self.seconds, self.origin
        weight = 2.0 ** min((now - origin) / _HALF_LIFE, _MOST_HALF_LIVES) if seconds else 1.0
        if not seconds:
            origin = now
        elif weight > _LARGEST_WEIGHT:
            seconds = {i: one / weight for i, one in seconds.items() if one / weight > 1.0}
            origin, weight = now, 1.0
        return self._replace(
            gaps=self.gaps + 1,
            longest=max(self.longest, gap),
            seconds={**seconds, bucket: seconds.get(bucket, 0.0) + gap * weight},
            origin=origin,
            habits=_repeated(self.habits, gap, now),
        )

    def interrupted(self, length: Seconds, now: Seconds) -> Pace:
        """The pace after a silence that was called stopped: no gap to learn, but three alike are a habit."""
        outages = tuple(one for one in (*self.outages, (now, length)) if _is_remembered(*one, now))
        outages = outages[-_REMEMBERED_OUTAGES:]
        habits = tuple(one for one in self.habits if _is_remembered(one.last_at, one.length, now))
        alike = [one for _, one in outages if one <= _ALIKE * length and length <= _ALIKE * one]
        if len(alike) >= _OUTAGES_OF_A_HABIT and max(alike) <= _ALIKE * min(alike):
            habits = (*(one for one in habits if one.length > max(alike)), Habit(max(alike), now))
        return self._replace(outages=outages, habits=habits)

    def view(self, now: Seconds, *, has_ages: bool, max_gap: Seconds | None = None) -> PaceView:
        """The pace as it is published; `has_ages`: the ages of rows are known; `max_gap`: the owner's word."""
        if max_gap is not None:
            return PaceView(self.usual, max_gap, self.gaps, Confidence.HIGH, max_gap)
        confidence = Confidence.LOW
        if self.gaps >= _KNOWN_GAPS:
            long_known = self.polled_since is not None and now - self.polled_since >= _TRUSTED_AFTER
            confidence = Confidence.HIGH if long_known and has_ages else Confidence.MEDIUM
        return PaceView(self.usual, self.patience(now), self.gaps, confidence)


UNKNOWN_PACE: Final = Pace()


def _is_remembered(at: Seconds, length: Seconds, now: Seconds) -> bool:
    return now - at <= _REMEMBERED_FOR * length


def _repeated(habits: tuple[Habit, ...], gap: Seconds, now: Seconds) -> tuple[Habit, ...]:
    """Habits that this gap belongs to stay for longer."""
    if not habits:
        return habits
    return tuple(Habit(one.length, now) if gap * _ALIKE >= one.length else one for one in habits)
