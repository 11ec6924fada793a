"""Verdicts that only time changes."""

from __future__ import annotations

from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.pace import UNKNOWN_PACE
from queue_agent.core.verdicts.position import Poll, judge, next_deadline, observe, open_position
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
    later, _, _ = observe(line.position, line.reading(), (), line.pace, Poll(seen_at + 99, seen_at + 100, False, True))
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


def test_one_that_is_ahead_when_it_is_first_seen_is_judged_again_in_a_minute() -> None:
    opened = open_position(Reading(0, 10, 200, 900.0, "1"), 1000.0)
    assert next_deadline(opened, 120.0, 1000.0) == 1060.0
    whole = open_position(Reading(0, 300, 200, 900.0, "1"), 1000.0)
    again, _, _ = observe(
        whole, Reading(0, 10, 200, 900.0, "2"), (), UNKNOWN_PACE, Poll(1000.0, 1001.0, is_blind=False, is_watched=True)
    )
    assert again.ahead_since == 1001.0


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
    judged = judge(line.position._replace(race=race), 120.0, 900.0, line.now, is_known=True)
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


def test_rows_without_a_time_that_were_written_while_nobody_polled_are_not_old() -> None:
    line = warm()
    assert line.position is not None
    seen_at = line.position.seen_at
    line.write(10)
    written = line.reading()._replace(next_row_time=None)
    blind, _, _ = observe(
        line.position, written, (), line.pace, Poll(seen_at, seen_at + 600, is_blind=True, is_watched=True)
    )
    assert (blind.silent, blind.still) == (0.0, 0.0)
    seen, _, _ = observe(
        line.position, written, (), line.pace, Poll(seen_at, seen_at + 5, is_blind=False, is_watched=True)
    )
    assert (seen.silent, seen.still) == (5.0, 5.0)
    waiting, _, _ = observe(
        seen, written, (), line.pace, Poll(seen_at + 5, seen_at + 600, is_blind=True, is_watched=True)
    )
    assert waiting.silent == 600, "those were there before"
