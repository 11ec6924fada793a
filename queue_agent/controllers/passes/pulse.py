"""The pulse of an agent: passes give signs of life, and it is known which of them hang."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Final

from queue_agent.core.status.liveness import Sign, find_hung

OBJECTS: Final = "objects"
"""Passes over single objects, of all clusters together: that one cluster's hang is no reason to end the others'."""


class Pulse:
    """Of all passes of an agent.

    Args:
        patience: how late a sign may be.
        time: seconds of a clock that only grows.
    """

    def __init__(self, patience: timedelta, time: Callable[[], float] = monotonic) -> None:
        self._patience = patience.total_seconds()
        self._time = time
        self._signs: dict[str, Sign] = {}

    def give(self, kind: str, next_within: float) -> None:
        """Note a sign of life of one kind of passes.

        Args:
            kind: as in `PassObserver`; `OBJECTS` for those of all clusters' objects together.
            next_within: seconds in which the next sign comes; NEVER if none has to.
        """
        self._signs[kind] = Sign(self._time(), next_within)

    def find_hung(self) -> list[str]:
        """Kinds of passes that hang, or fail by a fault of this process; only a new process helps."""
        return find_hung(self._signs, self._time(), self._patience)
