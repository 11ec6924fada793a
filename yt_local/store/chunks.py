"""Chunks: the immutable pieces that hold the rows of static tables and the bytes of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, NamedTuple

from yt_wire import yson

CHUNK_LIST_TYPE: Final = "chunk_list"
CHUNK_TYPE: Final = "chunk"

CHUNK_TYPES: Final = frozenset({CHUNK_TYPE, CHUNK_LIST_TYPE})
"""Objects that only have attributes, which nobody can change."""

OPAQUE_OF_CHUNK_LISTS: Final = frozenset({"tree", "owning_nodes"})


class KeyPart(NamedTuple):
    """A column rows are sorted by."""

    name: bytes
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is known of a chunk without looking into it.

    Its content is in the storage, in blocks: of a table by column, of a file as it is.
    """

    id: str
    block_sizes: tuple[int, ...]
    """Rows of every block; bytes, if the chunk is of a file."""

    data_weight: int
    uncompressed_data_size: int
    columns: tuple[bytes, ...] = ()
    """Every row has at most these; empty for files."""

    sort_columns: tuple[KeyPart, ...] = ()
    """What its rows are sorted by; a file's are none."""

    unique_keys: bool = False
    """No key stands in two rows of the chunk."""

    first_keys: tuple[tuple[Any, ...], ...] = ()
    """Values of `sort_columns` in the first row of every block."""

    last_key: tuple[Any, ...] = ()
    codec: str = "none"
    min_timestamp: int = 0
    max_timestamp: int = 0
    """Of the transactions that wrote the rows, if they were rows of a dynamic table; else of the upload."""

    @property
    def size(self) -> int:
        """Rows; bytes, if the chunk is of a file."""
        return sum(self.block_sizes)

    @property
    def block_starts(self) -> tuple[int, ...]:
        """Index of the first row or byte of every block."""
        return tuple(accumulate(self.block_sizes, initial=0))[:-1]

    def encode(self) -> bytes:
        record = {name: getattr(self, name) for name in self.__slots__}
        record["sort_columns"] = [list(part) for part in self.sort_columns]
        record["first_keys"] = [list(key) for key in self.first_keys]
        return yson.dumps({name: list(item) if isinstance(item, tuple) else item for name, item in record.items()})

    @classmethod
    def decode(cls, data: bytes) -> Chunk:
        record: dict[str, Any] = {name.decode(): item for name, item in yson.loads_raw(data).items()}
        record["id"] = record["id"].decode()
        record["codec"] = record["codec"].decode()
        record["sort_columns"] = [KeyPart(*part) for part in record["sort_columns"]]
        record["first_keys"] = [tuple(key) for key in record["first_keys"]]
        values: dict[str, Any] = {
            name: tuple(item) if isinstance(item, list) else item for name, item in record.items()
        }
        return cls(**values)


class ChunkStatistics(NamedTuple):
    """Of all chunks of a table or file together."""

    chunk_count: int = 0
    row_count: int = 0
    """Bytes, of a file."""

    data_weight: int = 0
    uncompressed_data_size: int = 0


def measure_chunks(chunks: Sequence[Chunk]) -> ChunkStatistics:
    return ChunkStatistics(
        len(chunks),
        sum(chunk.size for chunk in chunks),
        sum(chunk.data_weight for chunk in chunks),
        sum(chunk.uncompressed_data_size for chunk in chunks),
    )


def codec_statistics(chunks: Sequence[Chunk]) -> Mapping[str, Any]:
    """As in `@compression_statistics`: sizes by codec."""
    by_codec: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_codec.setdefault(chunk.codec, []).append(chunk)
    return {codec: _described(measure_chunks(group)) for codec, group in by_codec.items()}


def _described(statistics: ChunkStatistics) -> Mapping[str, int]:
    return {
        "chunk_count": statistics.chunk_count,
        "uncompressed_data_size": statistics.uncompressed_data_size,
        "compressed_data_size": statistics.uncompressed_data_size,
    }
