"""Accounts as a tree: limits of an account hold for all that are below it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from yt_local.cypress.account_limits import PER_MEDIUM, RESOURCE_LIMITS, checked_limits, resource_limits, zero_limits
from yt_local.security.subjects import ROOT_ACCOUNT
from yt_local.store.model import Node
from yt_local.store.state import TreeState
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

PARENT_NAME: Final = "parent_name"
OVERCOMMIT: Final = "allow_children_limit_overcommit"
_SETTABLE: Final = frozenset({RESOURCE_LIMITS, PARENT_NAME, OVERCOMMIT})
_NOT_SUMMED: Final = "master_memory"
"""Limits of children may exceed that of their parent in sum, as by the default configuration of masters."""


def is_account(node: Node) -> bool:
    return node.type == "account"


def is_limited(node: Node) -> bool:
    """Whether a node is an account that can have limits: any but the one at the top."""
    return is_account(node) and node.name != ROOT_ACCOUNT


def parent_of(account: Node) -> str | None:
    """Name of the account above; None for the one at the top."""
    return str(account.attributes.get(PARENT_NAME, ROOT_ACCOUNT)) if is_limited(account) else None


def creation_order(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a new account in the order to set them: its limits count before it gets its parent.

    An account below another begins with limits of 0; one at the top has none until somebody sets them.
    """
    parent = {PARENT_NAME: attributes[PARENT_NAME]} if PARENT_NAME in attributes else {}
    others = {name: value for name, value in attributes.items() if name != PARENT_NAME}
    if parent.get(PARENT_NAME, ROOT_ACCOUNT) != ROOT_ACCOUNT:
        others.setdefault(RESOURCE_LIMITS, {})
    return {**others, **parent}


