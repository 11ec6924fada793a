"""Queues of which every row is known: where it is, who has read it, and which exports have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import timestamp_of

Event = tuple[str, int, int, int]
"""Something that happens: what, and three numbers that choose where and how much."""

SECOND: Final = 1_740_000_000
"""At which the truth begins."""


def timestamp_at(second: int) -> int:
    """The least timestamp of a second."""
    return timestamp_of(datetime.fromtimestamp(second, UTC))


@dataclass(eq=False, slots=True)
class Row:
    """One row that a user has written, wherever copies of it are."""

    number: int
    partition: int
    index: int
    """Index in the partition of the queue at the time it was written."""

    timestamp: int | None
    """`$timestamp`, which no other transaction has; None: it has none."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of a tablet that were flushed together."""

    id: str
    rows: Sequence[Row]


@dataclass(eq=False, slots=True)
class Tablet:
    """Rows by index, trimmed ones included."""

    id: str
    rows: list[Row] = field(default_factory=list)
    lower: int = 0
    flushed: int = 0
    chunks: list[Chunk] = field(default_factory=list)
    """Those with a row that is not trimmed, oldest first."""

    @property
    def upper(self) -> int:
        return len(self.rows)


@dataclass(eq=False, slots=True)
class Directory:
    """Directory of an export."""

    object_id: str
    progress: Any = None
    """The attribute, as an exporter or somebody else has left it."""

    is_locked: bool = False
    """By an exporter: until it ends, nobody else changes the directory."""

    exported: set[int] = field(default_factory=set)
    """Numbers of rows that it has, unless their export is wanted again; and of those an operator has claimed."""


@dataclass(eq=False, slots=True)
class Node:
    """What plain and replicated tables have in common."""

    object_id: str
    ref: CrossClusterRef
    type: str
    policy: dict[str, Any] = field(default_factory=lambda: {"enable": False})
    exports: dict[str, str] = field(default_factory=dict)
    """Directory by name of the export."""

    banned: bool = False
    revision: int = 1


@dataclass(eq=False, slots=True)
class Table(Node):
    """A plain table, which may be a replica."""

    tablets: list[Tablet] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Replica:
    """A replica as the replicated table has it."""

    id: str
    table: Table
    is_sync: bool
    sent: list[int]
    """Rows of each partition that it was given or never will be."""

    is_enabled: bool = True


@dataclass(eq=False, slots=True)
class Replicated(Node):
    """A replicated table, and all rows that were ever written to it."""

    logs: list[list[Row]] = field(default_factory=list)
    replicas: dict[str, Replica] = field(default_factory=dict)


