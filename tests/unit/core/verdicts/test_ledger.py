"""Which rows count as read, and which as lost."""

from __future__ import annotations

from queue_agent.core.verdicts.counts import MOST_COUNTED, Counts
from queue_agent.core.verdicts.ledger import Ledger, Reading, Trim, account, covers, open_ledger
from tests.timelines.timelines import START


def _opened(offset: int = 10) -> Ledger:
    return open_ledger(Reading(0, 100, offset, START, "1-1", "a"), START)._replace(reach=5.0, reach_at=START)


def _settled(ledger: Ledger, reading: Reading, *trims: Trim, known_to: int | None = None) -> Ledger:
    step = account(ledger, reading, trims, START + 1, known_to=known_to, is_blind=False, is_silent=False)
    return step.ledger


def _at(start: int, offset: int, end: int = 100) -> Reading:
    return Reading(start, end, offset, START + 1, "1-1", "a")


def test_a_commit_right_before_a_trim_is_reading_and_no_loss() -> None:
    """Without the offset of the trim, the 30 rows might have been trimmed first."""
    known = _settled(_opened(), _at(40, 40), Trim(0, 40, 40))
    assert known.counts == Counts(read=30)
    assert _settled(_opened(), _at(40, 40)).counts.possibly_lost == 30


def test_a_commit_that_jumped_over_rows_which_were_gone_is_no_reading() -> None:
    told = _settled(_opened(), _at(60, 100), Trim(0, 60, 10))
    assert told.counts.trimmed_uncommitted == 50
    assert told.counts.read == 40


def test_of_two_trims_of_a_row_the_later_one_was_carried_out() -> None:
    """When it was decided, the row was still there."""
    told = _settled(_opened(), _at(60, 100), Trim(0, 60, 10), Trim(0, 60, 55))
    assert told.counts.trimmed_uncommitted == 5
    partly = _settled(_opened(), _at(60, 100), Trim(0, 60, 10), Trim(0, 30, 30))
    assert partly.counts.trimmed_uncommitted == 30


def test_what_is_not_known_yet_is_settled_later() -> None:
    waiting = _settled(_opened(), _at(60, 100), known_to=10)
    assert (waiting.counts, waiting.accounted, waiting.is_settled) == (Counts(), 10, False)
    told = _settled(waiting, _at(80, 100), Trim(0, 60, 10), Trim(60, 80, 100))
    assert (told.counts.trimmed_uncommitted, told.accounted) == (50, 100)


def test_tablets_that_had_the_rows_are_known_until_all_are_settled() -> None:
    """Trims of each of them may have taken rows."""
    waiting = _settled(_opened(), _at(60, 100)._replace(tablet_id="2"), known_to=10)
    assert waiting.tablets == {"1-1", "2"}
    again = _settled(waiting, _at(70, 100)._replace(tablet_id="3"), known_to=10)
    assert again.tablets == {"1-1", "2", "3"}
    assert _settled(again, _at(70, 100)._replace(tablet_id="3")).tablets == {"3"}


def test_a_step_back_does_not_hide_a_jump() -> None:
    waiting = _settled(_opened(), _at(60, 100), known_to=10)
    back = _settled(waiting, _at(60, 5), Trim(0, 60, 10))
    assert back.counts.trimmed_uncommitted == 50
    assert (back.reading.offset, back.counts.rewinds) == (5, 1)


def test_rows_that_were_seen_committed_are_not_lost_after_a_step_back() -> None:
    read = _settled(_opened(), _at(0, 50))
    back = _settled(read, _at(40, 20), Trim(0, 40, 20))
    assert back.counts.trimmed_uncommitted == 0


def test_rows_that_others_trim_after_a_commit_was_seen_count_as_read() -> None:
    read = _settled(_opened(), _at(0, 50))
    assert _settled(read, _at(50, 50)).counts.trimmed_uncommitted == 0


def test_rows_that_others_trim_before_a_commit_are_possibly_lost() -> None:
    assert _settled(_opened(), _at(50, 50)).counts == Counts(possibly_lost=40)


def test_rows_that_may_have_been_committed_before_others_trimmed_them_are_possibly_lost() -> None:
    """The offset was read before the queue; one that was read after it is further."""
    later = _settled(_opened(), _at(80, 10)._replace(later_offset=60))
    assert (later.counts.lost, later.counts.possibly_lost) == (80 - 60 - 10, 50 + 10)
    same = _settled(_opened(), _at(80, 10))
    assert (same.counts.lost, same.counts.possibly_lost) == (80 - 10 - 10, 10)


def test_a_trim_whose_offset_could_not_be_read_loses_possibly() -> None:
    ledger = _settled(_opened(), _at(40, 10), Trim(0, 40, None))
    assert (ledger.counts.lost, ledger.counts.possibly_lost) == (0, 30)


