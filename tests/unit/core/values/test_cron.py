"""Cron expressions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.cron import CronExpression

FRIDAY = datetime(2024, 5, 31, 12, 34, 56, tzinfo=UTC)


def second(moment: datetime) -> int:
    return int(moment.timestamp())


def following(text: str, moment: datetime = FRIDAY) -> str:
    found = CronExpression.parse(text).following(second(moment))
    return datetime.fromtimestamp(found, UTC).strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2024-05-31 12:35:00"),
        ("0/3 * * * * *", "2024-05-31 12:34:57"),
        ("*/15 * * * *", "2024-05-31 12:45:00"),
        ("5-20/5 13 * * *", "2024-05-31 13:05:00"),
        ("0 0 * * *", "2024-06-01 00:00:00"),
        ("0 0 12 * * ?", "2024-06-01 12:00:00"),
        ("0 0 1 JAN *", "2025-01-01 00:00:00"),
        ("0 9 * * MON-FRI", "2024-06-03 09:00:00"),
        ("0 9 * * FRI-MON", "2024-06-01 09:00:00"),
        ("0 9 * * 7", "2024-06-02 09:00:00"),
        ("0 9 * * 0", "2024-06-02 09:00:00"),
        ("0 0 13 * 5", "2024-09-13 00:00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00:00"),
        ("0 0 L * *", "2024-06-30 00:00:00"),
        ("0 0 L-2 * *", "2024-06-28 00:00:00"),
        ("0 0 LW * *", "2024-06-28 00:00:00"),
        ("0 0 15W * *", "2024-06-14 00:00:00"),
        ("0 0 1W * *", "2024-06-03 00:00:00"),
        ("0 0 W * *", "2024-06-03 00:00:00"),
        ("0 0 * * 5L", "2024-06-28 00:00:00"),
        ("0 0 * * MON#2", "2024-06-10 00:00:00"),
        ("0 0 * * MON#-1", "2024-06-24 00:00:00"),
        ("0 0 0 1 1 ? 2026", "2026-01-01 00:00:00"),
        ("@hourly", "2024-05-31 13:00:00"),
        ("@daily", "2024-06-01 00:00:00"),
        ("@weekly", "2024-06-02 00:00:00"),
        ("@monthly", "2024-06-01 00:00:00"),
        ("@yearly", "2025-01-01 00:00:00"),
        ("@secondly", "2024-05-31 12:34:57"),
    ],
)
def test_the_next_moment(text: str, expected: str) -> None:
    assert following(text) == expected


def test_a_moment_is_neither_after_nor_before_itself() -> None:
    noon = second(datetime(2024, 5, 31, 12, tzinfo=UTC))
    hourly = CronExpression.parse("@hourly")
    assert (hourly.preceding(noon), hourly.following(noon)) == (noon - 3600, noon + 3600)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty expression"),
        ("* * * *", "must consist of 5-7 fields but has: 4"),
        ("* * * * * * * *", "but has: 8"),
        ("@reboot", "not implemented"),
        ("@never", "Unknown typed cron"),
        ("60 * * * *", "exceeds maximum"),
        ("* * 0 * *", "less than minimum"),
        ("5-1 * * * *", "start exceeds range end"),
        ("*/0 * * * *", "at least 1"),
        ("L * * * *", "allowed only for day"),
        ("* * * * MON#6", "only with -5..5"),
        ("* * * * MON#1,TUE#2", "More than one"),
        ("x * * * *", "cannot be read"),
        ("! * * * *", "Unknown field"),
        ("1- * * * *", "cannot be read"),
        ("1 2 3 4 5 6 x", "cannot be read"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CronExpression.parse(text)


def test_a_day_that_never_comes_is_not_looked_for_for_ever() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        following("0 0 30 2 *")
    with pytest.raises(ValueError, match="does not exist"):
        CronExpression.parse("0 0 0 1 1 ? 2100").preceding(second(FRIDAY))


@given(
    st.sampled_from(["*/7 */5 * * * *", "0 0 * * 5L", "@secondly", "0 0 LW * *", "3,9-40/4 1 * 2-8 *", "0 0 15W * *"]),
    st.integers(1_600_000_000, 1_900_000_000),
)
def test_between_a_moment_and_the_one_after_it_there_is_none(text: str, now: int) -> None:
    expression = CronExpression.parse(text)
    end = expression.following(now)
    begin = expression.preceding(end)
    assert begin <= now < end
    assert expression.following(begin) == end


def test_the_last_day_of_a_week_is_sunday() -> None:
    assert following("0 9 * * L") == "2024-06-02 09:00:00"


@pytest.mark.parametrize(
    ("text", "words"), [("1-2-3 * * * *", "cannot be read"), ("0 0 * L *", "allowed only for day")]
)
def test_what_is_left_over_in_a_field_or_stands_in_another_one_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CronExpression.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 18W 6 *", "2024-06-18"),  # a Tuesday
        ("0 0 15W 6 *", "2024-06-14"),  # a Saturday
        ("0 0 1W 6 *", "2024-06-03"),  # one on which the month begins
        ("0 0 16W 6 *", "2024-06-17"),  # a Sunday
        ("0 0 30W 6 *", "2024-06-28"),  # one on which the month ends
    ],
)
def test_the_workday_nearest_to_a_day_is_in_the_same_month(text: str, expected: str) -> None:
    assert following(text) == f"{expected} 00:00:00"
