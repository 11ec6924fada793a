"""Writes to dynamic tables: checked against concurrent ones, applied all or none."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import accumulate, count, islice, repeat
from typing import Any, Final, Protocol

from yt_local.base.clock import COUNTER_BITS, LATEST_TIMESTAMP, TimestampGenerator
from yt_local.cypress.account_checks import AccountLimits
from yt_local.rows.row_locks import LockHistory, LockType
from yt_local.schema.keys import Row
from yt_local.schema.retention import Retention
from yt_local.schema.row_errors import parse_rows
from yt_local.schema.rows import data_weight, encode_values
from yt_local.schema.schema import TableSchema, system_positions
from yt_local.security.permissions import Access
from yt_local.store.model import Tablet
from yt_local.store.replicated_types import NO_REPLICA, REPLICATED_TABLE, UPSTREAM_REPLICA_ID, TableReplica
from yt_local.store.state import ClusterState
from yt_local.tables.dynamic.open_tables import Table
from yt_local.tables.dynamic.replication_log import requests_of
from yt_local.tables.dynamic.tables import DynamicTables
from yt_local.tables.dynamic.tablet_transaction import (
    Atomicity,
    Deletion,
    Insertion,
    Locking,
    Request,
    TabletTransaction,
    check_row_count,
)
from yt_local.tables.dynamic.write_preparation import WriteBatch, WritePreparation
from yt_local.tables.tablet_keys import key_to_yson
from yt_wire.error import ErrorCode, YtError

_VERSIONS_KEPT_SECONDS: Final = 60
_SYSTEM_VALUE_WEIGHT: Final = 8


@dataclass(frozen=True, slots=True)
class JoinedReplica:
    """A replica that a transaction writes to as well: its cluster is part of the change."""

    timestamps: TimestampGenerator
    """Of its cluster."""

    put: Callable[[Tablet, Sequence[Row], int], None]
    """Gives it the rows that a transaction has added to the log of a tablet, which is as it was before them."""


class WrittenReplicas(Protocol):
    """Replicas, for those who write to their replicated tables."""

    def written_with(self, table: Table, *, required: bool) -> Sequence[TableReplica]:
        """The replicas that are part of every transaction that writes to the table; YtError 1714 if there is none."""
        ...

    def joined(self, stack: ExitStack, replica: TableReplica) -> JoinedReplica:
        """Make a replica's cluster part of a change that ends with the stack."""
        ...