class Tables:
    """All tables, and everything that can happen to them.

    Args:
        is_replicated: the queue is, with a replica on each cluster.
        partition_count: of the queue.
    """

    def __init__(self, is_replicated: bool, partition_count: int) -> None:
        self._numbers = count(1)
        self.second = SECOND
        self.directories: dict[str, Directory] = {}
        self.nodes: dict[CrossClusterRef, Node] = {}
        self.partition_count = partition_count
        if is_replicated:
            self.queue: Node = Replicated(
                self.new_id(), CrossClusterRef("meta", "//q"), "replicated_table", logs=[[] for _ in self.partitions]
            )
            self.nodes[self.queue.ref] = self.queue
            for cluster, is_sync in (("pythia", True), ("hume", False)):
                self.replicate(CrossClusterRef(cluster, "//replica"), is_sync)
        else:
            self.queue = self.new_table(CrossClusterRef("pythia", "//q"))

    @property
    def partitions(self) -> range:
        return range(self.partition_count)

    def new_id(self) -> str:
        return f"{next(self._numbers):x}-0-0-1"

    def new_table(self, ref: CrossClusterRef) -> Table:
        """A table without rows, in place of what was there."""
        table = Table(self.new_id(), ref, "table", tablets=[Tablet(self.new_id()) for _ in self.partitions])
        self.nodes[ref] = table
        return table

    def replicate(self, ref: CrossClusterRef, is_sync: bool) -> None:
        """A replica that gets the rows that are written from now on."""
        assert isinstance(self.queue, Replicated)
        replica = Replica(self.new_id(), self.new_table(ref), is_sync, [len(log) for log in self.queue.logs])
        self.queue.replicas[replica.id] = replica

    def storages(self) -> Iterator[Table]:
        """Tables that hold the rows of the queue."""
        if isinstance(self.queue, Replicated):
            for replica in self.queue.replicas.values():
                yield replica.table
        else:
            assert isinstance(self.queue, Table)
            yield self.queue

    def find_node(self, ref: CrossClusterRef) -> Node | None:
        """What is at a path, or has the id that a path names."""
        if ref.path.startswith("#"):
            found = (node for node in self.nodes.values() if node.object_id == ref.path[1:])
            return next((node for node in found if node.ref.cluster == ref.cluster), None)
        return self.nodes.get(ref)

    def find_table(self, object_id: str) -> Table | None:
        """The table with this id, if it is still there."""
        found = (node for node in self.nodes.values() if node.object_id == object_id)
        return next((node for node in found if isinstance(node, Table)), None)

    def first_sync(self) -> Replica:
        """The replica whose indexes are the queue's."""
        assert isinstance(self.queue, Replicated)
        return next(self.queue.replicas[key] for key in sorted(self.queue.replicas) if self.queue.replicas[key].is_sync)

    def end(self, partition: int) -> int:
        """Index after the last row of a partition of the queue."""
        if isinstance(self.queue, Replicated):
            return len(self.queue.logs[partition])
        assert isinstance(self.queue, Table)
        return self.queue.tablets[partition].upper if partition < len(self.queue.tablets) else 0

    def write(self, partition: int, row_count: int, age: int | None) -> None:
        """One transaction, whose rows have the same timestamp.

        Args:
            partition: of the queue.
            row_count: of the transaction.
            age: of the timestamp, for commits come to a tablet in another order than their timestamps have; None: the
                rows have no timestamp.
        """
        begin = self.end(partition)
        timestamp = None if age is None else timestamp_at(self.second - age) + next(self._numbers)
        rows = [Row(next(self._numbers), partition, begin + i, timestamp) for i in range(row_count)]
        if isinstance(self.queue, Replicated):
            self.queue.logs[partition] += rows
            for replica in self.queue.replicas.values():
                if replica.is_sync:
                    self.send(replica, partition)
        else:
            assert isinstance(self.queue, Table)
            self.queue.tablets[partition % len(self.queue.tablets)].rows += rows

    def send(self, replica: Replica, partition: int) -> None:
        """Give a replica all rows that it has not got."""
        assert isinstance(self.queue, Replicated)
        if not replica.is_enabled:
            return
        replica.table.tablets[partition].rows += self.queue.logs[partition][replica.sent[partition] :]
        replica.sent[partition] = len(self.queue.logs[partition])

    def flush(self, table: Table) -> None:
        """Make a chunk of what is in none yet, in each tablet."""
        for tablet in table.tablets:
            rows = tablet.rows[max(tablet.flushed, tablet.lower) :]
            tablet.flushed = tablet.upper
            if rows:
                tablet.chunks.append(Chunk(self.new_id(), tuple(rows)))

    def trim(self, tablet: Tablet, row_count: int) -> None:
        """Drop rows; chunks go when all their rows do."""
        tablet.lower = row_count
        gone = {row.number for row in tablet.rows[:row_count]}
        tablet.chunks = [chunk for chunk in tablet.chunks if chunk.rows[-1].number not in gone]

    def reshard(self, tablet_count: int, keep_ids: bool) -> None:
        """Give the queue other tablets: new ones at the end are empty, dropped ones leave their rows to the last kept.

        Args:
            tablet_count: from then on.
            keep_ids: of the tablets that stay.
        """
        table = self.queue
        assert isinstance(table, Table)
        self.flush(table)
        kept, dropped = table.tablets[:tablet_count], table.tablets[tablet_count:]
        if any(0 < tablet.lower < tablet.upper for tablet in dropped):
            return  # the cluster refuses
        for tablet in dropped:
            kept[-1].rows += tablet.rows[tablet.lower :]
            kept[-1].chunks += tablet.chunks
            kept[-1].flushed = kept[-1].upper
        for tablet in kept:
            tablet.id = tablet.id if keep_ids else self.new_id()
        table.tablets = kept + [Tablet(self.new_id()) for _ in range(tablet_count - len(kept))]
        self.partition_count = tablet_count
        table.revision += 1

    def directory(self, path: str) -> Directory:
        """What is at a path, or has the id that a path names; a new directory if there was nothing."""
        found = next((one for one in self.directories.values() if f"#{one.object_id}" == path), None)
        if found is not None:
            return found
        if path not in self.directories:
            self.make_directory(path)
        return self.directories[path]

    def make_directory(self, path: str) -> None:
        """A directory without tables, in place of what was there."""
        self.directories[path] = Directory(self.new_id())
