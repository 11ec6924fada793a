"""Requests of a transaction, brought to what is written to each tablet."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, assert_never, cast

from yt_local.base.clock import LATEST_TIMESTAMP
from yt_local.rows.row_codec import PartialRow
from yt_local.rows.row_locks import LockType, Mask, combined
from yt_local.schema.keys import Row
from yt_local.schema.row_errors import parse_rows
from yt_local.schema.rows import MISSING, decode_values
from yt_local.store.model import Tablet
from yt_local.store.replicated_types import REPLICATED_TABLE
from yt_local.store.state import ClusterState
from yt_local.store.storage import SortedVersion
from yt_local.tables.dynamic.open_tables import Table
from yt_local.tables.dynamic.replication_log import Change, changed_row
from yt_local.tables.dynamic.tables import DynamicTables
from yt_local.tables.dynamic.tablet_transaction import Deletion, Insertion, Locking, Request
from yt_wire.error import ErrorCode, YtError


class NewVersion(NamedTuple):
    """What becomes of a key."""

    values: Row | None
    """None deletes it."""

    written: bytes | None
    """Which columns, as `SortedVersion.written` has it."""


class RowLock(NamedTuple):
    """What of a row is locked."""

    mask: Mask
    key: Row


@dataclass(slots=True)
class WriteBatch:
    """What is written to one tablet."""

    table: Table
    tablet: Tablet
    rows: list[Row] = field(default_factory=list)
    """Ordered: in the order of the stored columns. Replicated: rows of the log."""

    versions: dict[bytes, NewVersion] = field(default_factory=dict)
    """Sorted: by encoded key."""

    locks: dict[bytes, RowLock] = field(default_factory=dict)
    """Sorted: by encoded key; only kept if anybody can be in conflict."""

    def lock(self, key: bytes, values: Row, mask: Mask) -> None:
        """Lock more of a row; `values` begins with its key."""
        held = self.locks.get(key)
        self.locks[key] = RowLock(mask if held is None else combined(held.mask, mask), values)


class WritePreparation:
    """Turns the requests of one transaction into batches, in the order they were made."""

    def __init__(
        self, state: ClusterState, tables: DynamicTables, choices: random.Random, *, keeps_locks: bool
    ) -> None:
        self.batches: dict[int, WriteBatch] = {}
        self._state = state
        self._tables = tables
        self._choices = choices
        self._keeps_locks = keeps_locks

    def add(self, request: Request, table: Table) -> None:
        """Read the rows of a request; YtError if one does not fit the schema or its tablet does not take it."""
        if not isinstance(request, Deletion) and request.lock is LockType.SHARED_WRITE:
            _check_shared_writes(table)
        match request:
            case Insertion() if not table.schema.is_sorted:
                self._append(request, table)
            case Insertion() | Deletion() if table.node.type == REPLICATED_TABLE:
                self._log(request, table)
            case Insertion() if request.update or (request.aggregate and table.codec.has_aggregates):
                self._merge(request, table)
            case Insertion():
                self._insert(request, table)
            case Deletion():
                self._delete(request, table)
            case Locking():
                self._lock(request, table)
            case _:
                assert_never(request)

    def _append(self, request: Insertion, table: Table) -> None:
        chosen: int | None = None
        rows_of: dict[int, list[Row]] = {}
        for index, *values in parse_rows(table, request.rows, table.codec.parse_row):
            if index is None:
                # One draw for all rows of a request.
                chosen = index = self._choose_tablet(table) if chosen is None else chosen
            assert isinstance(index, int)
            rows = rows_of.get(index)
            if rows is None:
                rows = rows_of[index] = self._batch(table, self._tables.writable_tablet(table, index)).rows
            rows.append(tuple(values))

    def _log(self, request: Insertion | Deletion, table: Table) -> None:
        """Note what is to become of rows of a sorted table that only its replicas have."""
        codec, batch_of, change = table.codec, self._router(table), Change.INSERT
        parse: Callable[[Mapping[bytes, Any]], PartialRow] = codec.parse_row
        lock = LockType.EXCLUSIVE
        if isinstance(request, Deletion):
            change, parse = Change.DELETE, codec.parse_key
        else:
            lock = request.lock
            if request.update:
                change, parse = change | Change.UPDATE, codec.parse_partial_row
            if request.aggregate and codec.has_aggregates:
                change |= Change.AGGREGATE
        for values in parse_rows(table, request.rows, parse):
            key_values = cast(Row, values[: len(codec.key_columns)])  # keys are never missing
            key = codec.encode_key(key_values)
            batch = batch_of(key)
            batch.rows.append(changed_row(change, values))
            if self._keeps_locks and isinstance(request, Deletion):
                batch.lock(key, key_values, codec.lock_groups.of_row(lock))
            elif self._keeps_locks:
                written = [position for position in codec.value_positions if values[position] is not MISSING]
                batch.lock(key, key_values, codec.lock_groups.of_columns(written, lock))

    def _insert(self, request: Insertion, table: Table) -> None:
        codec, batch_of = table.codec, self._router(table)
        for values in parse_rows(table, request.rows, codec.parse_row):
            key = codec.encode_key(values)
            batch = batch_of(key)
            batch.versions[key] = NewVersion(values, None)
            if self._keeps_locks:
                batch.lock(key, values, codec.lock_groups.of_columns(codec.value_positions, request.lock))

    def _merge(self, request: Insertion, table: Table) -> None:
        codec, batch_of = table.codec, self._router(table)
        parse: Callable[[Mapping[bytes, Any]], PartialRow]
        parse = codec.parse_partial_row if request.update else codec.parse_row
        for new in parse_rows(table, request.rows, parse):
            key_values = cast(Row, new[: len(codec.key_columns)])  # keys are never missing
            key = codec.encode_key(key_values)
            batch = batch_of(key)
            merged = codec.merge(self._old(batch, key), new, aggregate=request.aggregate)
            written = [position for position in codec.value_positions if new[position] is not MISSING]
            before = batch.versions.get(key)
            batch.versions[key] = NewVersion(merged, _written(written, before))
            if self._keeps_locks:
                batch.lock(key, key_values, codec.lock_groups.of_columns(written, request.lock))

    def _delete(self, request: Deletion, table: Table) -> None:
        codec, batch_of = table.codec, self._router(table)
        for key_values in parse_rows(table, request.rows, codec.parse_key):
            key = codec.encode_key(key_values)
            batch = batch_of(key)
            batch.versions[key] = NewVersion(None, None)
            if self._keeps_locks:
                batch.lock(key, key_values, codec.lock_groups.of_row(LockType.EXCLUSIVE))

    def _lock(self, request: Locking, table: Table) -> None:
        codec, batch_of = table.codec, self._router(table)
        mask = codec.lock_groups.named(request.groups, request.lock)
        for key_values in parse_rows(table, request.rows, codec.parse_key):
            key = codec.encode_key(key_values)
            batch_of(key).lock(key, key_values, mask)

    def _old(self, batch: WriteBatch, key: bytes) -> Row | None:
        if (pending := batch.versions.get(key)) is not None:
            return pending.values
        found = self._state.storage.find_version(batch.tablet.number, key, LATEST_TIMESTAMP)
        return None if found is None else decode_values(found.value)

    def _router(self, table: Table) -> Callable[[bytes], WriteBatch]:
        tablets = self._tables.sorted_tablets(table)

        def batch_of(key: bytes) -> WriteBatch:
            tablet = tablets.of_key(key)
            known = self.batches.get(tablet.number)
            return known or self._batch(table, self._tables.writable_tablet(table, tablet.index))

        return batch_of

    def _batch(self, table: Table, tablet: Tablet) -> WriteBatch:
        batch = self.batches.get(tablet.number)
        if batch is None:
            batch = self.batches[tablet.number] = WriteBatch(table, tablet)
        return batch

    def _choose_tablet(self, table: Table) -> int:
        mounted = [tablet.index for tablet in self._state.tablets.of(table.node.id) if tablet.state == "mounted"]
        if not mounted:
            raise YtError(f"Table {table.path} has no mounted tablets", ErrorCode.TABLET_NOT_MOUNTED)
        return self._choices.choice(mounted)


def _written(positions: Sequence[int], before: NewVersion | None) -> bytes | None:
    """The columns of a version that is made of a write and what the same transaction had written before it."""
    if before is not None and before.values is not None and before.written is None:
        return None
    columns = 0 if before is None or before.written is None else int.from_bytes(before.written)
    for position in positions:
        columns |= 1 << position
    return SortedVersion.pack_columns(columns)


def _check_shared_writes(table: Table) -> None:
    if not table.node.attributes.get("enable_shared_write_locks", False):
        raise YtError("Shared write locks are not allowed for the table")
