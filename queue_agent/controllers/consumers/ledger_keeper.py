"""Keeps ledgers: reads one when a consumer is taken over, and writes changes in the background."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog

from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.write_alert import AlertWords, WriteAlert
from queue_agent.core.verdicts.keeping import LedgerRow, Written, changed_rows
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.errors import ClusterError, QueueAgentError
from queue_agent.isolation import contain
from queue_agent.ports.guards import LeadershipGuard
from queue_agent.ports.ledger import LedgerObserver, LedgerStore
from queue_agent.ports.passes import Clock

log = structlog.get_logger(__name__)

KIND: Final = "consumer_ledger"

FAILED: Final = "queue_agent_consumer_ledger_failed"
"""Category of the alert."""

LEDGER_PERIOD: Final = timedelta(seconds=1)
"""From pass to pass; urgent changes wait no longer."""

ROUTINE: Final = timedelta(seconds=60)
"""After so long everything that has changed is due."""

MAX_ROWS: Final = 2000
"""Of one pass. What is too much stays in memory, and only its last state is written."""

_MOST_HOLDS: Final = 120
"""A pair that may not be written in so many passes is led by somebody else; a new leader may soon."""

_RETRY: Final = timedelta(seconds=5)
"""From one failure to read to the next attempt."""

_WORDS: Final = AlertWords(
    KIND,
    FAILED,
    "the consumer ledger",
    "Cannot read or write the ledger of consumers: an agent that takes over starts without their history. While the"
    " table is there and cannot be read, it trims no queue with a vital consumer",
)


class LedgerKeeper:
    """`ports.LedgerBook`.

    Args:
        store: where ledgers are.
        leadership: only the leader of a consumer writes its ledger.
        board: gets the alert.
        clock, origins: of errors.
        observer: hears of what is written.
    """

    def __init__(
        self,
        store: LedgerStore,
        leadership: LeadershipGuard,
        board: Board,
        clock: Clock,
        origins: Origins,
        observer: LedgerObserver,
    ) -> None:
        self._store = store
        self._leadership = leadership
        self._alert = WriteAlert(_WORDS, board, clock, origins)
        self._clock = clock
        self._observer = observer
        self._latest: dict[Pair, QueueState] = {}
        """What was noted and is not written, oldest first."""

        self._written: dict[Pair, Written] = {}
        self._due: dict[Pair, None] = {}
        """Pairs to write now, in order; all of them are among `_latest`."""

        self._most_pairs = MAX_ROWS
        """Of one batch: half as many after a failure, so that rows which the table refuses keep back no others."""

        self._held: dict[Pair, int] = {}
        """How often a pair was due while this agent might not act."""

        self._next_routine = clock.now() + ROUTINE
        self._next_reading = clock.now()

    async def open(self, pair: Pair) -> QueueState | None:
        """See `ports.LedgerBook`."""
        # Somebody else may have led it meanwhile: what is written counts, and each older version is valid.
        self._drop(pair)
        self._written.pop(pair, None)
        if self._clock.now() < self._next_reading:
            return None
        try:
            found = await self._store.find(pair)
        except ClusterError as error:
            self._next_reading = self._clock.now() + _RETRY
            self._fail(error)
            return None
        self._alert.succeed()
        return QueueState(pair, is_kept=True) if found is None else found

    @property
    def is_missing(self) -> bool:
        """See `ports.LedgerBook`."""
        return self._alert.is_table_missing

    def find_written(self, pair: Pair) -> Written | None:
        """See `ports.LedgerBook`."""
        return self._written.get(pair)

    def note(self, state: QueueState, *, urgent: bool) -> None:
        """See `ports.LedgerBook`."""
        self._latest[state.pair] = state
        if urgent:
            self._due[state.pair] = None

    def close(self, pair: Pair) -> None:
        """See `ports.LedgerBook`."""
        self._written.pop(pair, None)
        if pair in self._latest:
            self._due[pair] = None

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """A pass deals with its failures by itself."""

    async def do_pass(self, pass_index: int) -> None:
        """Write what is due, as much as a pass may."""
        now = self._clock.now()
        if now >= self._next_routine:
            self._next_routine = now + ROUTINE
            self._due.update(dict.fromkeys(self._latest))
        if self._due:
            await self._write(MAX_ROWS)
        self._observer.ledger_waiting(len(self._due))

    async def flush(self) -> None:
        """Write everything that has changed, before others take over."""
        self._due.update(dict.fromkeys(self._latest))
        while self._due and await self._write(MAX_ROWS):
            pass

    async def _write(self, most: int) -> bool:
        """One batch; False if nothing was written."""
        batch: dict[Pair, QueueState] = {}
        rows: list[LedgerRow] = []
        for pair in list(self._due):
            state = self._latest[pair]
            if self._leadership.find_hold([pair.consumer]) is not None:
                self._hold(pair)
                continue
            changed = changed_rows(state, self._written.get(pair))
            if batch and (len(batch) == self._most_pairs or len(rows) + len(changed) > most):
                break
            batch[pair] = state
            rows += changed
        if not batch:
            return False
        error = await self._try_to_write(list(batch), rows)
        if error is not None:
            self._fail(error)
            self._most_pairs = max(1, len(batch) // 2)
            for pair in batch:  # others come first the next time
                del self._due[pair]
                self._due[pair] = None
            return False
        self._alert.succeed()
        self._most_pairs = min(MAX_ROWS, 2 * self._most_pairs)
        self._observer.ledger_written(len(rows))
        for pair, state in batch.items():
            self._written[pair] = Written.of(state)
            if self._latest.get(pair) is state:
                self._drop(pair)
        return True

    async def _try_to_write(self, pairs: Sequence[Pair], rows: Sequence[LedgerRow]) -> ClusterError | None:
        try:
            with self._leadership.acting([pair.consumer for pair in pairs]):
                if rows:
                    await self._store.write(rows)
        except ClusterError as error:
            return error
        except (QueueAgentError, TimeoutError):
            raise
        except Exception as error:  # noqa: BLE001 - contained
            return contain("state_tables", KIND, error)
        return None

    def _hold(self, pair: Pair) -> None:
        """Not now: the former leader may still write, or somebody else leads."""
        self._held[pair] = self._held.get(pair, 0) + 1
        if self._held[pair] > _MOST_HOLDS:
            self._drop(pair)

    def _drop(self, pair: Pair) -> None:
        for pairs in (self._latest, self._due, self._held):
            pairs.pop(pair, None)

    def _fail(self, error: ClusterError) -> None:
        self._observer.ledger_failed()
        self._alert.fail(error)
