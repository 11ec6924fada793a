"""Trimming: its journal and its preview."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.trimming.preview import TrimPreview
from queue_agent.core.values.refs import CrossClusterRef


class TrimJournalStore(Protocol):
    """Where the journal of trims is kept; raises `ClusterError` like a cluster."""

    async def write(self, records: Collection[TrimRecord]) -> None:
        """Add records; one that is there already is no error."""
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
