"""Stand-ins for the guards of an agent, for tests that are about something else."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.passes.clusters import Clusters
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.status.trim_book import TrimBook
from queue_agent.core.state.consumer_events import Event
from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_journal import JournalSpan, TrimRecord
from queue_agent.core.trimming.grace import Graces
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
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

    def find_term(self, refs: Collection[CrossClusterRef]) -> Term:
        return Term(0.0, time.monotonic())

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

    async def announce(self, records: Collection[TrimRecord]) -> None:
        return

    def take_back(self, record: TrimRecord) -> None:
        return


class EmptyJournal:
    """`ports.TrimJournalReader` that has nothing."""

    async def read(self, wanted: Mapping[CrossClusterRef, JournalSpan]) -> Sequence[TrimRecord]:
        return ()


class NoQuarantines:
    """`ports.QuarantineStore` of agents that put nobody into quarantine."""

    async def read(self, queue: CrossClusterRef) -> Sequence[Quarantine]:
        return ()

    async def write(self, queue: CrossClusterRef, quarantine: Quarantine) -> None:
        raise AssertionError("nobody is put into quarantine")

    async def remove(self, queue: CrossClusterRef, consumer: CrossClusterRef) -> None:
        raise AssertionError("nobody is in quarantine")


class KeepNoLedger:
    """`ports.LedgerBook` of an agent that forgets everything when it ends."""

    is_missing = True

    def find_written(self, pair: Pair) -> None:
        return

    async def open(self, pair: Pair) -> None:
        return

    def note(self, state: QueueState, *, urgent: bool) -> None:
        raise AssertionError("only what was opened is noted")

    def close(self, pair: Pair) -> None:
        return


@dataclass
class RememberEvents:
    """`ports.EventLog` that only remembers."""

    noted: list[Event] = field(default_factory=list)

    def note(
        self,
        kind: EventKind,
        reason: str,
        queue: CrossClusterRef | None = None,
        consumer: CrossClusterRef | None = None,
        subject: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.noted.append(Event(EPOCH, "1-2-3-4", kind.value, "test", reason, queue, consumer, subject, details or {}))


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
        "graces": Graces(),
        "quarantine": None,
        "quarantines": NoQuarantines(),
        "ledger": KeepNoLedger(),
        "events": RememberEvents(),
        "connections": ClustersAreBelieved(),
        "leadership": NoOtherAgents(),
        "registrations": TheBoardsRegistrationsAreBelieved(board),
    }
    return ControllerContext(
        board=board, clusters=clusters, clock=clock, observer=observer, config=config, **{**fields, **others}
    )
