"""The history: what is on the board is turned into rows now and then, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final

from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.history_writer import HistoryWriter
from queue_agent.core.status.history import (
    HistoryRow,
    SparseTexts,
    alert_rows,
    consumer_rows,
    fitted,
    multi_consumer_rows,
    queue_rows,
)
from queue_agent.core.status.history_outbox import EncodedRows
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import UnexpectedError
from queue_agent.isolation import isolate
from queue_agent.ports.history import HistoryStore
from queue_agent.ports.passes import Clock, PassObserver

KIND: Final = "history"

TIMEOUT: Final = timedelta(minutes=10)
"""Of a pass; one over very many objects is spread over more than its period."""

ROWS_AT_ONCE: Final = 200
"""So many rows are made and encoded in one go, which takes a few milliseconds."""

REST_FACTOR: Final = 9
"""After each go others have the processor for so many times as long."""


class HistoryRecorder:
    """Takes samples of the board.

    Args:
        board: what is known.
        store: knows the form of the rows.
        writer: gets them.
        clock: of alerts.
        agent_instance: this run of this agent, distinguished from all others by it.
        observer: hears of the passes.
    """

    def __init__(
        self,
        board: Board,
        store: HistoryStore,
        writer: HistoryWriter,
        clock: Clock,
        agent_instance: str,
        observer: PassObserver,
    ) -> None:
        self._board = board
        self._store = store
        self._writer = writer
        self._clock = clock
        self._agent_instance = agent_instance
        self._observer = observer
        self._texts = SparseTexts()
        self._recorded: dict[CrossClusterRef, datetime] = {}
        """Instant of the last pass in the history, by object."""

    async def do_pass(self, pass_index: int) -> None:
        """Hand over rows of every snapshot that is newer than the last time, as of now."""
        clock = asyncio.get_running_loop().time
        rows = self._rows()
        while True:
            started = clock()
            some = list(islice(rows, ROWS_AT_ONCE))
            if not some:
                break
            if self._writer.add(self._encode([fitted(self._texts.sparse(row)) for row in some])):
                self._texts.forget()
            await asyncio.sleep(REST_FACTOR * (clock() - started))
        self._texts.finish_sample()
        self._writer.wake.set()

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Count it."""
        self._observer.pass_finished(KIND, pass_index, seconds, error)

    def _encode(self, rows: Sequence[HistoryRow]) -> EncodedRows:
        """All of the rows; if that fails, those that can be encoded."""
        encoded = isolate("history", f"{len(rows)} rows", lambda: self._store.encode(rows))
        if not isinstance(encoded, UnexpectedError):
            return encoded
        good: list[HistoryRow] = []
        for row in rows:
            subject = row.get("queue") or row.get("consumer") or row["kind"]
            if not isinstance(isolate("history", subject, partial(self._store.encode, [row])), UnexpectedError):
                good.append(row)
        return self._store.encode(good)

    def _rows(self) -> Iterator[HistoryRow]:
        # Snapshots are frozen; the mappings they are in change while rows are made.
        queues, consumers = self._board.queues(), self._board.consumers()
        multi_consumers = dict(self._board.multi_consumers())
        alerts = self._board.alerts()
        pass_index, now = self._board.agent_pass().pass_index, self._clock.now()
        recorded, self._recorded = self._recorded, {}
        for queue, snapshot in queues.items():
            self._recorded[queue] = snapshot.pass_instant
            if recorded.get(queue) != snapshot.pass_instant:
                yield from _isolated(queue, partial(queue_rows, snapshot, self._agent_instance))
        for consumer, consumer_snapshot in consumers.items():
            self._recorded[consumer] = consumer_snapshot.pass_instant
            if recorded.get(consumer) != consumer_snapshot.pass_instant:
                yield from _isolated(consumer, partial(consumer_rows, consumer_snapshot, self._agent_instance))
        for table, multi_consumer in multi_consumers.items():
            self._recorded[table] = multi_consumer.pass_instant
            if recorded.get(table) != multi_consumer.pass_instant:
                yield from _isolated(table, partial(multi_consumer_rows, multi_consumer, self._agent_instance))
        yield from alert_rows(alerts, self._agent_instance, pass_index, now)


def _isolated(ref: CrossClusterRef, make: Callable[[], Iterable[HistoryRow]]) -> Sequence[HistoryRow]:
    """The rows of one object; none if they cannot be made."""
    rows = isolate("history", ref, lambda: list(make()))
    return () if isinstance(rows, UnexpectedError) else rows
