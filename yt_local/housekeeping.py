"""What a cluster does by itself when its clock has moved on."""

from __future__ import annotations

import asyncio
from typing import Final, NoReturn

import structlog

from yt_local.cypress.expiration import Expiration
from yt_local.cypress.master_transactions import MasterTransactions
from yt_local.store.state import ClusterState
from yt_local.tables.dynamic.segments import flush_due, trim_aged
from yt_local.tables.dynamic.tablet_transactions import TabletTransactions

_PERIOD_SECONDS: Final = 1.0

log = structlog.get_logger(__name__)


class Housekeeping:
    """Ends transactions nobody pings, removes nodes whose time has come, flushes rows, trims old ones and frees chunks.

    Commands have it look before they run, so that nobody sees what should be done and is not, whatever moved the clock.

    Args:
        state: of the cluster.
        transactions: those of its master.
        tablet_transactions: those of its proxy.
        expiration: of its nodes.
    """

    def __init__(
        self,
        state: ClusterState,
        transactions: MasterTransactions,
        tablet_transactions: TabletTransactions,
        expiration: Expiration,
    ) -> None:
        self._state = state
        self._transactions = transactions
        self._tablet_transactions = tablet_transactions
        self._expiration = expiration
        self._looked_at = float("-inf")

    def look(self) -> None:
        """Do what is due, most of it only if the clock has moved by a second; not to be called inside a change."""
        self._expiration.touch_locked()
        self._transactions.expire()
        self._expiration.look()
        now = self._state.clock.seconds()
        if abs(now - self._looked_at) >= _PERIOD_SECONDS:
            self._looked_at = now
            self._tablet_transactions.expire()
            flush_due(self._state)
            trim_aged(self._state)
            self._state.collect_chunks()

    async def run(self) -> NoReturn:
        """Look again and again, for clusters that nobody asks anything."""
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            try:
                self.look()
            except Exception:  # a bug, or a disk that is full: commands meet it too, and tell their clients
                log.exception("housekeeping crashed")
