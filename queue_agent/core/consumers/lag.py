"""Where a consumer stands, compared with a queue's partition."""

from __future__ import annotations

from datetime import datetime, timedelta

from queue_agent.core.queues.snapshots import Disposition


def disposition_of(unread_row_count: int, available_row_count: int) -> Disposition:
    """Compare the rows a consumer has not read (negative: it is ahead) with those that are still there."""
    if unread_row_count < 0:
        return Disposition.AHEAD
    if unread_row_count == 0:
        return Disposition.UP_TO_DATE
    if unread_row_count <= available_row_count:
        return Disposition.PENDING_CONSUMPTION
    return Disposition.EXPIRED


def elapsed(since: datetime, now: datetime) -> timedelta:
    """Time that has passed; zero if a cluster's clock is ahead of ours."""
    return max(now - since, timedelta(0))


def find_lag(unread_row_count: int, next_row_commit_time: datetime | None, now: datetime) -> timedelta | None:
    """Age of the next row to read; zero if there is none, None if it is not known."""
    if unread_row_count <= 0:
        return timedelta(0)
    return None if next_row_commit_time is None else elapsed(next_row_commit_time, now)


def processing_lag(next_row_commit_time: datetime | None, now: datetime) -> timedelta:
    """Age of the next row to read; zero if there is none, or it is not known, as the C++ agent publishes it."""
    return timedelta(0) if next_row_commit_time is None else elapsed(next_row_commit_time, now)
