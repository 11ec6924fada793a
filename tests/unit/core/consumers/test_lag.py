"""Where a consumer is in a partition, and how old the next row to read is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.consumers.lag import disposition_of, elapsed, find_lag, processing_lag
from queue_agent.core.queues.snapshots import Disposition

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("unread", "available", "expected"),
    [
        (-1, 10, Disposition.AHEAD),
        (0, 10, Disposition.UP_TO_DATE),
        (0, 0, Disposition.UP_TO_DATE),
        (1, 10, Disposition.PENDING_CONSUMPTION),
        (10, 10, Disposition.PENDING_CONSUMPTION),
        (11, 10, Disposition.EXPIRED),
        (1, 0, Disposition.EXPIRED),
    ],
)
def test_a_consumer_whose_next_row_was_trimmed_is_expired(unread: int, available: int, expected: Disposition) -> None:
    assert disposition_of(unread, available) is expected


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 2000))
def test_reading_on_never_makes_a_disposition_worse(lower: int, row_count: int, offset: int) -> None:
    from_worst = [Disposition.EXPIRED, Disposition.PENDING_CONSUMPTION, Disposition.UP_TO_DATE, Disposition.AHEAD]
    before, after = (disposition_of(lower + row_count - one, row_count) for one in (offset, offset + 1))
    assert from_worst.index(before) <= from_worst.index(after)


def test_a_clock_that_is_ahead_of_ours_gives_no_negative_time() -> None:
    assert elapsed(NOW - MINUTE, NOW) == MINUTE
    assert elapsed(NOW + MINUTE, NOW) == timedelta(0)


def test_the_lag_is_the_age_of_the_next_row_to_read() -> None:
    assert find_lag(5, NOW - MINUTE, NOW) == MINUTE
    assert find_lag(5, None, NOW) is None


@pytest.mark.parametrize("unread", [0, -3])
def test_without_unread_rows_there_is_no_lag_whatever_is_known_of_the_next_row(unread: int) -> None:
    assert find_lag(unread, NOW - MINUTE, NOW) == find_lag(unread, None, NOW) == timedelta(0)


def test_what_is_published_shows_a_lag_that_is_not_known_as_none_at_all() -> None:
    assert processing_lag(NOW - MINUTE, NOW) == MINUTE
    assert processing_lag(None, NOW) == timedelta(0)
