"""Time of a cluster: a clock that can be set, and timestamps that only grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from yt_wire.error import YtError

COUNTER_BITS = 30
"""A YTsaurus timestamp holds unix seconds above this many bits of a counter."""

NULL_TIMESTAMP = 0
MIN_TIMESTAMP = 1

LATEST_TIMESTAMP = 0x3FFFFFFFFFFFFF00
"""Reads what is visible now."""

_LAST_COMMITTED = (0x3FFFFFFFFFFFFF01, 0x3FFFFFFFFFFFFF04)
"""Sync and async last committed: what is visible now, said in other ways."""


class Clock:
    """Time of day, moved by `advance` and `set`; between moves it runs on.

    Args:
        source: seconds since the epoch; the machine's clock unless a test brings its own.
    """

    def __init__(self, source: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_REALTIME)) -> None:
        self._source = source
        self._offset = 0.0

    def advance(self, interval: timedelta | float) -> None:
        """Move the clock, a bare number being seconds, for all who ask from now on; backwards is possible."""
        self._offset += interval.total_seconds() if isinstance(interval, timedelta) else interval

    def set(self, moment: datetime) -> None:
        """Make it this moment; ValueError if it does not name its time zone."""
        if moment.tzinfo is None:
            raise ValueError(f"{moment} does not say in which time zone")
        self._offset = moment.timestamp() - self._source()

    def seconds(self) -> float:
        return self._source() + self._offset

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds(), UTC)


class TimestampGenerator:
    """Unique, growing timestamps; a clock that goes back does not take them along.

    Args:
        clock: gives the seconds.
        last: the last timestamp handed out before a restart.
    """

    def __init__(self, clock: Clock, last: int = NULL_TIMESTAMP) -> None:
        self._clock = clock
        self.last = last

    @property
    def present(self) -> int:
        """No later than the next one; nothing is handed out."""
        return max(self.last + 1, int(self._clock.seconds()) << COUNTER_BITS)

    def next(self) -> int:
        self.last = self.present
        return self.last

    def advance(self, timestamp: int) -> None:
        """Hand out only later ones from now on."""
        self.last = max(self.last, timestamp)


def format_instant(moment: datetime) -> str:
    """As Cypress shows times: ISO 8601 in UTC with microseconds and `Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def checked_timestamp(timestamp: int | None) -> int:
    """What to read at; the latest unless a client gives something else.

    Raises:
        YtError: no transaction can have this timestamp, and it is none of the special ones.
    """
    if timestamp is None:
        return LATEST_TIMESTAMP
    if not 0 < timestamp <= LATEST_TIMESTAMP and timestamp not in _LAST_COMMITTED:
        raise YtError(f"Invalid read timestamp {timestamp:x}")
    return timestamp
