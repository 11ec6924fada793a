"""YTsaurus timestamps: seconds since the epoch above a counter of 30 bits."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from queue_agent.core.values.encoding import EPOCH

COUNTER_BITS = 30


def instant_of(timestamp: int) -> datetime:
    """The second the timestamp was made in; 0 is the epoch."""
    return _instant_of_second(timestamp >> COUNTER_BITS)


@lru_cache(maxsize=1 << 14)
def _instant_of_second(second: int) -> datetime:
    """The same object for what was written in the same second, of which there may be very much."""
    return EPOCH + timedelta(seconds=second)


def timestamp_of(instant: datetime) -> int:
    """The least timestamp of the instant's second."""
    return (instant - EPOCH) // timedelta(seconds=1) << COUNTER_BITS
