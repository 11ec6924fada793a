"""The journal of trims: what is about to be trimmed is written before it is."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import timedelta
from typing import Final

from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.record_writer import MAX_WAITING, Counters, RecordWriter
from queue_agent.controllers.status.write_alert import AlertWords
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import Clock
from queue_agent.ports.trims import JournalObserver, TrimJournalStore

FAILED: Final = "queue_agent_trim_journal_failed"
"""Category of the alert."""

JOURNAL_PERIOD: Final = timedelta(seconds=2)
"""From one attempt to write what could not be written before to the next."""

PATIENCE_SECONDS: Final = 2.0
"""A journal that does not answer must not hold trims back."""

_RETRY_SECONDS: Final = 0.2

_WORDS: Final = AlertWords("trim_journal", FAILED, "the trim journal", "Cannot write trims to the journal")


class TrimJournalKeeper(RecordWriter[TrimRecord]):
    """The `ports.TrimJournal` of an agent.

    Trims that are announced while others are being written wait for one write together.

    Args:
        store: where to.
        board: gets the alert.
        clock, origins: of errors.
        observer: hears of what is written.
    """

    def __init__(
        self, store: TrimJournalStore, board: Board, clock: Clock, origins: Origins, observer: JournalObserver
    ) -> None:
        counters = Counters(observer.journal_written, observer.journal_dropped, observer.journal_failed)
        super().__init__(store.write, _WORDS, board, clock, origins, counters)
        self._store = store
        self._refused: list[TrimRecord] = []
        self._writing = asyncio.Lock()
        self._failing_since: float | None = None
        """Time of the loop since which nothing could be written; None: the last attempt succeeded."""

    async def announce(self, records: Collection[TrimRecord]) -> None:
        """See `ports.TrimJournal`."""
        for record in records:
            self.note(record)
        now = asyncio.get_running_loop().time()
        if self._failing_since is None:
            self._failing_since = now
        deadline = self._failing_since + PATIENCE_SECONDS
        if now >= deadline:
            return  # only the passes try, so that trims do not wait for it each time
        try:
            async with asyncio.timeout_at(deadline):
                while not await self._write_waiting():  # noqa: ASYNC110 - a table that fails tells nobody when it is well
                    await asyncio.sleep(_RETRY_SECONDS)
        except TimeoutError:
            if not self.is_failing:
                self.note_failure(ClusterError(f"The journal of trims has not answered for {PATIENCE_SECONDS:.0f} s"))

    async def _write_waiting(self) -> bool:
        """Write everything noted so far; whether that succeeded."""
        async with self._writing:
            await super().do_pass(-1)
        if self.is_written:
            self._failing_since = None
        return self.is_written

    def take_back(self, record: TrimRecord) -> None:
        """See `ports.TrimJournal`."""
        self._refused.append(record)
        del self._refused[:-MAX_WAITING]

    async def do_pass(self, pass_index: int) -> None:
        """Write what was noted, and remove what was refused."""
        if not await self._write_waiting() or not self._refused:
            return
        refused = list(self._refused)
        try:
            await self._store.remove(refused)
        except ClusterError as error:
            self.note_failure(error)
            return
        del self._refused[: len(refused)]
        self.note_success()
