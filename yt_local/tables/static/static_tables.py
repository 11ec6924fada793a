"""Static tables: writing their rows, and opening tables of all kinds to be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yt_local.base.clock import LATEST_TIMESTAMP, NULL_TIMESTAMP
from yt_local.cypress.cypress_view import CypressView
from yt_local.schema.schema import Column
from yt_local.store.chunks import Chunk
from yt_local.store.model import Node, TableState, Tablet
from yt_local.store.retained_rows import ReadWindow
from yt_local.store.state import ClusterState
from yt_local.tables.static.chunk_writer import ChunkOptions, ChunkWriter
from yt_local.tables.static.dynamic_sources import OrderedSource, SortedSource
from yt_local.tables.static.row_batches import BatchReader, WeightLimits
from yt_local.tables.static.table_content import TableContent, key_parts
from yt_local.tables.static.table_reader import Source, StaticSource
from yt_local.tables.static.upload_plans import plan_upload
from yt_local.tables.static.uploads import Upload
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.ypath import RichPath


class TableUpload:
    """Rows on their way into a static table.

    Args:
        find_view: see `Upload`.
        user: who writes.
        path: of the table, with attributes that say how to write.
        limits: of the weights of rows.
        chunk_size: bytes of a chunk.

    Raises:
        YtError: there is no static table, or it cannot be written to like this.
    """

    def __init__(
        self,
        find_view: Callable[[], CypressView],
        user: str,
        path: RichPath,
        limits: WeightLimits,
        chunk_size: int | None,
    ) -> None:
        view = find_view()
        node = view.resolver.node(path.bare)
        table = static_table(node, path.bare)
        committed = view.state.committed
        chunks = committed.chunks.of(node.content)
        self._plan = plan_upload(path.attributes, table, sum(chunk.size for chunk in chunks))
        schema = self._plan.table.schema
        sort_columns = key_parts(schema)
        codec = self._plan.attributes.get("compression_codec", view.attributes.find(node, "compression_codec")[1])
        options = ChunkOptions(sort_columns, schema.unique_keys, str(codec))
        if chunk_size is not None:
            options = ChunkOptions(sort_columns, schema.unique_keys, str(codec), chunk_size)
        self.upload = Upload(find_view, user, node, append=self._plan.append, exclusive=self._plan.exclusive)
        last_key = _last_key(chunks, sort_columns) if self._plan.append and sort_columns else None
        self._writer = ChunkWriter(options, self.upload.next_chunk_id, last_key)
        self._reader = BatchReader(schema, limits)

    @property
    def columns(self) -> Sequence[Column]:
        """Of the table as it will be."""
        return self._plan.table.schema.columns

    def write(self, rows: Sequence[Mapping[bytes, Any]]) -> None:
        """Add rows, best in batches of `BLOCK_ROWS`."""
        self.upload.keep(self._writer.write(self._reader.read(rows)))

    def commit(self) -> None:
        """Make the rows part of the table."""
        self.upload.keep(self._writer.finish())
        self.upload.commit(table=self._plan.table, attributes=self._plan.attributes)


def _last_key(chunks: Sequence[Chunk], sort_columns: Sequence[Any]) -> Sequence[Any] | None:
    """The key of the last row, by the columns that rows are to be sorted by from now on."""
    if not chunks:
        return None
    last = chunks[-1]
    by_name = dict(zip((part.name for part in last.sort_columns), last.last_key, strict=True))
    return [by_name.get(part.name) for part in sort_columns]


def static_table(node: Node, path: str) -> TableState:
    """What a static table is like; YtError if the node is none."""
    if node.table is None:
        raise YtError(f'Invalid type of {path}: expected "table", "{node.type}" found')
    if node.table.dynamic:
        raise YtError(f"Table {path} is dynamic: rows are written into it by other commands")
    return node.table


def open_content(state: ClusterState, node: Node) -> TableContent:
    """The rows of a static table."""
    assert node.table is not None
    return TableContent(state.chunks.of(node.content), key_parts(node.table.schema), state.storage.chunk_blob)


def open_source(state: ClusterState, node: Node, path: RichPath) -> Source:
    """A table of any kind, to be read; YtError if the node is none."""
    table = node.table
    if table is None:
        raise YtError(f'Invalid type of {path.bare}: expected "table", "{node.type}" found')
    if not table.dynamic:
        return StaticSource(open_content(state, node), table.schema)
    tablets = state.tablets.of(node.id)
    if table.schema.is_sorted:
        window = ReadWindow(
            _timestamp(path, "timestamp", LATEST_TIMESTAMP), _timestamp(path, "retention_timestamp", NULL_TIMESTAMP)
        )
        return SortedSource(tablets, table.schema, state.storage, window)
    if "retention_timestamp" in path.attributes:
        raise YtError(f"Retention timestamps are of sorted tables, and {path.bare} is ordered")
    return OrderedSource([(tablet, _first_row(state, tablet)) for tablet in tablets], table.schema, state.storage)


def _timestamp(path: RichPath, name: str, default: int) -> int:
    timestamp = path.attributes.get(name, default)
    if isinstance(timestamp, bool) or not isinstance(timestamp, int):
        raise YtError(f'Path attribute "{name}" must be a number, got {yson.shown(timestamp)}')
    return int(timestamp)


def _first_row(state: ClusterState, tablet: Tablet) -> int:
    """Where the first segment that is left begins, or the rows that are part of none."""
    segments = state.tablets.segments(tablet)
    return segments[0].row_index if segments else max(tablet.trimmed_row_count, tablet.flushed_row_count)
