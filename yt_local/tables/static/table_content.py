"""The rows of a static table: by index, by key, a block at a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from yt_local.schema.schema import TableSchema
from yt_local.store.chunks import Chunk, KeyPart
from yt_local.tables.static.chunk_blocks import ABSENT, decode_column, rows_of
from yt_local.tables.static.chunk_keys import encode_key, encode_keys

ReadBlob: TypeAlias = Callable[[str, int, bytes], bytes | None]
"""A column of a block of a chunk, as it is stored; None if the block does not have it."""


class TableContent:
    """Reads the chunks of one table.

    Args:
        chunks: in the order of their rows.
        parts: what the table is sorted by; its chunks may know of more columns, or of fewer.
        read_blob: gives what is in the chunks.
    """

    def __init__(self, chunks: Sequence[Chunk], parts: Sequence[KeyPart], read_blob: ReadBlob) -> None:
        self._chunks = chunks
        self._parts = parts
        self._read_blob = read_blob
        self._starts = list(accumulate((chunk.size for chunk in chunks), initial=0))

    @property
    def row_count(self) -> int:
        return self._starts[-1]

    def chunk_start(self, chunk_index: int) -> int:
        """Index of the first row of a chunk; of none there is, the end."""
        return self._starts[min(max(chunk_index, 0), len(self._chunks))]

    def lower_bound(self, key: bytes) -> int:
        """Index of the first row that is not below a key; the row count if all are."""
        last_keys = [self._key(chunk, chunk.last_key) for chunk in self._chunks]
        index = bisect_left(last_keys, key)
        if index == len(self._chunks):
            return self.row_count
        chunk = self._chunks[index]
        first_keys = [self._key(chunk, values) for values in chunk.first_keys]
        block = max(bisect_left(first_keys, key) - 1, 0)
        row = bisect_left(self._block_keys(chunk, block), key)
        return self._starts[index] + chunk.block_starts[block] + row

    def rows(
        self, lower: int, upper: int, columns: Sequence[bytes] | None = None
    ) -> Iterator[tuple[int, list[dict[bytes, Any]]]]:
        """Rows with `lower <= index < upper`, a block or less at a time, each time with the index of the first.

        Args:
            lower: first row.
            upper: behind the last row.
            columns: those to read; None for all.
        """
        index = max(bisect_right(self._starts, lower) - 1, 0)
        for chunk, start in zip(self._chunks[index:], self._starts[index:], strict=False):
            for block, block_start in enumerate(chunk.block_starts):
                first = start + block_start
                size = chunk.block_sizes[block]
                if first >= upper:
                    return
                begin, end = max(lower - first, 0), min(upper - first, size)
                if begin < end:
                    yield first + begin, self._block_rows(chunk, block, begin, end, columns)

    def _block_rows(
        self, chunk: Chunk, block: int, begin: int, end: int, columns: Sequence[bytes] | None
    ) -> list[dict[bytes, Any]]:
        wanted = chunk.columns if columns is None else [name for name in chunk.columns if name in columns]
        found = {}
        for name in wanted:
            data = self._read_blob(chunk.id, block, name)
            if data is not None:
                found[name] = decode_column(data)[begin:end]
        return rows_of(found, end - begin)

    def _key(self, chunk: Chunk, values: Sequence[Any]) -> bytes:
        """A key of a chunk as one of the table: what the chunk does not know of is null."""
        by_name = dict(zip((part.name for part in chunk.sort_columns), values, strict=True))
        return encode_key(self._parts, [by_name.get(part.name) for part in self._parts])

    def _block_keys(self, chunk: Chunk, block: int) -> list[bytes]:
        columns = []
        for part in self._parts:
            data = self._read_blob(chunk.id, block, part.name)
            values = [ABSENT] * chunk.block_sizes[block] if data is None else decode_column(data)
            columns.append([None if value is ABSENT else value for value in values])
        return encode_keys(self._parts, columns)


def key_parts(schema: TableSchema) -> tuple[KeyPart, ...]:
    """What the rows of a table with this schema are sorted by."""
    return tuple(KeyPart(column.name.encode(), column.sort_order == "descending") for column in schema.key_columns)
