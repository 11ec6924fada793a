"""Transactions and locks as objects that can be looked at by path: `#<id>`, `//sys/transactions`, `//sys/locks`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from yt_local.base import ids
from yt_local.store.locks import Lock
from yt_local.store.model import Node, Transaction
from yt_local.store.versions import Versions

_FIRST_VERSIONED: Final = 300
_LAST_VERSIONED: Final = 499

OBJECT_MAPS: Final = {
    "transactions": "transaction_map",
    "topmost_transactions": "topmost_transaction_map",
    "locks": "lock_map",
}
"""Nodes in `//sys` whose children are made up from what there is: type by name."""

MAP_KINDS: Final = frozenset(OBJECT_MAPS.values())
MAPS: Final = MAP_KINDS | {"map_node"}
"""Types of all nodes with children."""

TRANSACTION_TYPES: Final = frozenset({"transaction", "nested_transaction"})
OBJECT_TYPES: Final = TRANSACTION_TYPES | {"lock"}
"""Types of what is no node, and can be neither moved nor removed like one."""


def is_versioned(node_type: str) -> bool:
    """Whether nodes of a type can differ from one transaction to another; users, tablet cells and the like cannot."""
    return _FIRST_VERSIONED <= ids.OBJECT_TYPES[node_type] <= _LAST_VERSIONED and node_type not in MAP_KINDS


class TransactionObjects:
    """Nodes that stand for the transactions and locks of one cluster."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions

    def find(self, object_id: str) -> Node | None:
        if transaction := self._versions.find_transaction(object_id):
            return _transaction_node(transaction)
        lock = self._versions.find_lock(object_id)
        return _lock_node(lock) if lock else None

    def find_child(self, kind: str, name: str) -> Node | None:
        """A child of a map of this type."""
        return self.find(name) if name in self._ids(kind) else None

    def children(self, kind: str) -> Sequence[Node]:
        """Of a map of this type, sorted by name."""
        nodes = (self.find(object_id) for object_id in sorted(self._ids(kind)))
        return [node for node in nodes if node]

    def _ids(self, kind: str) -> Collection[str]:
        if kind == "lock_map":
            return {lock.id for lock in self._versions.locks}
        return {
            transaction.id
            for transaction in self._versions.transactions
            if kind == "transaction_map" or transaction.parent_id is None
        }


def _transaction_node(transaction: Transaction) -> Node:
    attributes = {**transaction.attributes, "owner": transaction.owner}
    return _object_node(transaction.id, transaction.type, transaction.start_time, attributes)


def _lock_node(lock: Lock) -> Node:
    return _object_node(lock.id, "lock", lock.creation_time, {})


def _object_node(object_id: str, object_type: str, creation_time: str, attributes: dict[str, object]) -> Node:
    return Node(
        id=object_id,
        type=object_type,
        parent_id=None,
        name=object_id,
        creation_time=creation_time,
        modification_time=creation_time,
        revision=0,
        attribute_revision=0,
        content_revision=0,
        attributes=attributes,
    )
