"""Writing the history: through a session of a producer, so that each row gets into the queue once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Final, NoReturn

import structlog

from queue_agent.controllers.passes.background import in_background
from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.core.status.history_outbox import EncodedRows, Outbox
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.errors import ClusterError
from queue_agent.ports.history import HistoryObserver, HistoryStore, ProducerSession
from queue_agent.ports.passes import Clock

log = structlog.get_logger(__name__)

KIND: Final = "history_writer"

FAILED: Final = "queue_agent_history_failed"
"""Category of the alert: rows cannot be written, and wait."""

DROPPED: Final = "queue_agent_history_rows_dropped"
"""Category of the alert: rows were lost, and others still wait."""

TAKEN_OVER: Final = "queue_agent_history_taken_over"
"""Category of the alert: another process writes in this agent's session, so this one does not."""

WRITE_PERIOD: Final = timedelta(seconds=5)

MAX_PUSH_BYTES: Final = 4 << 20

LAST_WRITE_SECONDS: Final = 2.0
"""At the end, what is still to be written is given so long."""


class HistoryWriter:
    """Writes what waits, in passes.

    Whether a push that was not answered was carried out is not known. So a failure begins a new session:
    from then on what is still on its way is refused, and the number of the last row written is known.

    Args:
        store: where to.
        max_bytes: how much may wait.
        agent_instance: this run of this agent.
        board: gets the alerts.
        clock, origins: of errors.
        observer: hears of what is written, and of what is not.
    """

    def __init__(
        self,
        store: HistoryStore,
        max_bytes: int,
        agent_instance: str,
        board: Board,
        clock: Clock,
        origins: Origins,
        observer: HistoryObserver,
    ) -> None:
        self.wake = asyncio.Event()
        """Set when there is something to write."""

        self._store = store
        self._outbox = Outbox(max_bytes)
        self._agent_instance = agent_instance
        self._board = board
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._session: ProducerSession | None = None
        self._next_number: int | None = None
        self._taken_over = False
        self._alerts: dict[str, ErrorInfo] = {}

    def add(self, rows: EncodedRows) -> int:
        """Have rows written soon, if they can be; returns how many others, or of these, were dropped."""
        dropped = rows.row_count if self._taken_over else self._outbox.add(rows)
        if dropped:
            self._drop(dropped)
        self._observer.history_waiting(self._outbox.row_count)
        return dropped

    async def do_pass(self, pass_index: int) -> None:
        """Write all that waits; what cannot be written waits for the next pass."""
        try:
            await self._write()
        except ClusterError as error:
            self._fail(error)
        finally:
            self._observer.history_waiting(self._outbox.row_count)

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """A pass deals with its failures by itself."""

    def writing(self, run_passes: Callable[[], Coroutine[Any, Any, NoReturn]]) -> AbstractAsyncContextManager[None]:
        """Have passes done while entered, and a last one for what was added until then."""
        return in_background(run_passes, lambda: self.do_pass(-1), LAST_WRITE_SECONDS, self._give_up)

    async def _write(self) -> None:
        if self._taken_over:
            return
        if self._session is None and not await self._begin():
            return
        while rows := self._outbox.claim(MAX_PUSH_BYTES):
            # Whatever interrupts the push, the next push needs a new session.
            session, self._session = self._session, None
            assert session is not None and self._next_number is not None, "it has been begun"
            await self._store.push(session.epoch, self._next_number, rows)
            self._session = session
            self._written()
        self._succeed()

    async def _begin(self) -> bool:
        """Begin the session; False if somebody else has it now."""
        if self._next_number is not None:
            owner = await self._store.find_owner()
            if owner not in (None, self._agent_instance):
                self._yield_to(owner or "unknown")
                return False
        session = await self._store.begin_session(self._agent_instance)
        if self._next_number is None:
            self._next_number = session.sequence_number + 1
        elif self._outbox.claimed_row_count and session.sequence_number >= self._next_number:
            self._written()
        self._outbox.release(written=False)
        self._next_number = max(self._next_number, session.sequence_number + 1)
        self._session = session
        return True

    def _written(self) -> None:
        assert self._next_number is not None, "the session has been begun"
        row_count = self._outbox.claimed_row_count
        self._outbox.release(written=True)
        self._next_number += row_count
        self._observer.history_written(row_count)

    def _drop(self, row_count: int) -> None:
        self._observer.history_dropped(row_count)
        if DROPPED not in self._alerts and not self._taken_over:
            log.warning("history rows dropped", row_count=row_count)
            origin = self._origins.make(self._clock.now())
            self._alert(DROPPED, origin.error("Rows of the history were dropped, for they could not be written"))

    def _fail(self, error: ClusterError) -> None:
        self._observer.history_failed()
        origin = self._origins.make(self._clock.now())
        alert = origin.error("The history cannot be written", inner_errors=[origin.cluster_error(error)])
        if FAILED not in self._alerts:
            log.warning("history cannot be written", error=str(error))
        self._alert(FAILED, alert)

    def _succeed(self) -> None:
        if self._alerts:
            log.info("history is written again")
            self._alerts = {}
            self._board.put_alerts(KIND, {})

    def _yield_to(self, owner: str) -> None:
        self._taken_over = True
        log.error("history taken over", agent_instance=self._agent_instance, owner=owner)
        origin = self._origins.make(self._clock.now())
        error = origin.error(
            "Another process writes the history in the session of this agent, which therefore stops writing it",
            attributes={"agent_instance": self._agent_instance, "owner": owner},
        )
        self._alerts = {}
        self._alert(TAKEN_OVER, error)
        self._observer.history_dropped(self._outbox.drop_all())

    def _alert(self, category: str, error: ErrorInfo) -> None:
        self._alerts = {**self._alerts, category: error}
        self._board.put_alerts(KIND, self._alerts)

    def _give_up(self) -> None:
        log.warning("history not written to its end", row_count=self._outbox.row_count)
