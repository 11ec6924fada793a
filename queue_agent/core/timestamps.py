"""YTsaurus timestamps: seconds since the epoch above a counter of 30 bits."""

from __future__ import annotations

from datetime import datetime, timedelta

from queue_agent.core.encoding import EPOCH

COUNTER_BITS = 30


def instant_of(timestamp: int) -> datetime:
    """The second the timestamp was made in; 0 is the epoch."""
    return EPOCH + timedelta(seconds=timestamp >> COUNTER_BITS)


def timestamp_of(instant: datetime) -> int:
    """The least timestamp of the instant's second."""
    return (instant - EPOCH) // timedelta(seconds=1) << COUNTER_BITS
