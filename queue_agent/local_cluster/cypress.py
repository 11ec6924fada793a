"""The Cypress tree: what its commands mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from queue_agent.local_cluster.attributes import Attributes, boolean, instant
from queue_agent.local_cluster.documents import get_inside, remove_inside, set_inside
from queue_agent.local_cluster.ids import OBJECT_TYPES
from queue_agent.local_cluster.model import Node, TableState
from queue_agent.local_cluster.resolver import Resolver, Target, missing_child, resolve_error
from queue_agent.local_cluster.schema import TableSchema, parse_schema
from queue_agent.local_cluster.state import ClusterState
from queue_agent.local_cluster.tablets import Tablets
from queue_agent.wire import yson
from queue_agent.wire.error import ErrorCode, YtError

_SCALARS: Final = {
    "string_node": "",
    "int64_node": 0,
    "uint64_node": yson.Uint64(0),
    "double_node": 0.0,
    "boolean_node": False,
}
_CREATABLE: Final = frozenset({*_SCALARS, "map_node", "list_node", "document", "table"})
_CREATION_ONLY: Final = frozenset({"dynamic", "schema", "tablet_count", "pivot_keys"})


class Cypress:
    """Commands on nodes; every change is one `ClusterState.change`."""

    def __init__(self, state: ClusterState, resolver: Resolver, attributes: Attributes, tablets: Tablets) -> None:
        self._state = state
        self._resolver = resolver
        self._attributes = attributes
        self._tablets = tablets

    def get(self, path: str, names: Sequence[str] | None = None) -> Any:
        """Value of a node (tables and the like are entities), of an attribute, or of something inside a document.

        Args:
            path: where.
            names: attributes to put on every node returned.
        """
        target = self._resolver.existing(path)
        if target.wildcard:
            raise resolve_error(path, YtError("Wildcards cannot be read", ErrorCode.RESOLVE))
        if target.attribute is not None:
            if not target.attribute:
                return self._attributes.select(target.node, names)
            name, *keys = target.attribute
            return get_inside(self._attributes.get(target.node, name, path), keys, f"{path.partition('/@')[0]}/@{name}")
        if target.inside or target.node.type in ("document", "list_node"):
            return get_inside(target.node.value, target.inside, self._resolver.path_of(target.node))
        return self._tree(target.node, names)

    def list(self, path: str, names: Sequence[str] | None = None) -> list[Any]:
        """Names of children, of attributes, or of keys inside a document."""
        target = self._resolver.existing(path)
        if target.attribute == []:
            return self._attributes.names(target.node)
        if target.attribute is not None or target.inside or target.node.type == "document":
            value = self.get(path)
            if not isinstance(value, dict):
                raise resolve_error(path, YtError(f"Node {path} cannot have children", ErrorCode.RESOLVE))
            return list(value)
        if target.node.type != "map_node":
            raise resolve_error(path, YtError(f"Node {path} cannot have children", ErrorCode.RESOLVE))
        children = self._state.children(target.node.id)
        if names is None:
            return [child.name for child in children]
        return [yson.with_attributes(child.name, self._attributes.select(child, names)) for child in children]

    def exists(self, path: str) -> bool:
        """Whether a path leads to something."""
        try:
            target = self._resolver.existing(path)
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

    def create(
        self,
        path: str,
        node_type: str,
        attributes: Mapping[str, Any],
        *,
        recursive: bool = False,
        ignore_existing: bool = False,
        ignore_type_mismatch: bool = False,
        force: bool = False,
    ) -> str:
        """Make a node and return its id, or that of the existing one with `ignore_existing`."""
        if node_type not in _CREATABLE:
            raise YtError(f'Cannot create an object of type "{node_type}" at {path}: unknown or unsupported type')
        with self._state.change():
            found = self._find(path)
            if found and ignore_existing:
                if found.type != node_type and not ignore_type_mismatch:
                    raise YtError(
                        f'{path} already exists and has type "{found.type}" while node of "{node_type}" type is about'
                        " to be created",
                        ErrorCode.ALREADY_EXISTS,
                    )
                return found.id
            if found and not force:
                raise YtError(f"Node {path} already exists", ErrorCode.ALREADY_EXISTS)
            if found:
                self._delete_subtree(found)
            parent, name = self._place(path, recursive)
            node = self._new_node(node_type, parent.id, name)
            user_attributes = {key: value for key, value in attributes.items() if key not in _CREATION_ONLY}
            if node_type == "table":
                node = replace(node, table=_table_state(attributes))
            elif "value" in user_attributes:
                node = replace(node, value=_checked_value(node_type, user_attributes.pop("value")))
            self._state.put_node(node)
            if node.table and node.table.dynamic:
                self._tablets.create(node, int(attributes.get("tablet_count", 1)))
            for key, value in user_attributes.items():
                node = self._attributes.with_value(node, key, value)
            self._state.put_node(node)
            return node.id

    def set(self, path: str, value: Any, *, recursive: bool = False, force: bool = False) -> None:
        """Give a node, an attribute or a place inside a document a value; a node that is not there is created."""
        with self._state.change():
            target = self._resolver.resolve(path)
            if target.attribute is not None:
                self._set_attribute(target, path, value)
            elif target.inside or (target.node.type == "document" and not target.missing):
                changed = set_inside(target.node.value, target.inside, value, self._resolver.path_of(target.node))
                self._update(replace(target.node, value=changed))
            elif target.missing:
                parent, name = self._place(path, recursive)
                self._create_from_value(parent.id, name, value)
            else:
                self._replace_value(target.node, path, value, force)

    def multiset_attributes(self, path: str, values: Mapping[str, Any]) -> None:
        """Set several attributes at once; `path` ends in `/@`."""
        with self._state.change():
            for name, value in values.items():
                self.set(f"{path.removesuffix('/@')}/@{name}", value)

    def remove(self, path: str, *, recursive: bool = False, force: bool = False) -> None:
        """Remove a node, an attribute, a key of a document, or, with `/*`, all children."""
        with self._state.change():
            target = self._resolver.resolve(path)
            if target.missing:
                if not force:
                    raise missing_child(path, self._resolver.path_of(target.node), target.missing[0])
            elif target.wildcard:
                for child in self._state.children(target.node.id):
                    self._delete_subtree(child)
            elif target.attribute is not None:
                self._remove_attribute(target, path, force)
            elif target.inside:
                where = self._resolver.path_of(target.node)
                self._update(replace(target.node, value=remove_inside(target.node.value, target.inside, where)))
            else:
                self._remove_node(target.node, recursive)

    def copy(
        self, source: str, destination: str, *, recursive: bool, force: bool, ignore_existing: bool, move: bool = False
    ) -> str:
        """Copy or move a subtree; returns the id of the node at the destination.

        A moved node keeps its id, its revision grows.
        """
        with self._state.change():
            node = self._resolver.node(source)
            self._check_can_travel(node, move)
            found = self._find(destination)
            if found and ignore_existing and not move:
                return found.id
            if found and not force:
                raise YtError(f"Node {destination} already exists", ErrorCode.ALREADY_EXISTS)
            if found and node.id in self._lineage(found):
                raise YtError(f"Cannot copy or move {source} over {destination}, which contains it or is inside it")
            if found:
                self._delete_subtree(found)
            parent, name = self._place(destination, recursive)
            if node.id in self._lineage(parent):
                raise YtError("Cannot copy or move a node to its descendant")
            if move:
                revision = self._state.next_revision()
                self._state.put_node(
                    replace(node, parent_id=parent.id, name=name, revision=revision, attribute_revision=revision)
                )
                return node.id
            return self._copy_subtree(node, parent.id, name)

    def link(self, target_path: str, link_path: str, *, recursive: bool, force: bool, ignore_existing: bool) -> str:
        """Make a node that stands for another path."""
        with self._state.change():
            self._resolver.node(target_path)
            found = self._find(link_path + "&")
            if found and ignore_existing and found.type == "link":
                return found.id
            if found and not (force and found.type == "link"):
                raise YtError(f"Node {link_path} already exists", ErrorCode.ALREADY_EXISTS)
            if found:
                self._delete_subtree(found)
            parent, name = self._place(link_path, recursive)
            node = replace(self._new_node("link", parent.id, name), value=target_path)
            self._state.put_node(node)
            return node.id

    def create_root(self) -> None:
        """The first node of a new cluster."""
        self._state.put_node(self._new_node("map_node", None, ""))

    def create_object(self, parent_path: str, object_type: str, attributes: Mapping[str, Any]) -> str:
        """A system object, such as a tablet cell, that shows up as a child named like its id."""
        with self._state.change():
            parent = self._resolver.node(parent_path)
            node = self._new_node(object_type, parent.id, "")
            name = str(attributes.get("name", node.id))
            self._state.put_node(replace(node, name=name, attributes=dict(attributes)))
            return node.id

    def _find(self, path: str) -> Node | None:
        target = self._resolver.resolve(path)
        if target.attribute is not None or target.inside or target.wildcard:
            raise resolve_error(path, YtError("A node is expected", ErrorCode.RESOLVE))
        return None if target.missing else target.node

    def _place(self, path: str, recursive: bool) -> tuple[Node, str]:
        """Parent and name for a node to be made at a path."""
        target = self._resolver.resolve(path)
        if not target.missing:
            # What stood here has been removed in the same change, or is the root.
            raise resolve_error(path, YtError("Node already exists", ErrorCode.ALREADY_EXISTS))
        *between, name = target.missing
        node = target.node
        if between and not recursive:
            raise missing_child(path, self._resolver.path_of(node), between[0])
        for key in between:
            child = self._new_node("map_node", node.id, key)
            self._state.put_node(child)
            node = child
        return node, name

    def _new_node(self, node_type: str, parent_id: str | None, name: str) -> Node:
        assert node_type in OBJECT_TYPES
        revision = self._state.next_revision()
        now = instant(self._state)
        value = [] if node_type == "list_node" else _SCALARS.get(node_type)
        return Node(
            id=self._state.ids.next(node_type),
            type=node_type,
            parent_id=parent_id,
            name=name,
            creation_time=now,
            modification_time=now,
            revision=revision,
            attribute_revision=revision,
            content_revision=revision,
            value=value,
        )

    def _update(self, node: Node, *, attributes: bool = False) -> None:
        revision = self._state.next_revision()
        self._state.put_node(
            replace(
                node,
                revision=revision,
                attribute_revision=revision if attributes else node.attribute_revision,
                content_revision=node.content_revision if attributes else revision,
                modification_time=instant(self._state),
            )
        )

    def _tree(self, node: Node, names: Sequence[str] | None) -> Any:
        if node.type == "map_node":
            value: Any = {child.name: self._tree(child, names) for child in self._state.children(node.id)}
        else:
            value = node.value if node.type in _SCALARS or node.type == "list_node" else None
        attributes = self._attributes.select(node, names) if names else {}
        return yson.with_attributes(value, attributes) if attributes else value

    def _create_from_value(self, parent_id: str, name: str, value: Any) -> None:
        node = self._new_node(_node_type(value), parent_id, name)
        node = replace(node, attributes=yson.attributes_of(value))
        if node.type == "map_node":
            self._state.put_node(node)
            for key, item in value.items():
                self._create_from_value(node.id, key, item)
        else:
            self._state.put_node(replace(node, value=yson.plain(value)))

    def _replace_value(self, node: Node, path: str, value: Any, force: bool) -> None:
        node_type = _node_type(value)
        if node.type == node_type and node_type != "map_node":
            self._update(replace(node, value=yson.plain(value)))
            return
        if node.type in _SCALARS or node.type == "list_node" or (node.type == "map_node" and force):
            parent_id, name = node.parent_id, node.name
            if parent_id is not None:
                self._delete_subtree(node)
                self._create_from_value(parent_id, name, value)
                return
        raise YtError(
            f'Cannot set a value of {node.type} {path}: "set" needs "force" for map nodes and never replaces'
            " tables or files"
        )

    def _set_attribute(self, target: Target, path: str, value: Any) -> None:
        if target.missing:
            raise missing_child(path, self._resolver.path_of(target.node), target.missing[0])
        node = target.node
        assert target.attribute is not None
        if not target.attribute:
            if not isinstance(value, dict):
                raise YtError(f"Attributes of {path} must be given as a map")
            for name, item in value.items():
                node = self._attributes.with_value(node, name, item)
        else:
            name, *keys = target.attribute
            if keys:
                value = set_inside(self._attributes.get(node, name, path), keys, value, f"@{name}")
            node = self._attributes.with_value(node, name, value)
        self._update(node, attributes=True)

    def _remove_attribute(self, target: Target, path: str, force: bool) -> None:
        assert target.attribute is not None
        if not target.attribute:
            raise YtError(f"Cannot remove all attributes at once: {path}")
        name, *keys = target.attribute
        if force and not self._attributes.find(target.node, name)[0]:
            return
        if keys:
            value = remove_inside(self._attributes.get(target.node, name, path), keys, f"@{name}")
            node = self._attributes.with_value(target.node, name, value)
        else:
            node = self._attributes.without(target.node, name, path)
        self._update(node, attributes=True)

    def _remove_node(self, node: Node, recursive: bool) -> None:
        if node.parent_id is None:
            raise YtError("Root node cannot be removed")
        if not recursive and node.type == "map_node" and self._state.children(node.id):
            raise YtError(f"Cannot remove non-empty composite node {self._resolver.path_of(node)}")
        self._delete_subtree(node)

    def _delete_subtree(self, node: Node) -> None:
        if node.parent_id is None:
            raise YtError("Root node cannot be removed")
        for child in self._state.children(node.id):
            self._delete_subtree(child)
        self._state.delete_node(node)

    def _check_can_travel(self, node: Node, move: bool) -> None:
        if node.parent_id is None:
            raise YtError("Root node cannot be copied or moved")
        allowed = ("unmounted",) if move else ("unmounted", "frozen")
        verb = "move" if move else "copy"
        words = " or ".join(f'"{state}"' for state in allowed)
        for table in self._subtree(node):
            if any(tablet.state not in allowed for tablet in self._state.tablets(table.id)):
                raise YtError(
                    f"Cannot {verb} dynamic table {self._resolver.path_of(table)} since not all of its tablets are in"
                    f" {words} state",
                    ErrorCode.INVALID_TABLET_STATE,
                )

    def _subtree(self, node: Node) -> Iterator[Node]:
        yield node
        for child in self._state.children(node.id):
            yield from self._subtree(child)

    def _lineage(self, node: Node) -> AbstractSet[str]:
        ids = {node.id}
        while node.parent_id is not None:
            ids.add(node.parent_id)
            node = self._state.node(node.parent_id)
        return ids

    def _copy_subtree(self, node: Node, parent_id: str, name: str) -> str:
        fresh = self._new_node(node.type, parent_id, name)
        self._state.put_node(replace(fresh, value=node.value, attributes=node.attributes, table=node.table))
        self._tablets.copy(node, fresh.id)
        for child in self._state.children(node.id):
            self._copy_subtree(child, fresh.id, child.name)
        return fresh.id


def _node_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean_node"
        case yson.Uint64():
            return "uint64_node"
        case int():
            return "int64_node"
        case float():
            return "double_node"
        case dict():
            return "map_node"
        case list():
            return "list_node"
    if yson.is_string(value):
        return "string_node"
    raise YtError("Cannot make a node of an entity: give it a value, or create a node of a type")


def _checked_value(node_type: str, value: Any) -> Any:
    if node_type == "document" or _node_type(value) == node_type:
        return yson.plain(value)
    raise YtError(f"A value of type {_node_type(value)} cannot be given to a node of type {node_type}")


def _table_state(attributes: Mapping[str, Any]) -> TableState:
    dynamic = boolean(attributes.get("dynamic", False))
    if not isinstance(dynamic, bool):
        raise YtError('Attribute "dynamic" must be a boolean')
    given = attributes.get("schema")
    if given is None and dynamic:
        raise YtError('"schema" is mandatory for dynamic tables')
    schema = parse_schema(given) if given is not None else TableSchema(columns=(), strict=False, unique_keys=False)
    if dynamic:
        if schema.is_sorted and "unique_keys" not in yson.attributes_of(given):
            # Keys of dynamic tables are unique anyway, a schema need not say so.
            schema = replace(schema, unique_keys=True)
        schema.validate_dynamic()
    return TableState(schema=schema, dynamic=dynamic)
