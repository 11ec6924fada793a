"""How much is in a table, as its attributes tell it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from queue_agent.local_cluster.model import Tablet
from queue_agent.local_cluster.rows import data_weight, decode_values
from queue_agent.local_cluster.schema import CUMULATIVE_DATA_WEIGHT, TIMESTAMP, TableSchema
from queue_agent.local_cluster.storage import Storage
from queue_agent.local_cluster.tables import LATEST_TIMESTAMP

_SYSTEM_VALUE_WEIGHT = 8


@dataclass(frozen=True, slots=True)
class TableSize:
    """Rows that can be read, and their data weight in bytes.

    Nothing is compressed or waits to be flushed here, so one weight stands for all sizes, and a tablet that has rows
    counts as one chunk.
    """

    row_count: int = 0
    data_weight: int = 0
    chunk_count: int = 0

    def statistics(self) -> dict[str, int]:
        """As in `@tablet_statistics`."""
        return {
            "chunk_count": self.chunk_count,
            "unmerged_row_count": self.row_count,
            "uncompressed_data_size": self.data_weight,
            "compressed_data_size": self.data_weight,
        }


def measure_tablet(storage: Storage, schema: TableSchema, tablet: Tablet) -> TableSize:
    """Size of one tablet; reads all rows if it is of a sorted table."""
    return _measure_sorted(storage, tablet) if schema.is_sorted else _measure_ordered(storage, schema, tablet)


def measure_table(storage: Storage, schema: TableSchema, tablets: Iterable[Tablet]) -> TableSize:
    sizes = [measure_tablet(storage, schema, tablet) for tablet in tablets]
    return TableSize(
        sum(size.row_count for size in sizes),
        sum(size.data_weight for size in sizes),
        sum(size.chunk_count for size in sizes),
    )


def _measure_sorted(storage: Storage, tablet: Tablet) -> TableSize:
    weights = [
        data_weight(decode_values(row.value)) for row in storage.sorted_rows(tablet.number, b"", None, LATEST_TIMESTAMP)
    ]
    return TableSize(len(weights), sum(weights), 1 if weights else 0)


def _measure_ordered(storage: Storage, schema: TableSchema, tablet: Tablet) -> TableSize:
    row_count = tablet.total_row_count - tablet.trimmed_row_count
    first = next(storage.ordered_rows(tablet.number, tablet.trimmed_row_count, tablet.trimmed_row_count + 1), None)
    if first is None:
        return TableSize()
    system = sum(column.name in (TIMESTAMP, CUMULATIVE_DATA_WEIGHT) for column in schema.columns)
    first_weight = data_weight(decode_values(first.value)) + _SYSTEM_VALUE_WEIGHT * system
    return TableSize(row_count, tablet.cumulative_data_weight - first.cumulative_data_weight + first_weight, 1)
