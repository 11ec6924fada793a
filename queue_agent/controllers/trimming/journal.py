"""The journal of trims: notes are collected and written by and by; failing to write them stops nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from itertools import islice
from typing import Any, Final, NoReturn

import structlog

from queue_agent.controllers.passes.background import in_background
from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import Clock
from queue_agent.ports.trims import JournalObserver, TrimJournalStore

log = structlog.get_logger(__name__)

KIND: Final = "trim_journal"

FAILED: Final = "queue_agent_trim_journal_failed"
"""Category of the alert."""

JOURNAL_PERIOD: Final = timedelta(seconds=2)

MAX_WAITING: Final = 10_000
"""Records kept while they can not be written; the oldest are dropped then."""

MAX_BATCH: Final = 1000
LAST_WRITE_SECONDS: Final = 2.0
"""At the end, what is still to be written is given so long."""


class JournalKeeper:
    """`ports.TrimJournal`: writes what was noted, in passes.

    Args:
        store: where to.
        board: gets the alert.
        clock, origins: of errors.
        observer: hears of what is written.
    """

    def __init__(
        self, store: TrimJournalStore, board: Board, clock: Clock, origins: Origins, observer: JournalObserver
    ) -> None:
        self._store = store
        self._board = board
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._waiting: deque[TrimRecord] = deque()
        self._failure: tuple[type[ClusterError], int] | None = None

    def note(self, record: TrimRecord) -> None:
        """See `ports.TrimJournal`."""
        self._waiting.append(record)
        self._drop_excess()

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """A pass deals with its failures by itself."""

    async def do_pass(self, pass_index: int) -> None:
        """Write everything noted so far; what can not be written waits for the next pass."""
        while self._waiting:
            batch = list(islice(self._waiting, MAX_BATCH))
            try:
                await self._store.write(batch)
            except ClusterError as error:
                self._fail(error)
                return
            self._forget(batch)
            self._observer.journal_written(len(batch))
            self._succeed()

    def writing(self, run_passes: Callable[[], Coroutine[Any, Any, NoReturn]]) -> AbstractAsyncContextManager[None]:
        """Have passes done while entered, and a last one for what was noted until then."""
        return in_background(run_passes, lambda: self.do_pass(-1), LAST_WRITE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        log.warning("trim journal not written to its end", record_count=len(self._waiting))

    def _forget(self, batch: list[TrimRecord]) -> None:
        # While the batch was being written, its oldest records may have been dropped as excess.
        written = {id(record) for record in batch}
        while self._waiting and id(self._waiting[0]) in written:
            self._waiting.popleft()

    def _drop_excess(self) -> None:
        excess = len(self._waiting) - MAX_WAITING
        for _ in range(excess):
            self._waiting.popleft()
        if excess > 0:
            self._observer.journal_dropped(excess)

    def _fail(self, error: ClusterError) -> None:
        self._observer.journal_failed()
        failure = type(error), error.code
        if failure == self._failure:
            return
        self._failure = failure
        log.warning("trim journal can not be written", error=str(error))
        origin = self._origins.make(self._clock.now())
        alert = origin.error("Trims can not be written to the journal", inner_errors=[origin.cluster_error(error)])
        self._board.put_alerts(KIND, {FAILED: alert})

    def _succeed(self) -> None:
        if self._failure is not None:
            self._failure = None
            log.info("trim journal is written again")
            self._board.put_alerts(KIND, {})
