"""Attributes of what consists of chunks: tables and files; and of the chunks themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from yt_local.cypress.resolver import Resolver
from yt_local.store.chunks import CHUNK_LIST_TYPE, CHUNK_TYPE, Chunk, codec_statistics
from yt_local.store.model import Node, Segment
from yt_local.store.state import ClusterState
from yt_local.tables.static.chunk_lists import chunk_list_id, find_chunk_list
from yt_local.tables.static.table_sizes import TableSize, measure_static, measure_table
from yt_wire import yson

Computed: TypeAlias = tuple[Callable[[Node], bool], Callable[[Node], Any]]
"""Whether a node has an attribute, and its value."""


_NODE_MEMORY: Final = 100
"""Bytes of master memory a node is said to take."""


def content_attributes(state: ClusterState) -> Mapping[str, Computed]:
    """By name."""

    def size(node: Node) -> TableSize:
        return measure_content(state, node)

    def chunks(node: Node) -> Sequence[Chunk]:
        return state.chunks.of(node.content)

    return {
        "row_count": (_is_static_table, lambda node: size(node).row_count),
        "chunk_row_count": (_is_table, lambda node: size(node).row_count),
        "chunk_count": (_has_chunks, lambda node: size(node).chunk_count),
        "chunk_list_id": (_has_chunks, lambda node: chunk_list_id(node.id)),
        "chunk_ids": (_has_chunks, lambda node: list(_chunk_ids(state, node))),
        "data_weight": (_is_table, lambda node: size(node).data_weight),
        "uncompressed_data_size": (_has_chunks, lambda node: size(node).uncompressed_data_size),
        "compressed_data_size": (_has_chunks, lambda node: size(node).uncompressed_data_size),
        "compression_ratio": (_has_chunks, lambda node: 1.0 if size(node).uncompressed_data_size else 0.0),
        "compression_statistics": (_has_chunks, lambda node: dict(codec_statistics(chunks(node)))),
        "resource_usage": (_has_chunks, lambda node: _resource_usage(size(node))),
        "optimize_for_statistics": (_is_table, lambda node: _by_name(_optimize_for(node), size(node))),
        "table_chunk_format_statistics": (_is_table, lambda node: _by_name(_chunk_format(node), size(node))),
        "update_mode": (_has_chunks, lambda _: "none"),
        "boundary_keys": (_is_sorted_static_table, lambda node: _boundary_keys(chunks(node))),
        "md5": (lambda node: node.type == "file" and node.content.md5 is not None, lambda node: node.content.md5),
    }


def measure_content(state: ClusterState, node: Node) -> TableSize:
    """Size of a table or file."""
    if node.table is not None and node.table.dynamic:
        return measure_table(state, node.table.schema, state.tablets.of(node.id))
    return measure_static(state, node)


def find_chunk_object(state: ClusterState, resolver: Resolver, chunk_id: str) -> Node | None:
    """A chunk or a list of chunks as an object: a node that is nowhere in the tree and only has attributes."""
    of_list = find_chunk_list(state, chunk_id, resolver.path_of)
    if of_list is not None:
        return _object(chunk_id, CHUNK_LIST_TYPE, of_list)
    chunk = state.chunks.find(chunk_id)
    attributes = _of_chunk(chunk) if chunk else _of_segment(_find_segment(state, chunk_id))
    if attributes is None:
        return None
    owners = [resolver.path_of(node) for node in state.chunk_owners() if chunk_id in _chunk_ids(state, node)]
    named = {"id": chunk_id, "type": CHUNK_TYPE, "owning_nodes": owners, "confirmed": True, **attributes}
    return _object(chunk_id, CHUNK_TYPE, named)


def _object(object_id: str, object_type: str, attributes: Mapping[str, Any]) -> Node:
    return Node(
        id=object_id,
        type=object_type,
        parent_id=None,
        name=object_id,
        creation_time="",
        modification_time="",
        revision=0,
        attribute_revision=0,
        content_revision=0,
        attributes=dict(attributes),
    )


def _of_chunk(chunk: Chunk) -> dict[str, Any]:
    return {
        "row_count": chunk.size,
        "data_weight": chunk.data_weight,
        "uncompressed_data_size": chunk.uncompressed_data_size,
        "compressed_data_size": chunk.uncompressed_data_size,
        "compression_codec": chunk.codec,
        "min_timestamp": yson.Uint64(chunk.min_timestamp),
        "max_timestamp": yson.Uint64(chunk.max_timestamp),
    }


def _of_segment(segment: Segment | None) -> dict[str, Any] | None:
    if segment is None:
        return None
    return {
        "row_count": segment.row_count,
        "data_weight": segment.data_weight,
        "uncompressed_data_size": segment.data_weight,
        "compressed_data_size": segment.data_weight,
        "min_timestamp": yson.Uint64(segment.min_timestamp),
        "max_timestamp": yson.Uint64(segment.max_timestamp),
    }


def _find_segment(state: ClusterState, chunk_id: str) -> Segment | None:
    tablets = (tablet for node in state.tables() for tablet in state.tablets.of(node.id))
    segments = (segment for tablet in tablets for segment in state.tablets.segments(tablet))
    return next((segment for segment in segments if segment.chunk_id == chunk_id), None)


def _chunk_ids(state: ClusterState, node: Node) -> Iterator[str]:
    yield from node.content.chunk_ids
    for tablet in state.tablets.of(node.id):
        for segment in state.tablets.segments(tablet):
            yield segment.chunk_id


def _resource_usage(size: TableSize) -> dict[str, Any]:
    return {
        "node_count": 1,
        "chunk_count": size.chunk_count,
        "disk_space": size.uncompressed_data_size,
        "disk_space_per_medium": {"default": size.uncompressed_data_size} if size.uncompressed_data_size else {},
        "master_memory": _NODE_MEMORY,
        "tablet_count": 0,
        "tablet_static_memory": 0,
    }


def _by_name(name: str, size: TableSize) -> dict[str, Any]:
    """Sizes of the chunks, which all have the format that the table has now."""
    if not size.chunk_count:
        return {}
    sizes = {
        "chunk_count": size.chunk_count,
        "uncompressed_data_size": size.uncompressed_data_size,
        "compressed_data_size": size.uncompressed_data_size,
        "data_weight": size.data_weight,
        "max_block_size": size.uncompressed_data_size // size.chunk_count,
    }
    return {name: sizes}


def _optimize_for(node: Node) -> str:
    return str(node.attributes.get("optimize_for", "scan"))


def _chunk_format(node: Node) -> str:
    is_scan = _optimize_for(node) == "scan"
    assert node.table is not None
    if node.table.dynamic and node.table.schema.is_sorted:
        return "table_versioned_columnar" if is_scan else "table_versioned_simple"
    return "table_unversioned_columnar" if is_scan else "table_unversioned_schemaless_horizontal"


def _boundary_keys(chunks: Sequence[Chunk]) -> dict[str, Any]:
    if not chunks:
        return {}
    return {"min_key": list(chunks[0].first_keys[0]), "max_key": list(chunks[-1].last_key)}


def _is_table(node: Node) -> bool:
    return node.table is not None


def _is_static_table(node: Node) -> bool:
    return node.table is not None and not node.table.dynamic


def _is_sorted_static_table(node: Node) -> bool:
    return node.table is not None and not node.table.dynamic and node.table.schema.is_sorted


def _has_chunks(node: Node) -> bool:
    return node.table is not None or node.type == "file"