class TableWriter:
    """Commands that write rows; each is a transaction of its own, or part of the one it is given."""

    def __init__(
        self,
        state: ClusterState,
        tables: DynamicTables,
        replication: WrittenReplicas,
        limits: AccountLimits,
        history: LockHistory,
        choices: random.Random,
    ) -> None:
        self._state = state
        self._tables = tables
        self._replication = replication
        self._limits = limits
        self._history = history
        self._choices = choices

    def insert_rows(
        self,
        access: Access,
        path: str,
        rows: Sequence[Mapping[bytes, Any]],
        *,
        update: bool = False,
        aggregate: bool = False,
        lock: LockType = LockType.EXCLUSIVE,
        atomicity: Atomicity = "full",
        require_sync_replica: bool = True,
        transaction: TabletTransaction | None = None,
    ) -> None:
        """Append to an ordered table, or insert into a sorted one by key.

        Args:
            path: the table.
            rows: values by column name; ordered tables take `$tablet_index` among them.
            update: keep the old values of the columns a row does not name (sorted tables only).
            aggregate: add values of aggregate columns to those there are.
            lock: exclusive or shared write (sorted tables only).
            atomicity: of the transaction; must be that of the table.
            require_sync_replica: refuse to write to a replicated table of which no replica is synchronous.
            transaction: to be committed with; None commits at once.
        """
        table = self._tables.open(path, access.to("write"))
        if update and not table.schema.is_sorted:
            raise YtError('Cannot use "update" mode for ordered tables')
        if aggregate and not table.schema.is_sorted:
            raise YtError('Cannot use "aggregate" mode for ordered tables')
        parse_rows(table, rows, table.codec.check_names)
        self.write([Insertion(table, rows, update, aggregate, lock, require_sync_replica)], transaction, atomicity)

    def delete_rows(
        self,
        access: Access,
        path: str,
        keys: Sequence[Mapping[bytes, Any]],
        *,
        atomicity: Atomicity = "full",
        require_sync_replica: bool = True,
        transaction: TabletTransaction | None = None,
    ) -> None:
        """Delete rows of a sorted table by their whole keys; absent ones are no error."""
        table = self._tables.open_sorted(path, access.to("write"))
        self.write([Deletion(table, keys, require_sync_replica)], transaction, atomicity)

    def lock_rows(
        self,
        access: Access,
        path: str,
        keys: Sequence[Mapping[bytes, Any]],
        groups: Sequence[str],
        lock: LockType,
        transaction: TabletTransaction,
    ) -> None:
        """Have the commit fail if somebody else writes these groups of columns of the rows.

        Raises:
            YtError: the table has no such group.
        """
        table = self._tables.open_sorted(path, access.to("write"))
        table.codec.lock_groups.named(groups, lock)
        self.write([Locking(table, keys, groups, lock)], transaction)

    def write(
        self, requests: Sequence[Request], transaction: TabletTransaction | None, atomicity: Atomicity = "full"
    ) -> None:
        """Keep the writes for the transaction's commit, or commit them at once, all or none."""
        check_row_count(sum(len(request.rows) for request in requests) + (transaction.row_count if transaction else 0))
        if transaction is None:
            self._commit(requests, None, atomicity)
            return
        for request in requests:
            transaction.add(request, self._state.tablets.of(request.table.node.id))

    def commit(self, transaction: TabletTransaction) -> int:
        """Write what the transaction has gathered.

        Returns:
            The timestamp it is written at.

        Raises:
            YtError: something cannot be written; of the causes, 1700 is a conflict with a transaction that was
                committed since this one started.
        """
        return self._commit(transaction.requests, transaction, transaction.atomicity)

    def _commit(self, requests: Sequence[Request], transaction: TabletTransaction | None, atomicity: Atomicity) -> int:
        try:
            batches = self._prepared(requests, transaction, atomicity)
            with ExitStack() as changes:
                copies = self._copies(changes, requests, batches)
                # What is entered last is kept first: replicas may be behind their log, never ahead of it.
                changes.enter_context(self._state.change())
                for replica, _ in copies:
                    self._state.timestamps.advance(replica.timestamps.last)
                timestamp = self._state.timestamps.next()
                for batch in batches:
                    self._apply(batch, timestamp)
                for replica, batch in copies:
                    replica.put(batch.tablet, batch.rows, timestamp)
        except YtError as error:
            transaction_id = (
                transaction.id
                if transaction
                else self._state.ids.of_transaction(atomicity, self._state.timestamps.last)
            )
            raise YtError(f"Error committing transaction {transaction_id}", inner_errors=[error]) from error
        for batch in batches:
            for key, lock in batch.locks.items():
                self._history.record(batch.table.node.id, key, lock.mask, timestamp)
        return timestamp

    def replicate(
        self,
        replica: Table,
        replica_id: str,
        schema: TableSchema,
        tablet_index: int,
        rows: Sequence[Row],
        timestamp: int,
    ) -> None:
        """Do to a replica what a transaction did to the replicated table; part of a change.

        Args:
            replica: the table to write to.
            replica_id: the replica it has to be.
            schema: of the replicated table.
            tablet_index: of the tablet of the replicated table.
            rows: what the transaction added to the log of that tablet.
            timestamp: what it is written at.

        Raises:
            YtError: 1718 if the table is another replica, or none.
        """
        _check_upstream(replica, replica_id)
        preparation = WritePreparation(self._state, self._tables, self._choices, keeps_locks=False)
        for request in requests_of(rows, schema, tablet_index, replica):
            preparation.add(request, replica)
        for batch in preparation.batches.values():
            self._apply(batch, timestamp)

    def _copies(
        self, changes: ExitStack, requests: Sequence[Request], batches: Sequence[WriteBatch]
    ) -> Sequence[tuple[JoinedReplica, WriteBatch]]:
        """What has to be written to replicas as well, whose clusters become part of the changes."""
        logs: dict[str, list[WriteBatch]] = {}
        for batch in batches:
            if batch.table.node.type == REPLICATED_TABLE and batch.rows:
                logs.setdefault(batch.table.node.id, []).append(batch)
        copies = []
        for table_id, of_table in logs.items():
            required = any(
                request.table.node.id == table_id and not isinstance(request, Locking) and request.require_sync_replica
                for request in requests
            )
            for replica in self._replication.written_with(of_table[0].table, required=required):
                joined = self._replication.joined(changes, replica)
                copies += [(joined, batch) for batch in of_table]
        return copies

    def _prepared(
        self, requests: Sequence[Request], transaction: TabletTransaction | None, atomicity: Atomicity
    ) -> Sequence[WriteBatch]:
        preparation = WritePreparation(
            self._state,
            self._tables,
            self._choices,
            keeps_locks=atomicity == "full" and self._history.oldest_start is not None,
        )
        for request in requests:
            try:
                table = self._tables.reopened(request.table)
                _check_atomicity(table, atomicity)
                _check_upstream(table, NO_REPLICA)
                self._limits.check_rows(table.node)
                preparation.add(request, table)
            except YtError as error:
                path = transaction.paths[request.table.node.id] if transaction else request.table.path
                raise YtError(f"Error preparing rows for table {path}", inner_errors=[error]) from error
        batches = list(preparation.batches.values())
        if transaction is not None:
            for batch in batches:
                _check_mount_revision(batch.tablet, transaction)
                if atomicity == "full":
                    self._check_locks(batch, transaction)
        return batches

    def _check_locks(self, batch: WriteBatch, transaction: TabletTransaction) -> None:
        for key, lock in batch.locks.items():
            conflict = self._history.conflict(batch.table.node.id, key, lock.mask, transaction.start_timestamp)
            if conflict is not None:
                raise YtError(
                    conflict.message,
                    ErrorCode.TABLET_TRANSACTION_LOCK_CONFLICT,
                    {
                        "winner_transaction_commit_timestamp": conflict.winner_commit_timestamp,
                        "loser_transaction_id": transaction.id,
                        "tablet_id": batch.tablet.id,
                        "table_path": batch.table.path,
                        "key": key_to_yson(batch.table.codec.key_columns, lock.key),
                        "lock": batch.table.codec.lock_groups.names[conflict.group],
                    },
                )

    def _apply(self, batch: WriteBatch, timestamp: int) -> None:
        if batch.rows:
            self._append(batch, timestamp)
        if batch.versions:
            self._put_versions(batch, timestamp)

    def _append(self, batch: WriteBatch, timestamp: int) -> None:
        tablet = batch.tablet
        fixed = _SYSTEM_VALUE_WEIGHT * len(system_positions(batch.table.schema))
        weights = list(
            accumulate((data_weight(values) + fixed for values in batch.rows), initial=tablet.cumulative_data_weight)
        )
        self._state.storage.append_rows(
            tablet.number,
            zip(
                count(tablet.total_row_count),
                repeat(timestamp),
                islice(weights, 1, None),
                map(encode_values, batch.rows),
            ),
        )
        self._state.tablets.put(
            replace(
                tablet,
                total_row_count=tablet.total_row_count + len(batch.rows),
                cumulative_data_weight=weights[-1],
                last_write_timestamp=timestamp,
            )
        )

    def _put_versions(self, batch: WriteBatch, timestamp: int) -> None:
        storage, tablet = self._state.storage, batch.tablet
        storage.put_versions(
            tablet.number,
            timestamp,
            (
                (key, None if version.values is None else encode_values(version.values), version.written)
                for key, version in batch.versions.items()
            ),
        )
        retention = Retention.of(batch.table.node.attributes)
        oldest_start = self._history.oldest_start
        if retention is None:
            horizon = timestamp - (_VERSIONS_KEPT_SECONDS << COUNTER_BITS)
            storage.drop_old_versions(
                tablet.number, batch.versions, horizon if oldest_start is None else min(horizon, oldest_start)
            )
        else:
            for key in batch.versions:
                stamps = [version.timestamp for version in storage.versions(tablet.number, key, LATEST_TIMESTAMP)]
                storage.delete_versions(tablet.number, key, retention.expired(stamps, timestamp, oldest_start))
        self._state.tablets.put(replace(tablet, last_write_timestamp=timestamp))


