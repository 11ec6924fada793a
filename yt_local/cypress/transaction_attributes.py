"""Attributes of transactions and locks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from yt_local.base.clock import format_instant
from yt_local.store.locks import Lock
from yt_local.store.model import Node, Transaction
from yt_local.store.versions import Versions
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID, Guid

Computed: TypeAlias = tuple[Callable[[Node], bool], Callable[[Node], Any]]
"""Whether a node has an attribute, and its value."""

MAX_TIMEOUT: Final = 60 * 60 * 1000
"""Milliseconds; transactions that want to live longer without a ping get so much."""

OPAQUE_OF_TRANSACTIONS: Final = frozenset(
    {
        "nested_transaction_ids",
        "staged_object_ids",
        "staged_node_ids",
        "branched_node_ids",
        "locked_node_ids",
        "lock_ids",
        "recursive_lock_count",
        "imported_object_ids",
        "imported_object_count",
        "exported_objects",
        "exported_object_count",
        "resource_usage",
    }
)


class TransactionAttributes:
    """What `get #<id>/@` shows; lists are divided by master cell, as masters do, and here there is one cell."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self._of_locks: Mapping[str, Computed] = {
            **_COMMON,
            "implicit": (_any, lambda node: self._lock(node).implicit),
            "state": (_any, lambda node: self._lock(node).state),
            "transaction_id": (_any, lambda node: self._lock(node).transaction_id),
            "node_id": (_any, lambda node: self._lock(node).node_id),
            "mode": (_any, lambda node: self._lock(node).request.mode.value),
            "child_key": (lambda node: self._key(node, "child") is not None, lambda node: self._key(node, "child")),
            "attribute_key": (
                lambda node: self._key(node, "attribute") is not None,
                lambda node: self._key(node, "attribute"),
            ),
            "acquisition_time": (
                lambda node: self._lock(node).acquired,
                lambda node: self._lock(node).acquisition_time,
            ),
        }
        self._of_transactions: Mapping[str, Computed] = {
            **_COMMON,
            "state": (_any, lambda _: "active"),
            "timeout": (_any, lambda node: self._transaction(node).timeout),
            "last_ping_time": (_any, lambda node: _instant(versions.last_pings[node.id])),
            "title": (
                lambda node: self._transaction(node).title is not None,
                lambda node: self._transaction(node).title,
            ),
            "owner": (_any, lambda node: self._transaction(node).owner),
            "parent_id": (_any, lambda node: self._transaction(node).parent_id or str(NULL_GUID)),
            "start_time": (_any, lambda node: node.creation_time),
            "deadline": (
                lambda node: self._transaction(node).deadline is not None,
                lambda node: _instant(self._transaction(node).deadline or 0),
            ),
            "depth": (_any, lambda node: len(versions.lineage(node.id)) - 1),
            "cypress_transaction": (_any, lambda _: True),
            "prerequisite_transaction_ids": (_any, lambda node: list(self._transaction(node).prerequisite_ids)),
            "dependent_transaction_ids": (_any, lambda node: list(versions.dependent(node.id))),
            "replicated_to_cell_tags": (_any, lambda _: []),
            "externalized_to_cell_tags": (_any, lambda _: []),
            "nested_transaction_ids": (_any, lambda node: list(versions.nested(node.id))),
            "staged_object_ids": (_any, lambda node: _by_cell(node, [])),
            "staged_node_ids": (_any, lambda node: _by_cell(node, self._staged(node.id))),
            "branched_node_ids": (_any, lambda node: _by_cell(node, self._locked(node.id))),
            "locked_node_ids": (_any, lambda node: _by_cell(node, self._locked(node.id))),
            "lock_ids": (_any, lambda node: _by_cell(node, (lock.id for lock in versions.locks_by(node.id)))),
            "recursive_lock_count": (_any, lambda node: {_cell(node): self._lock_count(node.id)}),
            "imported_object_ids": (_any, lambda node: _by_cell(node, [])),
            "imported_object_count": (_any, lambda _: 0),
            "exported_objects": (_any, lambda node: _by_cell(node, [])),
            "exported_object_count": (_any, lambda _: 0),
            "resource_usage": (_any, lambda _: {}),
            "user_attribute_keys": (_any, lambda node: list(self._transaction(node).attributes)),
            "user_attributes": (_any, lambda node: dict(self._transaction(node).attributes)),
        }

    def computed(self, node: Node) -> Mapping[str, Computed]:
        """All but users' own attributes of a node that stands for a transaction or a lock."""
        return self._of_locks if node.type == "lock" else self._of_transactions

    def with_value(self, node: Node, name: str, value: Any) -> Node:
        """The node with an attribute set; of the builtin ones that can be the timeout of a transaction alone.

        Raises:
            YtError: the attribute cannot be set, or not to this value.
        """
        if name in self.computed(node) and not (name == "timeout" and node.type != "lock"):
            raise YtError(f'Builtin attribute "{name}" cannot be set')
        if name == "timeout" and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise YtError(f"Timeout of a transaction must be a number of milliseconds, got {yson.shown(value)}")
        return replace(node, attributes={**node.attributes, name: value})

    def put(self, node: Node) -> None:
        """Keep what `with_value` has set on a transaction; part of a change."""
        transaction = self._transaction(node)
        own = {name: value for name, value in node.attributes.items() if name not in self._of_transactions}
        timeout = min(node.attributes.get("timeout", transaction.timeout), MAX_TIMEOUT)
        self._versions.put_transaction(replace(transaction, timeout=timeout, attributes=own))

    def _transaction(self, node: Node) -> Transaction:
        return self._versions.transaction(node.id)

    def _lock(self, node: Node) -> Lock:
        lock = self._versions.find_lock(node.id)
        assert lock is not None, "nodes are made of locks there are"
        return lock

    def _key(self, node: Node, kind: str) -> str | None:
        key = self._lock(node).request.key
        return key[1] if key and key[0] == kind else None

    def _locked(self, transaction_id: str) -> Iterable[str]:
        return dict.fromkeys(lock.node_id for lock in self._versions.locks_by(transaction_id) if lock.acquired)

    def _staged(self, transaction_id: str) -> Iterable[str]:
        """Nodes the transaction has made."""
        branches = (branch for branch in self._versions.branches_by(transaction_id) if not branch.snapshot)
        return (child_id for branch in branches for child_id in branch.children.values() if child_id)

    def _lock_count(self, transaction_id: str) -> int:
        ids = [transaction_id, *self._versions.all_nested(transaction_id)]
        return sum(len(self._versions.locks_by(each_id)) for each_id in ids)


def _any(_: Node) -> bool:
    return True


def _cell(node: Node) -> str:
    return str(Guid.parse(node.id).first >> 48)


def _by_cell(node: Node, ids: Iterable[str]) -> dict[str, list[str]]:
    return {_cell(node): list(ids)}


def _instant(seconds: float) -> str:
    return format_instant(datetime.fromtimestamp(seconds, UTC))


_COMMON: Final[Mapping[str, Computed]] = {
    "id": (_any, lambda node: node.id),
    "type": (_any, lambda node: node.type),
    "builtin": (_any, lambda _: False),
    "ref_counter": (_any, lambda _: 1),
    "native_cell_tag": (_any, lambda node: yson.Uint64(Guid.parse(node.id).first >> 48)),
    "foreign": (_any, lambda _: False),
    "creation_time": (_any, lambda node: node.creation_time),
}
