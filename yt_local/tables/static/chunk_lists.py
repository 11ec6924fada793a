"""Chunk lists: how the chunks of a table or file hang together, as objects that only have attributes.

The list of an ordered dynamic table has one list for each tablet in it, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from yt_local.base.ids import OBJECT_TYPES
from yt_local.store.chunks import CHUNK_LIST_TYPE
from yt_local.store.model import Node, Tablet
from yt_local.store.state import ClusterState
from yt_local.tables.static.table_sizes import TableSize, measure_static, measure_table, measure_tablet
from yt_wire import yson
from yt_wire.guid import Guid

_OWNER_TYPES: Final = ("table", "file", "replicated_table")
_RANKS: Final = {True: 2, False: 1}
"""How deep the tree is below a list, by whether it is that of a whole dynamic table."""


def chunk_list_id(owner_id: str) -> str:
    """Of the list of a table, a file or a tablet: numbers of objects are unique whatever their type."""
    return _retyped(owner_id, CHUNK_LIST_TYPE)


@dataclass(frozen=True, slots=True)
class _ChunkList:
    id: str
    kind: str
    children: Sequence[str | _ChunkList]
    parent_ids: Sequence[str]
    row_count: int
    logical_row_count: int
    """Rows that were ever part of it, those of chunks that are gone included."""

    size: TableSize
    owner: Node

    @property
    def child_ids(self) -> list[str]:
        return [child if isinstance(child, str) else child.id for child in self.children]

    @property
    def rank(self) -> int:
        return _RANKS[any(isinstance(child, _ChunkList) for child in self.children)]

    def tree(self) -> Any:
        """The list with all that is in it."""
        return yson.with_attributes(
            [child if isinstance(child, str) else child.tree() for child in self.children],
            {"id": self.id, "rank": self.rank, "type": CHUNK_LIST_TYPE},
        )


def find_chunk_list(state: ClusterState, list_id: str, path_of: Callable[[Node], str]) -> Mapping[str, Any] | None:
    """Attributes of a chunk list; None if there is none of this id."""
    found = _find(state, list_id)
    if found is None:
        return None
    return {
        "id": list_id,
        "type": CHUNK_LIST_TYPE,
        "kind": found.kind,
        "child_ids": found.child_ids,
        "child_count": len(found.children),
        "trimmed_child_count": 0,
        "parent_ids": list(found.parent_ids),
        "statistics": {
            "row_count": found.row_count,
            "logical_row_count": found.logical_row_count,
            "data_weight": found.size.data_weight,
            "uncompressed_data_size": found.size.uncompressed_data_size,
            "compressed_data_size": found.size.uncompressed_data_size,
            "chunk_count": found.size.chunk_count,
            "logical_chunk_count": found.size.chunk_count,
            "rank": found.rank,
        },
        "tree": found.tree(),
        "owning_nodes": [path_of(found.owner)],
    }


def _find(state: ClusterState, list_id: str) -> _ChunkList | None:
    try:
        is_list = Guid.parse(list_id).object_type == OBJECT_TYPES[CHUNK_LIST_TYPE]
    except ValueError:
        return None
    if not is_list:
        return None
    for kind in _OWNER_TYPES:
        node = state.find_node(_retyped(list_id, kind))
        if node is not None:
            return _of_node(state, node)
    tablet_id = _retyped(list_id, "tablet")
    for node in state.tables():
        for tablet in state.tablets.of(node.id):
            if tablet.id == tablet_id:
                return _of_tablet(state, node, tablet)
    return None


def _of_node(state: ClusterState, node: Node) -> _ChunkList:
    own_id = chunk_list_id(node.id)
    if node.table is None or not node.table.dynamic:
        size = measure_static(state, node)
        return _ChunkList(own_id, "static", node.content.chunk_ids, (), size.row_count, size.row_count, size, node)
    lists = [_of_tablet(state, node, tablet) for tablet in state.tablets.of(node.id)]
    return _ChunkList(
        own_id,
        f"{_order(node)}_dynamic_root",
        lists,
        (),
        sum(one.row_count for one in lists),
        sum(one.logical_row_count for one in lists),
        measure_table(state, node.table.schema, state.tablets.of(node.id)),
        node,
    )


def _of_tablet(state: ClusterState, node: Node, tablet: Tablet) -> _ChunkList:
    assert node.table is not None, "what has tablets is a table"
    segments = state.tablets.segments(tablet)
    return _ChunkList(
        chunk_list_id(tablet.id),
        f"{_order(node)}_dynamic_tablet",
        [segment.chunk_id for segment in segments],
        (chunk_list_id(node.id),),
        sum(segment.row_count for segment in segments),
        tablet.flushed_row_count,
        measure_tablet(state, node.table.schema, tablet),
        node,
    )


def _order(node: Node) -> str:
    return "sorted" if node.table is not None and node.table.schema.is_sorted else "ordered"


def _retyped(object_id: str, object_type: str) -> str:
    """The id of another object that has its number from this one."""
    guid = Guid.parse(object_id)
    parts = (guid.second >> 32, guid.second & 0xFFFFFFFF, guid.first >> 32, guid.first & 0xFFFFFFFF)
    return str(Guid.from_parts(parts[0], parts[1], parts[2] & ~0xFFFF | OBJECT_TYPES[object_type], parts[3]))
