"""Verdicts that only time changes."""

from __future__ import annotations

from dataclasses import replace

from queue_agent.core.verdicts.position import Poll, judge, next_deadline, observe
from queue_agent.core.verdicts.race import Race
from queue_agent.core.verdicts.values import Verdict
from tests.timelines.timelines import steady, warm

DAY = 86400
HOUR = 3600


def test_a_quiet_time_without_evaluations_counts_all_the_same() -> None:
    line = warm()
    line.write(10)
    line.run(1)
    assert line.position is not None
    seen_at = line.position.seen_at
    later, _, _ = observe(line.position, line.reading(), (), line.pace, Poll(seen_at + 99, seen_at + 100, False))
    assert later.silent - line.position.silent == 100
    assert later.still - line.position.still == 100


def test_a_verdict_that_time_changes_has_a_deadline() -> None:
    line = warm()
    line.commit(line.end + 5)
    line.run(2)
    assert line.position is not None
    since = line.position.ahead_since
    assert since is not None
    assert next_deadline(line.position, 120.0, line.now) == since + 60
    line.run(59)
    assert next_deadline(line.position, 120.0, line.now + 10**6) == float("inf")


def test_losses_are_forgiven_after_a_day() -> None:
    line = warm()
    line.run(5, steady(line, 100, 0))
    line.trim(line.end)
    line.run(2)
    line.commit(line.end)
    line.run(1)
    line.step = 600.0
    line.run(DAY + HOUR)
    assert line.verdicts == ["losing", "lost", "idle"]


def test_one_that_loses_a_little_for_long_is_racing() -> None:
    line = warm()
    assert line.position is not None
    race = Race(line.now, line.end, 10, line.now, is_lasting=True)
    judged = judge(replace(line.position, race=race), 120.0, 900.0, line.now, is_known=True)
    assert judged.verdict is Verdict.RACING


def test_one_that_commits_the_same_offset_again_is_stalled() -> None:
    line = warm()

    def act(_: int) -> None:
        line.write(10)
        line.commit(line.offset)

    line.run(150, act)
    assert line.verdicts == ["stalled"]


def test_a_late_reader_that_is_quicker_than_its_producer_catches_up() -> None:
    line = warm()
    line.run(400, steady(line, 10, 1))
    line.run(900, steady(line, 10, 13))
    assert line.verdicts[-2:] == ["lagging", "catching_up"]
