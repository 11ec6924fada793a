"""Files: their bytes in pieces, and the cache that finds files by what is in them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

from yt_local.cypress.cypress_view import CypressView
from yt_local.cypress.subtrees import CopyOptions
from yt_local.security.permissions import Access
from yt_local.store.chunks import Chunk
from yt_local.store.model import Node
from yt_local.store.state import ClusterState
from yt_local.tables.static.chunk_writer import FinishedChunk
from yt_local.tables.static.upload_plans import is_append, storage_attributes
from yt_local.tables.static.uploads import Upload
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import RichPath

BLOCK_BYTES: Final = 2**20
_CHUNK_BLOCKS: Final = 16
_BLOB_NAME: Final = b""


class FileUpload:
    """Bytes on their way into a file.

    Args:
        find_view: see `Upload`.
        user: who writes.
        path: of the file, with attributes that say how to write.
        compute_md5: let the file tell the hash of all its bytes.

    Raises:
        YtError: there is no file, or it cannot be written to like this.
    """

    def __init__(self, find_view: Callable[[], CypressView], user: str, path: RichPath, *, compute_md5: bool) -> None:
        view = find_view()
        node = file_node(view, path.bare)
        append = is_append(path.attributes)
        self._attributes = storage_attributes(path.attributes)
        if append and compute_md5 and node.content.chunk_ids and node.content.md5 is None:
            raise YtError(
                f"Non-empty file {path.bare} has no computed MD5 hash thus cannot append data and update the hash"
            )
        codec = self._attributes.get("compression_codec", view.attributes.find(node, "compression_codec")[1])
        self._codec = str(codec)
        self.upload = Upload(find_view, user, node, append=append, exclusive=not append or compute_md5)
        self._hash = hashlib.md5(usedforsecurity=False) if compute_md5 else None
        self._blocks: list[bytes] = []
        self._rest = bytearray()
        if self._hash and append:
            for piece in read_bytes(view.state.committed, node, 0, None):
                self._hash.update(piece)

    def write(self, data: bytes) -> None:
        """Add bytes."""
        if self._hash:
            self._hash.update(data)
        self._rest += data
        while len(self._rest) >= BLOCK_BYTES:
            self._blocks.append(bytes(self._rest[:BLOCK_BYTES]))
            del self._rest[:BLOCK_BYTES]
            if len(self._blocks) == _CHUNK_BLOCKS:
                self._finish_chunk()

    def commit(self) -> None:
        """Make the bytes part of the file."""
        if self._rest:
            self._blocks.append(bytes(self._rest))
        self._finish_chunk()
        self.upload.commit(md5=self._hash.hexdigest() if self._hash else None, attributes=self._attributes)

    def _finish_chunk(self) -> None:
        if not self._blocks:
            return
        sizes = tuple(map(len, self._blocks))
        chunk = Chunk(
            id=self.upload.next_chunk_id(),
            block_sizes=sizes,
            data_weight=sum(sizes),
            uncompressed_data_size=sum(sizes),
            codec=self._codec,
        )
        self.upload.keep(FinishedChunk(chunk, [(index, _BLOB_NAME, block) for index, block in enumerate(self._blocks)]))
        self._blocks = []


def file_node(view: CypressView, path: str) -> Node:
    """A file; YtError if something else is at the path."""
    node = view.resolver.node(path)
    if node.type != "file":
        raise YtError(f'Invalid type of {path}: expected "file", "{node.type}" found')
    return node


def read_bytes(state: ClusterState, node: Node, offset: int, length: int | None) -> Iterator[bytes]:
    """Bytes of a file from an offset on, in pieces of a block or less; what is behind the end is left out.

    Args:
        state: where the chunks are.
        node: the file.
        offset: of the first byte.
        length: how many at most; None for all.
    """
    end = None if length is None else offset + length
    start = 0
    for chunk in state.chunks.of(node.content):
        for block, size in enumerate(chunk.block_sizes):
            lower = max(offset - start, 0)
            upper = size if end is None else min(end - start, size)
            if lower < upper:
                data = state.storage.chunk_blob(chunk.id, block, _BLOB_NAME)
                assert data is not None, "a chunk has all its blocks"
                yield data[lower:upper]
            start += size


class FileCache:
    """Files found by the hash of their content, below one directory."""

    def __init__(self, view: CypressView, access: Access, cache_path: str) -> None:
        self._view = view
        self._access = access
        self._cache_path = cache_path

    def find(self, md5: str) -> str:
        """Path of the file with the hash; an empty string if there is none."""
        path = self._path(md5)
        if path is None or not self._view.cypress.exists(self._access, path):
            return ""
        node = self._view.resolver.node(path)
        if node.content.md5 != md5:
            return ""
        self._touch(path)
        return path

    def put(self, path: str, md5: str) -> str:
        """Copy a file into the cache, unless it is there already; returns its path there.

        Raises:
            YtError: the file's hash is not known, or is another one; there is no cache.
        """
        node = file_node(self._view, path)
        if node.content.md5 != md5:
            known = "is not computed" if node.content.md5 is None else f'is "{node.content.md5}"'
            raise YtError(f'Failed to check MD5 of file {path}: expected "{md5}", hash of the file {known}')
        cache = self._view.resolver.node(self._cache_path)
        self._access.check(cache, "use", "write")
        found = self.find(md5)
        if found:
            return found
        destination = self._path(md5)
        assert destination is not None, "the hash is one of a file"
        self._view.cypress.copy(self._access, path, destination, CopyOptions(recursive=True, force=True))
        self._touch(destination)
        return destination

    def _path(self, md5: str) -> str | None:
        """Where a file with the hash is to be; None for what can be no hash."""
        return f"{self._cache_path}/{md5[-2:]}/{md5}" if md5 and md5.isalnum() else None

    def _touch(self, path: str) -> None:
        """Show that the file is wanted; who may only read cannot, and need not."""
        try:
            self._view.cypress.set(self._access, f"{path}/@touched", True)
        except YtError as error:
            if error.find(ErrorCode.AUTHORIZATION, ErrorCode.CYPRESS_LOCK_CONFLICT) is None:
                raise
