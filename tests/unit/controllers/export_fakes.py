"""A cluster as those see it who export, in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from queue_agent.core.exports.planning import TablePart
from queue_agent.core.exports.progress import StoredProgress
from queue_agent.core.exports.source import ChunkFacts, Destination, ExportedQueue, TabletChunks
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.timestamps import COUNTER_BITS


class FakeExports:
    """`ports.ExportCluster` of one queue, empty by default; a transaction and a view as well.

    Tasks wait while the gate is closed.
    """

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.commit_failure: Exception | None = None
        self.begun: list[str] = []
        self.under_way = 0
        self.most = 0
        self.given_up = 0
        self.stored: Any = None
        self.progress: dict[str, StoredProgress] = {}
        self.tablets: list[Sequence[TabletChunks]] = [[]]
        """Answers about chunks, one after the other; the last is repeated."""

        self.chunks: dict[str, ChunkFacts] = {}
        self.ends: list[int] = []
        self.tablet_ids: list[Sequence[str]] = [[]]
        """Answers about tablets, one after the other; the last is repeated."""

        self.made: dict[str, TablePart] = {}
        self.attributes: list[Mapping[str, Any]] = []
        """Of the tables that were made."""

        self.cluster_time = EPOCH
        self.queue = ExportedQueue("1-2-3-4", "table", True, False, [], "5-6-7-8")
        self.destination: Any = {"originating_queue_id": "1-2-3-4"}
        self.destination_id = "d-1"
        self.is_removed = False
        """The owner has removed the export, and the agent has not read it yet."""

        self.refused: dict[str, Exception] = {}
        """What tables of these names are answered with."""

        self.described: list[Sequence[str]] = []
        """Chunks that were asked for, one question after the other."""

        self.list_count = 0
        """How many times chunks were listed."""

        self.look_count = 0
        """How many times tablets were listed: each look at a queue begins so."""

    def looking(self) -> FakeExports:
        return self

    @asynccontextmanager
    async def exporting(self, title: str) -> AsyncIterator[FakeExports]:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            yield self
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        finally:
            self.under_way -= 1

    async def lock_queue(self, path: str) -> str:
        self.begun.append(path)
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return "1-2-3-4"

    async def lock_directory(self, directory: str) -> str:
        return "d-1"

    async def list_tablet_ids(self, path: str) -> Sequence[str]:
        self.look_count += 1
        return self.tablet_ids.pop(0) if len(self.tablet_ids) > 1 else self.tablet_ids[0]

    async def describe_queue(self, path: str) -> ExportedQueue:
        if self.failure is not None:
            raise self.failure
        return self.queue

    async def is_wanted(self, path: str, name: str, directory: str) -> bool:
        return not self.is_removed

    async def read_destination(self, directory: str) -> Destination:
        return Destination(self.destination_id, self.destination, self.stored)

    async def list_chunks(self, chunk_list_id: str) -> Sequence[TabletChunks]:
        self.list_count += 1
        return self.tablets.pop(0) if len(self.tablets) > 1 else self.tablets[0]

    async def get_flushed_row_counts(self, chunk_list_ids: Sequence[str]) -> Sequence[int]:
        return self.ends

    async def describe_chunks(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkFacts]:
        self.described.append(chunk_ids)
        return {chunk_id: self.chunks[chunk_id] for chunk_id in chunk_ids}

    async def make_table(
        self, directory_id: str, name: str, queue: ExportedQueue, part: TablePart, attributes: Mapping[str, Any]
    ) -> None:
        if name in self.refused:
            raise self.refused[name]
        self.made[name] = part
        self.attributes.append(attributes)

    async def generate_timestamp(self) -> int:
        return int(self.cluster_time.timestamp()) << COUNTER_BITS

    async def set_progress(self, directory_id: str, progress: StoredProgress) -> None:
        self.progress[directory_id] = progress

    async def commit(self) -> None:
        if self.commit_failure is not None:
            raise self.commit_failure
