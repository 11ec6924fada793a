"""A cluster's tree as one transaction sees it, and what it changes there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final

from yt_local.cypress.attributes import instant
from yt_local.store.locks import EXCLUSIVE, Lock, LockMode, LockRequest, is_redundant
from yt_local.store.model import LIST, Branch, Node
from yt_local.store.state import ClusterState, TreeState, placing
from yt_local.store.transaction_objects import is_versioned

_VERSIONED_APART: Final = frozenset(
    {
        "parent_id",
        "name",
        "modification_time",
        "revision",
        "attribute_revision",
        "content_revision",
        "attributes",
    }
)
"""What of a node a transaction may change while others change the rest."""


class TransactionView(TreeState):
    """What has been committed, with the changes of the transaction and of those it is part of laid over it.

    Changes go into branches. A node that is made here is at once among the cluster's nodes, but no part of the tree:
    others can reach it by its id alone. Tablets have no branches: those of a new table are its own.

    Args:
        cluster: the state outside of transactions.
        transaction_id: the transaction; it must be there.
    """

    def __init__(self, cluster: ClusterState, transaction_id: str) -> None:
        self._cluster = cluster
        self._lineage = cluster.versions.lineage(transaction_id)
        self.clock = cluster.clock
        self.ids = cluster.ids
        self.versions = cluster.versions
        self.transaction_id = transaction_id

    @property
    def committed(self) -> ClusterState:
        return self._cluster

    def change(self) -> AbstractContextManager[None]:
        return self._cluster.change()

    def next_revision(self) -> int:
        return self._cluster.next_revision()

    @property
    def root(self) -> Node | None:
        root = self._cluster.root
        return self.node(root.id) if root else None

    def find_node(self, node_id: str) -> Node | None:
        committed = self._cluster.find_node(node_id)
        if committed is None:
            return None
        branches = self._branches(node_id)
        if not branches:
            return committed
        nearest = branches[0].node
        if branches[0].snapshot:
            return nearest
        content = next((branch.node for branch in branches if branch.replaced), committed)
        attributes = dict(committed.attributes)
        for branch in reversed(branches):
            attributes.update(branch.attributes)
            for name in branch.removed_attributes:
                attributes.pop(name, None)
        return replace(
            content,
            parent_id=nearest.parent_id,
            name=nearest.name,
            modification_time=nearest.modification_time,
            revision=nearest.revision,
            attribute_revision=nearest.attribute_revision,
            content_revision=nearest.content_revision,
            attributes=attributes,
        )

    def tables(self) -> Iterator[Node]:
        return self._cluster.tables()

    def child(self, parent_id: str, name: str) -> Node | None:
        for branch in self._branches(parent_id):
            if name in branch.children:
                child_id = branch.children[name]
                return self.node(child_id) if child_id else None
            if branch.snapshot:
                return None
        child = self._cluster.child(parent_id, name)
        return self.node(child.id) if child else None

    def children(self, parent_id: str) -> Sequence[Node]:
        if not self._branches(parent_id):
            return [self.node(child.id) for child in self._cluster.children(parent_id)]
        parent = self.node(parent_id)
        if parent.type == LIST:
            return [self.node(item_id) for item_id in parent.items]
        return [self.node(child_id) for _, child_id in sorted(self._child_ids(parent_id).items())]

    def child_count(self, parent_id: str) -> int:
        if not self._branches(parent_id):
            return self._cluster.child_count(parent_id)
        return len(self._child_ids(parent_id))

    def put_node(self, node: Node) -> None:
        if not is_versioned(node.type):
            self._cluster.put_node(node)
            return
        old = self.find_node(node.id)
        if old is None:
            self._create(node)
            return
        branch = self._own_branch(old)
        replaced = _is_replaced(old, node)
        if replaced and not branch.replaced and node.content is old.content:
            node = replace(node, content=node.content.settled)  # what has been appended is in the branch of a parent
        attributes = {**branch.attributes, **_changed(old.attributes, node.attributes)}
        removed = (branch.removed_attributes - attributes.keys()) | (old.attributes.keys() - node.attributes.keys())
        self.versions.put_branch(
            replace(
                branch,
                node=replace(node, attributes={}),
                replaced=branch.replaced or replaced,
                attributes={name: value for name, value in attributes.items() if name not in removed},
                removed_attributes=removed,
            )
        )

    def remove_node(self, node: Node) -> None:
        if not is_versioned(node.type):
            self._cluster.remove_node(node)
            return
        assert node.parent_id is not None
        self._put_child(node.parent_id, node.name, None)
        branch = self._own_branch(node)
        self.versions.put_branch(replace(branch, node=replace(branch.node, parent_id=None)))

    def lock(self, node: Node, request: LockRequest) -> None:
        if not is_versioned(node.type):
            return
        self.versions.check(node.id, request, self.transaction_id, lambda: self.path_of(node))
        if not is_redundant(request, self._own_locks(node.id)):
            lock = self.new_lock(node, request, implicit=True)
            self.acquire(lock, lock.creation_time)

    def new_lock(self, node: Node, request: LockRequest, *, implicit: bool) -> Lock:
        """A lock of the transaction that waits; nothing is kept of it yet."""
        assert self.transaction_id is not None
        lock_id = self.ids.next("lock")
        return Lock(
            id=lock_id,
            number=self.ids.counter,
            node_id=node.id,
            transaction_id=self.transaction_id,
            request=request,
            implicit=implicit,
            creation_time=instant(self),
        )

    def acquire(self, lock: Lock, acquisition_time: str) -> Lock:
        """Give the transaction a lock that nothing is in the way of."""
        node = self.node(lock.node_id)
        acquired = replace(lock, acquisition_time=acquisition_time)
        self.versions.put_lock(acquired)
        if lock.request.mode is LockMode.SNAPSHOT and not self._own_snapshot(lock.node_id):
            children = self._child_ids(node.id)
            self.versions.put_branch(Branch(lock.transaction_id, node, snapshot=True, children=children))
        return acquired

    def _branches(self, node_id: str) -> list[Branch]:
        """Of the transaction and those it is part of, nearest first; or a snapshot, which then is all that counts."""
        known = self.versions.branches_of(node_id)
        if not known:
            return []
        found = [known[transaction_id] for transaction_id in self._lineage if transaction_id in known]
        return found[:1] if found and found[0].snapshot else found

    def _child_ids(self, parent_id: str) -> dict[str, str]:
        """Ids of all children by name."""
        branches = self._branches(parent_id)
        known: dict[str, str | None] = {}
        if not branches or not branches[0].snapshot:
            known.update(self._cluster.child_ids(parent_id))
        for branch in reversed(branches):
            known.update(branch.children)
        return {name: child_id for name, child_id in known.items() if child_id}

    def _own_locks(self, node_id: str) -> Iterator[Lock]:
        locks = self.versions.locks_of(node_id)
        return (lock for lock in locks if lock.acquired and lock.transaction_id == self.transaction_id)

    def _own_snapshot(self, node_id: str) -> bool:
        assert self.transaction_id is not None
        branch = self.versions.branches_of(node_id).get(self.transaction_id)
        return branch is not None and branch.snapshot

    def _own_branch(self, node: Node) -> Branch:
        """The transaction's branch of a node, or one to begin with."""
        assert self.transaction_id is not None
        known = self.versions.branches_of(node.id).get(self.transaction_id)
        assert known is None or not known.snapshot, "a node is changed that has been locked to stay as it is"
        return known or Branch(self.transaction_id, replace(node, attributes={}))

    def _create(self, node: Node) -> None:
        assert self.transaction_id is not None
        if node.parent_id is not None:
            parent = self.node(node.parent_id)
            self.lock(parent, placing(parent, node.name))
        self._cluster.place_node(replace(node, parent_id=None, attributes={}))
        self.lock(node, EXCLUSIVE)
        self.versions.put_branch(
            Branch(self.transaction_id, replace(node, attributes={}), replaced=True, attributes=dict(node.attributes))
        )
        if node.parent_id is not None:
            self._put_child(node.parent_id, node.name, node.id)

    def _put_child(self, parent_id: str, name: str, child_id: str | None) -> None:
        branch = self._own_branch(self.node(parent_id))
        self.versions.put_branch(replace(branch, children={**branch.children, name: child_id}))


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    # Equality would not do: 1, 1u, 1.0 and true are all the same to Python.
    return {name: value for name, value in new.items() if name not in old or old[name] is not value}


def _is_replaced(old: Node, new: Node) -> bool:
    return any(getattr(new, name) is not getattr(old, name) for name in Node.__slots__ if name not in _VERSIONED_APART)
