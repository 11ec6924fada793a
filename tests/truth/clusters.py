"""The ports of an agent over tables whose truth is known; things happen between its questions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from queue_agent.core.exports.planning import TablePart
from queue_agent.core.exports.progress import StoredProgress
from queue_agent.core.exports.source import ChunkFacts, Destination, ExportedQueue, TabletChunks
from queue_agent.core.trimming.ages import RowFound
from queue_agent.core.values.observed import (
    ColumnDescription,
    ConsumerOffset,
    Glance,
    ObjectRevisions,
    TableDescription,
    TableFacts,
    TabletDescription,
    TabletInfo,
    Watch,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ClusterUnavailable, ObjectNotFound
from queue_agent.ports.cluster import Permit
from tests.truth.history import CONSUMERS, History
from tests.truth.tables import Chunk, Directory, Event, Node, Replicated, Row, Table, Tablet, timestamp_at
from tests.unit.controllers.agent_world import CONSUMER_ATTRIBUTES

Meanwhile = Mapping[int, Event]
"""What happens right after so many questions; "lose" loses an answer, "refuse" a question."""

_COLUMNS: Final = [ColumnDescription("data", "string"), ColumnDescription("$timestamp", "uint64")]


class Wire:
    """Between an agent and all clusters."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._count = 0
        self._meanwhile: dict[int, list[Event]] = {}

    def expect(self, meanwhile: Sequence[tuple[int, Event]]) -> None:
        """From now on count questions anew, and let this happen after them."""
        self._count = 0
        self._meanwhile = defaultdict(list)
        for number, event in meanwhile:
            self._meanwhile[number].append(event)

    def ask(self) -> None:
        """A question arrives.

        Raises:
            ClusterUnavailable: it does not.
        """
        self._count += 1
        if any(name == "refuse" for name, *_ in self._meanwhile.get(self._count, ())):
            raise ClusterUnavailable("Refused")

    def answered(self) -> None:
        """The cluster has done what it was asked for.

        Raises:
            ClusterUnavailable: the answer is lost.
        """
        events = self._meanwhile.pop(self._count, [])
        for event in events:
            if event[0] not in ("refuse", "lose"):
                self.history.happen(event)
        if any(name == "lose" for name, *_ in events):
            raise ClusterUnavailable("No answer")


