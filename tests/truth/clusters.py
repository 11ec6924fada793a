"""The ports of an agent over tables whose truth is known; things happen between its questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from queue_agent.core.trimming.ages import RowFound
from queue_agent.core.values.observed import (
    ColumnDescription,
    ConsumerOffset,
    ObjectRevisions,
    Poll,
    TableDescription,
    TableFacts,
    TabletDescription,
    TabletInfo,
    Watch,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ObjectNotFound
from queue_agent.ports.cluster import Permit
from tests.truth.history import CONSUMERS
from tests.truth.tables import Node, Replicated, Row, Table, Tablet, timestamp_at
from tests.truth.wire import Wire
from tests.unit.controllers.agent_world import CONSUMER_ATTRIBUTES

_COLUMNS: Final = [ColumnDescription("data", "string"), ColumnDescription("$timestamp", "uint64")]


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

    async def poll(self, watch: Watch) -> Poll:
        self._wire.ask()
        consumer = CrossClusterRef(self.name, watch.path)
        if consumer in CONSUMERS:
            written = TabletInfo(0, 0, self._history.offset_writes[consumer])
            self._wire.answered()
            return Poll(TableFacts("c-0-0-1", 1, {"mounted": 1}), {0: written} if watch.tablet_count else None)
        table = self._table(watch.path)
        facts = TableFacts(table.object_id, table.revision, Counter({"mounted": len(table.tablets)}))
        is_meant = watch.object_id in (None, table.object_id) and watch.tablet_count <= len(table.tablets)
        infos = _infos(table, range(watch.tablet_count)) if is_meant else None
        self._wire.answered()
        return Poll(facts, infos)

    async def poll_all(self, watches: Sequence[Watch]) -> Sequence[Poll | ClusterError]:
        return [await self.poll(watch) for watch in watches]

    async def get_table(self, path: str) -> TableDescription:
        self._wire.ask()
        table = self._table(path)
        tablets = [
            TabletDescription(index, tablet.id, "mounted", "cell", "node-1:9022")
            for index, tablet in enumerate(table.tablets)
        ]
        self._wire.answered()
        return TableDescription(_COLUMNS, tablets, table.object_id)

    async def get_tablet_infos(
        self, path: str, partition_indexes: Sequence[int], object_id: str | None = None
    ) -> Mapping[int, TabletInfo]:
        self._wire.ask()
        table = self._table(path)
        if object_id not in (None, table.object_id):
            raise ObjectNotFound(f"No such object {object_id}", 500)
        infos = _infos(table, partition_indexes)
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
