"""Open transactions with what they hold: their locks, and their branches of nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from yt_local.store.locks import Lock, LockRequest, find_conflict
from yt_local.store.model import Branch, Transaction
from yt_local.store.storage import Storage
from yt_wire.error import ErrorCode, YtError


class Versions:
    """Records in memory, written through to the storage; part of the changes of a `ClusterState`.

    Args:
        storage: what was there before, and where changes go.
        changes: the running change's notes how to undo it.
        branched: is told the id of a node whose branches have changed.
    """

    def __init__(
        self, storage: Storage, changes: Callable[[], list[Callable[[], None]]], branched: Callable[[str], None]
    ) -> None:
        self._storage = storage
        self._changes = changes
        self._branched = branched
        self._transactions: dict[str, Transaction] = {}
        self._nested: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._locks: dict[str, Lock] = {}
        self._locks_by_node: defaultdict[str, dict[str, Lock]] = defaultdict(dict)
        self._locks_by_transaction: defaultdict[str, dict[str, Lock]] = defaultdict(dict)
        self._branches: defaultdict[str, dict[str, Branch]] = defaultdict(dict)
        self._branches_by_transaction: defaultdict[str, dict[str, Branch]] = defaultdict(dict)
        self._needed: Counter[str] = Counter()
        self.last_pings: dict[str, float] = {}
        """When each transaction was last heard of, in seconds since the epoch; not kept in the storage."""
        self.generation = 0
        """Grows whenever a transaction begins or is given other attributes."""
        for record in storage.transactions():
            self._index_transaction(Transaction.decode(record))
        for record in storage.locks():
            self._index_lock(Lock.decode(record))
        for record in storage.branches():
            self._index_branch(Branch.decode(record))

    @property
    def transactions(self) -> Collection[Transaction]:
        return self._transactions.values()

    def find_transaction(self, transaction_id: str) -> Transaction | None:
        return self._transactions.get(transaction_id)

    def transaction(self, transaction_id: str) -> Transaction:
        """YtError 11000 if there is none of this id, or no longer."""
        transaction = self._transactions.get(transaction_id)
        if transaction is None:
            raise YtError(f"No such transaction {transaction_id}", ErrorCode.NO_SUCH_TRANSACTION)
        return transaction

    def lineage(self, transaction_id: str) -> Sequence[str]:
        """The transaction, its parent, and so on."""
        ids: list[str] = []
        current: str | None = transaction_id
        while current is not None:
            ids.append(current)
            current = self._transactions[current].parent_id
        return ids

    def nested(self, transaction_id: str) -> Sequence[str]:
        """Transactions right below one, oldest first."""
        return list(self._nested.get(transaction_id, ()))

    def all_nested(self, transaction_id: str) -> Iterator[str]:
        """All transactions below one."""
        for nested_id in self.nested(transaction_id):
            yield nested_id
            yield from self.all_nested(nested_id)

    def dependent(self, transaction_id: str) -> Sequence[str]:
        """Transactions that do not outlive this one."""
        return [other.id for other in self._transactions.values() if transaction_id in other.prerequisite_ids]

    def put_transaction(self, transaction: Transaction) -> None:
        old = self._transactions.get(transaction.id)
        self._storage.put_transaction(transaction.id, transaction.encode())
        self._changes().append(lambda: self._replace_transaction(transaction, old))
        self._replace_transaction(old, transaction)

    def delete_transaction(self, transaction: Transaction) -> None:
        """Forget a transaction that has nothing left."""
        self._storage.delete_transaction(transaction.id)
        self._changes().append(lambda: self._replace_transaction(None, transaction))
        self._replace_transaction(transaction, None)

    def find_lock(self, lock_id: str) -> Lock | None:
        return self._locks.get(lock_id)

    @property
    def locks(self) -> Collection[Lock]:
        return self._locks.values()

    def locks_of(self, node_id: str) -> Sequence[Lock]:
        """Those that are acquired first, each group in the order it was asked for."""
        locks = self._locks_by_node.get(node_id)
        return sorted(locks.values(), key=lambda lock: (not lock.acquired, lock.number)) if locks else ()

    def locks_by(self, transaction_id: str) -> Sequence[Lock]:
        """In the order they were asked for."""
        return sorted(self._locks_by_transaction.get(transaction_id, {}).values(), key=lambda lock: lock.number)

    def put_lock(self, lock: Lock) -> None:
        old = self._locks.get(lock.id)
        self._storage.put_lock(lock.id, lock.encode())
        self._changes().append(lambda: self._replace_lock(lock, old))
        self._replace_lock(old, lock)

    def delete_lock(self, lock: Lock) -> None:
        self._storage.delete_lock(lock.id)
        self._changes().append(lambda: self._replace_lock(None, lock))
        self._replace_lock(lock, None)

    def check(self, node_id: str, request: LockRequest, transaction_id: str | None, path_of: Callable[[], str]) -> None:
        """YtError 400 to 402 unless a transaction, or a command outside of any, can have such a lock now.

        Args:
            node_id: the node to be locked.
            request: the lock wanted.
            transaction_id: None for a command outside of transactions.
            path_of: tells the node's path for the error.
        """
        held = [lock for lock in self.locks_of(node_id) if lock.acquired]
        if not held:
            return
        lineage = self.lineage(transaction_id) if transaction_id else ()
        nested = set(self.all_nested(transaction_id)) if transaction_id else ()
        conflict = find_conflict(request, held, lineage, nested)
        if conflict:
            winner = {"winner_transaction": self._describe(conflict.holder)} if conflict.holder else {}
            raise YtError(conflict.message(path_of()), conflict.code, winner)

    def branches_of(self, node_id: str) -> Mapping[str, Branch]:
        """By id of transaction."""
        return self._branches.get(node_id, {})

    def branches_by(self, transaction_id: str) -> Sequence[Branch]:
        return list(self._branches_by_transaction.get(transaction_id, {}).values())

    @property
    def branches(self) -> Iterator[Branch]:
        return (branch for branches in self._branches.values() for branch in branches.values())

    def put_branch(self, branch: Branch) -> None:
        old = self.branches_of(branch.node.id).get(branch.transaction_id)
        self._storage.put_branch(branch.transaction_id, branch.node.id, branch.encode())
        self._changes().append(lambda: self._replace_branch(branch, old))
        self._replace_branch(old, branch)

    def delete_branch(self, branch: Branch) -> None:
        """Forget a branch; nodes only it needed are the caller's to look after."""
        self._storage.delete_branch(branch.transaction_id, branch.node.id)
        self._changes().append(lambda: self._replace_branch(None, branch))
        self._replace_branch(branch, None)

    def needs(self, node_id: str) -> bool:
        """Whether some transaction goes on seeing a node even if nobody else does."""
        return node_id in self._needed

    def _describe(self, transaction_id: str) -> dict[str, Any]:
        """A transaction in an error, with those it is part of."""
        first, *parents = (self._describe_alone(ancestor_id) for ancestor_id in self.lineage(transaction_id))
        return {**first, "parents": parents}

    def _describe_alone(self, transaction_id: str) -> dict[str, Any]:
        transaction = self._transactions[transaction_id]
        described: dict[str, Any] = {
            "id": transaction.id,
            "start_time": transaction.start_time,
            "owner": transaction.owner,
            "timeout": transaction.timeout,
        }
        if transaction.title is not None:
            described["title"] = transaction.title
        return described

    def _replace_transaction(self, old: Transaction | None, new: Transaction | None) -> None:
        if old and not new:
            del self._transactions[old.id]
            if old.parent_id:
                _discard(self._nested, old.parent_id, old.id)
        if new:
            self._index_transaction(new)

    def _index_transaction(self, transaction: Transaction) -> None:
        self.generation += 1
        self._transactions[transaction.id] = transaction
        if transaction.parent_id:
            self._nested[transaction.parent_id][transaction.id] = None

    def _replace_lock(self, old: Lock | None, new: Lock | None) -> None:
        if old:
            del self._locks[old.id]
            _discard(self._locks_by_node, old.node_id, old.id)
            _discard(self._locks_by_transaction, old.transaction_id, old.id)
        if new:
            self._index_lock(new)

    def _index_lock(self, lock: Lock) -> None:
        self._locks[lock.id] = lock
        self._locks_by_node[lock.node_id][lock.id] = lock
        self._locks_by_transaction[lock.transaction_id][lock.id] = lock

    def _replace_branch(self, old: Branch | None, new: Branch | None) -> None:
        if new:
            self._index_branch(new)
        if old:
            for node_id in old.node_ids:
                self._needed[node_id] -= 1
                if not self._needed[node_id]:
                    del self._needed[node_id]
            if not new:
                _discard(self._branches, old.node.id, old.transaction_id)
                _discard(self._branches_by_transaction, old.transaction_id, old.node.id)
        changed = new or old
        if changed is not None:
            self._branched(changed.node.id)

    def _index_branch(self, branch: Branch) -> None:
        self._branches[branch.node.id][branch.transaction_id] = branch
        self._branches_by_transaction[branch.transaction_id][branch.node.id] = branch
        self._needed.update(branch.node_ids)


def _discard(index: dict[str, dict[str, Any]], key: str, inner_key: str) -> None:
    """Empty entries are not kept: most nodes never have any."""
    del index[key][inner_key]
    if not index[key]:
        del index[key]
