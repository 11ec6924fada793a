"""The Queue API: reading queues and keeping consumers' offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from yt_local.formats.row_output import ValueRows
from yt_local.queues.consumers import open_consumer
from yt_local.queues.registrations import Reference, Registrations
from yt_local.schema.schema import CUMULATIVE_DATA_WEIGHT, TIMESTAMP
from yt_local.security.permissions import UNCHECKED, Access
from yt_local.tables.dynamic.tables import DynamicTables
from yt_local.tables.dynamic.tablet_transaction import Insertion, TabletTransaction
from yt_local.tables.replication.directory import ClusterDirectory, KnownCluster
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import RichPath

_DEFAULT_ROW_COUNT: Final = 1000
_DEFAULT_DATA_WEIGHT: Final = 16 * 2**20


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much one pull may return; the row that crosses `data_weight` is still part of it."""

    row_count: int = _DEFAULT_ROW_COUNT
    data_weight: int = _DEFAULT_DATA_WEIGHT

    @classmethod
    def of(cls, row_count: int | None, weight: int | None, weight_per_row: int | None) -> BatchLimits:
        """Limits as a client gives them; the expected weight of a row lowers the number of rows."""
        limits = cls(
            _DEFAULT_ROW_COUNT if row_count is None else row_count, _DEFAULT_DATA_WEIGHT if weight is None else weight
        )
        if not weight_per_row:
            return limits
        return cls(min(limits.row_count, max(limits.data_weight // weight_per_row, 1)), limits.data_weight)


@dataclass(frozen=True, slots=True)
class PulledRows(ValueRows):
    """Rows of one partition that follow each other."""

    start_offset: int
    """Index of the first; if there is none, where to go on."""


class Queues:
    """Queue commands of one cluster."""

    def __init__(self, cluster_name: str, registrations: Registrations, directory: ClusterDirectory) -> None:
        self._cluster_name = cluster_name
        self._registrations = registrations
        self._directory = directory

    def pull(
        self, access: Access, queue_path: RichPath, partition_index: int, offset: int, limits: BatchLimits
    ) -> PulledRows:
        """Rows of one partition from an offset on, or from the first row that is left behind it."""
        queue = self._registrations.reference(queue_path)
        cluster = self._cluster_of(queue, "Queue")
        tables = cluster.tables
        here = self._access_at(cluster, access)
        here.check_columns(tables.open_ordered(queue.path, here.to("read")).node)
        return pull_rows(tables, queue.path, partition_index, offset, limits)

    def pull_for_consumer(
        self,
        access: Access,
        consumer_path: RichPath,
        queue_path: RichPath,
        partition_index: int,
        offset: int | None,
        limits: BatchLimits,
    ) -> PulledRows:
        """Like `pull` for a registered consumer; without an offset, from where the consumer stands."""
        reference = self._registrations.reference(consumer_path)
        cluster = self._cluster_of(reference, "Consumer")
        consumer_tables = cluster.tables
        consumer = open_consumer(consumer_tables, reference, self._access_at(cluster, access).to("read"))
        queue = self._registrations.existing_table(queue_path)
        self._registrations.check(queue, reference, queue_path, consumer_path)
        queue_tables = self._cluster_of(queue, "Queue").tables
        if offset is None:
            offset, _ = consumer.stored_offset(consumer_tables, queue, partition_index)
        return pull_rows(queue_tables, queue.path, partition_index, offset, limits)

    def advance(
        self,
        access: Access,
        consumer_path: RichPath,
        queue_path: RichPath,
        partition_index: int,
        old_offset: int | None,
        new_offset: int,
        *,
        client_side: bool,
        transaction: TabletTransaction | None = None,
    ) -> None:
        """Set a consumer's offset, if it still is `old_offset` (None: whatever it is).

        Args:
            consumer_path: the consumer.
            queue_path: the queue.
            partition_index: partition of the queue; it need not exist.
            old_offset: the offset the caller believes to be stored.
            new_offset: index of the first row not read.
            client_side: do as old clients did by themselves: no registration needed, no `meta` written.
            transaction: to be committed with, and as of whose start the offset is looked at; None commits at once.

        Raises:
            YtError: 3100 if the stored offset is another one, 901 without a registration.
        """
        if new_offset < 0:
            raise YtError(f"Queue consumer offset {new_offset} cannot be negative")
        if partition_index < 0:
            raise YtError(f"Partition index must not be negative, got {partition_index}")
        reference = self._registrations.reference(consumer_path)
        cluster = self._cluster_of(reference, "Consumer")
        if transaction is not None and cluster.name != self._cluster_name:
            raise YtError(f"Consumer {reference} is not of the cluster {self._cluster_name}, where the transaction is")
        here = self._access_at(cluster, access)
        consumer = open_consumer(cluster.tables, reference, here.to("write" if client_side else "read"))
        if client_side:
            queue = self._registrations.reference(queue_path)
        else:
            queue = self._registrations.existing_table(queue_path)
            self._registrations.check(queue, reference, queue_path, consumer_path)
        queue_tables = self._cluster_of(queue, "Queue").tables
        if old_offset is not None:
            read_timestamp = transaction.read_timestamp if transaction else None
            found, timestamp = consumer.stored_offset(cluster.tables, queue, partition_index, read_timestamp)
            if found != old_offset:
                raise _conflict(reference, partition_index, old_offset, found, timestamp)
        row = consumer.row(queue, partition_index, new_offset)
        if not client_side and consumer.has_meta:
            row[b"meta"] = _offset_meta(queue_tables, queue.path, partition_index, new_offset)
        table = cluster.tables.open_sorted(reference.path, here.to("write"))
        cluster.writer.write([Insertion(table, [row])], transaction)

    def _access_at(self, cluster: KnownCluster, access: Access) -> Access:
        """What the same user may do on a cluster."""
        return access if cluster.name == self._cluster_name else cluster.permissions.access(access.user)

    def _cluster_of(self, reference: Reference, role: str) -> KnownCluster:
        cluster = self._directory.find(reference.cluster)
        if cluster is None:
            raise YtError(f'{role} cluster "{reference.cluster}" was not found for path {reference.path}')
        return cluster


def pull_rows(tables: DynamicTables, path: str, partition_index: int, offset: int, limits: BatchLimits) -> PulledRows:
    """Rows of one partition for output, within limits; at least one if there is any.

    Only one segment is read: the next one takes another pull.
    """
    if offset < 0:
        raise YtError(f"Cannot read table {path} at a negative offset {offset}")
    table = tables.open_ordered(path, UNCHECKED)
    end = tables.store_end(table, partition_index, offset)
    rows = tables.read_ordered_batch(table, partition_index, offset, end, limits.row_count, limits.data_weight)
    start_offset = rows[0][1] if rows else tables.first_available(table, partition_index, offset)
    assert isinstance(start_offset, int), "it is the column of row indexes"
    return PulledRows(table.schema.query_columns(), rows, start_offset)


def _conflict(consumer: Reference, partition_index: int, expected: int, found: int, timestamp: int) -> YtError:
    """The error of an advance that believed another offset to be stored."""
    return YtError(
        f"Offset conflict at partition {partition_index} of consumer {consumer.path}: expected offset"
        f" {expected}, found offset {found}",
        ErrorCode.QUEUE_CONSUMER_OFFSET_CONFLICT,
        {
            "partition": partition_index,
            "consumer": consumer.path,
            "expected_offset": expected,
            "current_offset": found,
            "current_offset_timestamp": timestamp,
        },
    )


def _offset_meta(tables: DynamicTables, path: str, partition_index: int, offset: int) -> dict[str, Any] | None:
    """Weight before the offset and time of the row at it, as far as the rows can be read."""
    meta: dict[str, Any] = {}
    try:
        table = tables.open_ordered(path, UNCHECKED)
        names = [column.name for column in table.schema.query_columns()]
        rows = tables.read_ordered(table, partition_index, max(offset - 1, 0), offset + 1)
        by_index = {row[1]: dict(zip(names, row, strict=True)) for row in rows}
    except YtError:
        # Offsets may be stored for queues that cannot be read, or not yet.
        return None
    if CUMULATIVE_DATA_WEIGHT in names and offset - 1 in by_index:
        meta["cumulative_data_weight"] = by_index[offset - 1][CUMULATIVE_DATA_WEIGHT]
    if TIMESTAMP in names and offset in by_index:
        meta["offset_timestamp"] = yson.Uint64(by_index[offset][TIMESTAMP])
    return meta or None