def _check_upstream(table: Table, replica_id: str) -> None:
    """YtError unless writes to a table may come by way of this replica, or by no replica's."""
    expected = table.node.attributes.get(UPSTREAM_REPLICA_ID, NO_REPLICA)
    if expected == replica_id:
        return
    if expected == NO_REPLICA:
        raise YtError(f"Table is not bound to any upstream replica but replica {replica_id} was given")
    if replica_id == NO_REPLICA:
        raise YtError(f"Table is bound to upstream replica {expected}; direct modifications are forbidden")
    raise YtError(
        f"Mismatched upstream replica: expected {expected}, got {replica_id}", ErrorCode.UPSTREAM_REPLICA_MISMATCH
    )


def _check_atomicity(table: Table, atomicity: Atomicity) -> None:
    expected = table.node.attributes.get("atomicity", "full")
    if atomicity != expected:
        raise YtError(f'Invalid atomicity mode: "{atomicity}" instead of "{expected}"')


def _check_mount_revision(tablet: Tablet, transaction: TabletTransaction) -> None:
    """The tablet must be what it was when the transaction first wrote to its table."""
    expected = transaction.mount_revisions[tablet.table_id].get(tablet.id)
    if expected is None:
        raise YtError(
            f"Tablet {tablet.id} is not known to transaction {transaction.id}",
            ErrorCode.NO_SUCH_TABLET,
            {"tablet_id": tablet.id},
        )
    if expected != tablet.mount_revision:
        raise YtError(
            f"Invalid mount revision of tablet {tablet.id}: expected {tablet.mount_revision:x}, received {expected:x}",
            ErrorCode.INVALID_MOUNT_REVISION,
            {"tablet_id": tablet.id},
        )
