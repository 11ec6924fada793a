"""Attributes of nodes: computed ones, builtin ones that can be set, and users' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from yt_local.base.clock import format_instant
from yt_local.cypress.account_attributes import account_attributes, usage_of_accounts
from yt_local.cypress.account_checks import AccountLimits
from yt_local.cypress.account_tree import AccountTree, is_account
from yt_local.cypress.agent_attributes import AGENT_ATTRIBUTES, Unanswered, find_agent_attribute
from yt_local.cypress.balancer_config import TABLET_BALANCER_CONFIG, checked_balancer_config
from yt_local.cypress.kinds import Kinds
from yt_local.cypress.lifetimes import checked_lifetime, effective_expiration, touch_time
from yt_local.cypress.resolver import Resolver
from yt_local.cypress.settable_attributes import (
    PERMANENT,
    REPLICATED_TABLE_OPTIONS,
    SETTABLE,
    Settable,
    anything,
    is_boolean,
    is_consumer,
    is_link,
    is_queue,
    is_subject,
    is_user,
)
from yt_local.cypress.system_objects import CELL, OBJECT_NAMES, cell_attributes, check_system_object
from yt_local.cypress.transaction_attributes import OPAQUE_OF_TRANSACTIONS, Computed, TransactionAttributes
from yt_local.security.permissions import Permissions
from yt_local.security.subjects import BUILTIN, MEMBERS, ROOT, Subjects, members
from yt_local.store.chunks import CHUNK_LIST_TYPE, CHUNK_TYPES, OPAQUE_OF_CHUNK_LISTS
from yt_local.store.locks import EXCLUSIVE, LockMode, LockRequest, strongest_mode
from yt_local.store.model import EXPIRATION_TIME, EXPIRATION_TIMEOUT, LIST, Node
from yt_local.store.replica_tracking import checked_options
from yt_local.store.replicated_types import TABLE_REPLICA, UPSTREAM_REPLICA_ID
from yt_local.store.state import TreeState
from yt_local.store.transaction_objects import MAPS, OBJECT_TYPES, is_versioned
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid

OPAQUE: Final = frozenset(
    {
        "path",
        "optimize_for_statistics",
        "table_chunk_format_statistics",
        "chunk_list_id",
        "chunk_ids",
        "locks",
        "tablets",
        "user_attributes",
        "queue_agent_object_revisions",
        *AGENT_ATTRIBUTES,
        "replicas",
        "hashed_password",
        "password_salt",
        *OPAQUE_OF_TRANSACTIONS,
    }
)
"""Not computed unless named: `get //q/@` shows them as entities."""


def _lock_mode(state: TreeState, node: Node) -> str:
    """Mode of the version seen: of the nearest transaction that, or some transaction below which, has locked it."""
    locks = [lock for lock in state.versions.locks_of(node.id) if lock.acquired]
    if not locks or state.transaction_id is None:
        return "none"
    for transaction_id in state.versions.lineage(state.transaction_id):
        nested = set(state.versions.all_nested(transaction_id))
        below = (lock for lock in locks if lock.transaction_id in nested and lock.request.mode is not LockMode.SNAPSHOT)
        mode = strongest_mode([*(lock for lock in locks if lock.transaction_id == transaction_id), *below])
        if mode:
            return mode.value
    return "none"


_OF_ALL_OBJECTS: Final = ("id", "type", "revision", "ref_counter", "native_cell_tag", "effective_acl")

_NOT_OF_TABLES: Final = frozenset({"md5", "replicas"})
"""Listed with those of tables; only files and replicated tables have them."""


class Attributes:
    """Attributes of the nodes of one cluster."""

    def __init__(self, state: TreeState, resolver: Resolver, kinds: Kinds) -> None:
        self._state = state
        self._committed = committed = state.committed
        self._resolver = resolver
        self._subjects = Subjects(state)
        self._of_transactions = TransactionAttributes(state.versions)
        permissions = Permissions(state, resolver)
        of_tables = kinds.table_attributes(state)
        self._reserved_of_tables = frozenset(of_tables) - _NOT_OF_TABLES
        self._of_nodes: Mapping[str, Computed] = {
            "id": (anything, lambda node: node.id),
            "type": (anything, resolver.shown_type),
            "key": (self._has_key, lambda node: node.name),
            "path": (anything, resolver.path_of),
            "parent_id": (lambda node: node.parent_id is not None, lambda node: node.parent_id),
            "creation_time": (anything, lambda node: node.creation_time),
            "modification_time": (anything, lambda node: node.modification_time),
            "access_time": (anything, lambda node: node.modification_time),
            "access_counter": (anything, lambda _: 0),
            "revision": (anything, lambda node: yson.Uint64(node.revision)),
            "attribute_revision": (anything, lambda node: yson.Uint64(node.attribute_revision)),
            "content_revision": (anything, lambda node: yson.Uint64(node.content_revision)),
            "ref_counter": (anything, lambda _: 1),
            "native_cell_tag": (anything, lambda node: yson.Uint64(Guid.parse(node.id).first >> 48)),
            "external": (anything, lambda _: False),
            "lock_count": (anything, lambda node: len(state.versions.locks_of(node.id))),
            "lock_mode": (anything, lambda node: _lock_mode(state, node)),
            "locks": (anything, lambda node: [lock.describe() for lock in state.versions.locks_of(node.id)]),
            "user_attribute_keys": (anything, self._user_names),
            "user_attributes": (
                anything,
                lambda node: {name: node.attributes[name] for name in self._user_names(node)},
            ),
            "opaque_attribute_keys": (anything, lambda node: [name for name in self.names(node) if name in OPAQUE]),
            "count": (
                lambda node: node.type in MAPS or node.type == LIST,
                lambda node: self._state.child_count(node.id),
            ),
            "target_path": (is_link, lambda node: node.value),
            "broken": (is_link, self._is_broken),
            "effective_expiration": (anything, lambda node: effective_expiration(state, node)),
            "touch_time": (lambda node: node.id in committed.touched, lambda node: touch_time(state, node)),
            "effective_acl": (anything, permissions.effective_acl),
            "member_of": (is_subject, lambda node: self._subjects.groups_of(node.name)),
            "member_of_closure": (is_subject, lambda node: sorted(self._subjects.closure(node.name))),
            "builtin": (is_subject, lambda node: node.name in BUILTIN),
            MEMBERS: (lambda node: node.type == "group", lambda node: list(members(node))),
            "name": (lambda node: is_subject(node) or is_account(node), lambda node: node.name),
            "aliases": (is_subject, lambda node: node.attributes.get("aliases", [])),
            "banned": (is_user, lambda node: node.attributes.get("banned", False)),
            "queue_agent_object_revisions": (self._is_sys, lambda _: self._object_revisions()),
            **of_tables,
        }
        of_all = {name: self._of_nodes[name] for name in _OF_ALL_OBJECTS}
        self._of_replicas = {**of_all, **kinds.replica_attributes(state, resolver)}
        usage_of, committed_usage_of = usage_of_accounts(state, of_tables["resource_usage"])
        self.accounts = AccountTree(state)
        self.limits = AccountLimits(self.accounts, usage_of)
        self._of_subjects = {**self._of_nodes, **account_attributes(self.accounts, usage_of, committed_usage_of)}
        self._of_cells = {**self._of_nodes, **cell_attributes(state)}

    def names(self, node: Node) -> list[str]:
        """All names the node has, opaque ones included."""
        if node.type in CHUNK_TYPES:
            return list(node.attributes)
        names = [name for name, (present, _) in self._computed(node).items() if present(node)]
        if node.type in OBJECT_TYPES or node.type == TABLE_REPLICA:
            return names + self._user_names(node)
        names += [name for name in AGENT_ATTRIBUTES if find_agent_attribute(node, name)]
        names += [
            name
            for name, settable in SETTABLE.items()
            if settable.present(node) and (name in node.attributes or settable.default is not None)
        ]
        return names + self._user_names(node)

    def find(self, node: Node, name: str) -> tuple[bool, Any]:
        """Whether the node has the attribute, and its value (an entity for what an agent answers)."""
        if self._is_computed(node, name):
            return True, self._computed(node)[name][1](node)
        if find_agent_attribute(node, name):
            return True, None
        if name in node.attributes:
            return True, node.attributes[name]
        settable = SETTABLE.get(name)
        if settable and settable.default is not None and settable.present(node) and node.type not in OBJECT_TYPES:
            return True, settable.default
        return False, None

    def get(self, node: Node, name: str, path: str) -> Any:
        """The attribute's value; YtError 500 if the node has none of this name."""
        found, value = self.find(node, name)
        if not found:
            raise self._missing(name, path)
        return value

    def select(self, node: Node, names: Sequence[str] | None) -> dict[str, Any]:
        """The named attributes as far as the node has them; all, opaque ones as entities, if no names are given.

        For what an agent answers there is an `Unanswered`.
        """
        if names is None:
            opaque = OPAQUE_OF_CHUNK_LISTS if node.type == CHUNK_LIST_TYPE else OPAQUE
            return {name: None if name in opaque else self.find(node, name)[1] for name in self.names(node)}
        found = ((name, self._find_named(node, name)) for name in names)
        return {name: value for name, (present, value) in found if present}

    def _find_named(self, node: Node, name: str) -> tuple[bool, Any]:
        attribute = find_agent_attribute(node, name)
        return (True, Unanswered(node, attribute)) if attribute else self.find(node, name)

    def with_value(self, node: Node, name: str, value: Any) -> Node:
        """The node with the attribute set.

        Raises:
            YtError: the attribute is builtin and cannot be set, or not to this value, or not now.
        """
        _refuse_fixed(node)
        if not isinstance(name, str) or not name:
            raise YtError(f"Attribute key cannot be {'empty' if isinstance(name, str) else 'other than UTF-8'}")
        if node.type in OBJECT_TYPES:
            return self._of_transactions.with_value(node, name, value)
        if is_subject(node) and name in ("name", "aliases", "banned"):
            return self._with_subject_value(node, name, value)
        if self.accounts.is_settable(node, name):
            return self.accounts.with_value(node, name, value)
        reserved = node.table is not None and name in self._reserved_of_tables  # by static or dynamic ones at least
        if reserved or self._is_computed(node, name) or name in AGENT_ATTRIBUTES:
            raise YtError(f'Builtin attribute "{name}" cannot be set')
        settable = SETTABLE.get(name)
        if settable:
            value = yson.as_boolean(value) if settable.valid is is_boolean else value
            self._check(node, name, value, settable)
        if name in (EXPIRATION_TIME, EXPIRATION_TIMEOUT):
            value = checked_lifetime(self._state, node, name, value)
        elif name == REPLICATED_TABLE_OPTIONS:
            value = checked_options(value)
        elif name == TABLET_BALANCER_CONFIG:
            value = checked_balancer_config(value)
        elif name == "acl":
            value = self._subjects.parse_acl(value)
        elif name == "account":
            self._subjects.check_account(str(value))
        elif name in OBJECT_NAMES:
            check_system_object(self._state, OBJECT_NAMES[name], str(value))
        elif name == "owner":
            value = self._subjects.existing_name(value)
        return replace(node, attributes={**node.attributes, name: value})

    def without(self, node: Node, name: str, path: str) -> Node:
        """The node with the attribute removed; a builtin one that can be set gets its default back."""
        _refuse_fixed(node)
        self.check_removable(node, name)
        if name not in node.attributes:
            if self.find(node, name)[0]:
                return node  # it has its default already
            raise self._missing(name, path)
        return replace(node, attributes={key: value for key, value in node.attributes.items() if key != name})

    def without_all(self, node: Node) -> Node:
        """The node with no attributes but those that cannot be removed."""
        _refuse_fixed(node)
        kept = {
            name: value for name, value in node.attributes.items() if name in PERMANENT or name == UPSTREAM_REPLICA_ID
        }
        return replace(node, attributes=kept)

    def check_removable(self, node: Node, name: str, *, inside: bool = False) -> None:
        """YtError unless an attribute of this name, or something inside it, could be removed."""
        permanent = name in PERMANENT and not inside
        if self._is_computed(node, name) or name in AGENT_ATTRIBUTES or permanent:
            raise YtError(f'Attribute "{name}" cannot be removed')

    def lock(self, node: Node, name: str) -> None:
        """Get the right to set or remove an attribute.

        Raises:
            YtError: another transaction has locked it, or no transaction may change it.
        """
        if not is_versioned(node.type):
            return
        settable = SETTABLE.get(name)
        if settable and settable.lock == "outside" and self._state.transaction_id is not None:
            raise YtError("Operation cannot be performed in transaction")
        of_node = settable and settable.lock != "key"
        self._state.lock(node, EXCLUSIVE if of_node else LockRequest.of_attribute(name))

    def _computed(self, node: Node) -> Mapping[str, Computed]:
        if node.type == TABLE_REPLICA:
            return self._of_replicas
        if is_subject(node) or is_account(node):
            return self._of_subjects
        if node.type == CELL:
            return self._of_cells
        return self._of_transactions.computed(node) if node.type in OBJECT_TYPES else self._of_nodes

    def _check(self, node: Node, name: str, value: Any, settable: Settable) -> None:
        if not settable.present(node):
            raise YtError(f'Builtin attribute "{name}" cannot be set on {node.type} {self._resolver.path_of(node)}')
        if not settable.valid(value):
            raise YtError(f'Invalid value {yson.shown(value)} of attribute "{name}"')
        if settable.only_unmounted and any(
            tablet.state != "unmounted" for tablet in self._committed.tablets.of(node.id)
        ):
            words = name.replace("_", " ")
            raise YtError(
                f'Cannot change table {words} mode since not all of its tablets are in "unmounted" state',
                ErrorCode.INVALID_TABLET_STATE,
            )

    def _with_subject_value(self, node: Node, name: str, value: Any) -> Node:
        value = yson.as_boolean(yson.plain(value))
        if name == "name":
            if node.name in BUILTIN:
                raise YtError(f'Cannot rename a built-in {node.type} "{node.name}"')
            return replace(node, name=node.name if value == node.name else self._subjects.check_name(value))
        if name == "aliases":
            value = self._subjects.check_aliases(node, value)
        elif not is_user(node) or not is_boolean(value):
            raise YtError(f'Attribute "banned" of {node.type} "{node.name}" cannot be set to {yson.shown(value)}')
        elif value and node.name == ROOT:
            raise YtError(f'User "{ROOT}" cannot be banned')
        return replace(node, attributes={**node.attributes, name: value})

    def _is_computed(self, node: Node, name: str) -> bool:
        computed = self._computed(node)
        return node.type not in CHUNK_TYPES and name in computed and computed[name][0](node)

    def _missing(self, name: str, path: str) -> YtError:
        cause = YtError(f'Attribute "{name}" is not found', ErrorCode.RESOLVE)
        return YtError(f"Error resolving path {path}", ErrorCode.RESOLVE, inner_errors=[cause])

    def _user_names(self, node: Node) -> list[str]:
        return [name for name in node.attributes if name not in SETTABLE and not self._is_computed(node, name)]

    def _has_key(self, node: Node) -> bool:
        """Items of lists have places, which change, and no keys."""
        parent = None if node.parent_id is None else self._state.find_node(node.parent_id)
        return parent is not None and parent.type != LIST

    def _is_broken(self, node: Node) -> bool:
        try:
            target = self._resolver.resolve(f"#{node.id}")
        except YtError:
            return True
        return bool(target.missing)

    def _is_sys(self, node: Node) -> bool:
        root = self._state.root
        return root is not None and node.parent_id == root.id and node.name == "sys"

    def _object_revisions(self) -> dict[str, dict[str, int]]:
        tables = [(self._resolver.path_of(node), node) for node in self._state.tables()]
        return {
            "queues": {path: yson.Uint64(node.attribute_revision) for path, node in tables if is_queue(node)},
            "consumers": {path: yson.Uint64(node.attribute_revision) for path, node in tables if is_consumer(node)},
        }


def instant(state: TreeState) -> str:
    """The present as Cypress shows it."""
    return format_instant(state.clock.now())


def _refuse_fixed(node: Node) -> None:
    if node.type in CHUNK_TYPES:
        raise YtError(f"Attributes of {node.type} {node.id} cannot be changed")
    if node.type == TABLE_REPLICA:
        raise YtError(f'Attributes of table replica {node.id} cannot be set; use "alter_table_replica"')
