"""Figures over time, in bounded memory: every minute of the last two hours, and averages of ten minutes for a day.

Figures are single-precision: seven digits are more than a chart shows. What is not known, and minutes in which nobody
looked, are gaps.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

STEP: Final = 60
"""Seconds from one figure to the next."""

RECENT: Final = 120
"""Figures that are kept as they came."""

GROUP: Final = 10
"""Figures that become one average."""

AVERAGES: Final = 144

_HOURS: Final = AVERAGES * GROUP * STEP // 3600
_LATE: Final = 2
_SPARK_STEPS: Final = 60

BYTES_PER_FIGURE: Final = (RECENT + AVERAGES) * 4


@dataclass(frozen=True, slots=True)
class TimeSeriesView:
    """What is known of one object."""

    times: Sequence[datetime]
    """Ascending; ten minutes apart, then one."""

    series: Mapping[str, Sequence[float | None]]
    """By the name of the figure, a value for each time; None: a gap."""


class _Rings:
    """Figures of one object."""

    def __init__(self, names: Collection[str], step: int) -> None:
        self.first = self.last = step
        self.recent = {name: _gaps(RECENT) for name in names}
        self.averages = {name: _gaps(AVERAGES) for name in names}

    def skip_to(self, step: int) -> None:
        """Go on to a later minute; those in between are gaps, and ten that are over get their average."""
        for passed in range(self.last, step):
            if (passed + 1) % GROUP == 0:
                self._average(passed // GROUP)
            for ring in self.recent.values():
                ring[(passed + 1) % RECENT] = math.nan
        self.last = max(self.last, step)

    def _average(self, group: int) -> None:
        for name, ring in self.recent.items():
            some = [ring[step % RECENT] for step in range(group * GROUP, (group + 1) * GROUP)]
            known = [one for one in some if not math.isnan(one)]
            self.averages[name][group % AVERAGES] = sum(known) / len(known) if known else math.nan


class TimeSeries:
    """Remembers figures of so many objects, those first that came first.

    Args:
        max_objects: objects that are remembered; there is no room for others until some are gone.
    """

    def __init__(self, max_objects: int) -> None:
        self._max_objects = max_objects
        self._rings: dict[Hashable, _Rings] = {}

    def record(self, key: Hashable, now: datetime, figures: Mapping[str, float | None]) -> None:
        """Note figures of this minute; the names are the same each time."""
        step = int(now.timestamp()) // STEP
        rings = self._rings.get(key)
        if rings is None:
            if self.is_full:
                return
            rings = self._rings[key] = _Rings(figures.keys(), step)
        elif step - rings.last > AVERAGES * GROUP:
            rings = self._rings[key] = _Rings(figures.keys(), step)
        rings.skip_to(step)
        if step == rings.last:  # a clock that was set back changes nothing that is known
            for name, value in figures.items():
                rings.recent[name][step % RECENT] = math.nan if value is None else value

    def keep(self, keys: Collection[Hashable]) -> None:
        """Forget all objects but these."""
        self._rings = {key: rings for key, rings in self._rings.items() if key in keys}

    def read(self, key: Hashable, now: datetime, hours: int) -> TimeSeriesView | None:
        """What is known of the last hours, a day at most; None for an object that is not remembered."""
        rings = self._rings.get(key)
        if rings is None:
            return None
        until = int(now.timestamp()) // STEP
        first = max(rings.first, until - min(hours, _HOURS) * 3600 // STEP + 1)
        # Groups end where all that follows is there minute by minute.
        grouped_until = -(-(rings.last - RECENT + 1) // GROUP)
        groups = range(first // GROUP, grouped_until)
        # The last minutes are no gap yet: nobody may have looked in them.
        steps = range(max(first, grouped_until * GROUP), max(rings.last, until - _LATE) + 1)
        return TimeSeriesView(
            [_instant(group * GROUP) for group in groups] + [_instant(step) for step in steps],
            {
                name: [_known(rings.averages[name][group % AVERAGES]) for group in groups]
                + [_known(ring[step % RECENT]) if step <= rings.last else None for step in steps]
                for name, ring in rings.recent.items()
            },
        )

    def read_spark(self, key: Hashable, name: str) -> list[float | None]:
        """The last hour of one figure, every other minute; empty for an object that is not remembered."""
        rings = self._rings.get(key)
        if rings is None:
            return []
        ring, last = rings.recent[name], rings.last
        steps = range(max(rings.first, last - _SPARK_STEPS + 2), last + 1, 2)
        return [_known(ring[step % RECENT]) for step in steps]

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another object."""
        return len(self._rings) >= self._max_objects

    @property
    def held_bytes(self) -> int:
        """Of figures; names and keys come to about as much again."""
        return sum(len(rings.recent) * BYTES_PER_FIGURE for rings in self._rings.values())


def _gaps(size: int) -> array[float]:
    return array("f", [math.nan]) * size


def _instant(step: int) -> datetime:
    return datetime.fromtimestamp(step * STEP, UTC)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.7g}")
