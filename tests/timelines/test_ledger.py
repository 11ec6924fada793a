"""Timelines of the specification: rows lost, skipped and read again."""

from __future__ import annotations

from queue_agent.core.verdicts.values import Verdict
from tests.timelines.timelines import START, Timeline, steady, warm

HOUR = 3600


def _counts(line: Timeline) -> tuple[int, int]:
    assert line.position is not None
    return line.position.ledger.counts.lost, line.position.ledger.counts.possibly_lost


def _racing(line: Timeline, *, own: bool = True) -> None:
    """Case 15: producers write 500 rows a second, the reader comes every other second, and trims leave 100 rows."""

    def act(index: int) -> None:
        line.write(500)
        if index % 2 == 0:
            line.read(800)
        line.trim(line.end - 100, own=own)

    line.run(HOUR, act)


def test_13_a_step_back_is_caught_up_with() -> None:
    line = warm()
    line.commit(line.offset - 20_000)
    line.run(HOUR, steady(line, 10, 60))
    assert line.verdicts == ["catching_up", "ok"]
    assert _counts(line) == (0, 0)
    assert line.position is not None
    assert line.position.ledger.counts.rewinds == 1
    assert line.position.ledger.counts.replayed == 20_000 - 60  # as many are read before the agent sees the step back


def test_14_a_step_back_before_trimmed_rows_loses_nothing() -> None:
    line = warm()
    line.trim(30_000)
    line.commit(0)
    line.run(HOUR, steady(line, 10, 90))
    assert line.verdicts == ["catching_up", "ok"]
    assert _counts(line) == (0, 0)


def test_15_rows_trimmed_ahead_of_a_reader_are_counted() -> None:
    line = warm()
    _racing(line)
    assert line.verdicts == ["losing"]
    assert line.first(Verdict.LOSING, HOUR) <= 5
    lost, possible = _counts(line)
    assert line.truly_lost == lost + possible
    assert lost / HOUR > 99


def test_16_losing_becomes_lost_after_ten_minutes() -> None:
    line = warm()
    _racing(line)
    at = line.run(HOUR, steady(line, 10, 100)) - HOUR
    assert line.verdicts == ["losing", "lost"]
    assert 590 <= line.first(Verdict.LOST, at) <= 610


def test_17_trims_by_others_are_bounded() -> None:
    line = warm()
    _racing(line, own=False)
    lost, possible = _counts(line)
    assert line.verdicts == ["losing"]
    assert lost <= line.truly_lost <= lost + possible <= 451 * HOUR
    assert lost >= 99 * HOUR


def test_18_rows_in_flight_are_possibly_lost() -> None:
    line = Timeline()

    def act(index: int) -> None:
        line.write(500)
        if index % 2 == 0:
            pulled = line.end
            line.trim(line.end - 600)
            line.commit(pulled)

    line.run(HOUR, act)
    lost, possible = _counts(line)
    assert lost == 0
    assert possible > 0
    assert not line.has_red()


def test_19_a_silent_reader_loses_and_stays_stopped() -> None:
    line = warm()

    def act(_: int) -> None:
        line.write(10)
        line.trim(line.end - 5)

    line.run(HOUR, act)
    assert line.verdicts == ["losing"]
    assert line.position is not None
    assert line.position.activity is Verdict.STOPPED
    assert sum(_counts(line)) == line.start - line.offset


def test_20_everything_is_trimmed() -> None:
    line = warm()
    line.run(5, steady(line, 100, 0))
    line.trim(line.end)
    line.run(HOUR / 2)
    assert line.verdicts == ["losing", "lost"]


def test_21_a_queue_made_again() -> None:
    line = warm()
    line.write(700)
    line.poll_at(line.now + 0.5)
    at = line.now - START
    line.recreate()
    line.run(HOUR / 2, lambda _: line.write(1))
    assert line.verdicts == ["losing", "ahead"]
    assert line.first(Verdict.AHEAD, at) <= 62
    assert _counts(line)[0] == 700
    assert line.position is not None
    assert line.position.ledger.loss is not None
    assert line.position.ledger.loss.cause.value == "recreation"


def test_30_restarts_change_no_counter() -> None:
    plain, restarted = warm(), warm()
    _racing(plain)

    def act(index: int) -> None:
        restarted.write(500)
        if index % 2 == 0:
            restarted.read(800)
        restarted.trim(restarted.end - 100)
        if index % 37 == 0:
            restarted.restart()

    restarted.run(HOUR, act)
    assert _counts(restarted) == _counts(plain)
    assert restarted.verdicts == plain.verdicts


def test_31_a_trim_seen_from_an_old_row_is_counted_once() -> None:
    line = warm()
    old = line.position, line.pace, line.last_poll
    line.run(10, steady(line, 100, 0))
    line.trim(line.end - 50)
    trims = list(line.trims)
    line.run(1)
    first = _counts(line)
    line.position, line.pace, line.last_poll = old
    line.trims = trims
    line.poll_at(line.now)
    assert _counts(line) == first
    line.trims = trims
    line.run(1)
    assert _counts(line) == first


def test_37_a_jump_to_the_end_counts_as_reading() -> None:
    """Nobody tells an agent that a commit is a reset, whose rows are not read."""
    line = warm()
    assert line.position is not None
    line.run(100, steady(line, 100, 0))
    read = line.position.ledger.counts.read
    line.commit(line.end)
    line.run(60, steady(line, 100, 0))
    assert line.position.ledger.counts.read >= read + 9000
    assert _counts(line) == (0, 0)


def test_42_losing_does_not_end_when_the_reader_jumps() -> None:
    line = warm()

    def act(index: int) -> None:
        line.write(100)
        if index % 3 == 0:
            line.read(30)
        line.trim(line.end - 50)

    line.run(20 * 60, act)
    assert line.verdicts == ["losing"]
