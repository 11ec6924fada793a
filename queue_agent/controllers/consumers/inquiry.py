"""Finds out for a consumer which trims took rows that it may not have committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.status.trim_book import Question
from queue_agent.core.consumers.own_trims import trims_of
from queue_agent.core.queues.snapshots import QueueSnapshot
from queue_agent.core.state.replication import REPLICATED_TYPES, replicas_of
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.state.trim_journal import JournalSpan
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.ledger import LOOKED_BACK, Ledger, Reading, Trim, covers
from queue_agent.core.verdicts.queue_state import PartitionReading, QueueState
from queue_agent.core.verdicts.reopening import has_other_rows

_PATIENCE: Final = 10.0
"""Seconds that a new ledger waits for what the journal has of the consumer."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question to the journal."""

    question: Question
    to: Mapping[tuple[int, str], int]
    """By partition and tablet: all trims of rows below that had been carried out by then are in the answer."""


class Inquiry:
    """For one consumer in one queue, from poll to poll.

    Trims by this agent are known at once. Of others the journal tells, if it is read after the rows were seen to be
    gone: each agent writes before it trims.

    Args:
        queue: the queue.
        consumer: the consumer.
        context: what it works with.
    """

    def __init__(self, queue: CrossClusterRef, consumer: CrossClusterRef, context: ControllerContext) -> None:
        self._queue = queue
        self._consumer = consumer
        self._context = context
        self._asked: _Asked | None = None
        self._opened_at: float | None = None
        """Since when a new ledger waits."""

    @property
    def is_under_way(self) -> bool:
        """Whether the next poll may know more, though nothing has changed."""
        return self._asked is not None

    def close(self) -> None:
        """Nobody waits for an answer any more."""
        if self._asked is not None:
            self._context.trims.forget(self._asked.question)
            self._asked = None

    def add_trims(
        self,
        state: QueueState,
        readings: Mapping[int, PartitionReading],
        queue: QueueSnapshot,
        now: float,
        *,
        asks: bool,
    ) -> Mapping[int, PartitionReading] | None:
        """The readings with the trims of all rows that have gone and are not settled.

        Args:
            state: as of the last poll.
            readings: of this poll, by partition.
            queue: latest snapshot of the queue.
            now: of this poll.
            asks: the journal may be asked; if not, what only it can tell stays open.

        Returns:
            None: a new ledger waits for what the journal has of the consumer.
        """
        answered = self._take_answer()
        found: dict[int, PartitionReading] = {}
        unknown: dict[tuple[int, str], int] = {}
        new: dict[tuple[int, str], int] = {}
        is_waiting = False
        for index, one in readings.items():
            start, old = one.reading.start, state.positions.get(index)
            place = index, one.reading.tablet_id
            trims = self._find_trims(index, one.reading, None if old is None else old.ledger, answered)
            to = None if answered is None else answered.to.get(place)
            if old is None:
                is_new = state.is_kept and one.reading.committed_at is not None and self._has_journal() and asks
                if is_new:
                    new[place] = start
                    is_waiting = is_waiting or to is None
                found[index] = one._replace(trims=trims, known_to=to) if is_new else one
                continue
            gone = range(old.ledger.accounted, start)
            if not gone or covers(trims, gone) or not self._has_journal():
                found[index] = one._replace(trims=trims) if trims else one
                continue
            known_to = gone.start if to is None else to
            if known_to < start:
                unknown[place] = start
            found[index] = one._replace(trims=trims, known_to=known_to)
        if is_waiting:
            unknown |= new  # or each answer would be thrown away while others wait for theirs
        if unknown and asks:
            self._ask(state, unknown, queue, now)
        if not is_waiting:
            self._opened_at = None
            return found
        self._opened_at = now if self._opened_at is None else self._opened_at
        return None if now - self._opened_at < _PATIENCE else found

    def _has_journal(self) -> bool:
        return self._context.config.trim_journal and self._context.trimming_mode is TrimmingMode.TRIM

    def _take_answer(self) -> _Asked | None:
        asked = self._asked
        if asked is None or asked.question.answer is None:
            return None
        self._asked = None
        return asked

    def _find_trims(self, index: int, reading: Reading, old: Ledger | None, answered: _Asked | None) -> list[Trim]:
        records = list(self._context.trims.find(self._queue, reading.object_id, index))
        if not records and answered is None:
            return []
        if answered is not None:
            records += [one for one in answered.question.answer or () if one.partition_index == index]
        tablets, resharded_since = {reading.tablet_id}, None
        if old is not None and not has_other_rows(old.reading, reading) and old.tablets != tablets:
            tablets |= old.tablets
            resharded_since = datetime.fromtimestamp(old.settled_at, UTC)
        return trims_of(records, self._queue, self._consumer, tablets, resharded_since)

    def _ask(self, state: QueueState, unknown: Mapping[tuple[int, str], int], queue: QueueSnapshot, now: float) -> None:
        """Have the journal read for rows that have gone; a question that is under way is answered first."""
        if self._asked is not None:
            return
        since = now
        for index, _ in unknown:
            old = state.positions.get(index)
            if old is None or state.last_poll is None:
                since = min(since, now - LOOKED_BACK)
            else:
                since = min(since, state.last_poll if old.ledger.is_settled else old.ledger.settled_at)
        mapping = self._context.board.find_mapping(self._queue)
        is_replicated = queue.row.object_type in REPLICATED_TYPES and mapping is not None
        tables = [one.table for one in replicas_of(mapping)] if is_replicated and mapping is not None else [self._queue]
        span = JournalSpan(datetime.fromtimestamp(since, UTC), frozenset(index for index, _ in unknown))
        object_id = None if queue.view is None else queue.view.object_id
        question = self._context.trims.ask(self._queue, object_id, tables, span)
        self._asked = _Asked(question, dict(unknown))
