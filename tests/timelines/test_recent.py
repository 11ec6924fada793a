"""Timelines of the specification: consumers that are behind."""

from __future__ import annotations

from queue_agent.core.verdicts.values import Verdict
from tests.timelines.timelines import Timeline, steady, warm

HOUR = 3600


def _slow(line: Timeline) -> None:
    def act(index: int) -> None:
        line.write(100)
        line.read(150 if index % 7 == 0 else 60)

    line.run(2 * HOUR, act)


def test_10_a_slow_reader_lags_in_spite_of_lucky_commits() -> None:
    line = warm()
    _slow(line)
    assert line.verdicts == ["lagging"]
    assert line.first(Verdict.LAGGING, HOUR) <= 30 * 60


def test_11_a_constant_small_lag_is_fine() -> None:
    line = Timeline()

    def act(_: int) -> None:
        line.write(100)
        if line.end > 200:
            line.commit(line.end - 200)

    line.run(2 * HOUR, act)
    assert line.verdicts == []


def test_25_a_large_backlog_is_worked_off() -> None:
    line = Timeline()
    line.write(10**6)
    line.run(3 * HOUR, steady(line, 10, 200))
    assert line.verdicts == ["catching_up", "ok"]


def test_35_bursts_are_worked_off() -> None:
    line = Timeline()

    def act(index: int) -> None:
        if index % 1800 < 5:
            line.write(20_000)
        line.read(500)

    line.run(6 * HOUR, act)
    assert {one.verdict for one in line.changes} <= {Verdict.OK, Verdict.CATCHING_UP}


def test_40_a_slow_reader_that_dies() -> None:
    line = warm()
    _slow(line)
    at = line.run(600, steady(line, 100, 0)) - 600
    assert line.verdicts == ["lagging", "stopped"]
    assert line.first(Verdict.STOPPED, at) <= 130


def test_41_a_slow_reader_that_becomes_fast() -> None:
    line = warm()
    _slow(line)
    line.run(HOUR, steady(line, 100, 400))
    assert line.verdicts == ["lagging", "catching_up", "ok"]
