"""Objects of access control: users, groups and accounts are created, and groups get members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from yt_local.cypress.attributes import Attributes
from yt_local.cypress.nodes import new_node
from yt_local.security.permissions import SCHEMAS, Access
from yt_local.security.subjects import EVERYONE, ROOT, SUBJECT_TYPES, USERS, Subjects
from yt_local.store.model import Node
from yt_local.store.state import ClusterState
from yt_wire.error import ErrorCode, YtError

OBJECT_TYPES: Final = frozenset(SCHEMAS)
"""What is created by its name, without a path."""


class Security:
    """Commands on users, groups and accounts."""

    def __init__(self, state: ClusterState, attributes: Attributes) -> None:
        self._state = state
        self._attributes = attributes
        self._subjects = Subjects(state)

    def create(self, access: Access, kind: str, attributes: Mapping[str, Any], *, ignore_existing: bool = False) -> str:
        """Make an object and return its id, or that of the existing one with `ignore_existing`.

        Args:
            kind: one of `OBJECT_TYPES`.
            attributes: `name`, and others that can be set.
            ignore_existing: be content with an object of this type and name.
        """
        given = dict(attributes)
        name = given.pop("name", None)
        if not isinstance(name, str) or not name:
            raise YtError(f'Attribute "name" of a new {kind} must be a string that is not empty, got {name!r}')
        with self._state.change():
            parent = self._subjects.map_of(kind)
            existing = self._state.child(parent.id, name)
            if existing is not None and ignore_existing:
                return existing.id
            access.check_creation(kind)
            if kind in SUBJECT_TYPES:
                self._subjects.check_name(name)
            elif existing is not None:
                raise YtError(f'{kind.capitalize()} "{name}" already exists', ErrorCode.ALREADY_EXISTS)
            node = new_node(self._state, kind, parent.id, str(name))
            if access.user != ROOT:
                node = replace(node, attributes={"owner": access.user})
            self._state.put_node(node)
            for key, value in given.items():
                access.check_owner(key, value)
                node = self._attributes.with_value(node, key, value)
            self._state.put_node(node)
            if kind == "user":
                self._state.put_node(self._subjects.with_member(self._subjects.group(USERS), node))
            return node.id

    def add_member(self, access: Access, group_name: str, member_name: str) -> None:
        """Put a user or a group into a group."""
        with self._state.change():
            group, member = self._checked(access, group_name, member_name)
            self._state.put_node(self._subjects.with_member(group, member))

    def remove_member(self, access: Access, group_name: str, member_name: str) -> None:
        with self._state.change():
            group, member = self._checked(access, group_name, member_name)
            self._state.put_node(self._subjects.without_member(group, member))

    def _checked(self, access: Access, group_name: str, member_name: str) -> tuple[Node, Node]:
        group = self._subjects.group(group_name)
        member = self._subjects.find(member_name)
        if member is None:
            raise YtError(f'No such user or group "{member_name}"')
        if group.name in (EVERYONE, USERS):
            raise YtError("Cannot modify group")
        access.check(group, "write")
        return group, member
