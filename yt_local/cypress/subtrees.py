"""Whole subtrees of Cypress: removed, copied, moved."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from yt_local.cypress.kinds import NodeTablets
from yt_local.cypress.nodes import new_node, renewed
from yt_local.cypress.resolver import Resolver
from yt_local.security.subjects import ROOT, SUBJECT_TYPES, Subjects
from yt_local.store.locks import EXCLUSIVE, SHARED
from yt_local.store.model import LIST, Node
from yt_local.store.replicated_types import REPLICATED_TABLE, TABLE_REPLICA
from yt_local.store.state import TreeState, placing
from yt_wire.error import ErrorCode, YtError


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """How a subtree is copied or moved."""

    recursive: bool = False
    """Make map nodes on the way to the destination."""

    force: bool = False
    """Replace what is at the destination."""

    ignore_existing: bool = False
    """Leave what is at the destination, and do nothing."""

    lock_existing: bool = False
    """Lock what is left at the destination."""

    keep: AbstractSet[str] = frozenset()
    """Those of `PERSONAL` attributes that come along, and `creation_time`, `modification_time`."""


PERSONAL: Final = frozenset({"account", "owner", "acl", "inherit_acl", "expiration_time", "expiration_timeout"})
"""Attributes a copy only has if that is asked for."""

_NOT_COPIED: Final = frozenset({"treat_as_queue_consumer", "treat_as_queue_producer", "vital_queue_consumer"})
"""Masters' tables do not hand their marks on when they are cloned: what has been moved is no consumer any more."""


class Subtrees:
    """Steps of changes; the change around them is the caller's."""

    def __init__(self, state: TreeState, resolver: Resolver, tablets: NodeTablets) -> None:
        self._state = state
        self._resolver = resolver
        self._tablets = tablets

    def delete(self, node: Node) -> None:
        """Take a node away with all below it.

        Raises:
            YtError: a transaction has locked some of it.
        """
        assert node.parent_id is not None
        parent = self._state.node(node.parent_id)
        self._take_out(parent, node)
        if parent.type == LIST:
            items = tuple(item_id for item_id in parent.items if item_id != node.id)
            self._state.put_node(renewed(self._state, replace(parent, items=items)))

    def delete_children(self, node: Node) -> None:
        self._state.lock(node, EXCLUSIVE if node.type == LIST else SHARED)
        for child in self._state.children(node.id):
            self._take_out(node, child)
        if node.items:
            self._state.put_node(renewed(self._state, replace(node, items=())))

    def _take_out(self, parent: Node, node: Node) -> None:
        self._state.lock_subtree(node)
        self._state.lock(parent, placing(parent, node.name))
        self._state.remove_node(node)
        if node.type in SUBJECT_TYPES:
            Subjects(self._state).forget(node.name)

    def copy(self, node: Node, parent_id: str, name: str, keep: AbstractSet[str], move: bool, owner: str) -> str:
        """Copy a subtree, attributes as in `CopyOptions.keep`; for a move tablets are not copied but handed over.

        The owner is who copies, unless that attribute is kept.
        """
        fresh = new_node(self._state, node.type, parent_id, name)
        attributes = {} if "account" in keep else dict(fresh.attributes)
        attributes |= {
            key: item
            for key, item in node.attributes.items()
            if key in keep or (key not in PERSONAL and key not in _NOT_COPIED)
        }
        if "owner" not in keep and owner != ROOT:
            attributes["owner"] = owner
        fresh = replace(
            fresh,
            creation_time=node.creation_time if "creation_time" in keep else fresh.creation_time,
            modification_time=node.modification_time if "modification_time" in keep else fresh.modification_time,
            value=node.value,
            attributes=attributes,
            table=node.table,
            content=node.content.settled,
        )
        self._state.put_node(fresh)
        if move and self._state.transaction_id is None:
            self._tablets.move(node, fresh.id)
        else:  # what a transaction moves has to stay where it was, too
            self._tablets.copy(node, fresh.id)
        children = self._state.children(node.id)
        copies = [self.copy(child, fresh.id, child.name, keep, move, owner) for child in children]
        if node.items:
            self._state.put_node(replace(self._state.node(fresh.id), items=tuple(copies)))
        return fresh.id

    def check_can_travel(self, node: Node, move: bool) -> None:
        """YtError if a table of the subtree serves and thus cannot be copied or moved."""
        if node.parent_id is None:
            raise YtError(f"Node {self._resolver.path_of(node)} cannot be copied or moved")
        allowed = ("unmounted",) if move else ("unmounted", "frozen")
        verb = "move" if move else "copy"
        words = " or ".join(f'"{state}"' for state in allowed)
        for table in self._walk(node):
            if table.type in (REPLICATED_TABLE, TABLE_REPLICA):
                raise YtError(f"Cannot {verb} replicated table {self._resolver.path_of(table)}")
            if table.type in SUBJECT_TYPES:
                raise YtError(f'Cannot {verb} {table.type} "{table.name}"')
            if any(tablet.state not in allowed for tablet in self._state.committed.tablets.of(table.id)):
                raise YtError(
                    f"Cannot {verb} dynamic table {self._resolver.path_of(table)} since not all of its tablets are in"
                    f" {words} state",
                    ErrorCode.INVALID_TABLET_STATE,
                )

    def _walk(self, node: Node) -> Iterator[Node]:
        yield node
        for child in self._state.children(node.id):
            yield from self._walk(child)

    def lineage(self, node: Node) -> AbstractSet[str]:
        """Ids of the node and all above it."""
        ids = {node.id}
        while node.parent_id is not None:
            ids.add(node.parent_id)
            node = self._state.node(node.parent_id)
        return ids
