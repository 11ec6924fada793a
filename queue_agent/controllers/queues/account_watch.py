"""Reads what the accounts of queues use, and what they may use."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import structlog

from queue_agent.controllers.passes.clusters import Clusters, fan_out, get_cluster
from queue_agent.controllers.status.board import Board
from queue_agent.core.queues.held_rows import held_shares
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.values.observed import is_refresh_due
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.quota import (
    ATTRIBUTES,
    DISK_SPACE,
    Account,
    AccountState,
    Holder,
    find_quotas,
    observe,
    parse_amounts,
    with_error,
)
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import Clock, PassObserver
from yt_wire.ypath import escape_literal

log = structlog.get_logger(__name__)

KIND: Final = "accounts"

PERIOD: Final = timedelta(seconds=10)
TIMEOUT: Final = timedelta(minutes=1)

_REFRESH_PASSES: Final = 60
"""After so many a queue is asked again which account pays for it, and what it costs."""

_HELD_REFRESH_PASSES: Final = 3
"""The same of one whose rows somebody holds."""

_CONCURRENT_QUESTIONS: Final = 100
_QUEUE_ATTRIBUTES: Final = ("account", "resource_usage")


@dataclass(frozen=True, slots=True)
class _Bill:
    """What a queue costs."""

    account: Account
    disk_space: int


class AccountWatch:
    """Keeps forecasts of the accounts that pay for the queues led here.

    Args:
        clusters: where queues are.
        board: has the queues, and gets the forecasts.
        clock: of readings.
        observer: of the passes.
    """

    def __init__(self, clusters: Clusters, board: Board, clock: Clock, observer: PassObserver) -> None:
        self._clusters = clusters
        self._board = board
        self._clock = clock
        self._observer = observer
        self._bills: dict[CrossClusterRef, _Bill] = {}
        self._states: dict[Account, AccountState] = {}

    async def do_pass(self, pass_index: int) -> None:
        """Read each account once; of queues, those that are new or held back."""
        led = {ref: snapshot for ref, snapshot in self._board.queues().items() if snapshot.role is Role.LEADING}
        held = {ref: shares for ref, snapshot in led.items() if (shares := held_shares(snapshot))}
        await self._read_bills(led, held.keys(), pass_index)
        accounts = {one.account for one in self._bills.values()}
        answers = await fan_out(self._read_account, accounts, limit=_CONCURRENT_QUESTIONS)
        now = self._clock.now().timestamp()
        states: dict[Account, AccountState] = {}
        for account, answer in answers.items():
            state = self._states.get(account, AccountState(account))
            if isinstance(answer, ClusterError):
                if state.error is None:
                    log.warning("account not read", account=str(account), error=str(answer))
                states[account] = with_error(state, str(answer))
            else:
                states[account] = observe(state, parse_amounts(answer), self._held_by(account, held), now)
        self._states = states
        quotas = {account: find_quotas(state) for account, state in states.items()}
        self._board.put_accounts(quotas, {ref: one.account for ref, one in self._bills.items()})

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Tell the observer; what was known before stays in force."""
        self._observer.pass_finished(KIND, pass_index, seconds, error)

    def _held_by(self, account: Account, held: Mapping[CrossClusterRef, Mapping[str, float]]) -> dict[Holder, float]:
        """Bytes on disk of the rows that somebody holds, by holder."""
        return {
            Holder(str(ref), subject): share * self._bills[ref].disk_space
            for ref, shares in held.items()
            if ref in self._bills and self._bills[ref].account == account
            for subject, share in shares.items()
        }

    async def _read_bills(
        self, led: Mapping[CrossClusterRef, QueueSnapshot], held: Container[CrossClusterRef], pass_index: int
    ) -> None:
        self._bills = {ref: one for ref, one in self._bills.items() if ref in led}
        due = [
            ref
            for ref in led
            if ref not in self._bills
            or is_refresh_due(ref, pass_index, _HELD_REFRESH_PASSES if ref in held else _REFRESH_PASSES)
        ]
        answers = await fan_out(self._read_queue, due, limit=_CONCURRENT_QUESTIONS)
        for ref, answer in answers.items():
            if isinstance(answer, ClusterError):
                continue  # its own pass reports that it cannot be read
            name, usage = (answer.get(key) for key in _QUEUE_ATTRIBUTES)
            if isinstance(name, str):
                space = usage.get(DISK_SPACE) if isinstance(usage, Mapping) else None
                self._bills[ref] = _Bill(Account(ref.cluster, name), space if isinstance(space, int) else 0)

    async def _read_queue(self, ref: CrossClusterRef) -> Mapping[str, Any]:
        return await get_cluster(self._clusters, ref.cluster).get_attributes(ref.path, _QUEUE_ATTRIBUTES)

    async def _read_account(self, account: Account) -> Mapping[str, Any]:
        path = f"//sys/accounts/{escape_literal(account.name)}"
        return await get_cluster(self._clusters, account.cluster).get_attributes(path, ATTRIBUTES)
