"""Master transactions: begun, kept, ended; their locks; and what becomes of their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from yt_local.cypress.attributes import instant
from yt_local.cypress.merging import merge_into_parent, merge_into_tree
from yt_local.cypress.transaction_attributes import MAX_TIMEOUT
from yt_local.cypress.transaction_view import TransactionView
from yt_local.store.locks import Lock, LockMode, LockRequest, is_redundant
from yt_local.store.model import Node, Transaction
from yt_local.store.state import ClusterState
from yt_wire.error import ErrorCode, YtError

DEFAULT_TIMEOUT: Final = 15_000
"""Milliseconds a transaction lives without a ping unless it says otherwise."""

_MAX_DEPTH: Final = 32


@dataclass(frozen=True, slots=True)
class LockResult:
    """Answer to a lock request."""

    lock: Lock
    revision: int
    """Of the node in the transaction; 0 if the lock waits."""


class MasterTransactions:
    """The open master transactions of one cluster.

    After a restart each lives on as if it had just been pinged.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._versions = state.versions
        now = state.clock.seconds()
        self._versions.last_pings.update((transaction.id, now) for transaction in self._versions.transactions)
        self._no_expiry_before = now
        self._generation = self._versions.generation

    def start(
        self,
        timeout: int = DEFAULT_TIMEOUT,
        *,
        deadline: float | None = None,
        parent_id: str | None = None,
        prerequisite_ids: Sequence[str] = (),
        attributes: Mapping[str, Any] | None = None,
        owner: str = "root",
    ) -> Transaction:
        """Begin a transaction.

        Args:
            timeout: milliseconds it lives without a ping; more than an hour is an hour.
            deadline: seconds since the epoch after which it is over in any case.
            parent_id: the transaction it becomes part of.
            prerequisite_ids: transactions it does not outlive.
            attributes: users' own, and `title`.
            owner: the user.

        Raises:
            YtError: there is no such parent or prerequisite, or there are too many transactions inside each other.
        """
        if parent_id is not None:
            self._versions.transaction(parent_id)
            if len(self._versions.lineage(parent_id)) > _MAX_DEPTH:
                raise YtError(
                    "Transaction depth limit reached",
                    ErrorCode.TRANSACTION_DEPTH_LIMIT_REACHED,
                    {"limit": _MAX_DEPTH},
                )
        self.check_prerequisites(prerequisite_ids)
        own = dict(attributes or {})
        title = own.pop("title", None)
        with self._state.change():
            transaction = Transaction(
                id=self._state.ids.next("transaction" if parent_id is None else "nested_transaction"),
                parent_id=parent_id,
                timeout=min(timeout, MAX_TIMEOUT),
                deadline=deadline,
                start_time=instant(self._state),
                title=None if title is None else str(title),
                owner=owner,
                attributes=own,
                prerequisite_ids=list(prerequisite_ids),
            )
            self._versions.put_transaction(transaction)
        self._versions.last_pings[transaction.id] = self._state.clock.seconds()
        return transaction

    def ping(self, transaction_id: str, *, ancestors: bool = False) -> None:
        """Let a transaction, and with `ancestors` those it is part of, live for another timeout from now."""
        self._versions.transaction(transaction_id)
        now = self._state.clock.seconds()
        for pinged_id in self._versions.lineage(transaction_id) if ancestors else [transaction_id]:
            self._versions.last_pings[pinged_id] = now

    def commit(self, transaction_id: str) -> int:
        """Make the changes of a transaction part of its parent's, or visible to all; open nested ones are aborted.

        Returns:
            The timestamp of the commit.

        Raises:
            YtError: there is no such transaction.
        """
        transaction = self._versions.transaction(transaction_id)
        with self._state.change():
            for nested_id in self._versions.nested(transaction_id):
                self._abort(nested_id)
            branches = self._versions.branches_by(transaction_id)
            if transaction.parent_id is not None:
                for branch in branches:
                    merge_into_parent(self._state, branch, transaction.parent_id)
            else:
                merge_into_tree(self._state, branches)
            self._finish(transaction, promote=True)
            return self._state.timestamps.next()

    def abort(self, transaction_id: str) -> None:
        """Undo a transaction and all below it."""
        self._versions.transaction(transaction_id)
        with self._state.change():
            self._abort(transaction_id)

    def expire(self) -> None:
        """Abort transactions that have not been pinged in time."""
        now = self._state.clock.seconds()
        if now < self._no_expiry_before and self._generation == self._versions.generation:
            return
        for transaction in list(self._versions.transactions):
            if self._versions.find_transaction(transaction.id) and now >= self._end_of_life(transaction):
                self.abort(transaction.id)
        known = self._versions.transactions
        self._versions.last_pings = {transaction.id: self._last_ping(transaction.id) for transaction in known}
        self._no_expiry_before = min((self._end_of_life(transaction) for transaction in known), default=float("inf"))
        self._generation = self._versions.generation

    def check_prerequisites(self, transaction_ids: Iterable[str]) -> None:
        """YtError 1000 unless all these transactions are there."""
        for transaction_id in transaction_ids:
            if self._versions.find_transaction(transaction_id) is None:
                raise YtError(
                    f"Prerequisite check failed: transaction {transaction_id} is missing",
                    ErrorCode.PREREQUISITE_CHECK_FAILED,
                )

    def lock(self, transaction_id: str, node: Node, request: LockRequest, *, waitable: bool) -> LockResult:
        """Lock a node for a transaction because somebody asks for it.

        Args:
            transaction_id: who is to have the lock.
            node: what to lock.
            request: how.
            waitable: take the lock as soon as it can be had, if it cannot be had now.

        Raises:
            YtError: 400 to 402, for a lock that is not waitable.
        """
        view = TransactionView(self._state, transaction_id)
        with self._state.change():
            lock = view.new_lock(node, request, implicit=False)
            try:
                self._check(lock)
            except YtError:
                if not waitable:
                    raise
                self._versions.put_lock(lock)
                return LockResult(lock, 0)
            return LockResult(view.acquire(lock, lock.creation_time), view.node(node.id).revision)

    def unlock(self, transaction_id: str, node: Node) -> None:
        """Give back the locks a transaction has asked for on a node, or still waits for.

        Raises:
            YtError: the transaction has changed the node.
        """
        locks = [lock for lock in self._versions.locks_of(node.id) if lock.transaction_id == transaction_id]
        explicit = [lock for lock in locks if not lock.implicit]
        if not explicit:
            return
        branch = self._versions.branches_of(node.id).get(transaction_id)
        if branch and not branch.snapshot:
            raise YtError(f'Node #{node.id} is modified by transaction "{transaction_id}" and cannot be unlocked')
        with self._state.change():
            for lock in explicit:
                self._versions.delete_lock(lock)
            if branch:
                self._state.delete_branch(branch)
            self._serve_waiting([node.id])

    def _abort(self, transaction_id: str) -> None:
        transaction = self._versions.find_transaction(transaction_id)
        if transaction is None:  # one that depends on several is reached by several ways
            return
        for nested_id in self._versions.nested(transaction_id):
            self._abort(nested_id)
        for branch in self._versions.branches_by(transaction_id):
            self._state.delete_branch(branch)
        self._finish(transaction, promote=False)

    def _finish(self, transaction: Transaction, *, promote: bool) -> None:
        """Let go of a transaction whose branches are gone."""
        locks = self._versions.locks_by(transaction.id)
        for lock in locks:
            self._release(lock, transaction.parent_id if promote else None)
        self._versions.delete_transaction(transaction)
        for dependent_id in self._versions.dependent(transaction.id):
            self._abort(dependent_id)
        self._serve_waiting(dict.fromkeys(lock.node_id for lock in locks))

    def _release(self, lock: Lock, parent_id: str | None) -> None:
        if parent_id is not None and lock.request.mode is not LockMode.SNAPSHOT:
            known = [other for other in self._versions.locks_of(lock.node_id) if other.transaction_id == parent_id]
            if not lock.implicit or not is_redundant(lock.request, known):
                self._versions.put_lock(replace(lock, transaction_id=parent_id))
                return
        self._versions.delete_lock(lock)

    def _serve_waiting(self, node_ids: Iterable[str]) -> None:
        for node_id in node_ids:
            for lock in self._versions.locks_of(node_id):
                if not lock.acquired:
                    self._try_to_acquire(lock)

    def _try_to_acquire(self, lock: Lock) -> None:
        try:
            self._check(lock)
        except YtError:
            return
        TransactionView(self._state, lock.transaction_id).acquire(lock, instant(self._state))

    def _check(self, lock: Lock) -> None:
        view = TransactionView(self._state, lock.transaction_id)
        self._versions.check(
            lock.node_id, lock.request, lock.transaction_id, lambda: view.path_of(view.node(lock.node_id))
        )

    def _end_of_life(self, transaction: Transaction) -> float:
        """Seconds since the epoch."""
        without_ping = self._last_ping(transaction.id) + transaction.timeout / 1000
        return without_ping if transaction.deadline is None else min(without_ping, transaction.deadline)

    def _last_ping(self, transaction_id: str) -> float:
        return self._versions.last_pings[transaction_id]
