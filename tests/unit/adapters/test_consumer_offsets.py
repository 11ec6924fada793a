from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queue_agent.adapters.consumer_offsets import OffsetsQuestion, OffsetsReader, OffsetsTable
from queue_agent.core.observed import ConsumerOffset
from queue_agent.core.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.wire import yson

A = CrossClusterRef("pythia", "//tmp/a")
B = CrossClusterRef("hume", '//tmp/"b"')


def row(queue: CrossClusterRef, partition_index: int | None, offset: int | None, **more: Any) -> Mapping[str, Any]:
    return {
        "queue_cluster": queue.cluster,
        "queue_path": queue.path,
        "partition_index": partition_index,
        "offset": offset,
        **more,
    }


class Tables:
    """A consumer table that answers every query with all its rows."""

    name = "hume"

    def __init__(self, *rows: Mapping[str, Any]) -> None:
        self.rows = rows
        self.gone: set[tuple[str, int]] = set()
        self.queries: list[str] = []
        self.lookups: list[list[Mapping[str, Any]]] = []

    async def select_all(self, subject: str, queries: Sequence[str]) -> list[list[Mapping[str, Any]]]:
        self.queries += queries
        return [list(self.rows) if query is queries[0] else [] for query in queries]

    async def lookup_versioned(self, path: str, keys: list[Mapping[str, Any]]) -> list[Any]:
        self.lookups.append(keys)
        return [
            yson.with_attributes(
                {**key, "offset": [1]},
                {"write_timestamps": [yson.Uint64(7 << 30), yson.Uint64(5 << 30)], "delete_timestamps": []},
            )
            for key in keys
            if (key["queue_path"], key["partition_index"]) not in self.gone
        ]


async def read(
    tables: Tables, *questions: OffsetsQuestion, with_meta: bool = False
) -> list[Mapping[int, ConsumerOffset] | ClusterError]:
    return await OffsetsReader(tables).read(OffsetsTable("//tmp/c", with_meta), questions)


async def test_an_offset_comes_with_the_newest_time_its_row_was_written() -> None:
    [offsets] = await read(Tables(row(A, 1, 42)), OffsetsQuestion(A, 2))
    assert offsets == {1: ConsumerOffset(1, 42, 7 << 30)}


async def test_all_queues_are_asked_for_in_one_query_and_one_lookup() -> None:
    tables = Tables(row(A, 0, 1), row(B, 0, 2), row(B, 3, 3))
    first, second, again = await read(tables, OffsetsQuestion(A, 2), OffsetsQuestion(B, 4), OffsetsQuestion(A, 2))
    assert first == again == {0: ConsumerOffset(0, 1, 7 << 30)}
    assert second == {0: ConsumerOffset(0, 2, 7 << 30), 3: ConsumerOffset(3, 3, 7 << 30)}
    assert tables.queries == [
        "[queue_cluster], [queue_path], [partition_index], [offset] from [//tmp/c]"
        " where ([partition_index] between 0u and 3u)"
        ' and ([queue_cluster], [queue_path]) in (("pythia", "//tmp/a"), ("hume", "//tmp/\\"b\\""))'
    ]
    assert len(tables.lookups) == 1


async def test_very_many_queues_take_several_queries() -> None:
    tables = Tables()
    questions = [OffsetsQuestion(CrossClusterRef("pythia", "//tmp/" + "x" * 500 + str(i)), 1) for i in range(20)]
    await read(tables, *questions)
    assert len(tables.queries) > 1
    assert all(len(query) < 6000 for query in tables.queries)


async def test_partitions_the_queue_does_not_have_are_left_out() -> None:
    [offsets] = await read(Tables(row(A, 0, 1), row(A, 5, 1)), OffsetsQuestion(A, 5))
    assert offsets == {0: ConsumerOffset(0, 1, 7 << 30)}


async def test_a_null_offset_is_zero_and_a_null_partition_is_none() -> None:
    [offsets] = await read(Tables(row(A, 0, None), row(A, None, 5)), OffsetsQuestion(A, 1))
    assert offsets == {0: ConsumerOffset(0, 0, 7 << 30)}


async def test_without_rows_nothing_is_looked_up() -> None:
    tables = Tables()
    assert await read(tables, OffsetsQuestion(A, 1)) == [{}]
    assert not tables.lookups


async def test_a_row_that_goes_away_in_between_fails_its_queue_only() -> None:
    tables = Tables(row(A, 0, 1), row(B, 0, 2))
    tables.gone.add((A.path, 0))
    first, second = await read(tables, OffsetsQuestion(A, 1), OffsetsQuestion(B, 1))
    assert isinstance(first, ClusterError)
    assert first.message == "Partition set changed during collection"
    assert second == {0: ConsumerOffset(0, 2, 7 << 30)}


async def test_meta_is_read_where_the_table_has_it() -> None:
    meta = {"cumulative_data_weight": 951, "offset_timestamp": yson.Uint64(5), "other": "x"}
    tables = Tables(
        row(A, 0, 1, meta=meta), row(A, 1, 1, meta={"cumulative_data_weight": None}), row(A, 2, 1, meta=None)
    )
    [offsets] = await read(tables, OffsetsQuestion(A, 3), with_meta=True)
    assert isinstance(offsets, Mapping)
    assert [offsets[i].meta for i in range(3)] == [{"cumulative_data_weight": 951, "offset_timestamp": 5}, {}, {}]
    assert "[meta]" in tables.queries[0]
