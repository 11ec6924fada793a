"""TrimJournalStore over a dynamic table beside the state tables."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from queue_agent.core.state.trim_journal import TABLE_NAME, TrimRecord
from queue_agent.core.values.encoding import encode_instant


class JournalCluster(Protocol):
    """The command this needs; `YtCluster` has it."""

    async def insert_rows(self, path: str, rows: list[dict[str, Any]]) -> None: ...


class TrimJournalTable:
    """`ports.TrimJournalStore`.

    Args:
        cluster: where the table is.
        root: directory of the state tables.
    """

    def __init__(self, cluster: JournalCluster, root: str) -> None:
        self._cluster = cluster
        self._path = f"{root}/{TABLE_NAME}"

    async def write(self, records: Collection[TrimRecord]) -> None:
        """Add records in one transaction; one that is there already is written again as it was."""
        await self._cluster.insert_rows(self._path, [to_row(record) for record in records])


def to_row(record: TrimRecord) -> dict[str, Any]:
    """Columns of the table by name."""
    return {
        "queue_cluster": record.queue.cluster,
        "queue_path": record.queue.path,
        "instant": encode_instant(record.instant),
        "partition_index": record.partition_index,
        "agent": record.agent,
        "object_id": record.object_id,
        "lower_row_index": record.lower_row_index,
        "trimmed_row_count": record.trimmed_row_count,
        "constraint": record.constraint.to_map(),
    }
