"""What commands need to know of a cluster's state, whether they are part of a transaction or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from yt_local.base.clock import Clock
from yt_local.base.ids import IdGenerator
from yt_local.store.locks import EXCLUSIVE, LockRequest
from yt_local.store.model import Node
from yt_local.store.replicated_types import TABLE_REPLICA
from yt_local.store.versions import Versions
from yt_wire.ypath import escape_literal

if TYPE_CHECKING:
    from yt_local.store.state import ClusterState


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
            names.append(escape_literal(node.name))
            node = self.node(node.parent_id)
        start = f"#{node.id}" if node.name else "/"
        return start + "".join("/" + name for name in reversed(names))

    @abstractmethod
    def tables(self) -> Iterator[Node]:
        """Every table that is part of the tree outside of transactions."""

    @abstractmethod
    def child(self, parent_id: str, name: str) -> Node | None: ...

    @abstractmethod
    def children(self, parent_id: str) -> Sequence[Node]:
        """Sorted by name: an order that neither a restart nor an undone change can touch."""

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
