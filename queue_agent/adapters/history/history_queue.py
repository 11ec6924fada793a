"""HistoryStore over a queue and a producer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from queue_agent.adapters.cluster.queries import quote_path, quote_string
from queue_agent.config.clusters import HistoryTables
from queue_agent.core.status.history import HistoryRow
from queue_agent.core.status.history_outbox import EncodedRows
from queue_agent.ports.history import ProducerSession
from yt_wire import yson

_OWNER: Final = "agent_instance"


class ProducerCluster(Protocol):
    """The commands this needs; `YtCluster` has them."""

    async def select_all(self, subject: str, queries: Sequence[str]) -> list[list[Mapping[str, Any]]]: ...

    async def create_producer_session(
        self, producer: str, queue: str, session_id: str, user_meta: Mapping[str, Any]
    ) -> tuple[int, int]: ...

    async def push_rows(
        self, producer: str, queue: str, session_id: str, epoch: int, sequence_number: int, rows: bytes
    ) -> None: ...


class HistoryQueue:
    """`ports.HistoryStore`.

    Args:
        cluster: where the tables are.
        tables: their paths.
        session_id: of the session; the next run of this agent must use the same.
    """

    def __init__(self, cluster: ProducerCluster, tables: HistoryTables, session_id: str) -> None:
        self._cluster = cluster
        self._tables = tables
        self._session_id = session_id

    def encode(self, rows: Sequence[HistoryRow]) -> EncodedRows:
        """Rows as a list fragment of YSON."""
        typed = [{**row, "ts": yson.Uint64(row["ts"])} for row in rows]
        return EncodedRows(yson.dumps_rows(typed), len(typed))

    async def find_owner(self) -> str | None:
        """Which agent instance has begun the session last; see the port."""
        path = self._tables.producer.path
        query = (
            f"[user_meta] from {quote_path(path)} where [queue_path] = {quote_string(self._tables.queue.path)}"
            f" and [session_id] = {quote_string(self._session_id)}"
        )
        [rows] = await self._cluster.select_all(path, [query])
        for row in rows:
            meta = row["user_meta"]
            return str(meta.get(_OWNER)) if isinstance(meta, Mapping) else ""
        return None

    async def begin_session(self, agent_instance: str) -> ProducerSession:
        """Take the session over; see the port."""
        meta = {_OWNER: agent_instance}
        return ProducerSession(
            *await self._cluster.create_producer_session(
                self._tables.producer.path, self._tables.queue.path, self._session_id, meta
            )
        )

    async def push(self, epoch: int, sequence_number: int, rows: Sequence[EncodedRows]) -> None:
        """Append all rows or none; see the port."""
        await self._cluster.push_rows(
            self._tables.producer.path,
            self._tables.queue.path,
            self._session_id,
            epoch,
            sequence_number,
            b"".join(piece.content for piece in rows),
        )
