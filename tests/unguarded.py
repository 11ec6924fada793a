"""Stand-ins for the guards of an agent, for tests that are about something else."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.passes.clusters import Clusters
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.status.trim_book import TrimBook
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.ports.cluster import Permit
from queue_agent.ports.passes import Clock, PassObserver


@dataclass(frozen=True, slots=True)
class AlwaysPermitted:
    """`ports.Permit` that nobody takes back."""

    seconds: float = 60.0

    def check(self) -> None:
        return


class NoOtherAgents:
    """`ports.LeadershipGuard` of the only agent there ever was."""

    def find_hold(self, refs: Collection[CrossClusterRef]) -> None:
        return

    def permit(self, refs: Collection[CrossClusterRef]) -> Permit:
        return AlwaysPermitted()

    @contextmanager
    def acting(self, refs: Collection[CrossClusterRef]) -> Iterator[Permit]:
        yield AlwaysPermitted()


class ClustersAreBelieved:
    """`ports.ConnectionGuard` that asks no cluster."""

    def find_mismatch(self, clusters: Collection[str], origin: Origin) -> None:
        return


class KeepNoJournal:
    """`ports.TrimJournal` that forgets."""

    def note(self, record: TrimRecord) -> None:
        return


class EmptyJournal:
    """`ports.TrimJournalReader` that has nothing."""

    async def read(self, since: Mapping[CrossClusterRef, datetime]) -> Sequence[TrimRecord]:
        return ()


class KeepNoLedger:
    """`ports.LedgerBook` of an agent that forgets everything when it ends."""

    async def open(self, pair: Pair) -> None:
        return

    def note(self, state: QueueState, *, urgent: bool) -> None:
        raise AssertionError("only what was opened is noted")

    def close(self, pair: Pair) -> None:
        return


class TheBoardsRegistrationsAreBelieved:
    """`ports.RegistrationGuard` that asks no state table."""

    def __init__(self, board: Board) -> None:
        self._board = board

    async def read(self) -> Mapping[CrossClusterRef, Sequence[Registration]]:
        return {ref: self._board.registrations_of_queue(ref) for ref in self._board.all_queues}


def always_the_keeper() -> bool:
    """Answer of an agent that alone keeps the state tables."""
    return True


def unguarded_context(
    board: Board, clusters: Clusters, clock: Clock, observer: PassObserver, config: ControllerConfig, **others: Any
) -> ControllerContext:
    """A context that forbids nothing, and exports nothing; `others` are fields of a `ControllerContext`."""
    fields: dict[str, Any] = {
        "export_clusters": {},
        "trimming": "allowed",
        "static_exports": "allowed",
        "journal": KeepNoJournal(),
        "trims": TrimBook(EmptyJournal(), clock),
        "ledger": KeepNoLedger(),
        "connections": ClustersAreBelieved(),
        "leadership": NoOtherAgents(),
        "registrations": TheBoardsRegistrationsAreBelieved(board),
    }
    return ControllerContext(
        board=board, clusters=clusters, clock=clock, observer=observer, config=config, **{**fields, **others}
    )
