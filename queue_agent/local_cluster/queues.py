"""The Queue API: reading queues and keeping consumers' offsets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from queue_agent.local_cluster.clock import NULL_TIMESTAMP
from queue_agent.local_cluster.directory import ClusterDirectory
from queue_agent.local_cluster.permissions import Guarded
from queue_agent.local_cluster.registrations import Reference, Registrations
from queue_agent.local_cluster.rows import data_weight, row_mapper
from queue_agent.local_cluster.schema import CUMULATIVE_DATA_WEIGHT, TIMESTAMP, parse_schema
from queue_agent.local_cluster.tables import DynamicTables, Table
from queue_agent.local_cluster.tablet_transaction import Insertion, TabletTransaction
from queue_agent.wire import yson
from queue_agent.wire.error import ErrorCode, YtError
from queue_agent.wire.ypath import RichPath

if TYPE_CHECKING:
    from queue_agent.local_cluster.cluster import Cluster

_DEFAULT_ROW_COUNT: Final = 1000
_DEFAULT_DATA_WEIGHT: Final = 16 * 2**20


def key_column(name: str, column_type: str) -> dict[str, Any]:
    """A key column of a consumer or producer table, as a schema lists it."""
    return {"name": name, "type": column_type, "sort_order": "ascending", "required": True}


CONSUMER_SCHEMA: Final = yson.with_attributes(
    [
        key_column("queue_cluster", "string"),
        key_column("queue_path", "string"),
        key_column("partition_index", "uint64"),
        {"name": "offset", "type": "uint64", "required": True},
        {"name": "meta", "type": "any", "required": False},
    ],
    {"strict": True, "unique_keys": True},
)


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


class Queues(Guarded):
    """Queue commands of one cluster."""

    def __init__(self, cluster_name: str, registrations: Registrations, directory: ClusterDirectory) -> None:
        self._cluster_name = cluster_name
        self._registrations = registrations
        self._directory = directory

    def pull(
        self, queue_path: RichPath, partition_index: int, offset: int, limits: BatchLimits
    ) -> list[dict[str, Any]]:
        """Rows of one partition from an offset on, or from the first row that is left behind it."""
        queue = self._registrations.reference(queue_path)
        tables = self._cluster_of(queue, "Queue").tables
        tables.open_ordered(queue.path, "read")
        return pull_rows(tables, queue.path, partition_index, offset, limits)

    def pull_for_consumer(
        self,
        consumer_path: RichPath,
        queue_path: RichPath,
        partition_index: int,
        offset: int | None,
        limits: BatchLimits,
    ) -> list[dict[str, Any]]:
        """Like `pull` for a registered consumer; without an offset, from where the consumer stands."""
        consumer = self._registrations.reference(consumer_path)
        queue = self._registrations.reference(queue_path)
        consumer_tables = self._cluster_of(consumer, "Consumer").tables
        consumer_table = open_consumer(consumer_tables, consumer.path, "read")
        self._registrations.check(queue, consumer, queue_path, consumer_path)
        queue_tables = self._cluster_of(queue, "Queue").tables
        if offset is None:
            offset, _ = stored_offset(consumer_tables, consumer_table, queue, partition_index)
        return pull_rows(queue_tables, queue.path, partition_index, offset, limits)

    def advance(
        self,
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
        if partition_index < 0 or new_offset < 0:
            raise YtError(f"Partition index and offset must not be negative, got {partition_index} and {new_offset}")
        consumer = self._registrations.reference(consumer_path)
        queue = self._registrations.reference(queue_path)
        cluster = self._cluster_of(consumer, "Consumer")
        if transaction is not None and cluster.name != self._cluster_name:
            raise YtError(f"Consumer {consumer} is not of the cluster {self._cluster_name}, where the transaction is")
        table = open_consumer(cluster.tables, consumer.path, "write" if client_side else "read")
        if not client_side:
            self._registrations.check(queue, consumer, queue_path, consumer_path)
        if old_offset is not None:
            read_timestamp = transaction.read_timestamp if transaction else None
            found, timestamp = stored_offset(cluster.tables, table, queue, partition_index, read_timestamp)
            if found != old_offset:
                raise YtError(
                    f"Offset conflict at partition {partition_index} of consumer {consumer.path}: expected offset"
                    f" {old_offset}, found offset {found}",
                    ErrorCode.QUEUE_CONSUMER_OFFSET_CONFLICT,
                    {
                        "partition": partition_index,
                        "consumer": consumer.path,
                        "expected_offset": old_offset,
                        "current_offset": found,
                        "current_offset_timestamp": timestamp,
                    },
                )
        row: dict[bytes, Any] = {
            b"queue_cluster": queue.cluster.encode(),
            b"queue_path": queue.path.encode(),
            b"partition_index": partition_index,
            b"offset": new_offset,
        }
        if not client_side and any(column.name == "meta" for column in table.schema.columns):
            row[b"meta"] = self._offset_meta(queue, partition_index, new_offset)
        table = cluster.tables.open_sorted(consumer.path, "write")
        cluster.writer.write([Insertion(table, [row])], transaction)

    def _offset_meta(self, queue: Reference, partition_index: int, offset: int) -> dict[str, Any] | None:
        """Weight before the offset and time of the row at it, as far as the rows can be read."""
        meta: dict[str, Any] = {}
        try:
            tables = self._cluster_of(queue, "Queue").tables
            table = tables.open_ordered(queue.path)
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

    def _cluster_of(self, reference: Reference, role: str) -> Cluster:
        cluster = self._directory.find(reference.cluster)
        if cluster is None:
            raise YtError(f'{role} cluster "{reference.cluster}" was not found for path {reference.path}')
        return cluster.acting_as(self._access.user)


def open_consumer(tables: DynamicTables, path: str, permission: str) -> Table:
    """A consumer's table; YtError if its schema is not a consumer's, or the user lacks the permission for it."""
    table = tables.open(path, permission)
    expected = parse_schema(CONSUMER_SCHEMA)
    without_meta = replace(expected, columns=expected.columns[:-1])
    if table.schema not in (expected, without_meta):
        raise YtError(
            "Table schema is not recognized as a valid consumer schema",
            attributes={"expected_schema": CONSUMER_SCHEMA, "actual_schema": table.schema.to_yson()},
        )
    return table


def stored_offset(
    tables: DynamicTables, table: Table, queue: Reference, partition_index: int, timestamp: int | None = None
) -> tuple[int, int]:
    """Where a consumer stood at a timestamp, and when it had said so; 0 and the null timestamp if it never had.

    Without a timestamp: where it stands now.
    """
    if partition_index < 0:
        raise YtError(f"Partition index must not be negative, got {partition_index}")
    found = tables.find_version(table, (queue.cluster.encode(), queue.path.encode(), partition_index), timestamp)
    if found is None:
        return 0, NULL_TIMESTAMP
    row, timestamp = found
    offset = row[3]
    assert isinstance(offset, int), "the column is required"
    return offset, timestamp


def pull_rows(
    tables: DynamicTables, path: str, partition_index: int, offset: int, limits: BatchLimits
) -> list[dict[str, Any]]:
    """Rows of one partition for output, within limits; at least one if there is any.

    Only one segment is read: the next one takes another pull.
    """
    if offset < 0:
        raise YtError(f"Cannot read table {path} at a negative offset {offset}")
    table = tables.open_ordered(path)
    to_map = row_mapper(table.schema.query_columns())
    rows: list[dict[str, Any]] = []
    weight = 0
    end = tables.store_end(table, partition_index, offset)
    for row in tables.read_ordered(table, partition_index, offset, end):
        if len(rows) >= limits.row_count or weight >= limits.data_weight:
            break
        rows.append(to_map(row))
        weight += data_weight(row)
    return rows
