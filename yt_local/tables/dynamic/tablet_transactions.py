"""The open tablet transactions of a cluster's proxy."""

from __future__ import annotations

from typing import Final

from yt_local.base.ids import MASTER_TRANSACTION_TYPES
from yt_local.rows.row_locks import LockHistory
from yt_local.store.state import ClusterState
from yt_local.tables.dynamic.table_writer import TableWriter
from yt_local.tables.dynamic.tablet_transaction import Atomicity, TabletTransaction
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid

DEFAULT_TIMEOUT: Final = 15_000
"""Milliseconds a transaction lives without a ping unless it says otherwise."""


class TabletTransactions:
    """Begun, kept alive and ended here.

    Nothing is locked before a commit, so one that is over is in nobody's way until it is noticed.
    """

    def __init__(self, state: ClusterState, writer: TableWriter, history: LockHistory) -> None:
        self._state = state
        self._writer = writer
        self._history = history
        self._open: dict[str, TabletTransaction] = {}

    def __len__(self) -> int:
        """How many are open, or have not been noticed to be over."""
        return len(self._open)

    def start(
        self, timeout: int = DEFAULT_TIMEOUT, deadline: float | None = None, atomicity: Atomicity = "full"
    ) -> TabletTransaction:
        """Begin a transaction.

        Args:
            timeout: milliseconds it lives without a ping.
            deadline: seconds since the epoch after which it is over in any case.
            atomicity: `none` gives up conflict checks, for tables that are of this atomicity too.
        """
        now = self._state.clock.seconds()
        with self._state.change():
            timestamp = self._state.timestamps.next()
        transaction = TabletTransaction(
            id=self._state.ids.of_transaction(atomicity, timestamp),
            start_timestamp=timestamp,
            atomicity=atomicity,
            timeout=timeout / 1000,
            deadline=deadline,
            last_ping=now,
        )
        self._open[transaction.id] = transaction
        if atomicity == "full":
            self._history.opened(timestamp)
        return transaction

    def get(self, transaction_id: str) -> TabletTransaction:
        """An open transaction; asking for it counts as a ping.

        Raises:
            YtError: it is the id of a master transaction; 11000 if there is none of this id, or no longer.
        """
        guid = Guid.parse(transaction_id)
        if guid.object_type in MASTER_TRANSACTION_TYPES:
            raise YtError(f"{transaction_id} is not a valid tablet transaction id")
        now = self._state.clock.seconds()
        transaction = self._open.get(str(guid))
        if transaction is None or transaction.is_expired(now):
            raise YtError(
                f"Sticky transaction {transaction_id} is not found, this usually means that you use tablet transactions"
                " within HTTP API; consider using RPC API instead",
                ErrorCode.NO_SUCH_TRANSACTION,
            )
        transaction.last_ping = now
        return transaction

    def expire(self) -> None:
        """Forget the transactions that are over because nobody pinged them, and what they were to write."""
        now = self._state.clock.seconds()
        for transaction in [transaction for transaction in self._open.values() if transaction.is_expired(now)]:
            self._close(transaction)

    def commit(self, transaction_id: str) -> int:
        """Make what the transaction wrote visible, all of it or nothing; it is over in either case.

        Returns:
            The timestamp of the commit.
        """
        transaction = self.get(transaction_id)
        try:
            return self._writer.commit(transaction)
        finally:
            self._close(transaction)

    def abort(self, transaction_id: str) -> None:
        """End a transaction without a trace."""
        self._close(self.get(transaction_id))

    def _close(self, transaction: TabletTransaction) -> None:
        del self._open[transaction.id]
        self._history.closed(transaction.start_timestamp)
