"""Locks on rows of sorted tables: which writes of concurrent transactions get along."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from yt_local.schema.schema import TableSchema
from yt_wire.error import YtError

LockName: TypeAlias = Literal["none", "shared_weak", "shared_strong", "shared_write", "exclusive"]
"""As clients name the types of locks."""


class LockType(enum.IntEnum):
    """Locks of one transaction on one group of columns, the stronger the greater."""

    NONE = 0
    SHARED_WEAK = 1
    """Nobody else may have written since the start."""

    SHARED_STRONG = 2
    """Likewise, and whoever started earlier may not write any more."""

    SHARED_WRITE = 3
    """Others may write so too, nobody in another way."""

    EXCLUSIVE = 4


LOCK_TYPES: Final = dict(zip(get_args(LockName), LockType, strict=True))

Mask: TypeAlias = tuple[LockType, ...]
"""The lock on each group of columns, the primary one first."""

PRIMARY: Final = "<primary>"
_PRUNE_ABOVE: Final = 10_000


@dataclass(frozen=True, slots=True)
class LockGroups:
    """The groups a table's columns form by their `lock`; columns without one belong to the primary group."""

    names: tuple[str, ...]
    by_column: tuple[int, ...]
    """Group of each column of the schema; of no meaning for keys."""

    @classmethod
    def of(cls, schema: TableSchema) -> LockGroups:
        names = [PRIMARY]
        for column in schema.columns:
            if column.lock is not None and column.lock not in names:
                names.append(column.lock)
        return cls(tuple(names), tuple(names.index(column.lock or PRIMARY) for column in schema.columns))

    def of_row(self, lock: LockType) -> Mask:
        """The lock on the row as a whole, which deletions take."""
        return (lock, *[LockType.NONE] * (len(self.names) - 1))

    def of_columns(self, positions: Sequence[int], lock: LockType) -> Mask:
        """The same lock on the groups of all these columns."""
        locked = {self.by_column[position] for position in positions}
        return tuple(lock if group in locked else LockType.NONE for group in range(len(self.names)))

    def named(self, names: Sequence[str], lock: LockType) -> Mask:
        """The lock on groups by name, which may be that of the primary one; YtError if there is no such group."""
        for name in names:
            if name not in self.names:
                raise YtError(f'Lock group "{name}" not found in schema')
        return tuple(lock if name in names else LockType.NONE for name in self.names)


def combined(first: Mask, second: Mask) -> Mask:
    """What one transaction holds after taking both."""
    return tuple(_stronger(one, other) for one, other in zip(first, second, strict=True))


def _stronger(one: LockType, other: LockType) -> LockType:
    if LockType.SHARED_WRITE in (one, other) and {one, other} & {LockType.SHARED_WEAK, LockType.SHARED_STRONG}:
        return LockType.EXCLUSIVE
    return max(one, other)


@dataclass(slots=True)
class _Stamps:
    """When the last lock of each kind was committed."""

    exclusive: int = 0
    shared_write: int = 0
    read: int = 0

    @property
    def latest(self) -> int:
        return max(self.exclusive, self.shared_write, self.read)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a transaction cannot be committed."""

    message: str
    group: int
    winner_commit_timestamp: int


class LockHistory:
    """Locks of committed transactions, as far back as a transaction that is still open may ask.

    Rows are identified by table and encoded key, whatever tablets the table has at the time.

    Transactions that start later than a lock was committed cannot be in conflict with it: with none open there is
    nothing to remember.
    """

    def __init__(self) -> None:
        self._starts: dict[int, None] = {}
        self._rows: dict[tuple[str, bytes], list[_Stamps]] = {}
        self._prune_above = _PRUNE_ABOVE

    @property
    def oldest_start(self) -> int | None:
        """Start of the oldest open transaction; what was visible then may be read once more."""
        return next(iter(self._starts), None)

    def opened(self, start_timestamp: int) -> None:
        """Remember locks from now on; starts come in growing order."""
        self._starts[start_timestamp] = None

    def closed(self, start_timestamp: int) -> None:
        """The transaction that started then needs no history any more."""
        self._starts.pop(start_timestamp, None)
        if not self._starts:
            self._rows.clear()
            self._prune_above = _PRUNE_ABOVE

    def record(self, table_id: str, key: bytes, mask: Mask, commit_timestamp: int) -> None:
        """Note the locks of a commit."""
        groups = self._rows.get((table_id, key))
        if groups is None:
            groups = self._rows[table_id, key] = [_Stamps() for _ in mask]
            if len(self._rows) > self._prune_above:
                self._prune()
        for stamps, lock in zip(groups, mask, strict=True):
            match lock:
                case LockType.EXCLUSIVE:
                    stamps.exclusive = commit_timestamp
                case LockType.SHARED_WRITE:
                    stamps.shared_write = commit_timestamp
                case LockType.SHARED_STRONG:
                    stamps.read = commit_timestamp

    def conflict(self, table_id: str, key: bytes, mask: Mask, start_timestamp: int) -> Conflict | None:
        """What stands against taking the locks in a transaction that started then.

        The primary lock covers all groups; whoever takes any other is checked against it, but does not take it.
        """
        groups = self._rows.get((table_id, key))
        if groups is None:
            return None
        checked = (max(mask), *(_stronger(mask[0], lock) for lock in mask[1:]))
        for group, (stamps, lock) in enumerate(zip(groups, checked, strict=True)):
            found = _check(stamps, lock, start_timestamp)
            if found is not None:
                message, timestamp = found
                return Conflict(message, group, timestamp)
        return None

    def _prune(self) -> None:
        oldest = self.oldest_start or 0
        self._rows = {
            row: groups for row, groups in self._rows.items() if any(stamps.latest > oldest for stamps in groups)
        }
        self._prune_above = max(_PRUNE_ABOVE, 2 * len(self._rows))


def _check(stamps: _Stamps, lock: LockType, start: int) -> tuple[str, int] | None:
    if lock is LockType.NONE:
        return None
    if stamps.exclusive > start:
        return "Row lock conflict due to concurrent write", stamps.exclusive
    if lock is not LockType.SHARED_WRITE and stamps.shared_write > start:
        return "Row lock conflict due to concurrent shared write", stamps.shared_write
    if lock >= LockType.SHARED_WRITE and stamps.read > start:
        return "Write failed due to concurrent read lock", stamps.read
    return None
