"""Records of a table, collected in memory and written in passes; a failure to write them stops nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Generic, NoReturn, TypeVar

import structlog

from queue_agent.controllers.passes.background import in_background
from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.write_alert import AlertWords, WriteAlert
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import Clock

log = structlog.get_logger(__name__)

MAX_WAITING: Final = 10_000
"""Records kept while they cannot be written; the oldest are dropped then."""

MAX_BATCH: Final = 1000

LAST_WRITE_SECONDS: Final = 2.0
"""Time to write the remaining records before the agent stops."""

RecordT = TypeVar("RecordT")


@dataclass(frozen=True, slots=True)
class Counters:
    """What hears of records; metrics do."""

    written: Callable[[int], None]
    dropped: Callable[[int], None]
    failed: Callable[[], None]


class RecordWriter(Generic[RecordT]):
    """Writes what was noted, in passes.

    Args:
        write: adds records to the table; raises `ClusterError`. Writing a record twice changes nothing.
        words: of the alert about failures.
        board, clock, origins: of that alert.
        counters: hear of every record.
    """

    def __init__(
        self,
        write: Callable[[Collection[RecordT]], Awaitable[None]],
        words: AlertWords,
        board: Board,
        clock: Clock,
        origins: Origins,
        counters: Counters,
    ) -> None:
        self._write = write
        self._table = words.table
        self._alert = WriteAlert(words, board, clock, origins)
        self._counters = counters
        self._waiting: deque[RecordT] = deque()
        self._most = MAX_BATCH
        """Of one batch: half as many after a failure, so that records which the table refuses keep back no others."""

    def note(self, record: RecordT) -> None:
        """Have a record written soon, if it can be."""
        self._waiting.append(record)
        if len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
            self._counters.dropped(1)

    @property
    def is_written(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    @property
    def is_failing(self) -> bool:
        """Whether the last attempt to write has failed."""
        return self._alert.is_raised

    def note_failure(self, error: ClusterError) -> None:
        """An attempt to write has failed."""
        self._counters.failed()
        self._alert.fail(error)

    def note_success(self) -> None:
        """An attempt to write has succeeded."""
        self._alert.succeed()

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """A pass deals with its failures by itself."""

    async def do_pass(self, pass_index: int) -> None:
        """Write everything noted so far; what cannot be written waits for the next pass."""
        while self._waiting:
            batch = list(islice(self._waiting, self._most))
            try:
                await self._write(batch)
            except ClusterError as error:
                self.note_failure(error)
                self._most = max(1, len(batch) // 2)
                self._waiting.rotate(-len(batch))
                return
            self._most = min(MAX_BATCH, 2 * self._most)
            self._forget(batch)
            self._counters.written(len(batch))
            self.note_success()

    def writing(self, run_passes: Callable[[], Coroutine[Any, Any, NoReturn]]) -> AbstractAsyncContextManager[None]:
        """Have passes done while entered, and a last one for what was noted until then."""
        return in_background(run_passes, lambda: self.do_pass(-1), LAST_WRITE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        log.warning(f"stopped before {self._table} was complete", record_count=len(self._waiting))

    def _forget(self, batch: list[RecordT]) -> None:
        # While the batch was being written, its oldest records may have been dropped as excess.
        written = {id(record) for record in batch}
        while self._waiting and id(self._waiting[0]) in written:
            self._waiting.popleft()
