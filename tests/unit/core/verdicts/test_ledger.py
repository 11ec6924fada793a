"""Numbered timelines of the specification: rows lost, skipped and read again."""

from __future__ import annotations

from dataclasses import replace

from queue_agent.core.verdicts.ledger import Claim, Ledger, Reading, Trim, account, is_unclear, open_ledger
from queue_agent.core.verdicts.values import MOST_COUNTED, Counts, Verdict
from tests.unit.core.verdicts.timelines import START, Timeline, steady, warm

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
    assert 99 < lost / HOUR < 101


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


def test_37_a_reset_skips_and_does_not_read() -> None:
    line = warm()
    assert line.position is not None
    line.run(100, steady(line, 100, 0))
    read = line.position.ledger.counts.read
    line.reset(line.end)
    line.run(60, steady(line, 100, 0))
    counts = line.position.ledger.counts
    assert counts.skipped >= 9000
    assert counts.read == read
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


def _opened(offset: int = 10) -> Ledger:
    return replace(open_ledger(Reading(0, 100, offset, START, "1-1", "a")), reach=5.0, reach_at=START)


def _settled(ledger: Ledger, reading: Reading, *trims: Trim) -> Ledger:
    return account(ledger, reading, trims, START + 1, is_blind=False, is_stopped=False).ledger


def test_a_commit_right_before_a_trim_is_reading_and_no_loss() -> None:
    """Without the offset of the trim, the 30 rows might have been trimmed first."""
    after = Reading(40, 100, 40, START + 1, "1-1", "a")
    known = _settled(_opened(), after, Trim(40, 40))
    assert known.counts == Counts(read=30)
    assert _settled(_opened(), after).counts.possibly_lost == 30


def _late(start: int, offset: int, read_at: float, looked_at: float) -> Reading:
    return Reading(start, 100, offset, read_at, "1-1", "a", read_at=read_at, looked_at=looked_at)


def test_a_commit_that_jumped_over_rows_which_were_gone_is_found_out() -> None:
    """The agent sees the commit first, with the queue as it was before the trim."""
    jumped = _settled(_opened(), _late(0, 100, START + 1, START))
    assert (jumped.accounted, jumped.confirmed) == (100, 10)
    gone = _late(60, 100, START + 2, START + 1.5)
    assert not is_unclear(jumped, gone, ()), "nobody waits for a record that may come late"
    told = _settled(jumped, gone, Trim(60, 10))
    assert told.counts.lost + told.counts.possibly_lost == 50
    assert told.confirmed == 100


def test_a_record_that_comes_late_still_tells_of_a_jump() -> None:
    jumped = _settled(_opened(), _late(0, 100, START + 1, START))
    doubtful = _settled(jumped, _late(60, 100, START + 2, START + 1.5))
    assert (doubtful.counts.lost + doubtful.counts.possibly_lost, doubtful.confirmed) == (0, 10)
    told = _settled(doubtful, _late(60, 100, START + 9, START + 8), Trim(60, 10))
    assert told.counts.lost + told.counts.possibly_lost == 50
    assert (told.confirmed, told.claim) == (100, None)


def test_the_offset_of_a_record_that_comes_late_is_not_where_the_reader_is() -> None:
    jumped = _settled(_opened(), _late(0, 100, START + 1, START))
    back = _settled(jumped, _late(60, 5, START + 2, START + 1.5))
    told = _settled(back, _late(60, 5, START + 4, START + 3), Trim(60, 10))
    assert told.counts.lost + told.counts.possibly_lost == 50
    assert (told.reading.offset, told.counts.rewinds) == (5, 1)
    assert told.counts.read == back.counts.read


def test_records_do_not_come_for_ever() -> None:
    jumped = _settled(_opened(), _late(0, 100, START + 1, START))
    doubtful = _settled(jumped, _late(60, 100, START + 11, START + 10))
    assert doubtful.confirmed == 10
    others = _settled(doubtful, _late(60, 100, START + 11.5, START + 11))
    assert (others.confirmed, others.claim) == (100, None)


def test_a_commit_counts_for_good_once_the_rows_are_seen_after_it() -> None:
    read = _settled(_opened(), _late(0, 50, START + 1, START))
    assert _settled(read, _late(0, 50, START + 2, START + 1)).confirmed == 10, "looked at before it"
    more = _settled(read, _late(0, 80, START + 2, START + 1.5))
    assert (more.confirmed, more.claim) == (50, Claim(80, START + 2))
    assert not is_unclear(more, _late(50, 80, START + 3, START + 2.5), ())


