"""Users and groups: objects under `//sys/users` and `//sys/groups`, and who is in which group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from yt_local.security.acl import OWNER, Ace, Principal, parse_acl, with_renamed_subject, without_subject
from yt_local.store.model import Node
from yt_local.store.state import TreeState
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

ROOT: Final = "root"
GUEST: Final = "guest"
EVERYONE: Final = "everyone"
USERS: Final = "users"
SUPERUSERS: Final = "superusers"

BUILTIN: Final = frozenset({ROOT, GUEST, OWNER, EVERYONE, USERS, SUPERUSERS})
"""Subjects that cannot be removed or get another name."""

ROOT_ACCOUNT: Final = "root"
"""The account above all others, to which nothing is charged."""

BUILTIN_ACCOUNTS: Final = frozenset({ROOT_ACCOUNT, "sys", "tmp"})

SUBJECT_TYPES: Final = frozenset({"user", "group"})
MEMBERS: Final = "members"
"""Attribute of a group in which its direct members stand by name."""

_MAPS: Final[Mapping[str, str]] = {"user": "users", "group": "groups", "account": "accounts"}


class Subjects:
    """Users and groups of one cluster, read from its state at every question; to transactions they are no matter."""

    def __init__(self, state: TreeState) -> None:
        self._state = state.committed

    def principal(self, user: str) -> Principal:
        """A user with all groups.

        Raises:
            YtError: 900 if there is no such user.
        """
        node = self.find_user(user)
        if node is None or user == OWNER:
            raise YtError(f'No such user "{user}"', ErrorCode.AUTHENTICATION)
        groups = self.closure(user)
        return Principal(
            user,
            groups,
            is_superuser=user == ROOT or SUPERUSERS in groups,
            is_banned=node.attributes.get("banned") is True,
        )

    def find_user(self, name: str) -> Node | None:
        return self._find("user", name)

    def find(self, name: str) -> Node | None:
        """A user or a group by its name or one of its aliases."""
        found = self._find("user", name) or self._find("group", name)
        return found or next((node for node in self._all() if name in node.attributes.get("aliases", ())), None)

    def name_of(self, name_or_alias: str) -> str | None:
        """The name of a subject; None if there is none."""
        node = self.find(name_or_alias)
        return node.name if node else None

    def existing_name(self, name_or_alias: Any) -> str:
        """Like `name_of`; YtError 907 if there is no such subject."""
        name = self.name_of(str(name_or_alias)) if isinstance(name_or_alias, str) else None
        if name is None:
            raise YtError(f'No such subject "{name_or_alias}"', ErrorCode.NO_SUCH_SUBJECT)
        return name

    def check_account(self, name: str) -> None:
        """YtError 905 if there is no such account; or it is the one that nothing is charged to."""
        if self._find("account", name) is None:
            raise YtError(f'No such account "{name}"', ErrorCode.NO_SUCH_ACCOUNT)
        if name == ROOT_ACCOUNT:
            raise YtError("Root account cannot be used")

    def group(self, name: str) -> Node:
        """A group by its name or alias; YtError 500 if there is none, as for a path that leads nowhere."""
        node = self.find(name)
        if node is None or node.type != "group":
            raise YtError(f'Node //sys/groups has no child with key "{name}"', ErrorCode.RESOLVE)
        return node

    def groups_of(self, name: str) -> list[str]:
        """Names of the groups a subject is a direct member of."""
        return [group.name for group in self._of_type("group") if name in members(group)]

    def closure(self, name: str) -> AbstractSet[str]:
        """Names of the groups a subject is in, directly or not."""
        groups = self._of_type("group")
        found: set[str] = set()
        new = {name}
        while new:
            new = {group.name for group in groups if not new.isdisjoint(members(group))} - found
            found |= new
        return found

    def parse_acl(self, value: Any) -> list[dict[str, Any]]:
        """Entries as an attribute keeps them, subjects by their names; YtError if they are malformed or unknown."""
        return [entry.to_yson() for entry in parse_acl(value, self.name_of)]

    def check_name(self, name: Any) -> str:
        """A name for a new subject.

        Raises:
            YtError: it is empty, or 501 if a subject has it.
        """
        if not isinstance(name, str) or not name:
            raise YtError("Subject name cannot be empty")
        existing = self.find(str(name))
        if existing is not None:
            kind = existing.type.capitalize() if existing.name == name else "Alias"
            raise YtError(f'{kind} "{name}" already exists', ErrorCode.ALREADY_EXISTS)
        return str(name)

    def check_aliases(self, node: Node, aliases: Any) -> list[str]:
        """Aliases for a subject; YtError unless they are strings that name nobody else."""
        if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
            raise YtError(f"Aliases must be a list of strings, got {yson.shown(aliases)}")
        names = [str(alias) for alias in aliases]
        for position, alias in enumerate(names):
            if alias in names[:position]:
                raise YtError(f'Alias "{alias}" listed more than once')
            owner = self.find(alias)
            if owner is not None and owner.id != node.id:
                raise YtError(f'Alias "{alias}" already exists', ErrorCode.ALREADY_EXISTS)
        return names

    def with_member(self, group: Node, member: Node) -> Node:
        """The group with one member more.

        Raises:
            YtError: 908 if it is one already; or the groups would contain each other.
        """
        if member.name in members(group):
            raise YtError(
                f'Member "{member.name}" is already present in group "{group.name}"',
                ErrorCode.ALREADY_PRESENT_IN_GROUP,
            )
        if member.name == group.name or member.name in self.closure(group.name):
            raise YtError(f'Adding group "{member.name}" to group "{group.name}" would produce a cycle')
        return _with_members(group, [*members(group), member.name])

    def without_member(self, group: Node, member: Node) -> Node:
        """The group with one member less; YtError if it is none."""
        if member.name not in members(group):
            raise YtError(f'Member "{member.name}" is not present in group "{group.name}"')
        return _with_members(group, [name for name in members(group) if name != member.name])

    def forget(self, name: str) -> None:
        """Take a removed subject out of all groups and access control lists; part of a change."""
        for group in self._of_type("group"):
            if name in members(group):
                self._state.put_node(_with_members(group, [member for member in members(group) if member != name]))
        self._rewrite(name, ROOT, lambda entries: without_subject(entries, name))

    def rename(self, old: str, new: str) -> None:
        """Put the new name wherever groups and access control lists have the old one; part of a change."""
        for group in self._of_type("group"):
            if old in members(group):
                renamed = [new if member == old else member for member in members(group)]
                self._state.put_node(_with_members(group, renamed))
        self._rewrite(old, new, lambda entries: with_renamed_subject(entries, old, new))

    def is_map(self, node: Node) -> bool:
        """Whether this is where users, groups or accounts are kept: nothing can be put there by its path."""
        return node.name in _MAPS.values() and any(self._is(node, kind) for kind in _MAPS)

    def _is(self, node: Node, kind: str) -> bool:
        found = self._map(kind)
        return found is not None and found.id == node.id

    def map_of(self, kind: str) -> Node:
        """Where the objects of a type are kept."""
        found = self._map(kind)
        assert found is not None, "a started cluster has it"
        return found

    def _rewrite(self, subject: str, heir: str, change: Callable[[Iterable[Ace]], Iterable[Ace]]) -> None:
        for node in list(self._state.nodes()):
            attributes = dict(node.attributes)
            if attributes.get("owner") == subject:
                attributes["owner"] = heir
            if any(subject in entry["subjects"] for entry in attributes.get("acl", ())):
                entries = parse_acl(attributes["acl"], str)
                attributes["acl"] = [entry.to_yson() for entry in change(entries)]
            if attributes != node.attributes:
                self._state.put_node(replace(node, attributes=attributes))

    def _all(self) -> Iterator[Node]:
        for kind in SUBJECT_TYPES:
            yield from self._of_type(kind)

    def _of_type(self, kind: str) -> Sequence[Node]:
        found = self._map(kind)
        return self._state.children(found.id) if found else ()

    def _find(self, kind: str, name: str) -> Node | None:
        found = self._map(kind)
        return self._state.child(found.id, name) if found else None

    def _map(self, kind: str) -> Node | None:
        root = self._state.root
        system = self._state.child(root.id, "sys") if root else None
        return self._state.child(system.id, _MAPS[kind]) if system else None


def members(group: Node) -> Sequence[str]:
    """Names of a group's direct members."""
    found: Sequence[str] = group.attributes.get(MEMBERS, ())
    return found


def entries_of(node: Node) -> Sequence[Ace]:
    """A node's own entries, which have been checked when they were set."""
    return parse_acl(node.attributes.get("acl", []), str)


def _with_members(group: Node, names: Sequence[str]) -> Node:
    return replace(group, attributes={**group.attributes, MEMBERS: list(names)})
