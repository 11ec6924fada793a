"""What the tree has to know about nodes of some kinds, by the rooms that know them: tables, their replicas, chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from yt_local.cypress.resolver import Resolver
from yt_local.cypress.transaction_attributes import Computed
from yt_local.store.model import Node
from yt_local.store.state import TreeState


class NodeTablets(Protocol):
    """What becomes of the tablets of a table when its node does something; part of the change that the node does."""

    def create(self, table: Node, attributes: Mapping[str, Any]) -> None:
        """The table is new; the attributes are those of its creation."""

    def copy(self, source: Node, table_id: str) -> None:
        """A copy of the table is new."""

    def move(self, source: Node, table_id: str) -> None:
        """The table goes on under another id."""


class Kinds(Protocol):
    """The nodes of one cluster that are more than nodes."""

    def find_object(self, state: TreeState, resolver: Resolver, object_id: str) -> Node | None:
        """An object that is no part of the tree, such as a chunk."""
        ...

    def table_attributes(self, state: TreeState) -> Mapping[str, Computed]:
        """Of tables, and of what else consists of chunks."""
        ...

    def replica_attributes(self, state: TreeState, resolver: Resolver) -> Mapping[str, Computed]:
        """Of replicas of replicated tables."""
        ...

    def tablets(self, state: TreeState, resolver: Resolver) -> NodeTablets:
        """Of dynamic tables."""
        ...
