"""Trimming: its journal and its preview."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from queue_agent.core.state.trim_journal import JournalSpan, TrimRecord
from queue_agent.core.trimming.preview import TrimPreview
from queue_agent.core.values.refs import CrossClusterRef


class TrimJournalStore(Protocol):
    """Where the journal of trims is kept; raises `ClusterError` like a cluster."""

    async def write(self, records: Collection[TrimRecord]) -> None:
        """Add records; one that is there already is no error."""
        ...

    async def remove(self, records: Collection[TrimRecord]) -> None:
        """Take back records of trims that were refused; one that is not there is no error."""
        ...


class TrimJournalReader(Protocol):
    """What the journal of trims tells; raises `ClusterError` like a cluster."""

    async def read(self, wanted: Mapping[CrossClusterRef, JournalSpan]) -> Sequence[TrimRecord]:
        """Records of some tables.

        Args:
            wanted: by table.

        Returns:
            Records without their constraints.
        """
        ...


class TrimJournal(Protocol):
    """Takes notes of trims."""

    async def announce(self, records: Collection[TrimRecord]) -> None:
        """Write what is about to be trimmed, before it is; if that takes too long, it will be written later."""
        ...

    def take_back(self, record: TrimRecord) -> None:
        """Have the record of a trim removed that was refused."""
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
