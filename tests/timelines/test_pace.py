"""Timelines of the specification: what is usual for a consumer, and is never called stopped."""

from __future__ import annotations

from queue_agent.core.verdicts.values import Verdict
from tests.timelines.timelines import Timeline, steady, warm

DAY = 86400
HOUR = 3600


def test_04_a_queue_used_an_hour_a_day_is_never_red() -> None:
    line = Timeline(30)
    for _ in range(5):
        line.run(HOUR, steady(line, 150, 1500))
        line.run(23 * HOUR)
    assert not line.has_red()


def test_05_rare_rows_are_no_silence() -> None:
    line = Timeline(10)

    def act(index: int) -> None:
        if index % 720 == 0:
            line.write(1)
        if index % 720 == 1:
            line.read(1)

    line.run(5 * DAY + 20, act)
    assert not line.has_red()
    at = line.run(2 * HOUR)
    line.write(1)
    line.run(HOUR)
    assert line.first(Verdict.STOPPED, at) <= 140


def test_06_an_hourly_job_is_stopped_when_it_misses_its_second_run() -> None:
    line = Timeline(30)

    def act(index: int) -> None:
        line.write(300)
        if index % 120 == 0:
            line.read(10**9)

    at = line.run(3 * DAY, act)
    assert line.verdicts == ["waiting", "ok"]
    assert line.first(Verdict.OK, 1) < 2 * HOUR + 60
    line.run(4 * HOUR, lambda _: line.write(300))
    assert 1.9 * HOUR <= line.first(Verdict.STOPPED, at) <= 2.6 * HOUR


def test_07_a_reader_for_ten_minutes_an_hour_becomes_a_habit() -> None:
    line = Timeline(30)

    def act(index: int) -> None:
        line.write(300)
        if index % 120 < 20:
            line.read(10**9)

    line.run(3 * DAY, act)
    assert line.count(Verdict.STOPPED) <= 3
    assert line.first(Verdict.STOPPED, 3 * HOUR + 60) == float("inf")


def test_08_a_daily_job_is_stopped_when_it_misses_its_second_run() -> None:
    line = Timeline(60)

    def act(index: int) -> None:
        line.write(60)
        if index % 1440 == 0:
            line.read(10**9)

    at = line.run(10 * DAY, act)
    assert not line.has_red()
    line.run(3 * DAY, lambda _: line.write(60))
    assert DAY < line.first(Verdict.STOPPED, at) < 2.3 * DAY


def test_09_nights_and_weekends_become_habits() -> None:
    line = Timeline(300)

    def act(index: int) -> None:
        line.write(3000)
        minute = index * 5
        day, hour = minute // 1440 % 7, minute % 1440 / 60
        if minute % 60 == 0 and day < 5 and 8 <= hour <= 20:
            line.read(10**9)

    line.run(6 * 7 * DAY, act)
    stopped = [one.at for one in line.changes if one.verdict is Verdict.STOPPED]
    assert len(stopped) <= 6
    assert max(stopped, default=0) < 21 * DAY


def test_29_a_reader_was_fine_while_the_agent_was_away() -> None:
    line = warm()
    line.is_agent_up = False
    line.run(HOUR, steady(line, 10, 100))
    line.is_agent_up = True
    line.run(HOUR, steady(line, 10, 100))
    assert line.verdicts == []
    assert (line.pace.patience(line.now) or 0) <= 130


def test_33_an_outage_is_no_habit() -> None:
    line = Timeline(5)
    line.run(6 * HOUR, steady(line, 50, 500))
    line.run(2 * HOUR, steady(line, 50, 0))
    at = line.run(2 * HOUR, steady(line, 50, 500))
    line.run(HOUR, steady(line, 50, 0))
    assert line.first(Verdict.STOPPED, at) <= 135


def test_36_one_commit_tells_no_pace() -> None:
    line = Timeline(10)
    line.write(100)
    line.read(100)
    line.run(6 * HOUR, lambda _: line.write(100))
    assert line.verdicts == ["waiting"]


def test_38_a_reader_that_is_up_each_fifth_minute() -> None:
    line = Timeline(5)
    line.run(HOUR, steady(line, 50, 500))
    line.run(6 * HOUR, lambda index: steady(line, 50, 500 if index % 60 < 12 else 0)(index))
    assert line.count(Verdict.STOPPED) <= 3
    assert line.verdicts[-1] == "ok"


def test_39_a_slower_reader_becomes_a_habit() -> None:
    line = Timeline(5)
    line.run(6 * HOUR, lambda index: steady(line, 50, 10**6 if index % 4 == 0 else 0)(index))
    line.run(6 * HOUR, lambda index: steady(line, 50, 10**6 if index % 40 == 0 else 0)(index))
    assert line.count(Verdict.STOPPED) <= 3
