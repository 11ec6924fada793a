"""Numbers and times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from queue_agent.cli import words

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "?"),
        (0, "0"),
        (1, "< 1 s"),
        (999, "< 1 s"),
        (1000, "1 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (3_661_000, "1 h 1 min"),
        (90_000_000, "1 d 1 h"),
        (86_460_000, "1 d"),
    ],
)
def test_durations_have_their_two_largest_units(milliseconds: int | None, text: str) -> None:
    assert words.duration(milliseconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "?"), (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 << 20, "1.5 GiB"), (5 << 70, "5120.0 EiB")],
)
def test_amounts_have_binary_units(value: float | None, text: str) -> None:
    assert words.amount(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "?"), (0.0, "0"), (0.004, "0"), (0.5, "0.50/s"), (12.4, "12/s"), (12345.0, "12,345/s")]
)
def test_rates_that_are_the_rest_of_an_average_are_nothing(value: float | None, text: str) -> None:
    assert words.rate(value) == text


def test_what_is_not_known_is_not_shown_as_a_value() -> None:
    assert [show(None) for show in (words.count, words.amount, words.rate, words.byte_rate, words.duration)] == [
        "?"
    ] * 5


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (None, "never"),
        ("2026-01-01T12:00:00.000000Z", "just now"),
        ("2026-01-01T12:00:05.000000Z", "just now"),  # another clock is ahead
        ("2026-01-01T11:57:30.000000Z", "2 min 30 s ago"),
    ],
)
def test_ages_are_never_negative(instant: str | None, text: str) -> None:
    assert words.age(instant, NOW) == text
