"""When a static export makes tables: ticks, in whole seconds since the epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from queue_agent.core.values.cron import CronExpression


class TickRange(NamedTuple):
    """The seconds between two ticks that follow each other, the first of them included."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class EveryPeriod:
    """Ticks are the multiples of a period."""

    seconds: int

    def range_at(self, second: int) -> TickRange:
        """The range a second is in."""
        begin = second - second % self.seconds
        return TickRange(begin, begin + self.seconds)

    def period_before(self, tick: int) -> int:
        """Seconds from the tick before to this one."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class ByCron:
    """Ticks are the moments of an expression; ValueError where there are none for years."""

    expression: CronExpression

    def range_at(self, second: int) -> TickRange:
        """The range a second is in."""
        end = self.expression.following(second)
        return TickRange(self.expression.preceding(end), end)

    def period_before(self, tick: int) -> int:
        """Seconds from the tick before to this one."""
        return tick - self.expression.preceding(tick)


ExportSchedule = EveryPeriod | ByCron
