"""From a path to what it names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from yt_local.cypress.documents import AttributeKey, list_index, new_position
from yt_local.store.model import LIST, Node
from yt_local.store.state import TreeState
from yt_local.store.transaction_objects import MAP_KINDS, MAPS
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import split_selectors, tokenize, unescape_literal

_MAX_LINKS = 32

_MAX_PATH_LENGTH = 2**20
_OBJECT_MAPS: Final = {
    "accounts": "account_map",
    "cluster_nodes": "cluster_node_map",
    "data_centers": "data_center_map",
    "groups": "group_map",
    "hosts": "host_map",
    "media": "medium_map",
    "pool_trees": "scheduler_pool_tree_map",
    "racks": "rack_map",
    "tablet_cell_bundles": "tablet_cell_bundle_map",
    "tablet_cells": "tablet_cell_map",
    "users": "user_map",
    "chunks": "chunk_map",
    **{
        f"{kind}_chunks": f"{kind}_chunk_map"
        for kind in (
            *("foreign", "overreplicated", "underreplicated", "quorum_missing", "data_missing", "parity_missing"),
            *("lost", "lost_vital", "unsafely_placed"),
        )
    },
}
"""Maps of objects in `//sys` that are kept as ordinary nodes: the types that masters show, by name."""

_SHOWN_TYPES: Final = {"medium": "domestic_medium"}
"""Names that masters have given types since files of clusters were first written."""

_MAX_TOKENS = 2000
"""Of 200 levels of nodes, with names of 4 KiB, and 256 of a value in the last, there are fewer."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a path leads to: a node, and what is wanted of it."""

    node: Node
    """The last node on the way that exists."""

    missing: Sequence[str] = ()
    """Keys below `node` that do not exist, if it is a map or a list; the first may be the place of a new item."""

    inside: Sequence[str] = ()
    """Keys inside the value of a document."""

    attribute: Sequence[str] | None = None
    """`[]` for `/@`, `[name, keys...]` for `/@name/keys`; None if the path has no `@`."""

    wildcard: bool = False
    """The path ends in `/*`: all children, or after `/@` all attributes."""


