"""Between an agent and its clusters: where questions and answers get lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from queue_agent.errors import ClusterUnavailable
from tests.truth.history import History
from tests.truth.tables import Event

Meanwhile = Mapping[int, Event]
"""What happens right after so many questions; "lose" loses an answer, "refuse" a question."""


class Wire:
    """Between an agent and all clusters."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._count = 0
        self._meanwhile: dict[int, list[Event]] = {}

    def expect(self, meanwhile: Sequence[tuple[int, Event]]) -> None:
        """From now on count questions from zero, and let this happen after them."""
        self._count = 0
        self._meanwhile = defaultdict(list)
        for number, event in meanwhile:
            self._meanwhile[number].append(event)

    def ask(self) -> None:
        """A question arrives.

        Raises:
            ClusterUnavailable: it does not.
        """
        self._count += 1
        if any(name == "refuse" for name, *_ in self._meanwhile.get(self._count, ())):
            raise ClusterUnavailable("Refused")

    def answered(self) -> None:
        """The cluster has done what it was asked for.

        Raises:
            ClusterUnavailable: the answer is lost.
        """
        events = self._meanwhile.pop(self._count, [])
        for event in events:
            if event[0] not in ("refuse", "lose"):
                self.history.happen(event)
        if any(name == "lose" for name, *_ in events):
            raise ClusterUnavailable("No answer")
