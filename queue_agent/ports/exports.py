"""Static exports: what a cluster offers to those who make them, and who hears of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.planning import TablePart
from queue_agent.core.exports.preview import ExportPreview
from queue_agent.core.exports.progress import StoredProgress
from queue_agent.core.exports.source import ChunkFacts, Destination, ExportedQueue, TabletChunks
from queue_agent.core.values.refs import CrossClusterRef


class ExportView(Protocol):
    """Looks at a queue and at directories, as they are now or as a transaction has locked them.

    Every method raises a `ClusterError`.
    """

    async def describe_queue(self, path: str) -> ExportedQueue: ...

    async def list_tablet_ids(self, path: str) -> Sequence[str]:
        """Of a queue by index, as it is now: neither a transaction nor a lock changes the answer."""
        ...

    async def is_wanted(self, path: str, name: str, directory: str) -> bool:
        """Whether a queue's configuration has an export of this name to this directory, as it is now."""
        ...

    async def read_destination(self, directory: str) -> Destination: ...

    async def list_chunks(self, chunk_list_id: str) -> Sequence[TabletChunks]:
        """Of a queue, by tablet index; rows that are not flushed are in none."""
        ...

    async def get_flushed_row_counts(self, chunk_list_ids: Sequence[str]) -> Sequence[int]:
        """Index after the last flushed row of each tablet, trimmed rows counted."""
        ...

    async def describe_chunks(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkFacts]:
        """By id."""
        ...


class ExportTransaction(ExportView, Protocol):
    """A master transaction for one task: what is done in it is seen all at once, after `commit`, or never."""

    async def lock_queue(self, path: str) -> str:
        """Have the queue stay as it is for those who look by this transaction; returns its object id."""
        ...

    async def lock_directory(self, directory: str) -> str:
        """Keep other exporters away from a directory; returns its object id.

        By the path links are followed; whoever can change one must not lead the rest of the task elsewhere.
        """
        ...

    async def make_table(
        self, directory_id: str, name: str, queue: ExportedQueue, part: TablePart, attributes: Mapping[str, Any]
    ) -> None:
        """Make a table of some chunks' rows, or nothing at all if that fails.

        Args:
            directory_id: where to.
            name: one literal component of a path.
            queue: whose rows and schema it gets.
            part: which rows.
            attributes: further ones of the table.

        Raises:
            ClusterError: code 501 if something of this name is there.
        """
        ...

    async def generate_timestamp(self) -> int:
        """The present by the cluster's clock."""
        ...

    async def set_progress(self, directory_id: str, progress: StoredProgress) -> None: ...

    async def commit(self) -> None: ...


class ExportCluster(Protocol):
    """What exporters need of one cluster."""

    def looking(self) -> ExportView:
        """Look without a lock."""
        ...

    def exporting(self, title: str) -> AbstractAsyncContextManager[ExportTransaction]:
        """Begin a transaction, which is kept alive; if it was not committed it is aborted on leaving.

        Args:
            title: of the transaction, for people who look at what locks a node.
        """
        ...


class ExportObserver(Protocol):
    """Hears of tasks of exports; metrics do."""

    def export_finished(self, queue: CrossClusterRef, name: str, outcome: ExportOutcome) -> None:
        """A task has ended."""
        ...

    def exports_kept(self, exports: Mapping[CrossClusterRef, Collection[str]]) -> None:
        """Only these exports, given by name, are looked after here from now on."""
        ...


class ExportPlanner(Protocol):
    """Tells what exports would make, and makes nothing."""

    async def preview(self, queue: CrossClusterRef) -> ExportPreview | None:
        """None for a queue not served here."""
        ...
