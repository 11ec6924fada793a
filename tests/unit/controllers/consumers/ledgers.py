"""Ledgers of consumers as an agent finds them."""

from __future__ import annotations

from queue_agent.core.verdicts.keeping import Written
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from tests.unguarded import KeepNoLedger


class KnownLedger(KeepNoLedger):
    """`ports.LedgerBook` of which a test says what was read, and what has been written."""

    is_missing = False

    def __init__(self, opened: QueueState | None) -> None:
        self.opened = opened
        self.noted: QueueState | None = None
        self.written: Written | None = None

    async def open(self, pair: Pair) -> QueueState | None:  # type: ignore[override] # it has one
        return self.opened

    def note(self, state: QueueState, *, urgent: bool) -> None:
        self.noted = state

    def find_written(self, pair: Pair) -> Written | None:  # type: ignore[override] # it has one
        return self.written
