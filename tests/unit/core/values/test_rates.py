"""Moving averages of counts."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.rates import EmaCounter, total

START = datetime(2025, 1, 23, 13, 42, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_the_first_count_is_no_rate() -> None:
    counter = EmaCounter().updated(1000, START)
    assert set(counter.served(START).values()) == {0.0}
    assert counter.count == 1000


def test_the_time_constant_is_half_the_window() -> None:
    counter = EmaCounter().updated(0, START).updated(120, at(10))
    assert counter.immediate_rate == 12.0
    assert counter.minute_rate == pytest.approx(12 * (1 - math.exp(-10 / 30)))
    assert counter.hour_rate == pytest.approx(12 * (1 - math.exp(-10 / 1800)))
    assert counter.day_rate == pytest.approx(12 * (1 - math.exp(-10 / 43200)))


def test_a_young_counter_shows_the_immediate_rate_and_its_raw_average() -> None:
    rates = EmaCounter().updated(0, START).updated(10, at(1)).served(at(1))
    assert rates["current"] == rates["1m"] == rates["1h"] == rates["1d"] == 10.0
    assert rates["1m_raw"] < 1.0


def test_a_window_that_is_not_filled_shows_the_next_shorter_one() -> None:
    counter = EmaCounter().updated(0, START).updated(100, at(61)).updated(100, at(62))
    rates = counter.served(at(62))
    assert rates["current"] == 0.0
    assert rates["1m"] == rates["1h"] == rates["1d"] == counter.minute_rate
    assert counter.served(at(3600))["1h"] == counter.hour_rate


def test_whether_a_window_is_filled_is_decided_when_served() -> None:
    counter = EmaCounter().updated(0, START).updated(50, at(10)).updated(50, at(20))
    assert counter.served(at(59.9))["1m"] == 0.0
    assert counter.served(at(60))["1m"] == counter.minute_rate > 0


def test_a_count_that_goes_down_is_a_rate_of_zero_and_goes_on_from_there() -> None:
    counter = EmaCounter().updated(100, START).updated(40, at(1))
    assert counter.immediate_rate == 0.0
    assert counter.updated(45, at(2)).immediate_rate == 5.0


def test_an_update_that_is_not_later_is_ignored() -> None:
    counter = EmaCounter().updated(1, START)
    assert counter.updated(5, START) == counter
    assert counter.updated(5, at(-1)) == counter


def test_a_sum_is_as_young_as_its_youngest_part() -> None:
    old = EmaCounter().updated(0, START).updated(100, at(100))
    young = EmaCounter().updated(0, at(99)).updated(7, at(100))
    both = total([old, young, EmaCounter()])
    assert both.count == 107
    assert both.immediate_rate == 8.0
    assert both.served(at(100))["1m"] == 8.0


def test_the_sum_of_nothing_is_zero() -> None:
    assert total([]) == EmaCounter()


@given(st.lists(st.tuples(st.integers(0, 10**12), st.floats(0.001, 10**6)), max_size=20))
def test_rates_are_never_negative_nor_above_the_fastest_growth(steps: list[tuple[int, float]]) -> None:
    counter, seconds, fastest = EmaCounter(), 0.0, 0.0
    for count, pause in steps:
        seconds += pause
        counter = counter.updated(count, at(seconds))
        fastest = max(fastest, counter.immediate_rate)
    assert all(0.0 <= rate <= fastest * (1 + 1e-9) for rate in counter.served(at(seconds)).values())