class TruthCluster:
    """`ports.Cluster` over the tables."""

    def __init__(self, name: str, wire: Wire) -> None:
        self.name = name
        self._wire = wire
        self._history = wire.history

    def _node(self, path: str) -> Node:
        node = self._history.tables.find_node(CrossClusterRef(self.name, path))
        if node is None:
            raise ObjectNotFound(f"Node {path} has no child", 500)
        return node

    def _table(self, path: str) -> Table:
        node = self._node(path)
        if not isinstance(node, Table):
            raise ClusterError(f"{path} has no tablets to ask")
        return node

    async def get_object_revisions(self) -> ObjectRevisions:
        nodes = self._history.tables.nodes.values()
        queues = {node.ref.path: node.revision for node in nodes if node.ref.cluster == self.name}
        return ObjectRevisions(queues, {one.path: 1 for one in CONSUMERS if one.cluster == self.name})

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]:
        self._wire.ask()
        if CrossClusterRef(self.name, path) in CONSUMERS:
            found: dict[str, Any] = dict(CONSUMER_ATTRIBUTES)
        else:
            node = self._node(path)
            found = queue_attributes(node)
            if isinstance(node, Table):
                found["tablets"] = [{"index": i, "tablet_id": one.id} for i, one in enumerate(node.tablets)]
        self._wire.answered()
        return {name: value for name, value in found.items() if name in names}

    async def glance(self, watch: Watch) -> Glance:
        self._wire.ask()
        consumer = CrossClusterRef(self.name, watch.path)
        if consumer in CONSUMERS:
            written = TabletInfo(0, 0, self._history.offset_writes[consumer])
            self._wire.answered()
            return Glance(TableFacts("c-0-0-1", 1, {"mounted": 1}), {0: written} if watch.tablet_count else None)
        table = self._table(watch.path)
        facts = TableFacts(table.object_id, table.revision, Counter({"mounted": len(table.tablets)}))
        infos = _infos(table, range(watch.tablet_count)) if watch.tablet_count <= len(table.tablets) else None
        self._wire.answered()
        return Glance(facts, infos)

    async def glance_all(self, watches: Sequence[Watch]) -> Sequence[Glance | ClusterError]:
        return [await self.glance(watch) for watch in watches]

    async def get_table(self, path: str) -> TableDescription:
        self._wire.ask()
        table = self._table(path)
        tablets = [
            TabletDescription(index, tablet.id, "mounted", "cell", "node-1:9022")
            for index, tablet in enumerate(table.tablets)
        ]
        self._wire.answered()
        return TableDescription(_COLUMNS, tablets)

    async def get_tablet_infos(self, path: str, partition_indexes: Sequence[int]) -> Mapping[int, TabletInfo]:
        self._wire.ask()
        infos = _infos(self._table(path), partition_indexes)
        self._wire.answered()
        return infos

    async def select_row_values(
        self, path: str, columns: Sequence[str], rows: Collection[tuple[int, int]]
    ) -> Mapping[str, Mapping[tuple[int, int], int]]:
        self._wire.ask()
        node = self._node(path)
        tablets = self._history.tables.first_sync().table.tablets if isinstance(node, Replicated) else None
        tablets = tablets or self._table(path).tablets
        found = {
            key: row.timestamp
            for key in rows
            if key[0] < len(tablets) and (row := _find_row(tablets[key[0]], key[1])) and row.timestamp is not None
        }
        self._wire.answered()
        return dict.fromkeys(columns, found)

    async def read_consumer_offsets(
        self, consumer_path: str, partition_counts: Mapping[CrossClusterRef, int], *, with_meta: bool, name: str = ""
    ) -> Mapping[CrossClusterRef, Mapping[int, ConsumerOffset]]:
        self._wire.ask()
        offsets = self._history.offsets[CrossClusterRef(self.name, consumer_path)]
        queue = self._history.tables.queue.ref
        found = {
            ref: {i: ConsumerOffset(i, offset, 0) for i, offset in offsets.items() if ref == queue and i < count}
            for ref, count in partition_counts.items()
        }
        self._wire.answered()
        return found

    async def read_next_row_indexes(
        self, consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        offsets = await self.read_consumer_offsets(consumer_path, {queue: partition_count}, with_meta=False, name=name)
        return {index: one.offset for index, one in offsets[queue].items()}

    async def read_consumer_names(self, path: str) -> Collection[str]:
        return ()

    async def generate_timestamp(self) -> int:
        self._wire.ask()
        present = timestamp_at(self._history.tables.second)
        self._wire.answered()
        return present

    async def find_young_row(self, object_id: str, partition_index: int, rows: range, limit: int) -> RowFound | None:
        self._wire.ask()
        table = self._history.tables.find_table(object_id)
        if table is None or partition_index >= len(table.tablets):
            raise ObjectNotFound(f"There is no such tablet of {object_id}", 500)
        found: RowFound | None = None
        for index in rows:
            row = _find_row(table.tablets[partition_index], index)
            if row is None:
                continue
            if row.timestamp is None or row.timestamp >= limit or index == rows[-1]:
                found = RowFound(index, row.timestamp)
                break
        self._wire.answered()
        return found

    async def find_other_row(self, object_id: str, partition_index: int, rows: range, timestamp: int) -> int | None:
        self._wire.ask()
        table = self._history.tables.find_table(object_id)
        if table is None or partition_index >= len(table.tablets):
            raise ObjectNotFound(f"There is no such tablet of {object_id}", 500)
        there = range(table.tablets[partition_index].lower, table.tablets[partition_index].upper)
        stored = table.tablets[partition_index].rows
        found = next((index for index in rows if index in there and stored[index].timestamp != timestamp), None)
        self._wire.answered()
        return found

    async def trim_rows(self, object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
        permit.check()
        self._wire.ask()
        table = self._history.tables.find_table(object_id)
        if table is None or partition_index >= len(table.tablets):
            raise ObjectNotFound(f"There is no such tablet of {object_id}", 500)
        if trimmed_row_count > table.tablets[partition_index].upper:
            raise ClusterError(f"Trimmed row count {trimmed_row_count} is past the end")
        self._history.trim(object_id, partition_index, trimmed_row_count)
        self._wire.answered()


def queue_attributes(node: Node) -> dict[str, Any]:
    """All that an agent asks for."""
    found: dict[str, Any] = {
        "attribute_revision": node.revision,
        "type": node.type,
        "dynamic": True,
        "sorted": False,
        "queue_agent_stage": "production",
        "id": node.object_id,
        "auto_trim_config": node.policy,
        "queue_agent_banned": node.banned,
    }
    if node.exports:
        found["static_export_config"] = {
            name: {"export_directory": directory, "export_period": 1000} for name, directory in node.exports.items()
        }
    if isinstance(node, Replicated):
        found["preserve_tablet_index"] = True
        found["replicas"] = {
            replica.id: {
                "cluster_name": replica.table.ref.cluster,
                "replica_path": replica.table.ref.path,
                "state": "enabled" if replica.is_enabled else "disabled",
                "mode": "sync" if replica.is_sync else "async",
            }
            for replica in node.replicas.values()
        }
    return found


def _infos(table: Table, indexes: Sequence[int]) -> Mapping[int, TabletInfo]:
    if any(index >= len(table.tablets) for index in indexes):
        raise ClusterError("There is no such tablet")
    return {index: TabletInfo(table.tablets[index].upper, table.tablets[index].lower, 0) for index in indexes}


def _find_row(tablet: Tablet, index: int) -> Row | None:
    return tablet.rows[index] if tablet.lower <= index < tablet.upper else None


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
