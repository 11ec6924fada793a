"""Objects of access control: users, groups and accounts are created, and groups get members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from yt_local.cypress.account_limits import checked_limits
from yt_local.cypress.account_tree import added, creation_order, is_account
from yt_local.cypress.attributes import Attributes
from yt_local.cypress.nodes import new_node
from yt_local.security.permissions import SCHEMAS, Access
from yt_local.security.subjects import EVERYONE, ROOT, SUBJECT_TYPES, USERS, Subjects
from yt_local.store.model import Node
from yt_local.store.state import ClusterState
from yt_wire import yson
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
            raise YtError(
                f'Attribute "name" of a new {kind} must be a string that is not empty, got {yson.shown(name)}'
            )
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
            for key, value in (creation_order(given) if is_account(node) else given).items():
                access.check_owner(key, value)
                node = self._attributes.with_value(node, key, value)
            self._state.put_node(node)
            if kind == "user":
                self._state.put_node(self._subjects.with_member(self._subjects.group(USERS), node))
            return node.id

    def transfer(self, access: Access, source: str, destination: str, delta: Mapping[str, Any]) -> None:
        """Take limits from an account and give them to another, and so with those above, up to one that both have.

        Raises:
            YtError: 905: no such account; 901: one of them is not the user's to change; 1: limits would be negative,
                or would not go with those of parents or children.
        """
        accounts = self._attributes.accounts
        above = [list(accounts.lineage(accounts.get(name))) for name in (source, destination)]
        common = set.intersection(*({account.id for account in lineage} for lineage in above))
        givers, takers = ([account for account in lineage if account.id not in common] for lineage in above)
        for account in (*givers, *takers):
            access.check(account, "write")
        with self._state.change():
            try:
                for account in givers:
                    self._change_limits(account, delta, -1)
                for account in reversed(takers):
                    self._change_limits(account, delta, 1)
            except YtError as error:
                message = f'Failed to transfer resources from account "{source}" to account "{destination}"'
                raise YtError(message, inner_errors=[error]) from error

    def _change_limits(self, account: Node, delta: Mapping[str, Any], sign: int) -> None:
        accounts = self._attributes.accounts
        present = accounts.limits(account)
        new = added(present, checked_limits(delta, present), sign)
        if not _are_counts(new):
            raise YtError(
                f'Failed to change resource limits for account "{account.name}": it has less than what is to be given'
            )
        self._state.put_node(accounts.with_limits(self._state.node(account.id), new))

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


def _are_counts(limits: Mapping[str, Any]) -> bool:
    return all(_are_counts(value) if isinstance(value, dict) else value >= 0 for value in limits.values())
