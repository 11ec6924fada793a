"""The Cypress tree: what its commands mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from yt_local.cypress.account_tree import is_account
from yt_local.cypress.attributes import Attributes
from yt_local.cypress.cypress_reader import CypressReader
from yt_local.cypress.documents import clear_inside, remove_inside, set_inside
from yt_local.cypress.kinds import NodeTablets
from yt_local.cypress.node_places import NodePlaces, Place, check_options, check_writable
from yt_local.cypress.nodes import (
    CREATABLE,
    CREATION_ONLY,
    ORCHID,
    check_addresses,
    checked_upstream,
    checked_value,
    new_node,
    node_type_of,
    renewed,
    table_state,
    target_path,
)
from yt_local.cypress.resolver import Resolver, Target, resolve_error
from yt_local.cypress.subtrees import CopyOptions, Subtrees
from yt_local.cypress.system_objects import CELL, check_unneeded, vacate
from yt_local.cypress.transaction_attributes import TransactionAttributes
from yt_local.cypress.value_nodes import ValueNodes
from yt_local.security.permissions import ACCESS_CONTROL, CHANGE_CHILDREN, Access, attribute_permission
from yt_local.security.subjects import BUILTIN, SUBJECT_TYPES, Subjects
from yt_local.store.locks import EXCLUSIVE
from yt_local.store.model import EXPIRATION_TIME, EXPIRATION_TIMEOUT, LIST, Node
from yt_local.store.replicated_types import CHAOS_REPLICATED_TABLE, REPLICATED_TABLE, UPSTREAM_REPLICA_ID
from yt_local.store.state import TreeState
from yt_local.store.transaction_objects import TRANSACTION_TYPES
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError


class Cypress(CypressReader):
    """Commands on nodes; every change is one `TreeState.change`."""

    def __init__(self, state: TreeState, resolver: Resolver, attributes: Attributes, tablets: NodeTablets) -> None:
        super().__init__(state, resolver, attributes)
        self._tablets = tablets
        self._subtrees = Subtrees(state, resolver, tablets)
        self._subjects = Subjects(state)
        self._places = NodePlaces(state, resolver, self._subtrees, self._subjects)
        self.value_nodes = ValueNodes(state, attributes, self._places)

    def create(
        self,
        access: Access,
        path: str,
        node_type: str,
        attributes: Mapping[str, Any],
        *,
        recursive: bool = False,
        ignore_existing: bool = False,
        ignore_type_mismatch: bool = False,
        lock_existing: bool = False,
        force: bool = False,
    ) -> str:
        """Make a node and return its id, or that of the existing one with `ignore_existing`."""
        if node_type not in CREATABLE:
            raise YtError(f'Cannot create an object of type "{node_type}" at {path}: unknown or unsupported type')
        if node_type == "link":
            return self.link(
                access,
                target_path(attributes),
                path,
                recursive=recursive,
                force=force,
                ignore_existing=ignore_existing,
                lock_existing=lock_existing,
            )
        check_options(ignore_existing, force, lock_existing)
        with self._state.change(), self._attributes.limits.kept():
            found = self._places.find(path)
            if found and ignore_existing:
                if found.type != node_type and not ignore_type_mismatch:
                    raise YtError(
                        f'{path} already exists and has type "{found.type}" while node of "{node_type}" type is about'
                        " to be created",
                        ErrorCode.ALREADY_EXISTS,
                    )
                return self._places.existing(access, found, lock_existing)
            place = self._places.cleared(access, path, found, force=force, recursive=recursive)
            if not ACCESS_CONTROL.isdisjoint(attributes):
                access.check(place.parent, "administer")
            node = self._places.owned(access, new_node(self._state, node_type, place.parent.id, place.name))
            self._put_new(access, place, node, attributes)
            return node.id

    def _put_new(self, access: Access, place: Place, node: Node, attributes: Mapping[str, Any]) -> None:
        """Keep a new node with what its type and its attributes make of it."""
        node_type = node.type
        if node_type == ORCHID:
            check_addresses(attributes)
        user_attributes = {key: value for key, value in attributes.items() if key not in CREATION_ONLY}
        if node_type in ("table", REPLICATED_TABLE, CHAOS_REPLICATED_TABLE):
            node = replace(node, table=table_state(node_type, attributes))
            if UPSTREAM_REPLICA_ID in attributes:
                upstream = checked_upstream(node, user_attributes.pop(UPSTREAM_REPLICA_ID))
                node = replace(node, attributes={**node.attributes, UPSTREAM_REPLICA_ID: upstream})
        elif "value" in user_attributes and node_type != LIST:
            node = replace(node, value=checked_value(node_type, user_attributes.pop("value")))
        self._places.put(place, node)
        if node_type == LIST and "value" in user_attributes:
            self.value_nodes.fill(access, node, checked_value(node_type, user_attributes.pop("value")))
            node = self._state.node(node.id)
        if node.table and node.table.dynamic and node_type != CHAOS_REPLICATED_TABLE:
            self._tablets.create(node, attributes)
        for key, value in user_attributes.items():
            access.check_owner(key, value)
            node = self._attributes.with_value(node, key, value)
        self._state.put_node(node)

    def set(self, access: Access, path: str, value: Any, *, recursive: bool = False, force: bool = False) -> None:
        """Give a node, an attribute or a place inside a document a value; a node that is not there is created."""
        with self._state.change(), self._attributes.limits.kept():
            target = self._resolver.resolve(path, follow_last=False)
            if target.wildcard:
                raise resolve_error(path, YtError("Unexpected wildcard in YPath", ErrorCode.RESOLVE))
            if target.attribute is not None:
                self._set_attribute(access, target, path, value, force)
            elif target.inside:
                check_writable(target.node)
                access.check(target.node, "write")
                where = self._resolver.path_of(target.node)
                changed = set_inside(target.node.value, target.inside, value, where, recursive=recursive)
                self._replace(replace(target.node, value=changed))
            elif target.missing:
                self.value_nodes.create(access, self._places.place(access, path, recursive), value)
            else:
                self._replace_value(access, target.node, path, value, force)

    def multiset_attributes(self, access: Access, path: str, values: Mapping[str, Any], *, force: bool = False) -> None:
        """Set several attributes at once, others stay; `path` is that of the node, with or without `/@`."""
        with self._state.change(), self._attributes.limits.kept():
            found = node = self._resolver.node(path.removesuffix("/@"))
            for name, value in values.items():
                node = self._with_value(access, node, name, value)
            self._change_attributes(access, found, node, force=force)

    def remove(self, access: Access, path: str, *, recursive: bool = False, force: bool = False) -> None:
        """Remove a node, an attribute, a key of a document, or, with `/*`, all children."""
        with self._state.change():
            target = self._resolver.resolve(path, follow_last=False)
            if target.missing:
                if not force:
                    raise self._resolver.missing(path, target)
            elif target.wildcard:
                self._remove_all(access, target, path)
            elif target.attribute is not None:
                self._remove_attribute(access, target, path, force)
            elif target.inside:
                check_writable(target.node)
                self._remove_inside(access, target, force)
            else:
                self._remove_node(access, target.node, recursive)

    def copy(self, access: Access, source: str, destination: str, options: CopyOptions, *, move: bool = False) -> str:
        """Copy or move a subtree; returns the id of the node at the destination, a new one even after a move."""
        check_options(options.ignore_existing, options.force, options.lock_existing)
        with self._state.change(), self._attributes.limits.kept():
            node = self._resolver.node(source)
            access.check_subtree(node, "full_read")
            if move:
                self._places.check_removal(access, node)
            self._subtrees.check_can_travel(node, move)
            found = self._places.find(destination)
            if found and options.ignore_existing:
                return self._places.existing(access, found, options.lock_existing)
            if found and node.id in self._subtrees.lineage(found):
                raise YtError("Cannot copy or move a node to itself or to its descendant")
            if found and found.id in self._subtrees.lineage(node):
                raise YtError(f"Cannot copy or move {source} over {destination}, which it is part of")
            place = self._places.cleared(access, destination, found, force=options.force, recursive=options.recursive)
            if node.id in self._subtrees.lineage(place.parent):
                raise YtError("Cannot copy or move a node to its descendant")
            fresh = self._subtrees.copy(node, place.parent.id, place.name, options.keep, move, access.user)
            self._places.enter(place, fresh)
            if move:
                self._subtrees.delete(node)
            return fresh

    def link(
        self,
        access: Access,
        target_path: str,
        link_path: str,
        *,
        recursive: bool = False,
        force: bool = False,
        ignore_existing: bool = False,
        lock_existing: bool = False,
    ) -> str:
        """Make a node that stands for another path; with `force` that path need not lead anywhere yet."""
        check_options(ignore_existing, force, lock_existing)
        with self._state.change(), self._attributes.limits.kept():
            if not force:
                self._resolver.node(target_path)
            found = self._places.find(link_path)
            if found and ignore_existing and found.type == "link":
                return self._places.existing(access, found, lock_existing)
            place = self._places.cleared(access, link_path, found, force=force, recursive=recursive)
            node = self._places.owned(access, new_node(self._state, "link", place.parent.id, place.name))
            self._places.put(place, replace(node, value=target_path))
            try:
                self._resolver.resolve(f"#{node.id}")
            except YtError as error:
                raise YtError("Failed to create link: link is cyclic", inner_errors=[error]) from error
            return node.id

    def create_root(self) -> None:
        """The first node of a new cluster."""
        self._state.put_node(new_node(self._state, "map_node", None, ""))

    def create_object(self, parent_path: str, object_type: str, attributes: Mapping[str, Any]) -> str:
        """A system object, such as a tablet cell, that shows up as a child named like its id."""
        with self._state.change():
            parent = self._resolver.node(parent_path)
            node = new_node(self._state, object_type, parent.id, "")
            name = str(attributes.get("name", node.id))
            self._state.put_node(replace(node, name=name, attributes={**node.attributes, **attributes}))
            return node.id

    def _with_value(self, access: Access, node: Node, name: str, value: Any) -> Node:
        """The node, which is there, with an attribute set, once that is locked."""
        access.check(node, attribute_permission(name))
        if name in (EXPIRATION_TIME, EXPIRATION_TIMEOUT):
            self._places.check_not_builtin(node)
            access.check_subtree(node, "remove")
        access.check_owner(name, value)
        self._attributes.lock(node, name)
        return self._attributes.with_value(node, name, value)

    def _without_attributes(self, node: Node) -> Node:
        """The node with no attributes but those that cannot be removed, once the others are locked."""
        bare = self._attributes.without_all(node)
        for name in node.attributes.keys() - bare.attributes.keys():
            self._attributes.lock(node, name)
        return bare

    def _change_attributes(self, access: Access, old: Node, new: Node, *, force: bool) -> None:
        """Put a node with other attributes in place of what it was."""
        self._update(new, attributes=True)
        if new.name != old.name:
            self._subjects.rename(old.name, new.name)
        if not force and any(old.attributes.get(name) != new.attributes.get(name) for name in ACCESS_CONTROL):
            access.check_reversible(self._state.node(new.id))

    def _replace(self, node: Node) -> None:
        self._state.lock(node, EXCLUSIVE)
        self._update(node)

    def _update(self, node: Node, *, attributes: bool = False) -> None:
        """Keep a new version of a node that has been locked."""
        if node.type in TRANSACTION_TYPES:
            TransactionAttributes(self._state.versions).put(node)
            return
        self._state.put_node(renewed(self._state, node, attributes=attributes))

    def _replace_value(self, access: Access, node: Node, path: str, value: Any, force: bool) -> None:
        access.check(node, "write")
        if node.type == "document":
            self._replace(replace(node, value=value))
            return
        node_type = node_type_of(value)
        if node.type == "map_node" and not force:
            raise YtError(f'"set" command without "force" flag is forbidden for map nodes: {path}')
        if node.type != node_type:
            actual, given = node.type.removesuffix("_node"), node_type.removesuffix("_node")
            raise YtError(f'Cannot update "{actual}" node {path} with "{given}" value; types must match')
        if self._state.root and node.id == self._state.root.id:
            raise YtError("Node / cannot be replaced")
        if node.type in ("map_node", LIST):
            access.check_below(node, "remove")
            self._places.check_not_builtin(*self._state.children(node.id))
            self._subtrees.delete_children(node)
            self.value_nodes.fill(access, self._state.node(node.id), value)
            node = self._state.node(node.id)
        else:
            self._state.lock(node, EXCLUSIVE)
            node = replace(node, value=yson.plain(value))
        for name, item in yson.attributes_of(value).items():
            node = self._with_value(access, node, name, item)
        self._update(node)

    def _set_attribute(self, access: Access, target: Target, path: str, value: Any, force: bool) -> None:
        if target.missing:
            raise self._resolver.missing(path, target)
        node = target.node
        assert target.attribute is not None
        if not target.attribute:
            if not isinstance(value, dict):
                raise YtError(f"Attributes of {path} must be given as a map")
            access.check(node, "write")
            node = self._without_attributes(node)
            for name, item in value.items():
                node = self._with_value(access, node, name, item)
            if not value and node == target.node:
                return  # nothing is locked
        else:
            name, *keys = target.attribute
            if keys:
                value = set_inside(self._attributes.get(node, name, path), keys, value, f"@{name}")
            node = self._with_value(access, node, name, value)
        self._change_attributes(access, target.node, node, force=force)

    def _remove_all(self, access: Access, target: Target, path: str) -> None:
        node = target.node
        access.check(node, *(CHANGE_CHILDREN if node.type in ("map_node", LIST) else ("write",)))
        if target.attribute is not None:
            bare = self._without_attributes(node)
            if bare != node:
                self._update(bare, attributes=True)
        elif node.type in ("map_node", LIST):
            access.check_below(node, "remove")
            self._places.check_not_builtin(*self._state.children(node.id))
            self._subtrees.delete_children(node)
        elif node.type == "document":
            where = self._resolver.path_of(node)
            self._replace(replace(node, value=clear_inside(node.value, target.inside, where)))
        else:
            raise resolve_error(path, YtError(f"Node {path} cannot have children", ErrorCode.RESOLVE))

    def _remove_inside(self, access: Access, target: Target, force: bool) -> None:
        access.check(target.node, "write")
        where = self._resolver.path_of(target.node)
        try:
            value = remove_inside(target.node.value, target.inside, where)
        except YtError as error:
            if force and error.code == ErrorCode.RESOLVE:
                return
            raise
        self._replace(replace(target.node, value=value))

    def _remove_attribute(self, access: Access, target: Target, path: str, force: bool) -> None:
        assert target.attribute is not None
        if not target.attribute:
            raise YtError(f"Cannot remove all attributes by {path}: put a wildcard behind it")
        name, *keys = target.attribute
        access.check(target.node, attribute_permission(name))
        self._attributes.check_removable(target.node, name, inside=bool(keys))
        try:
            if keys:
                value = remove_inside(self._attributes.get(target.node, name, path), keys, f"@{name}")
                node = self._attributes.with_value(target.node, name, value)
            else:
                node = self._attributes.without(target.node, name, path)
            self._attributes.lock(node, name)
        except YtError as error:
            if force and error.code == ErrorCode.RESOLVE:
                return
            raise
        self._change_attributes(access, target.node, node, force=force)

    def _remove_node(self, access: Access, node: Node, recursive: bool) -> None:
        if node.parent_id is None:
            raise YtError(f"Node {self._resolver.path_of(node)} cannot be removed")
        if node.type in SUBJECT_TYPES and node.name in BUILTIN:
            raise YtError(f'Cannot remove a built-in {node.type} "{node.name}"')
        self._places.check_removal(access, node)
        check_unneeded(self._state, node)
        if is_account(node):
            self._attributes.limits.check_removal(node)
        if not recursive and node.type in ("map_node", LIST) and self._state.children(node.id):
            raise YtError(f"Cannot remove non-empty composite node {self._resolver.path_of(node)}")
        if node.type == CELL:
            vacate(self._state, node)
        self._subtrees.delete(node)
