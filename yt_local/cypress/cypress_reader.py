"""Reading the Cypress tree: what its reading commands mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yt_local.cypress.attributes import Attributes
from yt_local.cypress.documents import get_inside
from yt_local.cypress.nodes import SCALARS
from yt_local.cypress.resolver import Resolver, resolve_error
from yt_local.security.permissions import Access
from yt_local.store.model import LIST, Node
from yt_local.store.state import TreeState
from yt_local.store.transaction_objects import MAP_KINDS, MAPS
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError


class CypressReader:
    """Commands that change nothing."""

    def __init__(self, state: TreeState, resolver: Resolver, attributes: Attributes) -> None:
        self._state = state
        self._resolver = resolver
        self._attributes = attributes

    def get(self, access: Access, path: str, names: Sequence[str] | None = None, max_size: int | None = None) -> Any:
        """Value of a node (tables and the like are entities), of an attribute, or of something inside a document.

        Args:
            path: where.
            names: attributes to put on every node returned.
            max_size: of a map node with more children only so many are returned, and attribute `incomplete` says so.
        """
        target = self._resolver.existing(path)
        node = target.node
        access.check(node, "read")
        if target.attribute is not None:
            if not target.attribute:
                return self._attributes.select(node, names)
            name, *keys = target.attribute
            return get_inside(self._attributes.get(node, name, path), keys, f"{path.partition('/@')[0]}/@{name}")
        if target.inside:
            return get_inside(node.value, target.inside, self._resolver.path_of(node))
        value = node.value if node.type == "document" else self._tree_value(access, node, names, max_size)
        attributes = self._attributes.select(node, names) if names else {}
        if max_size is not None and node.type in MAPS and self._state.child_count(node.id) > max_size:
            attributes["incomplete"] = True
        return yson.with_attributes(value, {**yson.attributes_of(value), **attributes}) if attributes else value

    def list(self, access: Access, path: str, names: Sequence[str] | None = None, max_size: int | None = None) -> Any:
        """Names of children, of attributes, or of keys inside a document; `names` and `max_size` as for `get`."""
        target = self._resolver.existing(path)
        access.check(target.node, "read")
        if target.attribute == []:
            return self._attributes.names(target.node)
        if target.attribute is not None or target.inside or target.node.type == "document":
            value = self.get(access, path)
            if not isinstance(value, dict):
                raise resolve_error(path, YtError(f"Node {path} cannot have children", ErrorCode.RESOLVE))
            return list(value)
        if target.node.type not in MAPS:
            raise resolve_error(path, YtError(f"Node {path} cannot have children", ErrorCode.RESOLVE))
        children = self._state.children(target.node.id)
        shown: list[Any] = [child.name for child in children[:max_size]]
        if names is not None:
            shown = [
                yson.with_attributes(child.name, self._visible_attributes(access, child, names))
                for child in children[:max_size]
            ]
        return shown if len(shown) == len(children) else yson.with_attributes(shown, {"incomplete": True})

    def exists(self, access: Access, path: str) -> bool:
        """Whether a path leads to something."""
        try:
            target = self._resolver.existing(path)
            if target.attribute is not None or target.inside:
                access.check(target.node, "read")
            if target.attribute:
                name, *keys = target.attribute
                get_inside(self._attributes.get(target.node, name, path), keys, path)
            elif target.inside:
                get_inside(target.node.value, target.inside, path)
        except YtError as error:
            if error.code != ErrorCode.RESOLVE:
                raise
            return False
        return True

    def _visible_attributes(self, access: Access, node: Node, names: Sequence[str]) -> dict[str, Any]:
        return self._attributes.select(node, names) if access.allows(node, "read") else {}

    def _tree_value(self, access: Access, node: Node, names: Sequence[str] | None, max_size: int | None = None) -> Any:
        """The value without attributes; what is below has the named ones."""
        if node.type in MAPS:
            children = self._state.children(node.id)[:max_size]
            return {child.name: self._tree(access, child, names) for child in children}
        if node.type == LIST:
            return [self._tree(access, item, names) for item in self._state.children(node.id)]
        return node.value if node.type in SCALARS else None

    def _tree(self, access: Access, node: Node, names: Sequence[str] | None) -> Any:
        if not access.allows(node, "read"):
            return None
        opaque = node.attributes.get("opaque") is True or node.type in MAP_KINDS
        value = None if opaque else self._tree_value(access, node, names)
        attributes = self._attributes.select(node, names) if names else {}
        return yson.with_attributes(value, attributes) if attributes else value
