"""How instants, durations and numbers are published."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.encoding import EPOCH, MAX_UNSIGNED, Entity, Unsigned, encode_duration, encode_instant


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001 # hypothesis wants bounds without a zone
def test_an_instant_keeps_every_microsecond(instant: datetime) -> None:
    assert datetime.fromisoformat(encode_instant(instant)) == instant


def test_an_instant_is_published_in_utc_wherever_it_was_taken() -> None:
    moscow = timezone(timedelta(hours=3))
    assert encode_instant(datetime(2024, 5, 1, 13, 20, 30, tzinfo=moscow)) == "2024-05-01T10:20:30.000000Z"
    assert encode_instant(EPOCH) == "1970-01-01T00:00:00.000000Z"


def test_a_duration_is_whole_milliseconds_rounded_down() -> None:
    assert encode_duration(timedelta(microseconds=1999)) == 1
    assert encode_duration(timedelta(days=1)) == 86_400_000


def test_an_unsigned_number_is_told_from_a_signed_one_and_equals_it() -> None:
    assert Unsigned(MAX_UNSIGNED) == 2**64 - 1
    assert isinstance(Unsigned(5), int)
    assert not isinstance(5, Unsigned)


def test_entities_with_other_attributes_are_others() -> None:
    assert Entity({"error": 1}) == Entity({"error": 1}) != Entity({})
