"""Offsets of consumers: all queues that are asked for at once, by one query and one lookup per consumer table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from queue_agent.adapters.queries import quote_path, quote_string, split_list
from queue_agent.core.observed import ConsumerOffset
from queue_agent.core.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.wire import yson

_META_KEYS = ("cumulative_data_weight", "offset_timestamp")


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
    """The commands this needs; `YtCluster` has them."""

    @property
    def name(self) -> str: ...

    async def select_all(self, subject: str, queries: Sequence[str]) -> list[list[Mapping[str, Any]]]: ...

    async def lookup_versioned(self, path: str, keys: list[Mapping[str, Any]]) -> list[Any]: ...


class OffsetsReader:
    """Answers many questions about one consumer table at once."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def read(
        self, table: OffsetsTable, questions: Sequence[OffsetsQuestion]
    ) -> list[Mapping[int, ConsumerOffset] | ClusterError]:
        """Answers in order of the questions.

        Args:
            table: the consumer's.
            questions: about one queue each; the same queue may come twice.
        """
        rows = await self._select(table, questions)
        write_timestamps = await self._look_up_write_timestamps(table, rows)
        return [self._answer(question, rows, write_timestamps) for question in questions]

    async def read_next_row_indexes(
        self, table: OffsetsTable, questions: Sequence[OffsetsQuestion]
    ) -> list[Mapping[int, int] | ClusterError]:
        """Offsets alone, by partition index, in order of the questions; arguments as of `read`."""
        rows = await self._select(table, questions)
        return [
            {
                index: _offset(row)
                for index, row in rows.get(question.queue, {}).items()
                if index < question.partition_count
            }
            for question in questions
        ]

    async def _select(
        self, table: OffsetsTable, questions: Sequence[OffsetsQuestion]
    ) -> Mapping[CrossClusterRef, Mapping[int, Mapping[str, Any]]]:
        """Rows by queue and partition index."""
        columns = "[queue_cluster], [queue_path], [partition_index], [offset]" + (", [meta]" if table.with_meta else "")
        last_partition_index = max(question.partition_count for question in questions) - 1
        refs = dict.fromkeys(
            f"({quote_string(question.queue.cluster)}, {quote_string(question.queue.path)})" for question in questions
        )
        named = f"[queue_consumer_name] = {quote_string(table.name)} and " if table.name else ""
        queries = [
            f"{columns} from {quote_path(table.path)}"
            f" where {named}([partition_index] between 0u and {last_partition_index}u)"
            f" and ([queue_cluster], [queue_path]) in ({', '.join(piece)})"
            for piece in split_list(refs)
        ]
        rows: dict[CrossClusterRef, dict[int, Mapping[str, Any]]] = {}
        for answer in await self._tables.select_all(table.path, queries):
            for row in answer:
                if not yson.is_null(row["partition_index"]):
                    ref = CrossClusterRef(row["queue_cluster"], row["queue_path"])
                    rows.setdefault(ref, {})[int(row["partition_index"])] = row
        return rows

    async def _look_up_write_timestamps(
        self, table: OffsetsTable, rows: Mapping[CrossClusterRef, Mapping[int, Mapping[str, Any]]]
    ) -> Mapping[tuple[CrossClusterRef, int], int]:
        """The newest by queue and partition index, of rows that are still there."""
        name = {"queue_consumer_name": table.name} if table.name else {}
        keys: list[Mapping[str, Any]] = [
            {
                **name,
                "queue_cluster": ref.cluster,
                "queue_path": ref.path,
                "partition_index": yson.Uint64(partition_index),
            }
            for ref, by_partition_index in rows.items()
            for partition_index in by_partition_index
        ]
        result: dict[tuple[CrossClusterRef, int], int] = {}
        for row in await self._tables.lookup_versioned(table.path, keys) if keys else []:
            timestamps = yson.attributes_of(row).get("write_timestamps")
            if timestamps:
                ref = CrossClusterRef(row["queue_cluster"], row["queue_path"])
                result[ref, int(row["partition_index"])] = int(timestamps[0])
        return result

    def _answer(
        self,
        question: OffsetsQuestion,
        rows: Mapping[CrossClusterRef, Mapping[int, Mapping[str, Any]]],
        write_timestamps: Mapping[tuple[CrossClusterRef, int], int],
    ) -> Mapping[int, ConsumerOffset] | ClusterError:
        offsets: dict[int, ConsumerOffset] = {}
        for partition_index, row in rows.get(question.queue, {}).items():
            if partition_index >= question.partition_count:
                continue
            timestamp = write_timestamps.get((question.queue, partition_index))
            if timestamp is None:
                return ClusterError("Partition set changed during collection")
            offsets[partition_index] = ConsumerOffset(
                partition_index=partition_index,
                offset=_offset(row),
                last_write_timestamp=timestamp,
                meta=_meta(row.get("meta")),
            )
        return offsets


def _offset(row: Mapping[str, Any]) -> int:
    """A null counts as 0."""
    return 0 if yson.is_null(row["offset"]) else int(row["offset"])


def _meta(value: Any) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        return {}
    return {key: int(value[key]) for key in _META_KEYS if not yson.is_null(value.get(key))}
