"""The port of static exports over tables whose truth is known."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from queue_agent.core.exports.planning import TablePart
from queue_agent.core.exports.progress import StoredProgress
from queue_agent.core.exports.source import ChunkFacts, Destination, ExportedQueue, TabletChunks
from queue_agent.core.values.observed import (
    ColumnDescription,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ObjectNotFound
from tests.truth.tables import Chunk, Directory, Table
from tests.truth.wire import Wire

_COLUMNS: Final = [ColumnDescription("data", "string"), ColumnDescription("$timestamp", "uint64")]


class TruthExports:
    """`ports.ExportCluster` over the same tables."""

    def __init__(self, name: str, wire: Wire) -> None:
        self.name = name
        self._wire = wire

    def looking(self) -> TruthExportView:
        return TruthExportView(self.name, self._wire)

    @asynccontextmanager
    async def exporting(self, title: str) -> AsyncIterator[TruthExportTransaction]:
        self._wire.ask()
        transaction = TruthExportTransaction(self.name, self._wire)
        self._wire.answered()
        try:
            yield transaction
        finally:
            transaction.end()


class TruthExportView:
    """`ports.ExportView`."""

    def __init__(self, name: str, wire: Wire) -> None:
        self._name = name
        self._wire = wire
        self._tables = wire.history.tables
        self._locked: tuple[str, list[tuple[str, list[Chunk], int]]] | None = None
        """Id of the queue, and of each tablet id, chunks and flushed rows, as they were when they were locked."""

    def _find(self, path: str) -> Table:
        node = self._tables.find_node(CrossClusterRef(self._name, path))
        if not isinstance(node, Table):
            raise ObjectNotFound(f"Node {path} has no child", 500)
        return node

    def _tablets(self, chunk_list_id: str) -> list[tuple[str, list[Chunk], int]]:
        object_id = chunk_list_id.removeprefix("list-")
        if self._locked is not None and self._locked[0] == object_id:
            return self._locked[1]
        return _chunks(self._find(f"#{object_id}"))

    async def describe_queue(self, path: str) -> ExportedQueue:
        self._wire.ask()
        table = self._find(path)
        self._wire.answered()
        return ExportedQueue(table.object_id, "table", True, False, [], f"list-{table.object_id}")

    async def list_tablet_ids(self, path: str) -> Sequence[str]:
        self._wire.ask()
        found = [tablet.id for tablet in self._find(path).tablets]
        self._wire.answered()
        return found

    async def is_wanted(self, path: str, name: str, directory: str) -> bool:
        self._wire.ask()
        found = self._find(path).exports.get(name)
        self._wire.answered()
        return found == directory

    async def read_destination(self, directory: str) -> Destination:
        self._wire.ask()
        found = self._tables.directory(directory)
        object_id, progress = found.object_id, found.progress
        users = [
            table
            for table in self._tables.storages()
            if any(self._tables.directory(path) is found for path in table.exports.values())
        ]
        self._wire.answered()
        return Destination(object_id, {"originating_queue_id": users[0].object_id if users else "0-0-0-0"}, progress)

    async def list_chunks(self, chunk_list_id: str) -> Sequence[TabletChunks]:
        self._wire.ask()
        found = [
            TabletChunks(f"list-{tablet_id}", [chunk.id for chunk in chunks])
            for tablet_id, chunks, _ in self._tablets(chunk_list_id)
        ]
        self._wire.answered()
        return found

    async def get_flushed_row_counts(self, chunk_list_ids: Sequence[str]) -> Sequence[int]:
        self._wire.ask()
        found = (
            self._locked[1] if self._locked else [one for table in self._tables.storages() for one in _chunks(table)]
        )
        flushed = {f"list-{tablet_id}": count for tablet_id, _, count in found}
        self._wire.answered()
        return [flushed[one] for one in chunk_list_ids]

    async def describe_chunks(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkFacts]:
        self._wire.ask()
        found = self._find_chunks(chunk_ids)
        self._wire.answered()
        return {
            chunk.id: ChunkFacts(len(chunk.rows), max(row.timestamp or 0 for row in chunk.rows), len(chunk.rows))
            for chunk in found
        }

    def _find_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        tablets = (
            self._locked[1] if self._locked else [one for table in self._tables.storages() for one in _chunks(table)]
        )
        by_id = {chunk.id: chunk for _, chunks, _ in tablets for chunk in chunks}
        if any(chunk_id not in by_id for chunk_id in chunk_ids):
            raise ObjectNotFound("No such chunk", 500)
        return [by_id[chunk_id] for chunk_id in chunk_ids]


class TruthExportTransaction(TruthExportView):
    """`ports.ExportTransaction`."""

    def __init__(self, name: str, wire: Wire) -> None:
        super().__init__(name, wire)
        self._directories: list[Directory] = []
        self._made: dict[str, set[int]] = {}
        self._progress: dict[str, StoredProgress] = {}

    async def lock_queue(self, path: str) -> str:
        self._wire.ask()
        table = self._find(path)
        self._locked = table.object_id, _chunks(table)
        self._wire.answered()
        return table.object_id

    async def lock_directory(self, directory: str) -> str:
        self._wire.ask()
        found = self._tables.directory(directory)
        if found.is_locked:
            raise ClusterError("Locked by another transaction", 402)
        found.is_locked = True
        self._directories.append(found)
        self._wire.answered()
        return found.object_id

    async def make_table(
        self, directory_id: str, name: str, queue: ExportedQueue, part: TablePart, attributes: Mapping[str, Any]
    ) -> None:
        self._wire.ask()
        chunks = self._find_chunks([chunk.id for chunk in part.chunks])
        self._made.setdefault(directory_id, set()).update(row.number for chunk in chunks for row in chunk.rows)
        self._wire.answered()

    async def generate_timestamp(self) -> int:
        return 0

    async def set_progress(self, directory_id: str, progress: StoredProgress) -> None:
        self._wire.ask()
        self._progress[directory_id] = progress
        self._wire.answered()

    async def commit(self) -> None:
        self._wire.ask()
        for object_id, rows in self._made.items():
            self._tables.directory(f"#{object_id}").exported |= rows
        for object_id, progress in self._progress.items():
            self._tables.directory(f"#{object_id}").progress = progress.to_map()
        self.end()
        self._wire.answered()

    def end(self) -> None:
        """Release what is locked."""
        for directory in self._directories:
            directory.is_locked = False
        self._directories.clear()


def _chunks(table: Table) -> list[tuple[str, list[Chunk], int]]:
    return [(tablet.id, list(tablet.chunks), tablet.flushed) for tablet in table.tablets]
