"""How much is in a table, as its attributes tell it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from yt_local.base.clock import LATEST_TIMESTAMP
from yt_local.schema.rows import data_weight, decode_values
from yt_local.schema.schema import TableSchema
from yt_local.store.chunks import measure_chunks
from yt_local.store.model import Node, Tablet
from yt_local.store.state import ClusterState
from yt_local.store.storage import Storage


@dataclass(frozen=True, slots=True)
class TableSize:
    """Rows in chunks, and their data weight in bytes.

    Nothing is compressed here, and rows of dynamic tables are as large as they weigh. The chunks of an ordered tablet
    are its segments: rows that wait to be flushed do not count, those that are trimmed do until their segment goes. A
    tablet of a sorted table that has rows counts as one chunk.
    """

    row_count: int = 0
    data_weight: int = 0
    chunk_count: int = 0
    uncompressed_data_size: int = 0

    def statistics(self) -> dict[str, int]:
        """As in `@tablet_statistics`."""
        return {
            "chunk_count": self.chunk_count,
            "unmerged_row_count": self.row_count,
            "uncompressed_data_size": self.uncompressed_data_size,
            "compressed_data_size": self.uncompressed_data_size,
        }


def measure_tablet(state: ClusterState, schema: TableSchema, tablet: Tablet) -> TableSize:
    """Size of one tablet; reads all rows if it is of a sorted table and has been written to since it was measured."""
    if schema.is_sorted:
        return state.tablets.measured(tablet, partial(_measure_sorted, state.storage))
    segments = state.tablets.segments(tablet)
    weight = sum(segment.data_weight for segment in segments)
    return TableSize(sum(segment.row_count for segment in segments), weight, len(segments), weight)


def measure_table(state: ClusterState, schema: TableSchema, tablets: Iterable[Tablet]) -> TableSize:
    sizes = [measure_tablet(state, schema, tablet) for tablet in tablets]
    return TableSize(
        sum(size.row_count for size in sizes),
        sum(size.data_weight for size in sizes),
        sum(size.chunk_count for size in sizes),
        sum(size.uncompressed_data_size for size in sizes),
    )


def measure_static(state: ClusterState, node: Node) -> TableSize:
    """Size of a static table or a file."""
    statistics = measure_chunks(state.chunks.of(node.content))
    return TableSize(
        statistics.row_count, statistics.data_weight, statistics.chunk_count, statistics.uncompressed_data_size
    )


def _measure_sorted(storage: Storage, tablet: Tablet) -> TableSize:
    weights = [
        data_weight(decode_values(row.value)) for row in storage.sorted_rows(tablet.number, b"", None, LATEST_TIMESTAMP)
    ]
    return TableSize(len(weights), sum(weights), 1 if weights else 0, sum(weights))