class AccountTree:
    """Accounts of one cluster, read from its state at every question."""

    def __init__(self, state: TreeState) -> None:
        self._state = state

    def all(self) -> Sequence[Node]:
        """All accounts, ordered by name."""
        return self._children_of("accounts")

    def media(self) -> list[str]:
        """Names of all media."""
        return self.names("media")

    def names(self, directory: str) -> list[str]:
        """Names of all objects of a directory of the system."""
        return [node.name for node in self._children_of(directory)]

    def get(self, name: str) -> Node:
        """YtError 905 if there is no such account."""
        found = next((account for account in self.all() if account.name == name), None)
        if found is None:
            raise YtError(f'No such account "{name}"', ErrorCode.NO_SUCH_ACCOUNT)
        return found

    def children(self, name: str) -> list[Node]:
        return [account for account in self.all() if parent_of(account) == name]

    def subtree(self, name: str) -> list[str]:
        """Names of an account and of all below it."""
        by_parent = defaultdict(list)
        for account in self.all():
            by_parent[parent_of(account)].append(account.name)
        found = [name]
        for known in found:  # which grows meanwhile
            found += by_parent[known]
        return found

    def lineage(self, account: Node) -> Iterator[Node]:
        """An account and those above it, without the one at the top."""
        by_name = {known.name: known for known in self.all()}
        while is_limited(account):
            yield account
            if parent_of(account) == ROOT_ACCOUNT:
                return
            account = by_name[str(parent_of(account))]

    def limits(self, account: Node) -> dict[str, Any]:
        """What an account may use, in the shape of `@resource_limits`."""
        media = self.media()
        kept = account.attributes.get(RESOURCE_LIMITS)
        if kept is None:
            return resource_limits(media)
        per_medium = {medium: kept[PER_MEDIUM].get(medium, 0) for medium in media}
        return {**kept, PER_MEDIUM: per_medium}

    def total_of_children(self, name: str) -> dict[str, Any]:
        """Sum of the limits of the accounts right below one."""
        total = zero_limits(resource_limits(self.media()))
        for child in self.children(name):
            total = added(total, self.limits(child))
        return total

    def is_settable(self, node: Node, name: str) -> bool:
        """Whether `with_value` is for this attribute."""
        return is_account(node) and name in _SETTABLE

    def with_value(self, account: Node, name: str, value: Any) -> Node:
        """The account with one of its builtin attributes set.

        Raises:
            YtError: the value is none, or limits of the accounts above or below it say otherwise.
        """
        if not is_limited(account):
            raise YtError(f'Builtin attribute "{name}" cannot be set')
        if name == RESOURCE_LIMITS:
            return self.with_limits(account, checked_limits(value, self.limits(account)))
        if name == PARENT_NAME:
            return self._with_parent(account, value)
        value = yson.as_boolean(yson.plain(value))
        if not isinstance(value, bool):
            raise YtError(f'Invalid value {yson.shown(value)} of attribute "{name}"')
        if not value and (names := _exceeded(self.limits(account), _summed(self.total_of_children(account.name)))):
            raise _violation(
                f'Failed to forbid overcommit of account "{account.name}": '
                "the sum of its children limits is above its own",
                names,
            )
        return replace(account, attributes={**account.attributes, name: value})

    def with_limits(self, account: Node, new: Mapping[str, Any]) -> Node:
        """The account with other limits; YtError if they do not go with those of its parent or children."""
        words, old = f'Failed to change resource limits for account "{account.name}": ', self.limits(account)
        if _exceeded(new, old):
            for child in self.children(account.name):
                if names := _exceeded(new, self.limits(child)):
                    raise _violation(
                        f'{words}the limit cannot be below that of its child account "{child.name}"', names
                    )
            total = _summed(self.total_of_children(account.name))
            if not account.attributes.get(OVERCOMMIT) and (names := _exceeded(new, total)):
                raise _violation(f"{words}the limit cannot be below the sum of its children limits", names)
        parent = self._limited_parent(account)
        if parent is not None and _exceeded(old, new):
            limits = self.limits(parent)
            if names := _exceeded(limits, new):
                raise _violation(f'{words}the limit cannot be above that of its parent "{parent.name}"', names)
            if names := self._overcommit(parent, account, new):
                raise _violation(f'{words}the change would overcommit its parent "{parent.name}"', names)
        return replace(account, attributes={**account.attributes, RESOURCE_LIMITS: dict(new)})

    def _with_parent(self, account: Node, name: Any) -> Node:
        if not isinstance(name, str):
            raise YtError(f'Attribute "{PARENT_NAME}" must be a string, got {yson.shown(name)}')
        parent = self.get(str(name))
        words = f'Failed to change account "{account.name}" parent to "{parent.name}": '
        if parent.name in self.subtree(account.name):
            raise YtError(f"{words}an account cannot be below itself")
        moved = replace(account, attributes={**account.attributes, PARENT_NAME: parent.name})
        if is_limited(parent):
            limits = self.limits(account)
            if names := _exceeded(self.limits(parent), limits):
                raise _violation(f"{words}child resource limit cannot be above that of its parent", names)
            if names := self._overcommit(parent, account, limits):
                raise _violation(f"{words}the sum of children limits cannot be above parent limits", names)
        return moved

    def _overcommit(self, parent: Node, child: Node, limits: Mapping[str, Any]) -> list[str]:
        """Which limits of an account its children would exceed in sum, if one of them had these limits."""
        if parent.attributes.get(OVERCOMMIT):
            return []
        total = limits
        for other in self.children(parent.name):
            total = total if other.id == child.id else added(total, self.limits(other))
        return _exceeded(self.limits(parent), _summed(total))

    def _limited_parent(self, account: Node) -> Node | None:
        name = str(parent_of(account))
        return None if name == ROOT_ACCOUNT else self.get(name)

    def _children_of(self, directory: str) -> Sequence[Node]:
        root = self._state.root
        system = None if root is None else self._state.child(root.id, "sys")
        found = None if system is None else self._state.child(system.id, directory)
        return [] if found is None else sorted(self._state.children(found.id), key=lambda node: node.name)


def added(limits: Mapping[str, Any], others: Mapping[str, Any], sign: int = 1) -> dict[str, Any]:
    """The sum, or with a `sign` of -1 the difference, of limits; the first name all there are."""
    return {
        name: added(value, others.get(name, {}), sign)
        if isinstance(value, dict)
        else value + sign * others.get(name, 0)
        for name, value in limits.items()
    }


def _summed(limits: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in limits.items() if name != _NOT_SUMMED}


def _exceeded(limits: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Which of the limits are below what is wanted; names of those inside a map have slashes."""
    found = []
    for name, value in wanted.items():
        limit = limits.get(name)
        if isinstance(value, dict):
            found += [f"{name}/{inner}" for inner in _exceeded(limit or {}, value)]
        elif limit is not None and value > limit:
            found.append(name)
    return found


def _violation(message: str, names: Sequence[str]) -> YtError:
    return YtError(message, attributes={"violated_resources": list(names)})
