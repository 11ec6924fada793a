"""The latest trims of queues, for those who count losses: own ones as they happen, others by the journal."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

import structlog

from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import Clock
from queue_agent.ports.trims import TrimJournalReader

log = structlog.get_logger(__name__)

KIND: Final = "trim_book"

BOOK_PERIOD: Final = timedelta(seconds=1)
"""From one look into the journal to the next."""

_KEPT: Final = timedelta(minutes=1)
"""Consumers are polled each second. Who comes later asks for the journal."""

_MOST_KEPT: Final = 64
"""Of one partition."""

_MARGIN: Final = timedelta(seconds=30)
"""Between clocks of agents."""

_MOST_QUEUES: Final = 50
"""Of one query."""


class _Wanted(NamedTuple):
    """What is to be read of the journal of a table."""

    queue: CrossClusterRef
    """Whose rows the table holds."""

    object_id: str | None
    """Of the queue."""

    since: datetime


class _Place(NamedTuple):
    queue: CrossClusterRef
    object_id: str | None
    partition_index: int


@dataclass(frozen=True, slots=True)
class _Noted:
    record: TrimRecord
    at: datetime


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
        self._wanted: dict[CrossClusterRef, _Wanted] = {}
        """By table."""

    def note(self, queue: CrossClusterRef, object_id: str | None, record: TrimRecord) -> None:
        """Remember a trim.

        Args:
            queue: as consumers are registered for it.
            object_id: of the queue.
            record: of the trim, which may be one of a replica.
        """
        now = self._clock.now()
        place = _Place(queue, object_id, record.partition_index)
        trims = self._trims.setdefault(place, deque(maxlen=_MOST_KEPT))
        self._trims.move_to_end(place)
        if any(one.record == record for one in trims):
            return
        # Trims from which nobody lost anything are as good as one.
        if trims and _is_harmless(trims[-1].record) and _is_harmless(record) and _touch(trims[-1].record, record):
            last = trims.pop().record
            record = replace(
                record,
                lower_row_index=min(last.lower_row_index, record.lower_row_index),
                trimmed_row_count=max(last.trimmed_row_count, record.trimmed_row_count),
            )
        trims.append(_Noted(record, now))
        self._forget(now)

    def find(
        self, queue: CrossClusterRef, object_id: str | None, partition_index: int, rows: range
    ) -> Sequence[TrimRecord]:
        """Known trims, in order of rows.

        Args:
            queue: as consumers are registered for it.
            object_id: of the queue.
            partition_index: of the partition.
            rows: those that are gone since a moment; a trim counts if the last row it removed is among them.
        """
        noted = self._trims.get(_Place(queue, object_id, partition_index), ())
        found = [one.record for one in noted if one.record.trimmed_row_count - 1 in rows]
        return sorted(found, key=lambda one: one.trimmed_row_count)

    def want(
        self, queue: CrossClusterRef, object_id: str | None, tables: Collection[CrossClusterRef], since: datetime
    ) -> None:
        """Have the journal of a queue read soon, from a moment on.

        Args:
            queue: as consumers are registered for it.
            object_id: of the queue.
            tables: that hold its rows, as the journal names them: itself, or its replicas.
            since: the moment.
        """
        wanted = since - _MARGIN
        for table in tables:
            known = self._wanted.get(table)
            self._wanted[table] = _Wanted(queue, object_id, wanted if known is None else min(wanted, known.since))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """A pass deals with its failures by itself."""

    async def do_pass(self, pass_index: int) -> None:
        """Read what is wanted."""
        while self._wanted:
            wanted = dict(islice(self._wanted.items(), _MOST_QUEUES))
            for table in wanted:
                del self._wanted[table]
            try:
                records = await self._store.read({table: one.since for table, one in wanted.items()})
            except ClusterError as error:
                # Counting goes on with bounds. The keeper of the journal raises the alert.
                log.debug("journal of trims not read", error=str(error))
                records = ()
            for record in records:
                one = wanted[record.queue]
                self.note(one.queue, record.object_id if record.queue == one.queue else one.object_id, record)

    def _forget(self, now: datetime) -> None:
        while self._trims:
            place, trims = next(iter(self._trims.items()))
            if now - trims[-1].at < _KEPT:
                return
            del self._trims[place]


def _touch(left: TrimRecord, right: TrimRecord) -> bool:
    """Whether there is no row between those that two trims removed."""
    return max(left.lower_row_index, right.lower_row_index) <= min(left.trimmed_row_count, right.trimmed_row_count)


def _is_harmless(record: TrimRecord) -> bool:
    return record.losers is not None and not record.losers
