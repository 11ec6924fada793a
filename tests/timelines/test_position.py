"""Timelines of the specification: verdicts on one position."""

from __future__ import annotations

from queue_agent.core.verdicts.values import Verdict
from tests.timelines.timelines import Timeline, steady, warm

HOUR = 3600


def _counts(line: Timeline) -> tuple[int, int]:
    assert line.position is not None
    return line.position.ledger.counts.lost, line.position.ledger.counts.possibly_lost


def test_01_a_queue_without_rows_makes_idle() -> None:
    line = Timeline()
    line.run(600, steady(line, 10, 100))
    line.run(4 * HOUR)
    assert line.verdicts == ["idle"]


def test_02_a_dead_reader_is_stopped_in_two_minutes() -> None:
    line = warm()
    at = line.run(600, steady(line, 10, 0)) - 600
    assert line.verdicts == ["stopped"]
    assert line.first(Verdict.STOPPED, at) <= 130


def test_03_a_reader_that_had_no_lag_is_stopped_as_soon() -> None:
    line = Timeline()
    at = line.run(HOUR, steady(line, 1, 9))
    line.run(600, steady(line, 100, 0))
    assert line.verdicts == ["stopped"]
    assert line.first(Verdict.STOPPED, at) <= 130


def test_12_the_same_offset_again_and_again_is_stalled() -> None:
    line = warm()

    def act(_: int) -> None:
        line.write(10)
        line.commit(line.offset)

    line.run(600, act)
    assert line.verdicts == ["stalled"]
    assert line.first(Verdict.STALLED, HOUR) <= 130


def test_22_an_offset_read_late_is_not_ahead() -> None:
    line = warm()

    def act(index: int) -> None:
        line.write(10)
        line.commit(line.end + (5 if index % 3 == 0 else 0))

    line.run(HOUR, act)
    assert line.verdicts == []


def test_23_available_rows_without_an_offset() -> None:
    line = Timeline(has_offset=False)
    line.write(1050)
    line.trim(1000)
    line.run(2 * HOUR)
    assert line.verdicts == ["not_started"]
    assert line.reading().drainable == 50
    assert _counts(line) == (0, 0)


def test_24_no_rows_and_no_offset() -> None:
    line = Timeline(has_offset=False)
    line.write(1000)
    line.trim(1000)
    line.run(2 * HOUR)
    assert line.verdicts == ["idle"]
    assert _counts(line) == (0, 0)


def test_26_commits_twice_a_second() -> None:
    line = Timeline()

    def act(_: int) -> None:
        line.write(10)
        line.read(5)
        line.read(100)

    line.run(HOUR, act)
    assert line.verdicts == []


def test_27_an_unmounted_queue_is_unreadable() -> None:
    line = warm()
    line.is_readable = False
    line.run(600)
    line.is_readable = True
    line.run(600, steady(line, 10, 100))
    assert line.verdicts == ["unreadable", "ok"]


def test_28_a_reader_died_while_the_agent_was_away() -> None:
    line = warm()
    line.is_agent_up = False
    at = line.run(HOUR, steady(line, 10, 0))
    line.is_agent_up = True
    line.run(60, steady(line, 10, 0))
    assert line.verdicts == ["stopped"]
    assert line.first(Verdict.STOPPED, at) <= 2


def test_32_time_that_goes_back_changes_nothing() -> None:
    line = warm()
    before = line.position
    for index in range(5):
        line.write(1000)
        line.poll_at(line.now - 600 + index)
    assert line.position is before


def test_34_without_timestamps_a_dead_reader_is_stopped_as_soon() -> None:
    line = warm(has_ages=False)
    line.run(600, steady(line, 10, 0))
    assert line.verdicts == ["stopped"]
    assert line.first(Verdict.STOPPED, HOUR) <= 130
