"""Locks on nodes: what they are, and which of them go together."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias

from yt_local.store.records import dump_record
from yt_wire import yson
from yt_wire.error import ErrorCode


class LockMode(enum.Enum):
    """What a lock is for, from weak to strong."""

    SNAPSHOT = "snapshot"
    """To go on seeing a node as it is now; nobody is kept from changing it."""

    SHARED = "shared"
    """To change a part of a node, while others change other parts."""

    EXCLUSIVE = "exclusive"
    """To change a node alone."""

    @property
    def strength(self) -> int:
        return list(LockMode).index(self)


KeyKind: TypeAlias = Literal["child", "attribute"]


@dataclass(frozen=True, slots=True)
class LockRequest:
    """What somebody wants of a node."""

    mode: LockMode
    key: tuple[KeyKind, str] | None = None
    """The child or attribute a shared lock is about; None: no part that could be named."""

    @classmethod
    def of_child(cls, name: str) -> Self:
        """The right to put something under a name, or to take it away."""
        return cls(LockMode.SHARED, ("child", name))

    @classmethod
    def of_attribute(cls, name: str) -> Self:
        """The right to set an attribute, or to remove it."""
        return cls(LockMode.SHARED, ("attribute", name))


EXCLUSIVE: Final = LockRequest(LockMode.EXCLUSIVE)
SHARED: Final = LockRequest(LockMode.SHARED)
SNAPSHOT: Final = LockRequest(LockMode.SNAPSHOT)


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock some transaction has, or waits for."""

    id: str
    number: int
    """Grows from lock to lock: those that wait are served in its order."""

    node_id: str
    transaction_id: str
    request: LockRequest
    implicit: bool
    """Taken by a command for what it did, not asked for."""

    creation_time: str
    acquisition_time: str | None = None
    """None while it waits for others to end."""

    @property
    def acquired(self) -> bool:
        return self.acquisition_time is not None

    @property
    def state(self) -> str:
        return "acquired" if self.acquired else "pending"

    def describe(self) -> dict[str, Any]:
        """As an entry of `@locks`."""
        described = {
            "id": self.id,
            "state": self.state,
            "transaction_id": self.transaction_id,
            "mode": self.request.mode.value,
        }
        if self.request.key:
            kind, name = self.request.key
            described[f"{kind}_key"] = name
        return described

    def encode(self) -> bytes:
        record = {name: getattr(self, name) for name in self.__slots__ if name != "request"}
        return dump_record({**record, "mode": self.request.mode.value, "key": list(self.request.key or ())})

    @classmethod
    def decode(cls, data: bytes) -> Lock:
        record = yson.loads(data)
        mode, key = LockMode(record.pop("mode")), tuple(record.pop("key"))
        return cls(**record, request=LockRequest(mode, key or None))


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a lock cannot be had now."""

    code: ErrorCode
    beginning: str
    end: str
    holder: str | None = None
    """The concurrent transaction that is in the way."""

    def message(self, path: str) -> str:
        """What to tell who wanted the lock; `path` is that of the node."""
        return f"{self.beginning} {path} {self.end}"


def find_conflict(
    request: LockRequest, held: Iterable[Lock], lineage: Sequence[str], nested: Collection[str]
) -> Conflict | None:
    """Say what keeps a transaction, or a command outside of any, from having a lock.

    Args:
        request: what is wanted.
        held: the locks on the node that are acquired.
        lineage: the transaction that wants it, its parent, and so on; empty for a command outside of transactions.
        nested: every transaction below it.
    """
    held = list(held)
    own = [lock for lock in held if lineage and lock.transaction_id == lineage[0]]
    if any(lock.request.mode is LockMode.SNAPSHOT for lock in own):
        return None if request.mode is LockMode.SNAPSHOT else _same(request.mode, LockMode.SNAPSHOT, lineage[0])
    if request.mode is LockMode.SNAPSHOT:
        return _snapshot_conflict(own, [lock for lock in held if lock.transaction_id in nested])
    for lock in held:
        if lock.request.mode is LockMode.SNAPSHOT and lock.transaction_id in lineage:
            obstacle = f"already taken by parent transaction {lock.transaction_id}"
            return _conflict(ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT, request.mode, LockMode.SNAPSHOT, obstacle)
    for lock in sorted(held, key=lambda lock: -lock.request.mode.strength):
        if lock.transaction_id not in lineage and not _are_compatible(request, lock.request):
            return _concurrent(request, lock)
    return None


def is_redundant(request: LockRequest, own: Iterable[Lock]) -> bool:
    """Whether a transaction that has these locks on a node gains nothing by one more."""
    return any(lock.request == request for lock in own)


def strongest_mode(locks: Iterable[Lock]) -> LockMode | None:
    return max((lock.request.mode for lock in locks), key=lambda mode: mode.strength, default=None)


def _are_compatible(wanted: LockRequest, held: LockRequest) -> bool:
    """Whether two transactions neither of which is part of the other may have these, `wanted` being no snapshot."""
    if held.mode is LockMode.SNAPSHOT:
        return True
    if LockMode.EXCLUSIVE in (wanted.mode, held.mode):
        return False
    return wanted.key is None or wanted.key != held.key


def _snapshot_conflict(own: Sequence[Lock], nested: Sequence[Lock]) -> Conflict | None:
    if mode := strongest_mode(own):
        return _same(LockMode.SNAPSHOT, mode, own[0].transaction_id)
    mode = strongest_mode(nested)
    if mode is None or mode is LockMode.SNAPSHOT:
        return None
    obstacle = "already taken by a descendant transaction"
    return _conflict(ErrorCode.DESCENDANT_TRANSACTION_LOCK_CONFLICT, LockMode.SNAPSHOT, mode, obstacle)


def _same(wanted: LockMode, held: LockMode, transaction_id: str) -> Conflict:
    obstacle = f"already taken by same transaction {transaction_id}"
    return _conflict(ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT, wanted, held, obstacle)


def _concurrent(wanted: LockRequest, lock: Lock) -> Conflict:
    code, holder = ErrorCode.CYPRESS_LOCK_CONFLICT, lock.transaction_id
    if wanted.key is None:
        return _conflict(code, wanted.mode, lock.request.mode, f"taken by concurrent transaction {holder}", holder)
    kind, name = wanted.key
    return Conflict(
        code,
        f'Cannot take lock for {kind} "{name}" of node',
        f"since this {kind} is locked by concurrent transaction {holder}",
        holder,
    )


def _conflict(code: ErrorCode, wanted: LockMode, held: LockMode, obstacle: str, holder: str | None = None) -> Conflict:
    return Conflict(
        code, f'Cannot take "{wanted.value}" lock for node', f'since "{held.value}" lock is {obstacle}', holder
    )
