"""What verdicts are made from, kept beyond the life of an agent."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from queue_agent.core.verdicts.keeping import LedgerRow, Written
from queue_agent.core.verdicts.queue_state import Pair, QueueState


class LedgerStore(Protocol):
    """Where ledgers are kept; raises `ClusterError` like a cluster, `ObjectNotFound` if there is no such place."""

    async def find(self, pair: Pair) -> QueueState | None:
        """What was written last; None: nothing, or nothing that makes sense."""
        ...

    async def write(self, rows: Collection[LedgerRow]) -> None:
        """Put rows in the place of older ones, in one transaction."""
        ...


class LedgerBook(Protocol):
    """Ledgers as those who judge see them."""

    async def open(self, pair: Pair) -> QueueState | None:
        """Where to go on from; None: it cannot be read now, and what is counted is counted in memory."""
        ...

    @property
    def is_missing(self) -> bool:
        """There is no table: what is counted in memory is all there is."""
        ...

    def find_written(self, pair: Pair) -> Written | None:
        """What this agent wrote last of a pair since it opened it; None: nothing yet."""
        ...

    def note(self, state: QueueState, *, urgent: bool) -> None:
        """Have a state written in the background, or soon; only one that goes on from what `open` gave.

        Args:
            state: as it is now.
            urgent: it tells of a loss, or of another verdict.
        """
        ...

    def close(self, pair: Pair) -> None:
        """Nobody judges this pair here any more; what was noted is still written."""
        ...


class LedgerObserver(Protocol):
    """Hears of the ledger; metrics do."""

    def ledger_written(self, count: int) -> None:
        """So many rows were written."""
        ...

    def ledger_waiting(self, count: int) -> None:
        """So many pairs have changes that are to be written."""
        ...

    def ledger_failed(self) -> None:
        """Reading or writing failed; it will be tried again."""
        ...
