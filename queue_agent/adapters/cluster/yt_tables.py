"""Rows of a cluster's tables: read, written and pushed, whatever they mean."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from queue_agent.adapters.cluster.at_once import all_at_once
from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.acts import PullLimits
from yt_wire import yson

_CONCURRENT_READS: Final = 128
_MAX_ROW_WEIGHT: Final = 128 << 20
"""Bytes: rows of dynamic tables may be so large, those of static ones only if it is said."""


class YtTables:
    """Commands on rows.

    Args:
        http: of the cluster.
    """

    def __init__(self, http: YtHttp) -> None:
        self._http = http
        self._reading = asyncio.Semaphore(_CONCURRENT_READS)

    async def select_all(self, subject: str, queries: Sequence[str]) -> list[list[Mapping[str, Any]]]:
        """Rows of several queries, run at the same time; the first failure is raised.

        Args:
            subject: what they are about, for messages.
            queries: without the word `select`.
        """
        return await all_at_once(
            [self._read_rows("select_rows", {"query": query}, subject=subject) for query in queries]
        )

    async def select_all_if_changed(
        self, subject: str, queries: Mapping[str, bytes | None]
    ) -> list[tuple[bytes, list[Mapping[str, Any]] | None]]:
        """Rows of several queries as by `select_all`, where they are not the same as before.

        Args:
            subject: what they are about, for messages.
            queries: each with the digest of its last answer.

        Returns:
            For each query a digest of the answer, and the rows, or None if the digest has not changed.
        """
        return await all_at_once(
            [
                self._http.read_rows_if_changed("select_rows", {"query": query}, digest, subject=subject)
                for query, digest in queries.items()
            ]
        )

    async def read_table_bytes(self, path: str, selectors: Mapping[str, Any], scope: Mapping[str, Any]) -> bytes:
        """Rows of a table as they travel, in binary YSON.

        Args:
            path: of the table.
            selectors: attributes of the path, such as `ranges`.
            scope: parameters that say by which transaction it is seen.
        """
        parameters = {"path": yson.with_attributes(path, selectors), **scope}
        return await self._http.call_unparsed("read_table", parameters, encoded={}, subject=path)

    async def write_table_bytes(self, path: str, rows: bytes, scope: Mapping[str, Any]) -> None:
        """Append rows, as `read_table_bytes` gives them, to a static table."""
        writer = {"max_row_weight": _MAX_ROW_WEIGHT}
        parameters = {"path": yson.with_attributes(path, {"append": True}), "table_writer": writer, **scope}
        await self._http.call("write_table", parameters, rows=rows, subject=path)

    async def lookup_versioned(self, path: str, keys: list[Mapping[str, Any]]) -> list[Any]:
        """Rows with these keys, as maps with the attribute `write_timestamps`, newest first."""
        parameters = {"path": path, "versioned": True, "retention_config": {"max_data_versions": 1}}
        return await self._read_rows("lookup_rows", parameters, rows=keys)

    async def insert_rows(self, path: str, rows: Sequence[Mapping[str, Any]], *, update: bool = False) -> None:
        """Insert rows or replace them in one transaction; columns not named become null, or stay with `update`."""
        await self._http.call(
            "insert_rows",
            {"path": path, "require_sync_replica": False, **({"update": True} if update else {})},
            rows=rows,
        )

    async def pull_rows(
        self, path: str, partition_index: int, offset: int, most: PullLimits
    ) -> list[Mapping[Any, Any]]:
        """Rows of a queue from an offset on, or from the first one there is; all strings, keys included, are bytes.

        Args:
            path: of the queue.
            most: no more than these; a single row may be larger.
        """
        parameters = {
            "queue_path": path,
            "partition_index": partition_index,
            "offset": offset,
            "max_row_count": most.row_count,
            "max_data_weight": most.data_weight,
        }
        async with self._reading:
            return await self._http.read_raw_rows("pull_queue", parameters, subject=path)

    async def advance_consumer(
        self, consumer: CrossClusterRef, queue: CrossClusterRef, partition_index: int, current: int, target: int
    ) -> None:
        """Move a consumer of this cluster, if it stands where it is thought to; ClusterError with code 3100 if not."""
        name = {"queue_consumer_name": consumer.name} if consumer.name else {}
        await self._http.call(
            "advance_queue_consumer",
            {
                "consumer_path": yson.with_attributes(consumer.path, name),
                "queue_path": yson.with_attributes(queue.path, {"cluster": queue.cluster}),
                "partition_index": partition_index,
                "old_offset": current,
                "new_offset": target,
            },
            subject=str(consumer),
        )

    async def create_producer_session(
        self, producer: str, queue: str, session_id: str, user_meta: Mapping[str, Any]
    ) -> tuple[int, int]:
        """Begin or take over a session; its epoch, and the number of the last row written in it (-1: none)."""
        answer = await self._http.call(
            "create_queue_producer_session",
            {"producer_path": producer, "queue_path": queue, "session_id": session_id, "user_meta": user_meta},
            subject=producer,
        )
        return int(answer["epoch"]), int(answer["sequence_number"])

    async def push_rows(
        self, producer: str, queue: str, session_id: str, epoch: int, sequence_number: int, rows: bytes
    ) -> None:
        """Append rows to a queue in a session; they are a list fragment, numbered from `sequence_number`."""
        await self._http.call(
            "push_queue_producer",
            {
                "producer_path": producer,
                "queue_path": queue,
                "session_id": session_id,
                "epoch": epoch,
                "sequence_number": sequence_number,
            },
            rows=rows,
            subject=queue,
        )

    async def delete_rows(self, path: str, keys: Sequence[Mapping[str, Any]]) -> None:
        """Delete rows by key in one transaction; keys without a row are no error."""
        await self._http.call("delete_rows", {"path": path, "require_sync_replica": False}, rows=keys)

    async def _read_rows(self, command: str, parameters: Mapping[str, Any], **arguments: Any) -> list[Any]:
        """Not too many at a time, each needs a connection; but more than a few that are never answered would take."""
        async with self._reading:
            return await self._http.read_rows(command, parameters, **arguments)
