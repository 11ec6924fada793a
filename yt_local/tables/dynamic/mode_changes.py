"""Static tables made dynamic and dynamic ones made static: the rows move, the ids of chunks stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from yt_local.base.clock import LATEST_TIMESTAMP
from yt_local.schema.keys import KeyEncoder, Row
from yt_local.schema.rows import data_weight, encode_values, value_parser
from yt_local.schema.schema import CUMULATIVE_DATA_WEIGHT, TIMESTAMP, TableSchema, is_system_column
from yt_local.store.chunks import Chunk
from yt_local.store.model import Content, Segment, Tablet
from yt_local.store.state import ClusterState
from yt_local.store.storage import OrderedRow
from yt_local.tables.dynamic.segments import flush
from yt_local.tables.static.chunk_writer import BLOCK_ROWS, ChunkOptions, ChunkWriter, FinishedChunk
from yt_local.tables.static.dynamic_sources import ordered_row_reader, row_reader
from yt_local.tables.static.row_batches import BatchReader, WeightLimits
from yt_local.tables.static.table_content import TableContent, key_parts
from yt_wire.error import YtError

_NO_LIMITS = WeightLimits(row=2**62, key=2**62)
_SYSTEM_VALUE_WEIGHT = 8


def make_static(state: ClusterState, schema: TableSchema, tablets: Sequence[Tablet], codec: str) -> Content:
    """Turn what unmounted tablets hold into chunks and delete the tablets; part of a change.

    Segments come whole: rows of theirs that had been trimmed are back.
    """
    chunk_ids: list[str] = []
    for tablet in tablets:
        if schema.is_sorted:
            chunk_ids += _sorted_chunks(state, schema, tablet, codec)
        else:
            tablet = flush(state, tablet)
            for segment in state.tablets.segments(tablet):
                chunk_ids += _segment_chunks(state, schema, tablet, segment, codec)
        state.tablets.delete(tablet)
    return Content(tuple(chunk_ids))


def make_dynamic(state: ClusterState, schema: TableSchema, chunks: Sequence[Chunk], tablet: Tablet) -> None:
    """Give an empty tablet the rows of chunks; part of a change.

    Raises:
        YtError: a row cannot be one of a dynamic table with the schema.
    """
    if schema.is_sorted:
        _fill_sorted(state, schema, chunks, tablet)
    else:
        _fill_ordered(state, schema, chunks, tablet)


def _segment_chunks(
    state: ClusterState, schema: TableSchema, tablet: Tablet, segment: Segment, codec: str
) -> Iterator[str]:
    row_of = ordered_row_reader(schema)
    stored = state.storage.marked_rows(tablet.number, segment.row_index, segment.upper_row_index)
    rows = (row_of(row.value, row.timestamp, row.cumulative_data_weight) for row in stored)
    first_ids = iter([] if state.chunks.find(segment.chunk_id) else [segment.chunk_id])
    for finished in _written(rows, schema, codec, lambda: next(first_ids, None) or state.ids.next("chunk")):
        chunk = replace(finished.chunk, min_timestamp=segment.min_timestamp, max_timestamp=segment.max_timestamp)
        state.chunks.put(chunk, finished.blobs)
        yield chunk.id


def _sorted_chunks(state: ClusterState, schema: TableSchema, tablet: Tablet, codec: str) -> Iterator[str]:
    row_of = row_reader(schema.columns)
    stored = state.storage.sorted_rows(tablet.number, b"", None, LATEST_TIMESTAMP)
    rows = (row_of(row.value) for row in stored)
    for finished in _written(rows, schema, codec, lambda: state.ids.next("chunk")):
        stamp = tablet.last_write_timestamp
        state.chunks.put(replace(finished.chunk, min_timestamp=stamp, max_timestamp=stamp), finished.blobs)
        yield finished.chunk.id


def _written(
    rows: Iterator[dict[bytes, Any]], schema: TableSchema, codec: str, next_id: Callable[[], str]
) -> Iterator[FinishedChunk]:
    given = tuple(replace(column, expression=None) for column in schema.columns)
    reader = BatchReader(replace(schema, columns=given), _NO_LIMITS)
    writer = ChunkWriter(ChunkOptions(key_parts(schema), schema.unique_keys, codec), next_id)
    while batch := list(islice(rows, BLOCK_ROWS)):
        if finished := writer.write(reader.read(batch)):
            yield finished
    if finished := writer.finish():
        yield finished


def _fill_ordered(state: ClusterState, schema: TableSchema, chunks: Sequence[Chunk], tablet: Tablet) -> None:
    values_of = _stored_values(schema)
    fixed = _SYSTEM_VALUE_WEIGHT * sum(is_system_column(column.name) for column in schema.columns)
    row_index = weight = last_timestamp = 0
    for chunk in chunks:
        first_index, first_weight, stamps = row_index, weight, []
        stored = []
        for row in _rows(state, schema, chunk):
            values = values_of(row)
            weight = _own(row, CUMULATIVE_DATA_WEIGHT) or weight + data_weight(values) + fixed
            stamps.append(_own(row, TIMESTAMP) or chunk.max_timestamp)
            stored.append(OrderedRow(row_index, stamps[-1], weight, encode_values(values)))
            row_index += 1
        state.storage.append_rows(tablet.number, stored)
        last_timestamp = max(last_timestamp, *stamps)
        segment = Segment(chunk.id, first_index, len(stored), weight - first_weight, min(stamps), max(stamps))
        state.tablets.add_segment(tablet, segment)
    state.tablets.put(
        replace(
            tablet,
            total_row_count=row_index,
            flushed_row_count=row_index,
            cumulative_data_weight=weight,
            flushed_data_weight=weight,
            last_write_timestamp=last_timestamp,
        )
    )


def _fill_sorted(state: ClusterState, schema: TableSchema, chunks: Sequence[Chunk], tablet: Tablet) -> None:
    values_of = _stored_values(schema)
    encoder = KeyEncoder(schema.key_columns)
    timestamp = max((chunk.max_timestamp for chunk in chunks), default=0)
    rows = chain.from_iterable(_rows(state, schema, chunk) for chunk in chunks)
    while batch := [values_of(row) for row in islice(rows, BLOCK_ROWS)]:
        versions = [(encoder.encode(values), encode_values(values), None) for values in batch]
        state.storage.put_versions(tablet.number, timestamp, versions)
    state.tablets.put(replace(tablet, last_write_timestamp=timestamp))


def _rows(state: ClusterState, schema: TableSchema, chunk: Chunk) -> Iterator[dict[bytes, Any]]:
    content = TableContent([chunk], key_parts(schema), state.storage.chunk_blob)
    for _, rows in content.rows(0, chunk.size):
        yield from rows


def _stored_values(schema: TableSchema) -> Callable[[dict[bytes, Any]], Row]:
    """What makes of a row what a tablet stores of it."""
    plan = [
        (column.name.encode(), value_parser(column)) for column in schema.columns if not is_system_column(column.name)
    ]
    return lambda row: tuple(parse(row.get(name)) for name, parse in plan)


def _own(row: dict[bytes, Any], name: str) -> int:
    """What a row itself says in a system column; 0 if nothing."""
    value = row.get(name.encode())
    return int(value) if isinstance(value, int) else 0


def check_becomes_dynamic(old: TableSchema, new: TableSchema, has_rows: bool) -> None:
    """YtError if rows of a static table may be no rows of a dynamic one."""
    if has_rows and new.is_sorted and not old.unique_keys:
        raise YtError('Cannot make a sorted table dynamic: its schema must have "unique_keys" set to "true"')
