"""Ledgers of partitions whose rows are others than before."""

from __future__ import annotations

import pytest

from queue_agent.core.verdicts.counts import Counts
from queue_agent.core.verdicts.ledger import Ledger, Reading, Trim, open_ledger
from queue_agent.core.verdicts.reopening import has_other_rows, is_recreated, reopen
from queue_agent.core.verdicts.values import LossCause
from tests.timelines.timelines import HOUR_OF_ROWS, warm

OLD = Reading(40, 100, 70, 900.0, "1-1", "queue")
RESHARDED = Reading(0, 30, 70, 900.0, "1-2", "queue")
RECREATED = RESHARDED._replace(object_id="another")


def ledger() -> Ledger:
    return open_ledger(OLD, 1000.0)._replace(counts=Counts(read=5))


@pytest.mark.parametrize(
    ("new", "are_other", "is_other_queue"),
    [
        (OLD, False, False),
        (OLD._replace(end=90), False, False),
        (OLD._replace(tablet_id="1-2", end=120), False, False),
        (OLD._replace(tablet_id="1-2", end=99), True, False),
        (OLD._replace(tablet_id="1-2", start=39), True, False),
        (RESHARDED._replace(object_id="another"), True, True),
        (OLD._replace(tablet_id="1-2", object_id=None, end=99), True, True),
    ],
)
def test_rows_are_others_in_another_tablet_that_does_not_have_all_of_them(
    new: Reading, are_other: bool, is_other_queue: bool
) -> None:
    assert (has_other_rows(OLD, new), is_recreated(OLD, new)) == (are_other, is_other_queue)


def test_uncommitted_rows_go_with_a_queue_and_not_with_a_partition() -> None:
    step = reopen(ledger(), RECREATED, (), 1010.0, is_watched=True)
    assert (step.lost, step.is_reopened, step.ledger.counts) == (30, True, Counts(read=5, lost=30))
    assert step.ledger.loss is not None
    assert step.ledger.loss.cause is LossCause.RECREATION
    step = reopen(ledger(), RESHARDED, (), 1010.0, is_watched=True)
    assert (step.lost, step.ledger.counts, step.ledger.loss) == (0, Counts(read=5), None)


@pytest.mark.parametrize(("offset", "stale"), [(70, 70), (80, 80), (69, None), (0, None)])
def test_an_offset_that_is_not_below_the_old_one_may_be_one_of_the_old_rows(offset: int, stale: int | None) -> None:
    found = reopen(ledger(), RESHARDED._replace(end=200, offset=offset), (), 1010.0, is_watched=True).ledger
    assert (found.stale_offset, found.accounted) == (stale, 0 if stale else offset)


@pytest.mark.parametrize("offset", [80, 70, 69, 0])
def test_whose_rows_the_offset_counts_is_not_known_before_it_moves(offset: int) -> None:
    found = reopen(ledger(), RESHARDED._replace(end=200, offset=offset), (), 1010.0, is_watched=True).ledger
    assert found.offset_tablet == OLD.tablet_id
    assert found.offset_tablet_at(found.reading._replace(offset=offset + 1)) == RESHARDED.tablet_id


def test_rows_that_went_before_a_stale_offset_was_seen_are_not_settled() -> None:
    trims = [Trim(0, 20, 70)]
    assert reopen(ledger(), RESHARDED._replace(start=20), trims, 1010.0, is_watched=True).ledger.accounted == 0
    assert reopen(ledger(), RESHARDED._replace(start=20), (), 1010.0, is_watched=True).ledger.accounted == 20


def test_rows_that_may_have_been_committed_before_they_went_with_the_old_queue_are_possibly_lost() -> None:
    unmoved = RECREATED._replace(offset=OLD.offset, committed_at=OLD.committed_at)
    assert reopen(ledger(), unmoved, (), 1010.0, is_watched=False).lost == 30, "nothing was committed meanwhile"
    step = reopen(ledger(), RECREATED._replace(committed_at=1005.0), (), 1010.0, is_watched=False)
    counts, loss = step.ledger.counts, step.ledger.loss
    assert (step.lost, step.possibly_lost, counts.lost, counts.possibly_lost) == (0, 30, 0, 30)
    assert loss is not None
    assert (loss.rows, loss.proved) == (30, 0)


@pytest.mark.parametrize(
    ("new", "is_watched", "expected"),
    [(RECREATED, False, 1), (RECREATED, True, 0), (RESHARDED, False, 0), (RECREATED._replace(end=200), False, 1)],
)
def test_counts_say_that_rows_may_have_gone_with_a_queue_that_nobody_looked_at(
    new: Reading, is_watched: bool, expected: int
) -> None:
    counts = reopen(ledger(), new, (), 1010.0, is_watched=is_watched).ledger.counts
    assert counts.unwatched_recreations == expected


def test_counts_say_that_nobody_has_found_out_yet_what_became_of_rows_of_the_old_queue() -> None:
    counts = reopen(ledger()._replace(accounted=39), RECREATED, (), 1010.0, is_watched=True).ledger.counts
    assert counts.unwatched_recreations == 1


def test_what_was_committed_after_the_last_poll_went_with_the_old_queue_committed() -> None:
    """An offset that the new rows do not reach is of the old ones."""
    assert reopen(ledger(), RECREATED._replace(offset=95), (), 1010.0, is_watched=True).lost == 5


def test_of_a_consumer_that_had_not_begun_nothing_is_lost() -> None:
    begins = open_ledger(OLD._replace(offset=0, committed_at=None), 1000.0)
    step = reopen(begins, RECREATED._replace(offset=0, committed_at=None), (), 1010.0, is_watched=False)
    assert (step.lost, step.ledger.stale_offset, step.ledger.counts.unwatched_recreations) == (0, None, 0)


def test_rows_of_a_queue_that_were_not_read_from_a_stale_offset_are_lost_with_it() -> None:
    step = reopen(
        ledger()._replace(stale_offset=70, accounted=45), RECREATED._replace(offset=70), (), 1010.0, is_watched=True
    )
    assert step.lost == 55


def test_what_others_trim_by_an_old_offset_is_lost() -> None:
    line = warm()
    line.recreate()
    line.write(HOUR_OF_ROWS + 5000)
    line.run(1)
    line.start = 3000
    line.run(2)
    assert line.position is not None
    assert (line.position.ledger.counts.lost, line.position.ledger.counts.possibly_lost) == (3000, 0)


def test_trims_of_which_the_offset_is_not_known_are_possibly_lost() -> None:
    line = warm()
    line.recreate()
    line.write(5000)
    line.run(1)
    line.trims = [Trim(0, 3000, None, LossCause.VITAL_TRIMMING)]
    line.start = 3000
    line.run(2)
    assert line.position is not None
    assert (line.position.ledger.counts.lost, line.position.ledger.counts.possibly_lost) == (0, 3000)
