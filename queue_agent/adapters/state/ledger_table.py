"""LedgerStore over a dynamic table beside the state tables."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

import structlog

from queue_agent.adapters.cluster.plain_values import to_plain
from queue_agent.adapters.cluster.queries import quote_path, quote_string
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.core.state.consumer_ledger import TABLE_NAME
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.verdicts.keeping import LedgerRow, restore
from queue_agent.core.verdicts.queue_state import Pair, QueueState

log = structlog.get_logger(__name__)


class LedgerTable:
    """`ports.LedgerStore`.

    Args:
        cluster: where the table is.
        root: directory of the state tables.
        now: time of day, at which rows are written and read.
    """

    def __init__(self, cluster: YtCluster, root: str, now: Callable[[], datetime]) -> None:
        self._cluster = cluster
        self._path = f"{root}/{TABLE_NAME}"
        self._now = now

    async def find(self, pair: Pair) -> QueueState | None:
        """See `ports.LedgerStore`."""
        condition = " and ".join(f"[{name}] = {quote_string(value)}" for name, value in _key(pair).items())
        query = f"[partition_index], [state] from {quote_path(self._path)} where {condition}"
        [rows] = await self._cluster.select_all(self._path, [query])
        kept = [(to_plain(row["partition_index"]), to_plain(row["state"])) for row in rows]
        restored = restore(pair, kept, self._now().timestamp())
        for error in restored.errors:
            log.warning("what a ledger row tells is lost", error=error)
        return restored.state

    async def write(self, rows: Collection[LedgerRow]) -> None:
        """See `ports.LedgerStore`."""
        written_at = encode_instant(self._now())
        await self._cluster.insert_rows(self._path, [_to_row(row, written_at) for row in rows])


def _key(pair: Pair) -> dict[str, str]:
    return {
        "queue_cluster": pair.queue.cluster,
        "queue_path": pair.queue.path,
        "consumer_cluster": pair.consumer.cluster,
        "consumer_path": pair.consumer.path,
        "consumer_name": pair.consumer.name,
    }


def _to_row(row: LedgerRow, written_at: str) -> dict[str, Any]:
    return {
        **_key(row.pair),
        "partition_index": row.partition_index,
        "written_at": written_at,
        "verdict": row.verdict,
        "lost_rows": row.lost_rows,
        "state": row.state,
    }