class Resolver:
    """Paths of one cluster.

    Args:
        state: its nodes.
        find_virtual: gives what has an id and attributes but is no node of the tree; None for unknown ids.
    """

    def __init__(self, state: TreeState, find_virtual: Callable[[str], Node | None] = lambda _: None) -> None:
        self._state = state
        self._find_virtual = find_virtual

    def resolve(self, path: str, *, follow_last: bool = True) -> Target:
        """Follow a path as far as it goes.

        Args:
            path: where to go.
            follow_last: whether a link at the very end stands for its target: not for commands that put something in
                its place or remove it.

        Raises:
            YtError: the path is malformed, an id is unknown, or links go round in circles.
        """
        bare = split_selectors(path)[0]
        tokens = tokenize(bare[:_MAX_PATH_LENGTH])
        if len(bare) > _MAX_PATH_LENGTH or len(tokens) > _MAX_TOKENS:
            raise resolve_error(
                f"{path[:100]}...", YtError("YPath is longer than any that leads somewhere", ErrorCode.RESOLVE)
            )
        return self._follow(path, tokens, follow_last, 0)

    def existing(self, path: str) -> Target:
        """Like `resolve`, and everything named is there, save a document's inside or an attribute.

        Raises:
            YtError: code 500 if a node is missing.
        """
        target = self.resolve(path)
        if target.missing:
            raise self.missing(path, target)
        if target.wildcard:
            raise resolve_error(path, YtError("Unexpected wildcard in YPath", ErrorCode.RESOLVE))
        return target

    def node(self, path: str) -> Node:
        """The node a path names; it must not lead inside a value or to an attribute."""
        target = self.existing(path)
        if target.inside or target.attribute is not None:
            raise YtError(f"Error resolving path {path}: a node is expected", ErrorCode.RESOLVE)
        return target.node

    def path_of(self, node: Node) -> str:
        """As `TreeState.path_of`."""
        return self._state.path_of(node)

    def _follow(self, path: str, tokens: Sequence[str], follow_last: bool, links: int) -> Target:
        if links > _MAX_LINKS:
            raise resolve_error(path, YtError("Number of resolve iterations exceeded", ErrorCode.RESOLVE))
        node, position = self._start(path, tokens)
        while True:
            if tokens[position : position + 1] == ["&"]:
                position += 1
            elif node.type == "link" and (position < len(tokens) or follow_last):
                target = tokenize(split_selectors(node.value)[0])
                return self._follow(path, [*target, *tokens[position:]], follow_last, links + 1)
            remaining = len(tokens) - position
            if not remaining:
                return Target(node)
            if tokens[position] != "/":
                raise _malformed(path, f'Expected "slash" in YPath but found "{tokens[position]}"')
            if remaining == 1 and (node.type in MAP_KINDS or self._object_map_type(node) is not None):
                return Target(node)  # a slash at the end is theirs: foreign-clients.md §10
            key = tokens[position + 1] if remaining > 1 else "/"
            if key in "/&":
                found = f'"slash" token "{key}"' if remaining > 1 else "its end"
                raise _malformed(path, f"Expected a key in YPath but found {found}")
            if key == "@":
                return self._attribute(path, node, tokens[position + 2 :])
            if key == "*":
                if remaining > 2:
                    raise _malformed(path, "A wildcard must end a YPath")
                return Target(node, wildcard=True)
            if node.type != LIST and node.type not in MAPS:
                return self._inside(path, node, tokens[position:])
            child = self._child(node, unescape_literal(key))
            if child is None:
                return self._missing(path, node, tokens[position:])
            node = child
            position += 2

    def missing(self, path: str, target: Target) -> YtError:
        """The error about the first key of a path that does not exist; `target` is what the path leads to."""
        where, key = self.path_of(target.node), target.missing[0]
        if target.node.type == LIST:
            try:
                if new_position(len(target.node.items), key, where) is None:
                    list_index(len(target.node.items), key, where)
            except YtError as error:
                return resolve_error(path, error)
        return missing_child(path, where, key)

    def _child(self, node: Node, key: str) -> Node | None:
        if node.type != LIST:
            return self._state.child(node.id, key)
        try:
            return self._state.node(node.items[list_index(len(node.items), key, "")])
        except YtError:
            return None

    def shown_type(self, node: Node) -> str:
        """The type of a node as masters call it."""
        return self._object_map_type(node) or _SHOWN_TYPES.get(node.type, node.type)

    def _object_map_type(self, node: Node) -> str | None:
        """What masters call a map of users, accounts or the like; None for other nodes."""
        shown = _OBJECT_MAPS.get(node.name)
        parent = None if shown is None or node.parent_id is None else self._state.find_node(node.parent_id)
        return shown if parent is not None and self._state.path_of(parent) == "//sys" else None

    def _start(self, path: str, tokens: Sequence[str]) -> tuple[Node, int]:
        if not tokens:
            raise _malformed(path, "YPath cannot be empty")
        if tokens[0] == "/":
            root = self._state.root
            assert root is not None, "a started cluster has a root"
            return root, 1
        if tokens[0].startswith("#"):
            object_id = tokens[0][1:]
            node = self._state.find_node(object_id) or self._find_virtual(object_id)
            if node is None:
                raise resolve_error(path, YtError(f"No such object {tokens[0][1:]}", ErrorCode.RESOLVE))
            return node, 1
        raise _malformed(path, f'Path "{path}" does not start with a valid root-designator')

    def _attribute(self, path: str, node: Node, tokens: Sequence[str]) -> Target:
        if list(tokens) == ["*"]:
            return Target(node, attribute=[], wildcard=True)
        return Target(node, attribute=_attribute_keys(path, tokens))

    def _missing(self, path: str, node: Node, tokens: Sequence[str]) -> Target:
        tokens, wildcard = _without_wildcard(tokens)
        if "@" not in tokens:
            return Target(node, missing=_keys(path, tokens), wildcard=wildcard)
        at = tokens.index("@")
        target = self._attribute(path, node, tokens[at + 1 :])
        return replace(target, missing=_keys(path, tokens[: at - 1]))

    def _inside(self, path: str, node: Node, tokens: Sequence[str]) -> Target:
        if node.type not in ("document", "orchid"):
            raise resolve_error(path, YtError(f"Node {self.path_of(node)} cannot have children", ErrorCode.RESOLVE))
        tokens, wildcard = _without_wildcard(tokens)
        return Target(node, inside=_keys(path, tokens), wildcard=wildcard)


def resolve_error(path: str, cause: YtError) -> YtError:
    """The usual wrapping of a failed resolution."""
    return YtError(f"Error resolving path {path}", ErrorCode.RESOLVE, inner_errors=[cause])


def missing_child(path: str, parent_path: str, key: str) -> YtError:
    return resolve_error(path, YtError(f'Node {parent_path} has no child with key "{key}"', ErrorCode.RESOLVE))


def _malformed(path: str, reason: str) -> YtError:
    return YtError(f"Error parsing YPath {yson.shown(path)}: {reason}")


def _attribute_keys(path: str, tokens: Sequence[str]) -> list[str]:
    """Keys behind the first `@` of a path."""
    return _keys(path, ["/", *tokens]) if tokens else []


def _without_wildcard(tokens: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The tokens before a `/*` at the end, and whether there is one."""
    wildcard = list(tokens[-2:]) == ["/", "*"]
    return (tokens[:-2] if wildcard else tokens), wildcard


def _keys(path: str, tokens: Sequence[str]) -> list[str]:
    """Read `/a/b/@c`; names behind an `@` become `AttributeKey`."""
    keys: list[str] = []
    position = 0
    while position < len(tokens):
        if tokens[position] != "/":
            raise _malformed(path, f'Expected "slash" in YPath but found "{tokens[position]}"')
        position += 1
        kind: type[str] = str
        if tokens[position : position + 1] == ["@"]:
            kind = AttributeKey
            position += 1
        token = tokens[position] if position < len(tokens) else None
        if token is not None and token not in "/@&*":
            keys.append(kind(unescape_literal(token)))
            position += 1
        elif token is None and kind is AttributeKey:
            keys.append(AttributeKey())
        else:
            raise _malformed(
                path, f"Expected a key in YPath but found {yson.shown(token)}" if token else "it ends in a slash"
            )
    return keys