def test_one_trim_of_unknown_weight_makes_that_of_the_incident_unknown() -> None:
    """And what is known of the others is still counted."""
    ledger = _settled(_opened(), _at(80, 10), Trim(0, 40, 10, data_weight=300), Trim(40, 80, 10))
    assert ledger.counts.lost == 60  # ten of them may be in flight
    assert ledger.counts.lost_data_weight == 200
    assert ledger.loss is not None
    assert ledger.loss.data_weight is None
    whole = _settled(_opened(), _at(80, 10), Trim(0, 40, 10, data_weight=300), Trim(40, 80, 10, data_weight=400))
    assert whole.loss is not None
    assert whole.loss.data_weight == whole.counts.lost_data_weight == 200 + 400


def test_rows_that_went_are_covered_by_the_trims_that_tell_of_each() -> None:
    rows = range(10, 40)
    assert not covers([], rows)
    assert not covers([Trim(0, 39, 60)], rows)
    assert covers([Trim(0, 20, 60), Trim(20, 40, 60)], rows)
    assert not covers([Trim(0, 20, 60), Trim(21, 40, 60)], rows)
    assert covers([], range(40, 40))


def test_a_reader_that_is_silent_has_nothing_in_flight() -> None:
    trims = [Trim(0, 40, 10)]
    step = account(_opened(), _at(40, 10), trims, START + 1, is_blind=False, is_silent=True)
    assert (step.lost, step.possibly_lost) == (30, 0)


def test_rows_that_were_committed_before_the_agent_saw_them_are_not_lost_after_a_step_back() -> None:
    seen_late = _settled(_opened(), _at(0, 120))
    stepped_back = _settled(seen_late, _at(0, 50, end=150))
    ledger = _settled(stepped_back, _at(100, 50, end=150), Trim(0, 100, 50))
    assert ledger.counts.trimmed_uncommitted == 0


def test_a_jump_does_not_teach_how_far_a_reader_gets() -> None:
    """It would make later losses look as if they were in flight."""
    jumped = _settled(_opened(), _at(60, 100), Trim(0, 60, 10))
    assert jumped.reach_now(START) == 5.0
    waiting = _settled(_opened(), _at(60, 100), known_to=10)
    assert waiting.reach_now(START) == 5.0


def test_who_saw_a_consumer_and_could_not_keep_it_names_it_in_its_trims() -> None:
    reading = _at(60, 80)
    named = open_ledger(reading, START, [Trim(0, 60, 10)])
    assert (named.accounted, named.is_settled) == (10, False)
    assert open_ledger(reading, START, [Trim(0, 60, 60)]).is_settled
    assert open_ledger(reading, START).accounted == 80


def test_a_new_ledger_settles_later_what_is_not_known_yet() -> None:
    reading = _at(60, 10)
    assert open_ledger(reading, START, known_to=40).accounted == 40
    assert not open_ledger(reading, START, known_to=40).is_settled
    assert open_ledger(reading, START, known_to=60).is_settled, "all that is gone is known"
    past = open_ledger(_at(60, 80), START, known_to=40)
    assert (past.accounted, _settled(past, _at(60, 80)).counts) == (80, Counts()), "it has read that before"


def test_trims_tell_which_rows_were_committed_though_the_offset_is_one_of_other_rows() -> None:
    """Of the 40 rows that went, 10 were committed before a trim; an offset of 70 is the old one."""
    stale = open_ledger(_at(0, 70), START)._replace(stale_offset=70, accounted=0)
    moved = _at(40, 45)
    assert _settled(stale, moved, Trim(0, 40, 10)).counts.trimmed_uncommitted == 30
    assert _settled(stale, moved, Trim(0, 40, 70)).counts.trimmed_uncommitted == 40
    assert _settled(stale, moved, Trim(0, 40, 40, is_harmless=True)).counts.trimmed_uncommitted == 0
    assert _settled(stale, moved, Trim(0, 40, None)).counts.possibly_lost == 40


def test_a_first_commit_after_rows_went_is_told_as_possible_losses_at_most() -> None:
    unbegun = open_ledger(Reading(0, 100, 0, None, "1-1", "a"), START)
    begun = _settled(unbegun, _at(40, 60), Trim(0, 40, 0))
    assert begun.counts.lost == 0
    assert begun.missed_before_start + begun.counts.possibly_lost == 40


def test_bytes_are_counted_as_far_as_sums_of_them_can_be_published() -> None:
    ledger = _settled(_opened(), _at(40, 10), Trim(0, 40, 10, data_weight=MOST_COUNTED * 5))
    assert ledger.counts.lost_data_weight == MOST_COUNTED


def test_a_consumer_that_has_not_begun_loses_nothing_by_trims_of_others() -> None:
    unbegun = open_ledger(Reading(0, 100, 0, None, "1-1", "a"), START)._replace(reach=5.0)
    ledger = _settled(unbegun, _at(40, 0)._replace(committed_at=None))
    assert (ledger.counts, ledger.missed_before_start, ledger.accounted) == (Counts(), 40, 40)


def test_trims_of_other_rows_take_nothing() -> None:
    ledger = _settled(_opened(), _at(40, 40), Trim(0, 5, 5), Trim(5, 40, 40), Trim(60, 70, 40))
    assert ledger.counts == Counts(read=30)
    assert not covers([Trim(0, 10, 10), Trim(40, 50, 50)], range(10, 40))
