"""How far the replicas of a cluster's replicated tables are, which of them serve reads, and bringing them rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import Final

from yt_local.base.clock import COUNTER_BITS
from yt_local.schema.keys import Row
from yt_local.schema.rows import decode_values
from yt_local.security.permissions import UNCHECKED
from yt_local.store.model import Tablet
from yt_local.store.replicated_types import REPLICATED_TABLE, TableReplica
from yt_local.store.state import ClusterState
from yt_local.tables.dynamic.open_tables import Table
from yt_local.tables.dynamic.table_writer import JoinedReplica
from yt_local.tables.dynamic.tables import DynamicTables
from yt_local.tables.replication.directory import ClusterDirectory, KnownCluster
from yt_wire.error import ErrorCode, YtError

BATCH_ROW_COUNT: Final = 10_000
"""Rows of one tablet that are replicated together."""

_MAX_CATCH_UP_BATCHES: Final = 100


class Replication:
    """What one cluster, as a meta-cluster, knows of the replicas of its tables.

    How far a replica is, is kept by the replica's cluster, with its rows: they are never replicated twice.

    Args:
        state: of the cluster.
        directory: where replicas may be.
    """

    def __init__(self, state: ClusterState, directory: ClusterDirectory) -> None:
        self._state = state
        self._directory = directory
        self._errors: dict[tuple[str, str], YtError] = {}

    def replicas(self, table_id: str) -> list[TableReplica]:
        """Of a replicated table, in the order of their ids."""
        return [TableReplica.of(node) for node in self._state.children(table_id)]

    def position(self, replica: TableReplica, tablet: Tablet) -> int:
        """Index of the first row of a tablet's log that has not been replicated."""
        cluster = self._directory.known(replica.cluster_name)
        stored = 0 if cluster is None else cluster.state.replicated_row_count(replica.id, tablet.id)
        return min(max(stored, tablet.trimmed_row_count), tablet.total_row_count)

    def position_timestamp(self, replica: TableReplica, tablet: Tablet) -> int:
        """All rows with lower timestamps have been replicated."""
        position = self.position(replica, tablet)
        if position < tablet.total_row_count:
            [row] = self._state.storage.ordered_rows(tablet.number, position, position + 1)
            return row.timestamp
        return max(tablet.last_write_timestamp, replica.start_replication_timestamp)

    def lag(self, replica: TableReplica, tablet: Tablet) -> int:
        """Age of the oldest row of a tablet that has not been replicated, in milliseconds."""
        position = self.position(replica, tablet)
        if position >= tablet.total_row_count:
            return 0
        [row] = self._state.storage.ordered_rows(tablet.number, position, position + 1)
        return max(0, int((self._state.clock.seconds() - (row.timestamp >> COUNTER_BITS)) * 1000))

    def table_lag(self, replica: TableReplica) -> int:
        """The largest lag of all tablets, in milliseconds."""
        return max((self.lag(replica, tablet) for tablet in self._state.tablets.of(replica.table_id)), default=0)

    def error(self, replica: TableReplica, tablet: Tablet) -> YtError | None:
        """Why a tablet's last rows could not be replicated; None if they could."""
        return self._errors.get((replica.id, tablet.id))

    def errors(self, replica: TableReplica) -> list[YtError]:
        tablets = self._state.tablets.of(replica.table_id)
        return [error for tablet in tablets if (error := self.error(replica, tablet)) is not None]

    def is_up_to_date(self, replica: TableReplica, timestamp: int | None = None) -> bool:
        """Whether the replica has all rows, or all with timestamps up to the given one."""
        return all(
            self.position(replica, tablet) >= tablet.total_row_count
            or (timestamp is not None and self.position_timestamp(replica, tablet) > timestamp)
            for tablet in self._state.tablets.of(replica.table_id)
        )

    def serving(self, table: Table) -> tuple[DynamicTables, Table] | None:
        """The synchronous replica that answers for a replicated table, and its cluster; None for other tables.

        Raises:
            YtError: 1736 if no synchronous replica is there that has all rows.
        """
        if table.node.type != REPLICATED_TABLE:
            return None
        banned = []
        for replica in self.replicas(table.node.id):
            if replica.mode != "sync" or not replica.enabled or not self.is_up_to_date(replica):
                continue
            try:
                cluster = self._cluster_of(replica)
                copy = cluster.tables.open(replica.replica_path, UNCHECKED)
            except YtError:
                banned.append(replica.id)
                continue
            if all(tablet.readable for tablet in cluster.state.tablets.of(copy.node.id)):
                return cluster.tables, copy
            banned.append(replica.id)
        raise YtError(
            f"No in-sync replicas found for table {table.path}",
            ErrorCode.NO_IN_SYNC_REPLICAS,
            {"banned_replicas": banned},
        )

    def written_with(self, table: Table, *, required: bool) -> Sequence[TableReplica]:
        """The replicas that are part of every transaction that writes to a replicated table.

        Raises:
            YtError: 1714 if there is none, but one is required.
        """
        found = [replica for replica in self.replicas(table.node.id) if replica.mode == "sync" and replica.enabled]
        if required and not found:
            raise YtError(
                f'Table {table.path} has no synchronous replicas and "require_sync_replica" option is set',
                ErrorCode.NO_SYNC_REPLICAS,
            )
        return found

    def joined(self, stack: ExitStack, replica: TableReplica) -> JoinedReplica:
        """Make a replica's cluster part of a change that ends with the stack; the replica gets what it lacks first.

        Raises:
            YtError: the cluster cannot be reached, the replica not be written to, or too much is missing.
        """
        cluster = self._cluster_of(replica)
        for _ in range(_MAX_CATCH_UP_BATCHES):
            if self.is_up_to_date(replica):
                break
            for tablet in self._state.tablets.of(replica.table_id):
                self.advance(replica, tablet)
        else:
            raise YtError(f"Synchronous replica {replica.id} is not in sync yet", ErrorCode.SYNC_REPLICA_NOT_IN_SYNC)
        stack.enter_context(cluster.state.change())

        def put(tablet: Tablet, rows: Sequence[Row], timestamp: int) -> None:
            self._write(cluster, replica, tablet, [(timestamp, rows)])
            cluster.state.put_replicated_row_count(replica.id, tablet.id, tablet.total_row_count + len(rows))

        return JoinedReplica(cluster.state.timestamps, put)

    def advance(self, replica: TableReplica, tablet: Tablet) -> int:
        """Replicate the next rows of one tablet, whole transactions; returns how many, 0 if there are none.

        Raises:
            YtError: the replica cannot be reached, or not be written to.
        """
        position = self.position(replica, tablet)
        if position >= tablet.total_row_count:
            self._errors.pop((replica.id, tablet.id), None)
            return 0
        try:
            cluster = self._cluster_of(replica)
            end = self._end_of_batch(tablet, position)
            transactions = list(self._transactions(replica, tablet, position, end))
            with cluster.state.change():
                self._write(cluster, replica, tablet, transactions)
                cluster.state.put_replicated_row_count(replica.id, tablet.id, end)
        except YtError as error:
            self._errors[replica.id, tablet.id] = error
            raise
        self._errors.pop((replica.id, tablet.id), None)
        return end - position

    def replicated_row_count(self, tablet: Tablet) -> int:
        """How many rows of a tablet's log no replica needs any more; all that are trimmed if there is no replica."""
        replicas = self.replicas(tablet.table_id)
        return min((self.position(replica, tablet) for replica in replicas), default=tablet.trimmed_row_count)

    def _end_of_batch(self, tablet: Tablet, lower: int) -> int:
        """Behind the last row of the transaction that fills a batch."""
        end = lower + BATCH_ROW_COUNT
        if end >= tablet.total_row_count:
            return tablet.total_row_count
        rows = self._state.storage.ordered_rows(tablet.number, end - 1, tablet.total_row_count)
        last = next(rows).timestamp
        return next((row.row_index for row in rows if row.timestamp != last), tablet.total_row_count)

    def _transactions(
        self, replica: TableReplica, tablet: Tablet, lower: int, upper: int
    ) -> Iterator[tuple[int, Sequence[Row]]]:
        rows = self._state.storage.ordered_rows(tablet.number, lower, upper)
        for timestamp, group in groupby(rows, key=lambda row: row.timestamp):
            if timestamp >= replica.start_replication_timestamp:
                yield timestamp, [decode_values(row.value) for row in group]

    def _write(
        self,
        cluster: KnownCluster,
        replica: TableReplica,
        tablet: Tablet,
        transactions: Iterable[tuple[int, Sequence[Row]]],
    ) -> None:
        table = self._state.node(replica.table_id).table
        assert table is not None
        copy = cluster.tables.open(replica.replica_path, UNCHECKED)
        for timestamp, rows in transactions:
            cluster.state.timestamps.advance(timestamp)
            kept = timestamp if replica.preserve_timestamps else cluster.state.timestamps.next()
            cluster.writer.replicate(copy, replica.id, table.schema, tablet.index, rows, kept)

    def _cluster_of(self, replica: TableReplica) -> KnownCluster:
        cluster = self._directory.find(replica.cluster_name)
        if cluster is None:
            raise YtError(f'Cluster "{replica.cluster_name}" of replica {replica.id} is not known')
        return cluster
