"""Timelines of the specification: consumers that are behind."""

from __future__ import annotations

from math import pi, sin
from random import Random

import pytest

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


def _backlog(hours: int, *, at_once: bool) -> Timeline:
    """The reader comes back after so many hours, and is then as slow as producers for an hour."""
    line = warm()
    if at_once:
        line.write(10 * hours * HOUR)
    line.run(hours * HOUR, steady(line, 0 if at_once else 10, 0))
    line.run(HOUR, steady(line, 10, 10))
    assert line.verdicts[-1] == "lagging"
    return line


@pytest.mark.parametrize(
    ("at_once", "written", "read"),
    [(False, 10, 15), (False, 0, 10), (True, 0, 10), (True, 7, 10)],
    ids=["faster", "no producers", "a burst", "a burst, and producers"],
)
def test_whoever_reads_more_than_is_written_catches_up_however_old_its_rows_are(
    at_once: bool, written: int, read: int
) -> None:
    line = _backlog(8, at_once=at_once)
    at = line.run(1) - 1
    line.run(2 * HOUR, steady(line, written, read))
    assert [one.verdict.value for one in line.since(at)] == ["lagging", "catching_up"]
    assert line.first(Verdict.CATCHING_UP, at) <= 15 * 60


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("delay", "varies", "bursts", "swings"),
    [(125, 0.0, 0.0, 0.0), (125, 0.1, 0.3, 0.0), (125, 0.05, 1.0, 0.0), (130, 0.1, 0.3, 0.5), (300, 0.1, 0.3, 0.5)],
    ids=["evenly", "unevenly", "in bursts", "with the hours", "five minutes"],
)
def test_a_reader_that_is_minutes_behind_on_purpose_lags_all_the_time(
    delay: int, varies: float, bursts: float, swings: float, seed: int
) -> None:
    """Its distance varies, and so do the rows that producers write: by themselves, and in the course of an hour."""
    chance, line = Random(seed), Timeline()
    ends = [0]
    next_commit = 0

    def act(second: int) -> None:
        nonlocal next_commit
        rate = 10 * (1 + swings * sin(2 * pi * second / HOUR))
        line.write(max(0, int(chance.gauss(rate, bursts * rate) + chance.random())))
        ends.append(line.end)
        if second < next_commit:
            return
        seen = ends[max(0, second - int(delay * (1 + chance.uniform(-varies, varies))))]
        line.commit(max(line.offset, seen))
        next_commit = second + max(1, int(chance.expovariate(1 / 5)))

    line.run(3 * HOUR, act)
    assert line.verdicts == ["lagging"]
