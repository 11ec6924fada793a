"""One open tablet transaction: since when it reads, and what it is to write."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from yt_local.rows.row_locks import LockType
from yt_local.store.model import Tablet
from yt_local.tables.dynamic.open_tables import Table
from yt_wire.error import ErrorCode, YtError

MAX_ROW_COUNT: Final = 100_000
"""Of all writes of one transaction together."""

Atomicity: TypeAlias = Literal["full", "none"]


@dataclass(frozen=True, slots=True)
class Insertion:
    """Rows to insert, as the client sent them."""

    table: Table
    rows: Sequence[Mapping[bytes, Any]]
    update: bool = False
    """Columns a row does not name keep their values."""

    aggregate: bool = False
    """Values of aggregate columns are added to those there are."""

    lock: LockType = LockType.EXCLUSIVE
    require_sync_replica: bool = True
    """Of a replicated table: refuse to write to its log alone."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """Rows to delete, by their keys as the client sent them."""

    table: Table
    rows: Sequence[Mapping[bytes, Any]]
    require_sync_replica: bool = True


@dataclass(frozen=True, slots=True)
class Locking:
    """Rows to lock, by their keys as the client sent them."""

    table: Table
    rows: Sequence[Mapping[bytes, Any]]
    groups: Sequence[str]
    """Named lock groups; none locks nothing."""

    lock: LockType


Request: TypeAlias = Insertion | Deletion | Locking


def check_row_count(count: int) -> None:
    """YtError 1717 if one transaction would write more rows than it may."""
    if count > MAX_ROW_COUNT:
        raise YtError(
            "Transaction affects too many rows", ErrorCode.TOO_MANY_ROWS_IN_TRANSACTION, {"limit": MAX_ROW_COUNT}
        )


@dataclass(slots=True)
class TabletTransaction:
    """It belongs to the proxy that started it and is forgotten with it."""

    id: str
    start_timestamp: int
    atomicity: Atomicity
    timeout: float
    """Seconds it lives without a ping."""

    deadline: float | None
    """Seconds since the epoch after which no ping helps; None for no such moment."""

    last_ping: float
    """Seconds since the epoch."""

    requests: list[Request] = field(default_factory=list)
    row_count: int = 0
    mount_revisions: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """By table and tablet id, as they were when the transaction first wrote to the table."""

    paths: dict[str, str] = field(default_factory=dict)
    """Of the tables it writes to, by their ids: tables may be gone before the commit."""

    sequence_numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Last numbers it has pushed, by producer table, queue and session."""

    turns: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Of those who add more than one write at a time."""

    def is_expired(self, now: float) -> bool:
        return now >= self.last_ping + self.timeout or (self.deadline is not None and now >= self.deadline)

    @property
    def read_timestamp(self) -> int | None:
        """What it reads is what had been committed by then; None if it reads the latest."""
        return self.start_timestamp if self.atomicity == "full" else None

    def add(self, request: Request, tablets: Sequence[Tablet]) -> None:
        """Keep a write until the commit.

        Args:
            request: what to do.
            tablets: of its table, as they are now.
        """
        self.row_count += len(request.rows)
        self.requests.append(request)
        revisions = {tablet.id: tablet.mount_revision for tablet in tablets}
        self.mount_revisions.setdefault(request.table.node.id, revisions)
        self.paths[request.table.node.id] = request.table.path

    def drop_requests(self, count: int) -> None:
        """Forget the writes that came after so many."""
        self.row_count -= sum(len(request.rows) for request in self.requests[count:])
        del self.requests[count:]
