"""The chunks of a cluster: which there are, and which are needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from typing import TypeVar

from yt_local.store.chunks import Chunk
from yt_local.store.model import Content
from yt_local.store.storage import Storage

T = TypeVar("T")


class ChunkTable:
    """Records of chunks; a chunk stays until neither a node nor a pin needs it.

    Args:
        storage: what was there before, and where changes go.
        changes: how to undo the change under way.
    """

    def __init__(self, storage: Storage, changes: Callable[[], list[Callable[[], None]]]) -> None:
        self._storage = storage
        self._changes = changes
        self._chunks: dict[str, Chunk] = {}
        self._pins: Counter[str] = Counter()
        self.may_be_loose = True
        """Whether there can be chunks that nothing needs any more."""
        for record in storage.chunks():
            chunk = Chunk.decode(record)
            self._chunks[chunk.id] = chunk

    @property
    def ids(self) -> Collection[str]:
        """Of all chunks there are."""
        return self._chunks.keys()

    def find(self, chunk_id: str) -> Chunk | None:
        return self._chunks.get(chunk_id)

    def of(self, content: Content) -> Sequence[Chunk]:
        """The chunks of a table or file."""
        return [self._chunks[chunk_id] for chunk_id in content.chunk_ids]

    def put(self, chunk: Chunk, blobs: Iterable[tuple[int, bytes, bytes]]) -> None:
        """Keep a new chunk; part of a change."""
        self._storage.put_chunk(chunk.id, chunk.encode(), blobs)
        self._changes().append(lambda: self._forget(chunk.id))
        self._chunks[chunk.id] = chunk
        self.may_be_loose = True

    def pin(self, chunk_ids: Iterable[str]) -> None:
        """Keep chunks, whatever becomes of the nodes they are part of, until as many `unpin`."""
        self._pins.update(chunk_ids)

    def unpin(self, chunk_ids: Iterable[str]) -> None:
        self._pins.subtract(chunk_ids)
        self._pins = +self._pins
        self.may_be_loose = True

    def pinned(self, chunk_ids: Iterable[str], pieces: Iterator[T]) -> Generator[T]:
        """The same pieces, with chunks kept from the first to the last, or until the generator is closed."""
        chunk_ids = list(chunk_ids)
        self.pin(chunk_ids)
        try:
            yield from pieces
        finally:
            self.unpin(chunk_ids)

    def collect(self, contents: Iterable[Content]) -> None:
        """Forget the chunks that neither any of the contents nor a pin needs."""
        needed = {chunk_id for content in contents for chunk_id in content.chunk_ids} | set(self._pins)
        loose = [chunk_id for chunk_id in self._chunks if chunk_id not in needed]
        if loose:
            with self._storage.transaction():
                for chunk_id in loose:
                    self._storage.delete_chunk(chunk_id)
            for chunk_id in loose:
                self._forget(chunk_id)
        self.may_be_loose = False

    def _forget(self, chunk_id: str) -> None:
        del self._chunks[chunk_id]
