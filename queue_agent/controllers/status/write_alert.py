"""The alert about a table that the agent cannot write: raised at the first failure, lifted at the next success."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.errors import ClusterError, ObjectNotFound
from queue_agent.ports.passes import Clock

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AlertWords:
    """What one alert is called, and says."""

    kind: str
    """Of the board's alerts."""

    category: str
    table: str
    """For the log: `the trim journal`."""

    message: str
    """For the alert."""


class WriteAlert:
    """Logs and publishes a failure once, until its kind changes or a write succeeds.

    Args:
        words: of the alert.
        board: gets the alert.
        clock, origins: of errors.
    """

    def __init__(self, words: AlertWords, board: Board, clock: Clock, origins: Origins) -> None:
        self._words = words
        self._board = board
        self._clock = clock
        self._origins = origins
        self._failure: tuple[type[ClusterError], int] | None = None

    @property
    def is_table_missing(self) -> bool:
        """Whether the last write failed because the table does not exist."""
        return self._failure is not None and issubclass(self._failure[0], ObjectNotFound)

    @property
    def is_raised(self) -> bool:
        """Whether the last write failed."""
        return self._failure is not None

    def fail(self, error: ClusterError) -> None:
        """A write failed."""
        failure = type(error), error.code
        if failure == self._failure:
            return
        self._failure = failure
        log.warning(f"cannot write {self._words.table}", error=str(error))
        origin = self._origins.make(self._clock.now())
        alert = origin.error(self._words.message, inner_errors=[origin.cluster_error(error)])
        self._board.put_alerts(self._words.kind, {self._words.category: alert})

    def succeed(self) -> None:
        """A write succeeded."""
        if self._failure is not None:
            self._failure = None
            log.info(f"writes {self._words.table} again")
            self._board.put_alerts(self._words.kind, {})
