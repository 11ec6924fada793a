"""Cron expressions as YTsaurus reads them: five to seven fields, in UTC; days of month and of week must both fit."""

from __future__ import annotations

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final

_HORIZON: Final = timedelta(days=4 * 366)
"""How far a moment is looked for."""

_TYPED: Final[Mapping[str, str]] = {
    "@annually": "0 0 0 1 1 *",
    "@yearly": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
    "@minutely": "0 * * * * *",
    "@secondly": "* * * * * *",
}
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WORKDAYS: Final = frozenset(range(1, 6))
_TOKEN: Final = re.compile(r"\d+|[A-Za-z]+|[*?/,#-]")
_FIELDS: Final = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day": (1, 31),
    "month": (1, 12),
    "weekday": (0, 7),
    "year": (1970, 2199),
}


@dataclass(frozen=True, slots=True)
class _DayRule:
    """A day of each month that is asked for by what it is."""

    last_minus: int | None = None
    """`L`, `L-3`: so many days before the last."""

    last_workday: bool = False
    """`LW`."""

    near: int | None = None
    """`15W`: the workday nearest to this day, in the same month."""

    week: int | None = None
    """`#2`, `#-1`, `5L`: the n-th of its weekday, from the end if negative."""

    def fits(self, day: date) -> bool:
        last = monthrange(day.year, day.month)[1]
        if self.last_minus is not None:
            return day.day == last - self.last_minus
        if self.last_workday:
            return day.day == _workday_back(day.replace(day=last))
        if self.near is not None:
            return self.near <= last and day.day == _nearest_workday(day.replace(day=self.near), last)
        if self.week is None:
            return True
        if self.week > 0:
            return (day.day - 1) // 7 == self.week - 1
        return self.week < 0 and (last - day.day) // 7 == -self.week - 1


@dataclass(frozen=True, slots=True)
class CronExpression:
    """Moments, in whole seconds."""

    text: str
    times: Sequence[int]
    """Seconds of the day, in order."""

    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """From 0, Sunday, to 6."""

    years: frozenset[int] | None
    """None: every year."""

    rule: _DayRule

    @staticmethod
    @lru_cache(maxsize=1 << 8)
    def parse(text: str) -> CronExpression:
        """Read an expression.

        Raises:
            ValueError: it is none; says why.
        """
        if not text:
            raise ValueError("Invalid empty expression")
        if text.startswith("@") and text not in _TYPED:
            raise ValueError("@reboot not implemented" if text == "@reboot" else "Unknown typed cron")
        fields = _TYPED.get(text, text).split()
        if not 5 <= len(fields) <= 7:
            raise ValueError(f"Invalid number of fields, expression must consist of 5-7 fields but has: {len(fields)}")
        if len(fields) == 5:
            fields = ["0", *fields]
        parsed = {name: _Field(name, value).parse() for name, value in zip(_FIELDS, fields, strict=False)}
        weekdays = {day % 7 for day in parsed["weekday"].values} | parsed["day"].weekdays
        rule = _DayRule()
        for name in ("day", "weekday"):
            rule = parsed[name].rule or rule
        if parsed["day"].replaces_weekdays:
            weekdays = set(parsed["day"].weekdays)
        times = [
            (hour * 60 + minute) * 60 + second
            for hour in sorted(parsed["hour"].values)
            for minute in sorted(parsed["minute"].values)
            for second in sorted(parsed["second"].values)
        ]
        return CronExpression(
            text,
            times,
            frozenset(parsed["day"].values),
            frozenset(parsed["month"].values),
            frozenset(weekdays),
            frozenset(parsed["year"].values) if "year" in parsed else None,
            rule,
        )

    def following(self, second: int) -> int:
        """The first moment after a second since the epoch; ValueError if there is none within four years."""
        moment = datetime.fromtimestamp(second, UTC)
        day, index = moment.date(), bisect_left(self.times, _of_day(moment) + 1)
        if index < len(self.times) and self._fits(day):
            return _epoch_second(day, self.times[index])
        return _epoch_second(self._find_day(day, 1), self.times[0])

    def preceding(self, second: int) -> int:
        """The last moment before a second since the epoch; ValueError if there is none within four years."""
        moment = datetime.fromtimestamp(second, UTC)
        day, index = moment.date(), bisect_left(self.times, _of_day(moment)) - 1
        if index >= 0 and self._fits(day):
            return _epoch_second(day, self.times[index])
        return _epoch_second(self._find_day(day, -1), self.times[-1])

    def _find_day(self, day: date, step: int) -> date:
        for distance in range(1, _HORIZON.days + 1):
            candidate = day + timedelta(days=step * distance)
            if self._fits(candidate):
                return candidate
        raise ValueError("Requested date does not exist")

    def _fits(self, day: date) -> bool:
        return (
            day.month in self.months
            and day.day in self.days
            and day.isoweekday() % 7 in self.weekdays
            and (self.years is None or day.year in self.years)
            and self.rule.fits(day)
        )


