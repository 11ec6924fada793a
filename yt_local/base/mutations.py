"""Answers of recent changes, so that a repeated request changes nothing twice."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from yt_local.base.clock import Clock

_KEPT_SECONDS: Final = 300


class Mutations:
    """Answers by mutation id, forgotten after five minutes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, Any]] = OrderedDict()

    def find(self, mutation_id: str) -> Any:
        """The answer given before; None if there was none."""
        known = self._answers.get(mutation_id)
        return known[1] if known else None

    def remember(self, mutation_id: str, answer: Any) -> None:
        now = self._clock.seconds()
        self._answers[mutation_id] = now, answer
        while self._answers and next(iter(self._answers.values()))[0] < now - _KEPT_SECONDS:
            self._answers.popitem(last=False)
