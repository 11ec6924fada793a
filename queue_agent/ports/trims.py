"""Trimming: its journal and its preview."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.trimming.preview import TrimPreview
from queue_agent.core.values.refs import CrossClusterRef


class TrimJournalStore(Protocol):
    """Where the journal of trims is kept; raises `ClusterError` like a cluster."""

    async def write(self, records: Collection[TrimRecord]) -> None:
        """Add records; one that is there already is no error."""
        ...


class TrimJournalReader(Protocol):
    """What the journal of trims tells; raises `ClusterError` like a cluster."""

    async def read(self, since: Mapping[CrossClusterRef, datetime]) -> Sequence[TrimRecord]:
        """Records of some queues.

        Args:
            since: by queue, the instant of the first record that is wanted.

        Returns:
            Records without their constraints, and no more than one query may give.
        """
        ...


class TrimJournal(Protocol):
    """Takes notes of trims."""

    def note(self, record: TrimRecord) -> None:
        """Remember a trim that was done; it will be written soon, if it can be."""
        ...


class TrimPlanner(Protocol):
    """Tells what trimming would do, and does nothing."""

    async def preview(self, ref: CrossClusterRef, policy: Mapping[str, Any] | None) -> TrimPreview | None:
        """What a policy would do to a queue now.

        Args:
            ref: the queue.
            policy: in place of the queue's own `@auto_trim_config`; None: its own.

        Returns:
            None for a queue not served here.
        """
        ...


class JournalObserver(Protocol):
    """Hears of the journal of trims; metrics do."""

    def journal_written(self, count: int) -> None:
        """So many records were written."""
        ...

    def journal_dropped(self, count: int) -> None:
        """So many records could not be written for too long."""
        ...

    def journal_failed(self) -> None:
        """Writing failed; it will be tried again."""
        ...
