"""Offsets of consumers: all queues that are asked for at once, by one lookup per consumer table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import find_unsigned
from queue_agent.errors import ClusterError
from yt_wire import yson

_META_KEYS = ("cumulative_data_weight", "offset_timestamp")
_NO_META: Mapping[str, int] = {}
"""The same for very many offsets."""


class OffsetsTable(NamedTuple):
    """A consumer's table, as far as its offsets are concerned."""

    path: str
    with_meta: bool
    """Whether it has the column `meta`."""

    name: str = ""
    """Of the consumer, in a table that holds several."""


@dataclass(frozen=True, slots=True)
class OffsetsQuestion:
    """Offsets of one queue are wanted, of partitions below `partition_count`."""

    queue: CrossClusterRef
    partition_count: int


class Tables(Protocol):
    """The command this needs; `YtCluster` has it."""

    async def lookup_versioned(self, path: str, keys: list[Mapping[str, Any]]) -> list[Any]: ...


class OffsetsReader:
    """Answers questions about consumer tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def read(
        self, table: OffsetsTable, partition_counts: Mapping[CrossClusterRef, int]
    ) -> Mapping[CrossClusterRef, Mapping[int, ConsumerOffset]]:
        """Offsets of each queue by partition index; partitions without a row are absent.

        Args:
            table: the consumer's.
            partition_counts: of the queues.
        """
        name = {"queue_consumer_name": table.name} if table.name else {}
        keys: list[Mapping[str, Any]] = [
            {**name, "queue_cluster": queue.cluster, "queue_path": queue.path, "partition_index": yson.Uint64(index)}
            for queue, partition_count in partition_counts.items()
            for index in range(partition_count)
        ]
        offsets: dict[CrossClusterRef, dict[int, ConsumerOffset]] = {queue: {} for queue in partition_counts}
        for row in await self._tables.lookup_versioned(table.path, keys) if keys else ():
            offset = _find_offset(row, with_meta=table.with_meta)
            if offset is not None:
                offsets[CrossClusterRef(row["queue_cluster"], row["queue_path"])][offset.partition_index] = offset
        return offsets

    async def read_next_row_indexes(
        self, table: OffsetsTable, questions: Sequence[OffsetsQuestion]
    ) -> list[Mapping[int, int] | ClusterError]:
        """Offsets alone, by partition index, in order of the questions; the same queue may come twice."""
        partition_counts: dict[CrossClusterRef, int] = {}
        for question in questions:
            partition_counts[question.queue] = max(question.partition_count, partition_counts.get(question.queue, 0))
        offsets = await self.read(table, partition_counts)
        return [
            {index: one.offset for index, one in offsets[question.queue].items() if index < question.partition_count}
            for question in questions
        ]


def _find_offset(row: Any, *, with_meta: bool) -> ConsumerOffset | None:
    """What a versioned row says; None if it is deleted."""
    attributes = yson.attributes_of(row)
    written = max(map(int, attributes.get("write_timestamps", ())), default=0)
    deleted = max(map(int, attributes.get("delete_timestamps", ())), default=0)
    if written <= deleted:
        return None
    offset = _newest(row.get("offset"), deleted)
    return ConsumerOffset(
        partition_index=int(row["partition_index"]),
        offset=0 if yson.is_null(offset) else int(offset),
        last_write_timestamp=written,
        meta=_meta(_newest(row.get("meta"), deleted)) if with_meta else _NO_META,
    )


def _newest(versions: Any, deleted: int) -> Any:
    """The value a column has; one from before the row was deleted last is none."""
    for version in versions or ():  # the newest comes first
        if int(yson.attributes_of(version)["timestamp"]) > deleted:
            return version
    return None


def _meta(value: Any) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        return _NO_META
    found = {key: find_unsigned(value.get(key)) for key in _META_KEYS}
    return {key: number for key, number in found.items() if number is not None}
