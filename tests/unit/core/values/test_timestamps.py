"""YTsaurus timestamps and instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.encoding import EPOCH, encode_duration, encode_instant
from queue_agent.core.values.timestamps import instant_of, timestamp_of


def test_an_instant_of_a_timestamp_is_whole_seconds() -> None:
    assert instant_of(1865777451725072279) == datetime(2025, 1, 23, 13, 57, 40, tzinfo=UTC)


def test_zero_is_the_epoch() -> None:
    assert instant_of(0) == EPOCH
    assert encode_instant(instant_of(0)) == "1970-01-01T00:00:00.000000Z"


def test_a_timestamp_of_an_instant_is_the_least_of_its_second() -> None:
    assert timestamp_of(EPOCH + timedelta(seconds=3, microseconds=999_999)) == 3 << 30


def test_durations_are_whole_milliseconds() -> None:
    assert encode_duration(timedelta(seconds=1, microseconds=1999)) == 1001


@given(st.integers(0, 2**63))
def test_going_there_and_back_rounds_down_to_the_second(timestamp: int) -> None:
    assert timestamp_of(instant_of(timestamp)) == timestamp >> 30 << 30
