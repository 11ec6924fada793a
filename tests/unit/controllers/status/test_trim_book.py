"""What is remembered of trims, and what is read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from queue_agent.controllers.status.trim_book import TrimBook
from queue_agent.core.state.trim_journal import Loser, TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.errors import ClusterError

QUEUE, OTHER = CrossClusterRef("pythia", "//q"), CrossClusterRef("pythia", "//other")
LOSER = Loser(CrossClusterRef("hume", "//c"), 3)


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2025, 1, 23, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


class Journal:
    """`ports.TrimJournalReader` of a few records."""

    def __init__(self, *records: TrimRecord) -> None:
        self.records = records
        self.asked: list[Mapping[CrossClusterRef, datetime]] = []
        self.error: ClusterError | None = None

    async def read(self, since: Mapping[CrossClusterRef, datetime]) -> Sequence[TrimRecord]:
        self.asked.append(since)
        if self.error is not None:
            raise self.error
        return self.records


def trim(first: int, to: int, *losers: Loser, queue: CrossClusterRef = QUEUE) -> TrimRecord:
    constraint = TrimConstraint(ConstraintKind.END_OF_PARTITION)
    return TrimRecord(Clock().now(), "host:1", queue, "1-2", 0, first, to, constraint, losers)


def spans(book: TrimBook, rows: range, object_id: str = "1-2") -> list[tuple[int, int]]:
    return [(one.lower_row_index, one.trimmed_row_count) for one in book.find(QUEUE, object_id, 0, rows)]


def test_trims_are_found_by_the_rows_that_went() -> None:
    book = TrimBook(Journal(), Clock())
    book.note(QUEUE, "1-2", trim(10, 20, LOSER))
    book.note(QUEUE, "1-2", trim(0, 10, LOSER))
    assert spans(book, range(20)) == [(0, 10), (10, 20)]
    assert spans(book, range(10, 20)) == [(10, 20)]
    assert spans(book, range(19)) == [(0, 10)]
    assert spans(book, range(20), "9-9") == [], "of another queue of that name"


def test_trims_that_touch_and_took_nothing_from_anybody_are_one() -> None:
    book = TrimBook(Journal(), Clock())
    for first, to in ((0, 10), (10, 20), (30, 40)):
        book.note(QUEUE, "1-2", trim(first, to))
    book.note(QUEUE, "1-2", trim(30, 40))
    assert spans(book, range(40)) == [(0, 20), (30, 40)]


def test_what_is_old_is_forgotten() -> None:
    clock = Clock()
    book = TrimBook(Journal(), clock)
    book.note(QUEUE, "1-2", trim(0, 10))
    clock.time += timedelta(minutes=2)
    book.note(OTHER, "1-2", trim(0, 10, queue=OTHER))
    assert spans(book, range(10)) == []


async def test_the_journal_is_read_for_queues_that_are_wanted_and_once() -> None:
    clock = Clock()
    journal = Journal(trim(0, 10, LOSER))
    book = TrimBook(journal, clock)
    await book.do_pass(1)
    assert journal.asked == []
    book.want(QUEUE, "1-2", [QUEUE], clock.now())
    book.want(QUEUE, "1-2", [QUEUE], clock.now() - timedelta(hours=1))
    await book.do_pass(2)
    await book.do_pass(3)
    assert [dict(one) for one in journal.asked] == [{QUEUE: clock.now() - timedelta(hours=1, seconds=30)}]
    assert spans(book, range(10)) == [(0, 10)]


async def test_a_journal_that_cannot_be_read_stops_nothing() -> None:
    journal = Journal()
    journal.error = ClusterError("no such table")
    book = TrimBook(journal, Clock())
    book.want(QUEUE, "1-2", [QUEUE], Clock().now())
    await book.do_pass(1)
    journal.error = None
    await book.do_pass(2)
    assert len(journal.asked) == 1
    assert spans(book, range(10)) == []


async def test_trims_of_replicas_are_those_of_the_queue_whose_rows_they_hold() -> None:
    replica = CrossClusterRef("hume", "//replica")
    clock = Clock()
    journal = Journal(trim(0, 10, LOSER, queue=replica))
    book = TrimBook(journal, clock)
    book.want(QUEUE, "9-9", [replica, OTHER], clock.now())
    await book.do_pass(1)
    assert [set(one) for one in journal.asked] == [{replica, OTHER}]
    assert spans(book, range(10), "9-9") == [(0, 10)]
    assert spans(book, range(10)) == [], "the id of a replica is none of the queue's"
