"""The state of one cluster, and what transactions see of it: in memory, written through, undone if a change fails."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import chain
from typing import Final

from yt_local.base.clock import Clock, TimestampGenerator
from yt_local.base.ids import IdGenerator
from yt_local.schema.retention import queue_ttl
from yt_local.store.charges import Charges
from yt_local.store.chunk_table import ChunkTable
from yt_local.store.locks import EXCLUSIVE, LockRequest
from yt_local.store.model import LIST, NO_CONTENT, Branch, Node
from yt_local.store.replicated_types import TABLE_REPLICA
from yt_local.store.storage import Storage
from yt_local.store.tablet_table import TabletTable
from yt_local.store.transaction_objects import MAP_KINDS, TransactionObjects
from yt_local.store.versions import Versions
from yt_wire.ypath import escape_literal

_REPLICATED: Final = "replicated "
"""Counters of this prefix say how many rows replicas have got."""


class TreeState(ABC):
    """Nodes by id, as one transaction sees them, or as they are outside of all.

    Reading is free; every change happens inside `change()`. Who replaces a node by another version of it locks it
    first; new nodes lock themselves.
    """

    clock: Clock
    ids: IdGenerator
    versions: Versions
    transaction_id: str | None
    """None outside of transactions."""

    @property
    @abstractmethod
    def committed(self) -> ClusterState:
        """The state of the same cluster outside of transactions; tablets, chunks and the like are only there."""

    @abstractmethod
    def change(self) -> AbstractContextManager[None]:
        """Everything changed inside is kept together, or, after an exception, not at all.

        A change inside another one belongs to the outer.
        """

    @abstractmethod
    def next_revision(self) -> int: ...

    @property
    @abstractmethod
    def root(self) -> Node | None:
        """None before the first start of a cluster."""

    @abstractmethod
    def find_node(self, node_id: str) -> Node | None: ...

    def node(self, node_id: str) -> Node:
        node = self.find_node(node_id)
        if node is None:
            raise KeyError(node_id)
        return node

    def path_of(self, node: Node) -> str:
        """The node's path, e.g. `//tmp/q`; the root itself is `/`.

        A node that is no part of the tree is its own root, `#<id>`; so is a replica, though its table is its parent.
        """
        names: list[str] = []
        if node.type == TABLE_REPLICA:
            return f"#{node.id}"
        while node.parent_id is not None:
            parent = self.node(node.parent_id)
            is_item = node.id in parent.items
            names.append(str(parent.items.index(node.id)) if is_item else escape_literal(node.name))
            node = parent
        start = f"#{node.id}" if node.name else "/"
        return start + "".join("/" + name for name in reversed(names))

    @abstractmethod
    def tables(self) -> Iterator[Node]:
        """Every table that is part of the tree outside of transactions."""

    @abstractmethod
    def child(self, parent_id: str, name: str) -> Node | None: ...

    @abstractmethod
    def children(self, parent_id: str) -> Sequence[Node]:
        """Those of a list in their order, others by name: orders that neither restarts nor undone changes touch."""

    @abstractmethod
    def child_count(self, parent_id: str) -> int: ...

    @abstractmethod
    def put_node(self, node: Node) -> None:
        """Insert, or replace the node with this id, which stays where it is.

        Raises:
            YtError: the node is new, and its name is locked by another transaction.
        """

    @abstractmethod
    def remove_node(self, node: Node) -> None:
        """Take a node out of the tree with all below it."""

    @abstractmethod
    def lock(self, node: Node, request: LockRequest) -> None:
        """Get a right to a node: for a transaction to keep, for a command outside of transactions to use at once.

        Raises:
            YtError: 400 to 402 naming who is in the way.
        """

    def lock_subtree(self, node: Node) -> None:
        """Lock a node and everything below it, to be taken away."""
        self.lock(node, EXCLUSIVE)
        for child in self.children(node.id):
            self.lock_subtree(child)


def placing(parent: Node, name: str) -> LockRequest:
    """The right to put something below a node under a name, or to take it away: items of lists move one another."""
    return EXCLUSIVE if parent.type == LIST else LockRequest.of_child(name)


class ClusterState(TreeState):
    """The state outside of transactions, and the counters that make new nodes and tablets.

    Args:
        storage: what was there before, and where changes go.
        clock: time of this cluster.
        cell_tag: number of this cluster in the ids it makes.
    """

    def __init__(self, storage: Storage, clock: Clock, cell_tag: int) -> None:
        self.storage = storage
        self.clock = clock
        counters = storage.counters()
        self.ids = IdGenerator(cell_tag, counters.get("id", 0))
        self.timestamps = TimestampGenerator(clock, counters.get("timestamp", 0))
        self._revision = counters.get("revision", 0)
        self._tablet_number = counters.get("tablet", 0)
        self._nodes: dict[str, Node] = {}
        self._root_id: str | None = None
        self._children: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.tablets = TabletTable(storage, self._changes)
        self.chunks = ChunkTable(storage, self._changes)
        self._apart: set[str] = set()
        """Nodes that are no part of the tree, but that a transaction needs."""
        self.touched: dict[str, float] = {}
        """When nodes that expire were last wanted, in seconds since the epoch; the start of the process counts, too."""
        self.earliest_expiry = math.inf
        """No node expires before this second, as far as locks and commands do not defer it even more."""
        self._object_maps: dict[str, str] = {}
        self._undo: list[Callable[[], None]] | None = None
        self._replicated = {
            (replica_id, tablet_id): count
            for name, count in counters.items()
            if name.startswith(_REPLICATED)
            for replica_id, tablet_id in [name.removeprefix(_REPLICATED).split()]
        }
        self._replica_ids: set[str] = set()
        self._aging_ids: set[str] = set()
        self.transaction_id = None
        self.versions = Versions(storage, self._changes, self._branched)
        self.charges = Charges(self._nodes, self.versions.branches_of, self.chunks.find)
        self.objects = TransactionObjects(self.versions)
        for record in storage.nodes():
            self._index_node(Node.decode(record))
        self.collect_chunks()

    @property
    def committed(self) -> ClusterState:
        return self

    @contextmanager
    def change(self) -> Iterator[None]:
        if self._undo is not None:
            yield
            return
        self._undo = []
        try:
            with self.storage.transaction():
                yield
                self.storage.put_counters(
                    [
                        ("id", self.ids.counter),
                        ("timestamp", self.timestamps.last),
                        ("revision", self._revision),
                        ("tablet", self._tablet_number),
                    ]
                )
        except BaseException:
            for undo in reversed(self._undo):
                undo()
            raise
        finally:
            self._undo = None

    def next_revision(self) -> int:
        self._revision += 1
        return self._revision

    def next_tablet_number(self) -> int:
        self._tablet_number += 1
        return self._tablet_number

    def find_node(self, node_id: str) -> Node | None:
        return self._nodes.get(node_id) or self.objects.find(node_id)

    @property
    def root(self) -> Node | None:
        return self._nodes.get(self._root_id) if self._root_id else None

    def nodes(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def tables(self) -> Iterator[Node]:
        return (node for node in self._nodes.values() if node.table and self.is_in_tree(node))

    def chunk_owners(self) -> Iterator[Node]:
        """Nodes that may consist of chunks."""
        return (node for node in self._nodes.values() if node.table or node.type == "file")

    def child(self, parent_id: str, name: str) -> Node | None:
        if parent_id in self._object_maps:
            return self.objects.find_child(self._object_maps[parent_id], name)
        child_id = self._children[parent_id].get(name) if parent_id in self._children else None
        return self._nodes[child_id] if child_id else None

    def children(self, parent_id: str) -> Sequence[Node]:
        if parent_id in self._object_maps:
            return self.objects.children(self._object_maps[parent_id])
        parent = self._nodes.get(parent_id)
        if parent and parent.type == LIST:
            return [self._nodes[item_id] for item_id in parent.items]
        return [self._nodes[child_id] for _, child_id in sorted(self._children.get(parent_id, {}).items())]

    def child_ids(self, parent_id: str) -> Mapping[str, str]:
        """By name."""
        return self._children.get(parent_id, {})

    def child_count(self, parent_id: str) -> int:
        if parent_id in self._object_maps:
            return len(self.objects.children(self._object_maps[parent_id]))
        return len(self._children.get(parent_id, {}))

    def put_node(self, node: Node) -> None:
        if node.id not in self._nodes and node.parent_id is not None:
            parent = self._nodes[node.parent_id]
            self.lock(parent, placing(parent, node.name))
        self.place_node(node)

    def place_node(self, node: Node) -> None:
        """Insert, or replace the node with this id; a changed parent or name moves it, whoever has locked what."""
        # Whatever can fail comes first: memory changes only together with the note how to undo it.
        old = self._nodes.get(node.id)
        self.storage.put_node(node.id, node.encode())
        self._changes().append(lambda: self._replace_node(node, old))
        self._replace_node(old, node)

    def remove_node(self, node: Node) -> None:
        if self.versions.needs(node.id):
            self.place_node(replace(node, parent_id=None))
        else:
            self._delete_node(node)

    def delete_branch(self, branch: Branch) -> None:
        """Forget a transaction's branch, and nodes that only it has kept."""
        self.versions.delete_branch(branch)
        self.chunks.may_be_loose = True
        for node_id in branch.node_ids:
            if node_id in self._apart and not self.versions.needs(node_id):
                self._delete_node(self._nodes[node_id])

    def lock(self, node: Node, request: LockRequest) -> None:
        self.versions.check(node.id, request, None, lambda: self.path_of(node))

    def lock_subtree(self, node: Node) -> None:
        if self.versions.locks:  # or else there is nobody to be in the way
            super().lock_subtree(node)

    @property
    def has_replicated_tables(self) -> bool:
        return bool(self._replica_ids)

    def table_replicas(self) -> Sequence[Node]:
        """Of all replicated tables, in the order of their ids."""
        return [self._nodes[replica_id] for replica_id in sorted(self._replica_ids)]

    def aging_tables(self) -> Sequence[Node]:
        """Tables whose old rows go by themselves, in the order of their ids."""
        return [self._nodes[table_id] for table_id in sorted(self._aging_ids)]

    def replicated_row_count(self, replica_id: str, tablet_id: str) -> int:
        """How many rows of a tablet's log a replica on this cluster has got; the tablet may be another cluster's."""
        return self._replicated.get((replica_id, tablet_id), 0)

    def put_replicated_row_count(self, replica_id: str, tablet_id: str, count: int) -> None:
        key = replica_id, tablet_id
        old = self._replicated.get(key, 0)
        self.storage.put_counters([(f"{_REPLICATED}{replica_id} {tablet_id}", count)])
        self._changes().append(lambda: self._replicated.update({key: old}))
        self._replicated[key] = count

    def collect_chunks(self) -> None:
        """Forget the chunks that nothing needs any more; not to be called inside a change."""
        if not self.chunks.may_be_loose:
            return
        assert self._undo is None, "a change may be about to use a chunk"
        nodes = chain(self._nodes.values(), (branch.node for branch in self.versions.branches))
        self.chunks.collect(node.content for node in nodes)

    def _delete_node(self, node: Node) -> None:
        for child in self.children(node.id):
            self.remove_node(child)
        for tablet in self.tablets.of(node.id):
            self.tablets.delete(tablet)
        for lock in self.versions.locks_of(node.id):
            self.versions.delete_lock(lock)
        self.storage.delete_node(node.id)
        self._changes().append(lambda: self._replace_node(None, node))
        self._replace_node(node, None)

    def is_in_tree(self, node: Node) -> bool:
        """Whether it can be reached from the root, other than what only a transaction sees."""
        if not self._apart:
            return True
        while node.parent_id is not None:
            node = self._nodes[node.parent_id]
        return node.id == self._root_id

    def _changes(self) -> list[Callable[[], None]]:
        assert self._undo is not None, "state is changed outside of change()"
        return self._undo

    def _branched(self, node_id: str) -> None:
        self.charges.refresh(node_id)

    def _replace_node(self, old: Node | None, new: Node | None) -> None:
        if old:
            self._unindex_node(old)
        if new:
            self._index_node(new)
        changed = new or old
        if changed:
            self.charges.refresh(changed.id)

    def _index_node(self, node: Node) -> None:
        self._nodes[node.id] = node
        if node.type in MAP_KINDS:
            self._object_maps[node.id] = node.type
        if node.type == TABLE_REPLICA:
            self._replica_ids.add(node.id)
        if node.table and queue_ttl(node.attributes) is not None:
            self._aging_ids.add(node.id)
        if node.expires:
            self.touched[node.id] = now = self.clock.seconds()
            self.earliest_expiry = min(self.earliest_expiry, node.expiry(now))
        if node.parent_id is not None:
            self._children[node.parent_id][node.name] = node.id
        elif node.name:
            self._apart.add(node.id)
        else:
            self._root_id = node.id

    def _unindex_node(self, node: Node) -> None:
        del self._nodes[node.id]
        if node.content is not NO_CONTENT:
            self.chunks.may_be_loose = True
        self._object_maps.pop(node.id, None)
        self._replica_ids.discard(node.id)
        self._aging_ids.discard(node.id)
        self.touched.pop(node.id, None)
        if node.parent_id is not None:
            del self._children[node.parent_id][node.name]
        else:
            self._apart.discard(node.id)
