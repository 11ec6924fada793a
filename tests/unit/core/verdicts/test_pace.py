"""How long a consumer usually pauses."""

from __future__ import annotations

from queue_agent.core.verdicts.pace import LEAST_PATIENCE, Pace

HOUR = 3600
DAY = 24 * HOUR


def test_a_pace_is_known_for_years() -> None:
    pace = Pace()
    for week in range(60):
        pace = pace.learned(100.0, week * 7 * DAY)
    assert pace.usual == 2 ** (27 / 4)
    assert sum(pace.seconds.values()) < 2**50


def test_three_silences_alike_are_a_habit_which_each_gap_of_that_length_keeps() -> None:
    pace, now = Pace(gaps=100), 0.0
    for _ in range(3):
        now += 1000.0
        assert pace.patience(now) == LEAST_PATIENCE
        pace = pace.interrupted(600.0, now)
    assert pace.patience(now) == 2 * 600.0
    assert pace.learned(500.0, now + HOUR).patience(now + 2 * HOUR) == 2 * 600.0
    assert pace.patience(now + 2 * HOUR) == LEAST_PATIENCE
