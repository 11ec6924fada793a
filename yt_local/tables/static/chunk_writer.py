"""Chunks of a static table in the making: rows in, blocks and chunks out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from yt_local.store.chunks import Chunk, KeyPart
from yt_local.tables.static.chunk_blocks import ABSENT, encode_column
from yt_local.tables.static.chunk_keys import encode_key, encode_keys
from yt_local.tables.static.row_batches import Batch
from yt_wire import yson
from yt_wire.error import YtError

SORT_ORDER_VIOLATION: Final = 301
UNIQUE_KEY_VIOLATION: Final = 306

BLOCK_ROWS: Final = 2048
"""Rows are best handed over in batches of this size: each becomes a block."""

_CHUNK_ROWS: Final = 16 * BLOCK_ROWS
_CHUNK_BYTES: Final = 16 * 2**20

Blob = tuple[int, bytes, bytes]
"""Number of the block, name of the column, its values."""


class FinishedChunk(NamedTuple):
    """A chunk and all that is in it."""

    chunk: Chunk
    blobs: Sequence[Blob]


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """What chunks are to be like."""

    sort_columns: tuple[KeyPart, ...] = ()
    """Rows have to come in this order."""

    unique_keys: bool = False
    codec: str = "lz4"
    bytes_limit: int = _CHUNK_BYTES
    """A chunk ends when it is about so big."""


class ChunkWriter:
    """Makes chunks of batches of rows.

    Args:
        options: what they are to be like.
        next_id: gives ids to chunks.
        last_key: key of the last row that is in the table already, if rows are to continue it in order.
    """

    def __init__(
        self, options: ChunkOptions, next_id: Callable[[], str], last_key: Sequence[Any] | None = None
    ) -> None:
        self._options = options
        self._next_id = next_id
        self._last_key = None if last_key is None else encode_key(options.sort_columns, last_key)
        self._last_values: tuple[Any, ...] = tuple(last_key or ())
        self._start()

    def _start(self) -> None:
        self._blobs: list[Blob] = []
        self._block_sizes: list[int] = []
        self._first_keys: list[tuple[Any, ...]] = []
        self._columns: dict[bytes, None] = {}
        self._data_weight = 0
        self._bytes = 0

    def write(self, batch: Batch) -> FinishedChunk | None:
        """Add rows; returns a chunk when one is full.

        Raises:
            YtError: 301 if the rows are not in order, 306 if a key comes twice and must not.
        """
        if batch.row_count == 0:
            return None
        if self._options.sort_columns:
            self._check_order(batch)
        for name, values in batch.columns.items():
            data = encode_column(values)
            self._blobs.append((len(self._block_sizes), name, data))
            self._bytes += len(data)
            self._columns[name] = None
        self._block_sizes.append(batch.row_count)
        self._data_weight += batch.data_weight
        if self._bytes >= self._options.bytes_limit or sum(self._block_sizes) >= _CHUNK_ROWS:
            return self.finish()
        return None

    def finish(self) -> FinishedChunk | None:
        """The last chunk; None if there are no rows for one."""
        if not self._block_sizes:
            return None
        chunk = Chunk(
            id=self._next_id(),
            block_sizes=tuple(self._block_sizes),
            data_weight=self._data_weight,
            uncompressed_data_size=self._bytes,
            columns=tuple(self._columns),
            sort_columns=self._options.sort_columns,
            unique_keys=self._options.unique_keys,
            first_keys=tuple(self._first_keys),
            last_key=self._last_values,
            codec=self._options.codec,
        )
        finished = FinishedChunk(chunk, self._blobs)
        self._start()
        return finished

    def _check_order(self, batch: Batch) -> None:
        parts = self._options.sort_columns
        columns = [_key_column(batch.columns, part.name, batch.row_count) for part in parts]
        keys = encode_keys(parts, columns)
        before = [self._last_key] if self._last_key is not None else []
        for position, (lower, upper) in enumerate(pairwise([*before, *keys])):
            if lower < upper or (lower == upper and not self._options.unique_keys):
                continue
            here = position + 1 - len(before)
            upper_values = [column[here] for column in columns]
            lower_values = [column[here - 1] for column in columns] if here else self._last_values
            if lower == upper:
                raise YtError(f"Duplicate key {_shown(upper_values)}", UNIQUE_KEY_VIOLATION)
            raise YtError(
                f"Sort order violation: {_shown(lower_values)} > {_shown(upper_values)}", SORT_ORDER_VIOLATION
            )
        self._first_keys.append(tuple(column[0] for column in columns))
        self._last_values = tuple(column[-1] for column in columns)
        self._last_key = keys[-1]


def _key_column(columns: Mapping[bytes, Sequence[Any]], name: bytes, row_count: int) -> Sequence[Any]:
    """Values of a key column; a row that does not have it has a null there."""
    values = columns.get(name)
    if values is None:
        return [None] * row_count
    return [None if value is ABSENT else value for value in values]


def _shown(values: Iterable[Any]) -> str:
    return yson.dumps(list(values), "text").decode("latin-1")
