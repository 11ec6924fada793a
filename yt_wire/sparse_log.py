"""Log lines that peers can cause: one of each kind in an interval, with the number of those left out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, Protocol

INTERVAL_SECONDS: Final = 10.0


class Log(Protocol):
    """What is needed of a logger."""

    def info(self, event: str, **fields: Any) -> Any: ...

    def exception(self, event: str, **fields: Any) -> Any: ...


class _Kind:
    def __init__(self) -> None:
        self.written_at = float("-inf")
        self.suppressed = 0


class SparseLog:
    """Writes the first line of a kind at once, and then no more than one in an interval.

    Args:
        log: where lines go.
        interval: in seconds.
        clock: seconds that only grow.
    """

    def __init__(
        self, log: Log, interval: float = INTERVAL_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._interval = interval
        self._clock = clock
        self._kinds: dict[str, _Kind] = {}

    def info(self, event: str, **fields: Any) -> None:
        """Write a line, or count it; lines with the same event are of one kind."""
        if (suppressed := self._take_turn(event)) is not None:
            self._log.info(event, **fields, **suppressed)

    def exception(self, event: str, **fields: Any) -> None:
        """The same for a bug, with its traceback."""
        if (suppressed := self._take_turn(event)) is not None:
            self._log.exception(event, **fields, **suppressed)

    def flush(self) -> None:
        """Write how many lines were left out of each kind whose interval is over; to be called now and then."""
        now = self._clock()
        for event, kind in self._kinds.items():
            if kind.suppressed and now - kind.written_at >= self._interval:
                self._log.info(event, suppressed=kind.suppressed)
                kind.written_at, kind.suppressed = now, 0

    def _take_turn(self, event: str) -> dict[str, int] | None:
        """Fields to add; None if the line is left out."""
        kind = self._kinds.setdefault(event, _Kind())
        now = self._clock()
        if now - kind.written_at < self._interval:
            kind.suppressed += 1
            return None
        fields = {"suppressed": kind.suppressed} if kind.suppressed else {}
        kind.written_at, kind.suppressed = now, 0
        return fields
