"""Places of nodes in the tree: found, made room for, and watched over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from yt_local.cypress.documents import new_position
from yt_local.cypress.nodes import BUILTIN_NODES, MAX_CHILD_COUNT, ORCHID, new_node, renewed
from yt_local.cypress.resolver import Resolver, resolve_error
from yt_local.cypress.subtrees import Subtrees
from yt_local.security.permissions import CHANGE_CHILDREN, SCHEMAS, Access
from yt_local.security.subjects import ROOT, Subjects
from yt_local.store.locks import EXCLUSIVE
from yt_local.store.model import LIST, Node
from yt_local.store.state import TreeState
from yt_local.store.transaction_objects import MAP_KINDS
from yt_wire.error import ErrorCode, YtError


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node is to be made."""

    parent: Node

    name: str = ""
    """Of no account below a list."""

    index: int | None = None
    """Below a list: how many items come before it. None: the list is told of all its new items at once."""


class NodePlaces:
    """What commands that make and remove nodes have in common."""

    def __init__(self, state: TreeState, resolver: Resolver, subtrees: Subtrees, subjects: Subjects) -> None:
        self._state = state
        self._resolver = resolver
        self._subtrees = subtrees
        self._subjects = subjects

    def find(self, path: str) -> Node | None:
        """What stands at a path where a node is to be put; a link is found itself."""
        target = self._resolver.resolve(path, follow_last=False)
        if target.attribute is not None or target.inside or target.wildcard:
            raise resolve_error(path, YtError("A node is expected", ErrorCode.RESOLVE))
        return None if target.missing else target.node

    def cleared(self, access: Access, path: str, found: Node | None, *, force: bool, recursive: bool) -> Place:
        """Where a node is to be made, once what was `found` there is gone: YtError 501 without `force`."""
        if found is None:
            return self.place(access, path, recursive)
        parent = None if found.parent_id is None else self._state.node(found.parent_id)
        self._make_room(access, found, path, force)
        if parent is None or parent.type != LIST:
            return self.place(access, path, recursive)
        return Place(self._state.node(parent.id), index=parent.items.index(found.id))

    def put(self, place: Place, node: Node) -> None:
        """Keep a new node that is to be there."""
        self._state.put_node(node)
        self.enter(place, node.id)

    def enter(self, place: Place, node_id: str) -> None:
        """Tell the list of its new item, if the place of a node that has been kept is in one."""
        if place.index is not None:
            node = self._state.node(place.parent.id)
            self.fill(node, [*node.items[: place.index], node_id, *node.items[place.index :]])

    def fill(self, node: Node, items: Sequence[str]) -> None:
        """Give a list other items, which have been kept; YtError 502 if they are too many."""
        if len(items) > MAX_CHILD_COUNT:
            raise YtError(
                f"List node {self._resolver.path_of(node)} is not allowed to contain more than {MAX_CHILD_COUNT} items",
                ErrorCode.MAX_CHILD_COUNT,
            )
        self._state.put_node(renewed(self._state, replace(node, items=tuple(items))))

    def _make_room(self, access: Access, found: Node, path: str, force: bool) -> None:
        """Remove what stands where a node is to be put; YtError 501 without `force`."""
        if not force:
            raise YtError(f"Node {path} already exists", ErrorCode.ALREADY_EXISTS)
        if found.parent_id is None:
            raise YtError(f"Node {self._resolver.path_of(found)} cannot be replaced")
        self.check_removal(access, found)
        self._subtrees.delete(found)

    def place(self, access: Access, path: str, recursive: bool) -> Place:
        """Place for a node to be made at a path, where there is none."""
        target = self._resolver.resolve(path, follow_last=False)
        assert target.missing, "room has been made"
        *between, name = target.missing
        node = target.node
        if node.type in MAP_KINDS:
            raise YtError(f"Node {self._resolver.path_of(node)} cannot have other children than it has")
        if between and not recursive:
            raise self._resolver.missing(path, target)
        access.check(node, *CHANGE_CHILDREN)
        if node.type == LIST:
            where = self._resolver.path_of(node)
            if recursive:
                raise YtError(f'List node {where} does not support "recursive" option')
            try:
                index = new_position(len(node.items), name, where)
            except YtError as error:
                raise resolve_error(path, error) from error
            if index is None:
                raise self._resolver.missing(path, target)
            return Place(node, index=index)
        if self._subjects.is_map(node):
            raise YtError(f"Objects of {self._resolver.path_of(node)} are created by their name, without a path")
        for key in between:
            child = self.owned(access, new_node(self._state, "map_node", node.id, key))
            self._state.put_node(child)
            node = child
        return Place(node, name)

    def owned(self, access: Access, node: Node) -> Node:
        """A new node as that of the user who makes it; root's are not marked."""
        user = access.user
        return node if user == ROOT else replace(node, attributes={**node.attributes, "owner": user})

    def check_removal(self, access: Access, node: Node) -> None:
        """YtError unless the user may remove a node with all below it."""
        self.check_not_builtin(node)
        access.check_subtree(node, "remove")
        if node.parent_id is not None and node.type not in SCHEMAS:
            access.check(self._state.node(node.parent_id), *CHANGE_CHILDREN)

    def check_not_builtin(self, *nodes: Node) -> None:
        """YtError if a cluster cannot be without one of the nodes."""
        for node in nodes:
            path = self._resolver.path_of(node)
            if path in BUILTIN_NODES:
                raise YtError(f"Cannot remove built-in node {path}")

    def existing(self, access: Access, node: Node, lock: bool) -> str:
        """Id of a node that stays, locked if that is wanted."""
        if lock:
            access.check(node, "write")
            self._state.lock(node, EXCLUSIVE)
        return node.id


def check_writable(node: Node) -> None:
    """YtError if what is inside of a node is not this cluster's to change."""
    if node.type == ORCHID:
        raise YtError("Orchid nodes are read-only")


def check_options(ignore_existing: bool, force: bool, lock_existing: bool) -> None:
    """YtError if options of a command that makes a node contradict each other."""
    if ignore_existing and force:
        raise YtError('Cannot specify both "ignore_existing" and "force" options simultaneously')
    if lock_existing and not ignore_existing:
        raise YtError('Cannot specify "lock_existing" without "ignore_existing"')
