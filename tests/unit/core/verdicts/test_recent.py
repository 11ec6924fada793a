"""Rates of the recent past."""

from __future__ import annotations

from typing import Any, cast

import pytest

from queue_agent.core.verdicts.recent import PARTS, UNKNOWN_RATES, Recent
from queue_agent.core.verdicts.values import Rate


def _about(rows: float, share: float = 1e-6) -> Any:
    return Rate(*3 * [cast(float, pytest.approx(rows, rel=share))])


def test_parts_are_merged_when_the_window_has_become_longer() -> None:
    recent, now = Recent(known_since=0.0), 0.0
    for window in (900.0, 9000.0, 90_000.0, 900_000.0, 9_000_000.0):
        step = window / 900
        for _ in range(450):
            recent, now = recent.after(now, now + step, window, 2, 3, (1.0, 5)), now + step
            assert len(recent.parts) <= 2 * PARTS
    assert recent.parts[0].since < recent.parts[0].until == recent.parts[1].since
    read, written = recent.rates(now, 9_000_000.0)
    assert read is not None
    assert written is not None
    assert 0 < read.low <= read.mean < written.mean


def test_ages_that_nobody_knows_make_no_consumer_late() -> None:
    recent = Recent().after(0.0, 1.0, 900.0, 2, 3, (None, 5))
    assert recent.trend(120.0, 900.0, was_behind=True, was_falling=False) is None


def _advancing(*ages: float) -> Recent:
    """One age a minute, in which there are four commits; each minute is a part of the window."""
    recent, now = Recent(known_since=0.0), 0.0
    for age in ages:
        for _ in range(4):
            recent, now = recent.after(now, now + 15.0, 900.0, 2, 3, (age, 5)), now + 15.0
    return recent


def test_a_consumer_was_late_in_minutes_that_have_ended() -> None:
    late = _advancing(*[300.0] * 6, 1.0)
    assert late.trend(120.0, 900.0, was_behind=False, was_falling=False) is not None
    fresh = _advancing(*[1.0] * 6)
    assert fresh.trend(120.0, 900.0, was_behind=False, was_falling=False) is None


def test_a_consumer_is_late_in_the_minute_that_has_begun() -> None:
    late = _advancing(1.0, 300.0)
    assert late.trend(120.0, 900.0, was_behind=False, was_falling=False) is not None


def _falls(*minutes: tuple[float | None, int], was: bool = False, written: int = 3) -> bool:
    """By the age of the next row and the number of unread rows at the four commits of each minute, of two rows each."""
    recent, now = Recent(known_since=0.0), 0.0
    for advance in minutes:
        for _ in range(4):
            recent, now = recent.after(now, now + 15.0, 900.0, 2, written, advance), now + 15.0
    found = recent.trend(120.0, 900.0, was_behind=True, was_falling=was)
    assert found is not None
    assert found.is_certain
    return found.falls


def test_a_consumer_catches_up_if_each_late_age_is_clearly_below_each_early_one() -> None:
    """By more than a twentieth of the six minutes between them."""
    early = [(300.0, 50), (290.0, 50), (310.0, 50), *[(300.0, 50)] * 3]
    assert _falls(*early, *[(271.0, 50)] * 3)
    assert not _falls(*early, (273.0, 50), (200.0, 50), (200.0, 50))


def test_a_consumer_catches_up_until_it_does_no_longer() -> None:
    steady = [(300.0, 50)] * 6
    assert _falls(*steady, *[(299.0, 50)] * 3, was=True)
    assert not _falls(*steady, *[(299.0, 50)] * 3)
    assert not _falls(*steady, *[(300.0, 50)] * 3, was=True)


@pytest.mark.parametrize("was", [False, True])
def test_fewer_unread_rows_are_progress_if_they_were_written_at_once(was: bool) -> None:
    """They grow older together. A reader at a constant distance has fewer if fewer are written."""
    fewer = [900 - 50 * minute for minute in range(9)]
    assert _falls(*((300.0 + 60 * minute, rows) for minute, rows in enumerate(fewer)), was=was)
    assert not _falls(*((300.0 + 60 * minute, 900) for minute in range(9)), was=was)
    assert not _falls(*((300.0 + 20 * minute, rows) for minute, rows in enumerate(fewer)), was=was)
    assert not _falls(*((300.0, rows) for rows in fewer), was=was)


@pytest.mark.parametrize("was", [False, True])
def test_fewer_unread_rows_are_progress_if_hardly_any_are_written(was: bool) -> None:
    fewer = [(300.0, 900 - 50 * minute) for minute in range(9)]
    assert _falls(*fewer, was=was, written=1)
    assert not _falls(*fewer, was=was, written=2)
    assert not _falls(*[(300.0, 900)] * 9, was=was, written=1)


@pytest.mark.parametrize("was", [False, True])
def test_unread_rows_judge_alone_while_early_ages_are_not_known(was: bool) -> None:
    assert _falls(*[(None, 500)] * 6, *[(300.0, 400)] * 3, was=was)
    assert not _falls(*[(None, 500)] * 6, *[(300.0, 500)] * 3, was=was)


def test_minutes_before_a_step_back_make_no_consumer_late() -> None:
    recent = _advancing(*[300.0] * 6).restarted(10_000.0)
    assert recent.trend(120.0, 900.0, was_behind=False, was_falling=False) is None


def test_rates_are_known_after_a_third_of_the_window() -> None:
    recent = Recent(known_since=0.0)
    for second in range(1, 300):
        recent = recent.after(second - 1.0, float(second), 900.0, 2, 3, None)
    assert Recent().rates(299.0, 900.0) == recent.rates(299.0, 900.0) == UNKNOWN_RATES
    recent = recent.after(299.0, 300.0, 900.0, 2, 3, None)
    read, written = recent.rates(300.0, 900.0)
    assert read == _about(2.0)
    assert written == _about(3.0)


def test_time_in_which_nothing_happens_counts() -> None:
    recent = Recent(known_since=0.0)
    for minute in range(1, 31):
        recent = recent.after(60.0 * minute - 1, 60.0 * minute, 900.0, 0, 600, None)
    assert recent.rates(1800.0, 900.0).written == _about(10.0, 0.1)
    assert recent.rates(9000.0, 900.0).written == Rate(0.0, 0.0, 0.0)
    again = recent.after(8999.0, 9000.0, 900.0, 0, 900, None)
    assert again.rates(9000.0, 900.0).written == Rate(1.0, 0.0, 1.0)


def test_what_was_before_a_window_that_has_become_longer_is_not_known() -> None:
    recent = Recent(known_since=0.0)
    for second in range(1, 3600):
        recent = recent.after(second - 1.0, float(second), 900.0, 2, 3, None)
    assert recent.rates(3599.0, 3600.0) == UNKNOWN_RATES
    for second in range(3600, 7200):
        recent = recent.after(second - 1.0, float(second), 3600.0, 2, 3, None)
    assert recent.rates(7199.0, 3600.0).read == _about(2.0)