def test_rows_that_others_trim_right_after_a_commit_count_as_read() -> None:
    read = _settled(_opened(), _late(0, 50, START + 1, START))
    gone = _settled(read, _late(50, 50, START + 2, START + 1.5))
    assert (gone.counts.lost, gone.counts.possibly_lost) == (0, 0)


def test_a_commit_that_was_taken_back_at_once_counts_as_reading() -> None:
    read = _settled(_opened(), _late(0, 50, START + 1, START))
    back = _settled(read, _late(40, 20, START + 2, START + 1.5), Trim(40, 20))
    assert (back.counts.lost, back.counts.possibly_lost) == (0, 0)


def test_a_jump_that_is_followed_by_a_step_back_is_no_reading() -> None:
    jumped = _settled(_opened(), _late(0, 100, START + 1, START))
    back = _settled(jumped, _late(60, 5, START + 2, START + 1.5), Trim(60, 10))
    assert back.counts.lost + back.counts.possibly_lost == 50


def test_an_offset_that_a_trim_saw_later_than_the_poll_is_no_step_back() -> None:
    ledger = _settled(_opened(), Reading(30, 100, 12, START + 1, "1-1", "a"), Trim(30, 30))
    assert ledger.counts == Counts(read=20)
    assert ledger.reading.offset == 30
    later = _settled(ledger, Reading(30, 100, 30, START + 2, "1-1", "a"))
    assert later.counts == ledger.counts


def test_a_trim_whose_offset_could_not_be_read_loses_possibly() -> None:
    ledger = _settled(_opened(), Reading(40, 100, 10, START, "1-1", "a"), Trim(40, None))
    assert (ledger.counts.lost, ledger.counts.possibly_lost) == (0, 30)


def test_one_trim_of_unknown_weight_makes_that_of_the_incident_unknown() -> None:
    """And what is known of the others is still counted."""
    reading = Reading(80, 100, 10, START, "1-1", "a")
    ledger = _settled(_opened(), reading, Trim(40, 10, data_weight=300), Trim(80, 10))
    assert ledger.counts.lost == 60  # ten of them may be in flight
    assert ledger.counts.lost_data_weight == 200
    assert ledger.loss is not None
    assert ledger.loss.data_weight is None
    whole = _settled(_opened(), reading, Trim(40, 10, data_weight=300), Trim(80, 10, data_weight=400, start=40))
    assert whole.loss is not None
    assert whole.loss.data_weight == whole.counts.lost_data_weight == 200 + 400


def test_rows_that_went_are_unclear_until_a_trim_tells_of_them() -> None:
    opened = _opened()
    gone = Reading(40, 100, 60, START + 1, "1-1", "a")
    assert is_unclear(opened, gone, ())
    assert is_unclear(opened, gone, [Trim(39, 60)])
    assert not is_unclear(opened, gone, [Trim(20, 60), Trim(40, 60)])
    assert is_unclear(opened, gone, [Trim(20, 60), Trim(40, 60, start=21)])
    assert not is_unclear(opened, replace(gone, start=10), ())
    assert not is_unclear(opened, replace(gone, tablet_id="2-2"), ())
    assert not is_unclear(open_ledger(Reading(0, 100, 0, None, "1-1")), gone, ())


def test_rows_that_were_committed_before_the_agent_saw_them_are_not_lost_after_a_step_back() -> None:
    seen_late = _settled(_opened(), Reading(0, 100, 120, START + 1, "1-1", "a"))
    stepped_back = _settled(seen_late, Reading(0, 150, 50, START + 2, "1-1", "a"))
    ledger = _settled(stepped_back, Reading(120, 150, 50, START + 2, "1-1", "a"), Trim(120, 50))
    assert (ledger.counts.lost, ledger.counts.possibly_lost) == (0, 0)


def test_bytes_are_counted_as_far_as_sums_of_them_can_be_published() -> None:
    reading = Reading(40, 100, 10, START, "1-1", "a")
    ledger = _settled(_opened(), reading, Trim(40, 10, data_weight=MOST_COUNTED * 5))
    assert ledger.counts.lost_data_weight == MOST_COUNTED
