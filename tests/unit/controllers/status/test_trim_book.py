"""What is remembered of trims, and what is read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from queue_agent.controllers.status.trim_book import TrimBook
from queue_agent.core.state.trim_journal import JournalSpan, Loser, TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.errors import ClusterError, ObjectNotFound

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
        self.asked: list[Mapping[CrossClusterRef, JournalSpan]] = []
        self.error: ClusterError | None = None

    async def read(self, wanted: Mapping[CrossClusterRef, JournalSpan]) -> Sequence[TrimRecord]:
        self.asked.append(wanted)
        if self.error is not None:
            raise self.error
        return self.records


def trim(first: int, to: int, *losers: Loser, queue: CrossClusterRef = QUEUE) -> TrimRecord:
    constraint = TrimConstraint(ConstraintKind.END_OF_PARTITION)
    return TrimRecord(Clock().now(), "host:1", queue, "1-2", 0, first, to, constraint, losers)


def spans(records: Sequence[TrimRecord] | None) -> list[tuple[int, int]] | None:
    return None if records is None else [(one.lower_row_index, one.trimmed_row_count) for one in records]


def since(seconds: float, *partitions: int) -> JournalSpan:
    return JournalSpan(Clock().now() - timedelta(seconds=seconds), frozenset(partitions or (0,)))


def test_own_trims_are_found_by_the_queue_that_was_there() -> None:
    book = TrimBook(Journal(), Clock())
    book.note(QUEUE, "1-2", trim(0, 10, LOSER))
    book.note(QUEUE, "1-2", trim(10, 20, LOSER))
    assert spans(book.find(QUEUE, "1-2", 0)) == [(0, 10), (10, 20)]
    assert book.find(QUEUE, "1-2", 1) == []
    assert book.find(QUEUE, "9-9", 0) == [], "of another queue of that name"


def test_what_is_kept_is_bounded() -> None:
    clock = Clock()
    book = TrimBook(Journal(), clock)
    for row in range(100):
        book.note(QUEUE, "1-2", trim(row, row + 1))
    assert len(book.find(QUEUE, "1-2", 0)) == 16
    clock.time += timedelta(minutes=2)
    book.note(OTHER, "1-2", trim(0, 10, queue=OTHER))
    assert book.find(QUEUE, "1-2", 0) == []


async def test_the_journal_is_read_for_those_who_ask_and_once() -> None:
    journal = Journal(trim(0, 10, LOSER))
    book = TrimBook(journal, Clock())
    await book.do_pass(1)
    assert journal.asked == []
    first = book.ask(QUEUE, "1-2", [QUEUE], since(0, 0))
    second = book.ask(QUEUE, "1-2", [QUEUE], since(3600, 1))
    assert first.answer is None
    await book.do_pass(2)
    await book.do_pass(3)
    assert [dict(one) for one in journal.asked] == [{QUEUE: since(3600 + 60, 0, 1)}]
    assert spans(first.answer) == spans(second.answer) == [(0, 10)]


async def test_what_could_not_be_read_is_read_in_the_next_pass() -> None:
    journal = Journal(trim(0, 10))
    journal.error = ClusterError("no answer")
    book = TrimBook(journal, Clock())
    question = book.ask(QUEUE, "1-2", [QUEUE], since(0))
    await book.do_pass(1)
    assert question.answer is None
    journal.error = None
    await book.do_pass(2)
    assert spans(question.answer) == [(0, 10)]


async def test_without_a_journal_nobody_waits() -> None:
    journal = Journal()
    journal.error = ObjectNotFound("no such table", 500)
    book = TrimBook(journal, Clock())
    question = book.ask(QUEUE, "1-2", [QUEUE], since(0))
    await book.do_pass(1)
    assert question.answer == []


async def test_a_question_that_nobody_waits_for_is_not_asked() -> None:
    journal = Journal()
    book = TrimBook(journal, Clock())
    book.forget(book.ask(QUEUE, "1-2", [QUEUE], since(0)))
    await book.do_pass(1)
    assert journal.asked == []


async def test_who_asks_while_the_journal_is_read_gets_what_is_read_later() -> None:
    """Its rows may have gone after the rows of the answer were read."""

    class Reading(Journal):
        async def read(self, wanted: Mapping[CrossClusterRef, JournalSpan]) -> Sequence[TrimRecord]:
            late.append(book.ask(QUEUE, "1-2", [QUEUE], since(0)))
            return await super().read(wanted)

    late: list[object] = []
    book = TrimBook(Reading(trim(0, 10)), Clock())
    first = book.ask(QUEUE, "1-2", [QUEUE], since(0))
    await book.do_pass(1)
    assert spans(first.answer) == [(0, 10)]
    [second] = late
    assert getattr(second, "answer", ()) is None


async def test_trims_of_replicas_are_those_of_the_queue_whose_rows_they_hold() -> None:
    replica = CrossClusterRef("hume", "//replica")
    journal = Journal(trim(0, 10, LOSER, queue=replica))
    book = TrimBook(journal, Clock())
    question = book.ask(QUEUE, "9-9", [replica, OTHER], since(0))
    by_id = book.ask(replica, "9-9", [replica], since(0))
    await book.do_pass(1)
    assert [set(one) for one in journal.asked] == [{replica, OTHER}]
    assert spans(question.answer) == [(0, 10)]
    assert by_id.answer == [], "of another table of that name"