class _Field:
    """One field of an expression; `parse` fills it.

    Args:
        name: a key of `_FIELDS`.
        text: as it is written.
    """

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._least, self._most = _FIELDS[name]
        self._tokens = _tokens(text)
        self.values: set[int] = set()
        self.weekdays: frozenset[int] = frozenset()
        """What a field of days says of weekdays."""

        self.replaces_weekdays = False
        self.rule: _DayRule | None = None

    def parse(self) -> _Field:
        while True:
            self._segment()
            if not self._tokens:
                return self
            if self._tokens.pop(0) != ",":
                raise ValueError(f"Field of {self._name}s cannot be read")

    def _segment(self) -> None:
        token = self._tokens.pop(0) if self._tokens else ""
        if token == "*":
            self._put(self._least, self._most, self._step())
        elif token == "?":
            self._put(self._least, self._most)
        elif token == "L":
            self._last()
        elif token == "W" and self._name == "day":
            self.weekdays, self.replaces_weekdays = _WORKDAYS, True
            self._put(self._least, self._most)
        else:
            self._number_or_range(self._number(token))

    def _number_or_range(self, first: int) -> None:
        last, token = first, self._peek()
        if token == "-":
            self._tokens.pop(0)
            last = self._number(self._tokens.pop(0) if self._tokens else "")
        elif token == "#" and self._name == "weekday":
            self._tokens.pop(0)
            self._take_rule(_DayRule(week=self._week()))
        elif token == "L" and self._name == "weekday":
            self._tokens.pop(0)
            self._take_rule(_DayRule(week=-1))
        elif token == "W" and self._name == "day":
            self._tokens.pop(0)
            self._put(first, first)
            self._take_rule(_DayRule(near=first))
            self.weekdays = _WORKDAYS
            first, last = self._least, self._most
        step = 1
        if self._peek() == "/":
            step = self._step()
            last = self._most if last == first else last
        self._put(first, last, step)

    def _last(self) -> None:
        if self._name == "weekday":
            self.values.add(0)
            return
        if self._name != "day":
            raise ValueError("Segment 'L' allowed only for day of month and day of week")
        if self._peek() == "W":
            self._tokens.pop(0)
            self._take_rule(_DayRule(last_workday=True))
            self.weekdays, self.replaces_weekdays = _WORKDAYS, True
        elif self._peek() == "-":
            self._tokens.pop(0)
            self._take_rule(_DayRule(last_minus=self._number(self._tokens.pop(0) if self._tokens else "")))
        else:
            self._take_rule(_DayRule(last_minus=0))
        self._put(self._least, self._most)

    def _take_rule(self, rule: _DayRule) -> None:
        if self.rule is not None:
            raise ValueError("More than one of 'L', 'W' and '#' in a field is not supported")
        self.rule = rule

    def _week(self) -> int:
        negative = self._peek() == "-"
        if negative:
            self._tokens.pop(0)
        week = self._number(self._tokens.pop(0) if self._tokens else "")
        if not 1 <= week <= 5:
            raise ValueError("Nth-day - '#' can follow only with -5..5")
        return -week if negative else week

    def _step(self) -> int:
        if self._peek() != "/":
            return 1
        self._tokens.pop(0)
        step = self._number(self._tokens.pop(0) if self._tokens else "")
        if step < 1:
            raise ValueError("Frequency - needs to be at least 1")
        return step

    def _put(self, first: int, last: int, step: int = 1) -> None:
        if min(first, last) < self._least:
            raise ValueError("Range - specified range is less than minimum")
        if max(first, last) > self._most:
            raise ValueError("Range - specified range exceeds maximum")
        if first > last and self._name != "weekday":
            raise ValueError("Range - specified range start exceeds range end")
        # A range of weekdays may go beyond the end of a week.
        end = last if first <= last else last + 7
        self.values.update(value if value <= self._most else value - 7 for value in range(first, end + 1, step))

    def _peek(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _number(self, token: str) -> int:
        if token.isdigit():
            return int(token)
        upper = token.upper()
        for names, start in ((_DAYS, 0), (_MONTHS, 1)):
            for index, name in enumerate(names):
                if upper.startswith(name):
                    return index + start
        raise ValueError(f"Field of {self._name}s cannot be read: {token or 'it ends too early'}")


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("Unknown field")
        token = match[0]
        # Letters that begin no name stand for themselves, as in LW.
        tokens += token if set(token) <= {"L", "W"} else [token]
        position = match.end()
    return tokens


def _workday_back(day: date) -> int:
    """Of a month's last day: the day itself, or the Friday before."""
    return day.day - max(day.isoweekday() - 5, 0)


def _nearest_workday(day: date, last: int) -> int:
    match day.isoweekday():
        case 6:
            return day.day - 1 if day.day > 1 else 3
        case 7:
            return day.day + 1 if day.day < last else day.day - 2
        case _:
            return day.day


def _of_day(moment: datetime) -> int:
    return (moment.hour * 60 + moment.minute) * 60 + moment.second


def _epoch_second(day: date, second_of_day: int) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp()) + second_of_day
