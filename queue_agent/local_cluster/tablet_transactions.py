"""Tablet transactions: who is at work, since when, and until when without a ping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from queue_agent.local_cluster.state import ClusterState
from queue_agent.wire.error import ErrorCode, YtError
from queue_agent.wire.guid import Guid

DEFAULT_TIMEOUT: Final = 15_000
"""Milliseconds a transaction lives without a ping unless it says otherwise."""

Atomicity: TypeAlias = Literal["full", "none"]

_ID_TYPES: Final = {"full": "atomic_tablet_transaction", "none": "non_atomic_tablet_transaction"}


@dataclass(slots=True)
class TabletTransaction:
    """One open transaction; it belongs to the proxy that started it and is forgotten with it."""

    id: str
    start_timestamp: int
    """What it reads is what had been committed by then."""

    atomicity: Atomicity
    timeout: float
    """Seconds it lives without a ping."""

    deadline: float | None
    """Seconds since the epoch after which no ping helps; None for no such moment."""

    last_ping: float
    """Seconds since the epoch."""

    def is_expired(self, now: float) -> bool:
        return now >= self.last_ping + self.timeout or (self.deadline is not None and now >= self.deadline)


class TabletTransactions:
    """The open tablet transactions of one cluster's proxy.

    Nothing is locked before a commit, so one that is over need not be noticed before somebody asks for it.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._open: dict[str, TabletTransaction] = {}

    def start(
        self, timeout: int = DEFAULT_TIMEOUT, deadline: float | None = None, atomicity: Atomicity = "full"
    ) -> TabletTransaction:
        """Begin a transaction.

        Args:
            timeout: milliseconds it lives without a ping.
            deadline: seconds since the epoch after which it is over in any case.
            atomicity: `none` gives up conflict checks, for tables that are of this atomicity too.
        """
        self._forget(lambda transaction, now: transaction.is_expired(now))
        with self._state.change():
            timestamp = self._state.timestamps.next()
        transaction = TabletTransaction(
            id=self._state.ids.of_timestamp(_ID_TYPES[atomicity], timestamp),
            start_timestamp=timestamp,
            atomicity=atomicity,
            timeout=timeout / 1000,
            deadline=deadline,
            last_ping=self._state.clock.seconds(),
        )
        self._open[transaction.id] = transaction
        return transaction

    def get(self, transaction_id: str) -> TabletTransaction:
        """An open transaction; asking for it counts as a ping.

        Raises:
            YtError: 11000 if there is none of this id, or no longer.
        """
        now = self._state.clock.seconds()
        transaction = self._open.get(str(Guid.parse(transaction_id)))
        if transaction is None or transaction.is_expired(now):
            raise YtError(
                f"Sticky transaction {transaction_id} is not found, this usually means that you use tablet transactions"
                " within HTTP API; consider using RPC API instead",
                ErrorCode.NO_SUCH_TRANSACTION,
            )
        transaction.last_ping = now
        return transaction

    def commit(self, transaction_id: str) -> None:
        """Make what the transaction wrote visible, all of it or nothing; it is over in either case."""
        del self._open[self.get(transaction_id).id]

    def abort(self, transaction_id: str) -> None:
        """End a transaction without a trace."""
        del self._open[self.get(transaction_id).id]

    def _forget(self, is_over: Callable[[TabletTransaction, float], bool]) -> None:
        now = self._state.clock.seconds()
        for transaction in [transaction for transaction in self._open.values() if is_over(transaction, now)]:
            del self._open[transaction.id]
