"""From a path to what it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queue_agent.local_cluster.model import Node
from queue_agent.local_cluster.state import ClusterState
from queue_agent.wire.error import ErrorCode, YtError
from queue_agent.wire.ypath import escape_literal, split_selectors, tokenize, unescape_literal

_MAX_LINKS = 32


@dataclass(frozen=True, slots=True)
class Target:
    """What a path leads to: a node, and what is wanted of it."""

    node: Node
    """The last node on the way that exists."""

    missing: Sequence[str] = ()
    """Keys below `node` that do not exist, if it is a map."""

    inside: Sequence[str] = ()
    """Keys inside the value of a document, list or scalar."""

    attribute: Sequence[str] | None = None
    """`[]` for `/@`, `[name, keys...]` for `/@name/keys`; None if the path has no `@`."""

    wildcard: bool = False
    """The path ends in `/*`."""


class Resolver:
    """Paths of one cluster."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def resolve(self, path: str) -> Target:
        """Follow a path as far as it goes.

        Raises:
            YtError: the path is malformed, an id is unknown, or a link leads nowhere.
        """
        return self._follow(path, 0)

    def existing(self, path: str) -> Target:
        """Like `resolve`, and everything named is there, save a document's inside or an attribute.

        Raises:
            YtError: code 500 if a node is missing.
        """
        target = self.resolve(path)
        if target.missing:
            raise missing_child(path, self.path_of(target.node), target.missing[0])
        return target

    def node(self, path: str) -> Node:
        """The node a path names; it must not lead inside a value or to an attribute."""
        target = self.existing(path)
        if target.inside or target.attribute is not None:
            raise YtError(f"Error resolving path {path}: a node is expected", ErrorCode.RESOLVE)
        return target.node

    def path_of(self, node: Node) -> str:
        """The node's path from the root, e.g. `//tmp/q`; the root itself is `/`."""
        names: list[str] = []
        while node.parent_id is not None:
            names.append(escape_literal(node.name))
            node = self._state.node(node.parent_id)
        return "/" + "".join("/" + name for name in reversed(names))

    def _follow(self, path: str, links: int) -> Target:
        if links > _MAX_LINKS:
            raise YtError(f"Error resolving path {path}: too many links", ErrorCode.RESOLVE)
        tokens = tokenize(split_selectors(path)[0])
        node, position = self._start(path, tokens)
        while position < len(tokens):
            if tokens[position] == "&":
                position += 1
                continue
            if tokens[position] != "/" or position + 1 == len(tokens):
                raise _malformed(path)
            token = tokens[position + 1]
            if token == "@":
                return Target(node, attribute=_keys(path, tokens[position + 2 :], leading_slash=False))
            if token == "*" and position + 2 == len(tokens):
                return Target(node, wildcard=True)
            if token in "/&*@":
                raise _malformed(path)
            if node.type != "map_node":
                return self._inside(path, node, tokens[position:])
            child = self._state.child(node.id, unescape_literal(token))
            if child is None:
                return self._missing(path, node, tokens[position:])
            node = child
            position += 2
            if node.type == "link" and tokens[position : position + 1] != ["&"]:
                return self._follow(node.value + "".join(tokens[position:]), links + 1)
        return Target(node)

    def _start(self, path: str, tokens: Sequence[str]) -> tuple[Node, int]:
        if not tokens:
            raise YtError("YPath cannot be empty", ErrorCode.RESOLVE)
        if tokens[0] == "/":
            root = self._state.root
            assert root is not None, "a started cluster has a root"
            return root, 1
        if tokens[0].startswith("#"):
            node = self._state.find_node(tokens[0][1:])
            if node is None:
                raise resolve_error(path, YtError(f"No such object {tokens[0][1:]}", ErrorCode.RESOLVE))
            return node, 1
        raise _malformed(path)

    def _missing(self, path: str, node: Node, tokens: Sequence[str]) -> Target:
        if "@" not in tokens:
            return Target(node, missing=_keys(path, tokens, leading_slash=True))
        at = tokens.index("@")
        attribute = _keys(path, tokens[at + 1 :], leading_slash=False)
        return Target(node, missing=_keys(path, tokens[: at - 1], leading_slash=True), attribute=attribute)

    def _inside(self, path: str, node: Node, tokens: Sequence[str]) -> Target:
        if "@" in tokens:
            raise _malformed(path)
        keys = _keys(path, tokens, leading_slash=True)
        if node.type not in ("document", "list_node"):
            raise resolve_error(path, YtError(f"Node {self.path_of(node)} cannot have children", ErrorCode.RESOLVE))
        return Target(node, inside=keys)


def resolve_error(path: str, cause: YtError) -> YtError:
    """The usual wrapping of a failed resolution."""
    return YtError(f"Error resolving path {path}", ErrorCode.RESOLVE, inner_errors=[cause])


def missing_child(path: str, parent_path: str, key: str) -> YtError:
    return resolve_error(path, YtError(f'Node {parent_path} has no child with key "{key}"', ErrorCode.RESOLVE))


def _malformed(path: str) -> YtError:
    return YtError(f"Error parsing YPath {path!r}: it must begin with / or #<id>, with keys divided by /")


def _keys(path: str, tokens: Sequence[str], *, leading_slash: bool) -> list[str]:
    rest = list(tokens) if leading_slash or not tokens else ["/", *tokens]
    if len(rest) % 2 or any(token != "/" for token in rest[::2]) or any(token in "/@&*" for token in rest[1::2]):
        raise _malformed(path)
    return [unescape_literal(token) for token in rest[1::2]]
