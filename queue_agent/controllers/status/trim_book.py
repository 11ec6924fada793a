"""The latest trims of queues, for those who count losses: own ones as they happen, others by the journal."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import structlog

from queue_agent.core.state.trim_journal import JournalSpan, TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ObjectNotFound
from queue_agent.ports.passes import Clock
from queue_agent.ports.trims import TrimJournalReader

log = structlog.get_logger(__name__)

KIND: Final = "trim_book"

BOOK_PERIOD: Final = timedelta(seconds=1)
"""From one look into the journal to the next."""

_KEPT: Final = timedelta(minutes=1)
"""Consumers are polled each second. Who comes later asks for the journal."""

_MOST_KEPT: Final = 16
"""Of one partition."""

_MARGIN: Final = timedelta(seconds=60)
"""Between clocks of agents, and between a record and its trim."""


class _Place(NamedTuple):
    queue: CrossClusterRef
    object_id: str | None
    partition_index: int


@dataclass(frozen=True, slots=True)
class _Noted:
    record: TrimRecord
    at: datetime


@dataclass(slots=True, eq=False)
class Question:
    """What the journal tells of a queue."""

    queue: CrossClusterRef
    object_id: str | None
    """Of the queue."""

    tables: Collection[CrossClusterRef]
    """That hold its rows, as the journal names them: itself, or its replicas."""

    span: JournalSpan

    answer: Sequence[TrimRecord] | None = None
    """All there were when the question was asked, and maybe later ones; None: not read yet."""


class TrimBook:
    """What was trimmed lately, by partition.

    Args:
        store: the journal, with the trims of other agents and of earlier processes.
        clock: time of day.
    """

    def __init__(self, store: TrimJournalReader, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._trims: OrderedDict[_Place, deque[_Noted]] = OrderedDict()
        self._open: dict[Question, None] = {}

    def note(self, queue: CrossClusterRef, object_id: str | None, record: TrimRecord) -> None:
        """Remember what is about to be trimmed.

        Args:
            queue: as consumers are registered for it.
            object_id: of the queue.
            record: of the trim, which may be one of a replica.
        """
        now = self._clock.now()
        place = _Place(queue, object_id, record.partition_index)
        self._trims.setdefault(place, deque(maxlen=_MOST_KEPT)).append(_Noted(record, now))
        self._trims.move_to_end(place)
        self._forget(now)

    def find(self, queue: CrossClusterRef, object_id: str | None, partition_index: int) -> Sequence[TrimRecord]:
        """Known trims of a partition by this agent.

        Args:
            queue: as consumers are registered for it.
            object_id: of the queue.
            partition_index: of the partition.
        """
        return [one.record for one in self._trims.get(_Place(queue, object_id, partition_index), ())]

    def ask(
        self, queue: CrossClusterRef, object_id: str | None, tables: Collection[CrossClusterRef], span: JournalSpan
    ) -> Question:
        """Have the journal read soon, by a request that begins later; see `Question`."""
        question = Question(queue, object_id, tables, JournalSpan(span.since - _MARGIN, span.partitions))
        self._open[question] = None
        return question

    def forget(self, question: Question) -> None:
        """Nobody waits for the answer any more."""
        self._open.pop(question, None)

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """A pass deals with its failures by itself."""

    async def do_pass(self, pass_index: int) -> None:
        """Answer what was asked until now; what cannot be answered stays for the next pass."""
        wanted: dict[CrossClusterRef, JournalSpan] = {}
        asked = list(self._open)
        for question in asked:
            for table in question.tables:
                wanted[table] = question.span.joined(wanted.get(table, question.span))
        try:
            found = await self._store.read(wanted) if wanted else ()
        except ObjectNotFound:
            found = ()  # without a journal, nobody can tell
        except ClusterError as error:
            # Counting waits. The keeper of the journal raises the alert.
            log.debug("journal of trims not read", error=str(error))
            return
        records: defaultdict[CrossClusterRef, list[TrimRecord]] = defaultdict(list)
        for record in found:
            records[record.queue].append(record)
        for question in asked:
            question.answer = [
                one
                for table in question.tables
                for one in records[table]
                if table != question.queue or one.object_id == question.object_id
            ]
            self._open.pop(question, None)

    def _forget(self, now: datetime) -> None:
        while self._trims:
            place, trims = next(iter(self._trims.items()))
            if now - trims[-1].at < _KEPT:
                return
            del self._trims[place]
