from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queue_agent.adapters.cluster.consumer_offsets import OffsetsQuestion, OffsetsReader, OffsetsTable
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire import yson

A = CrossClusterRef("pythia", "//tmp/a")
B = CrossClusterRef("hume", '//tmp/"b"')

Row = Mapping[str, Any]


def versions(*written: tuple[Any, int]) -> list[Any]:
    """A column, as (value, timestamp), newest first."""
    return [yson.with_attributes(value, {"timestamp": yson.Uint64(timestamp)}) for value, timestamp in written]


def row(
    queue: CrossClusterRef,
    partition_index: int,
    offset: int | None,
    *,
    written: tuple[int, ...] = (7, 5),
    deleted: tuple[int, ...] = (),
    **columns: Any,
) -> Row:
    return yson.with_attributes(  # type: ignore[no-any-return] # YSON is of any type
        {
            "queue_cluster": queue.cluster,
            "queue_path": queue.path,
            "partition_index": partition_index,
            "offset": versions((offset, written[0])) if written else [],
            **columns,
        },
        {
            "write_timestamps": [yson.Uint64(one) for one in written],
            "delete_timestamps": [yson.Uint64(one) for one in deleted],
        },
    )


class Tables:
    """A consumer table with some rows."""

    def __init__(self, *rows: Row) -> None:
        self.rows = {(one["queue_path"], one["partition_index"]): one for one in rows}
        self.lookups: list[list[Row]] = []

    async def lookup_versioned(self, path: str, keys: list[Row]) -> list[Any]:
        self.lookups.append(keys)
        found = (self.rows.get((key["queue_path"], key["partition_index"])) for key in keys)
        return [one for one in found if one is not None]


async def read(
    tables: Tables, partition_count: int, *, with_meta: bool = False, name: str = ""
) -> Mapping[int, ConsumerOffset]:
    """Offsets of the first queue."""
    table = OffsetsTable("//tmp/c", with_meta, name)
    return (await OffsetsReader(tables).read(table, {A: partition_count}))[A]


async def test_an_offset_comes_with_the_newest_time_its_row_was_written() -> None:
    assert await read(Tables(row(A, 1, 42)), 2) == {1: ConsumerOffset(1, 42, 7)}


async def test_all_queues_are_asked_for_in_one_lookup_of_all_their_partitions() -> None:
    tables = Tables(row(A, 0, 1), row(B, 0, 2), row(B, 3, 3))
    offsets = await OffsetsReader(tables).read(OffsetsTable("//tmp/c", with_meta=False), {A: 2, B: 4})
    assert offsets[A] == {0: ConsumerOffset(0, 1, 7)}
    assert offsets[B] == {0: ConsumerOffset(0, 2, 7), 3: ConsumerOffset(3, 3, 7)}
    [keys] = tables.lookups
    asked = [(key["queue_cluster"], key["queue_path"], key["partition_index"]) for key in keys]
    assert asked == [(*A[:2], 0), (*A[:2], 1), *((*B[:2], index) for index in range(4))]
    assert all(isinstance(key["partition_index"], yson.Uint64) for key in keys)


async def test_without_partitions_nothing_is_looked_up() -> None:
    tables = Tables(row(A, 0, 1))
    assert await read(tables, 0) == {}
    assert not tables.lookups


async def test_offsets_alone_are_asked_for_by_many_at_once() -> None:
    tables = Tables(row(A, 0, 1), row(A, 1, 2), row(B, 0, 3))
    questions = [OffsetsQuestion(A, 1), OffsetsQuestion(B, 1), OffsetsQuestion(A, 2)]
    table = OffsetsTable("//tmp/c", with_meta=False)
    assert await OffsetsReader(tables).read_next_row_indexes(table, questions) == [{0: 1}, {0: 3}, {0: 1, 1: 2}]
    assert len(tables.lookups) == 1


async def test_a_named_consumer_is_looked_up_by_its_name() -> None:
    tables = Tables(row(A, 0, 1))
    await read(tables, 1, name="x")
    assert [list(key.values()) for key in tables.lookups[0]] == [["x", A.cluster, A.path, 0]]


async def test_a_null_offset_is_zero() -> None:
    assert await read(Tables(row(A, 0, None)), 1) == {0: ConsumerOffset(0, 0, 7)}


async def test_a_consumer_without_rows_has_no_offsets() -> None:
    assert await read(Tables(), 1) == {}


async def test_a_deleted_row_is_none_until_it_is_written_again() -> None:
    deleted = row(A, 0, 1, written=(5,), deleted=(8, 3))
    never_written = row(A, 1, None, written=(), deleted=(8,))
    revived = row(A, 2, 4, written=(9, 5), deleted=(8,))
    assert await read(Tables(deleted, never_written, revived), 3) == {2: ConsumerOffset(2, 4, 9)}


async def test_what_a_row_held_before_it_was_deleted_does_not_come_back() -> None:
    old_meta = versions(({"cumulative_data_weight": 3}, 5))
    revived = row(A, 0, 4, written=(9, 5), deleted=(8,), meta=old_meta)
    assert await read(Tables(revived), 1, with_meta=True) == {0: ConsumerOffset(0, 4, 9)}


async def test_meta_is_read_where_the_table_has_it() -> None:
    meta = {"cumulative_data_weight": 951, "offset_timestamp": yson.Uint64(5), "other": "x"}
    tables = Tables(
        row(A, 0, 1, meta=versions((meta, 7), ({"cumulative_data_weight": 1}, 5))),
        row(A, 1, 1, meta=versions(({"cumulative_data_weight": None}, 7))),
        row(A, 2, 1, meta=versions((None, 7))),
        row(A, 3, 1),
    )
    offsets = await read(tables, 4, with_meta=True)
    known = {"cumulative_data_weight": 951, "offset_timestamp": 5}
    assert [offsets[index].meta for index in range(4)] == [known, {}, {}, {}]
