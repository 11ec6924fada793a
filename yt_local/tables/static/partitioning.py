"""Tables divided into pieces of about the same weight, for readers that work side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from yt_local.cypress.cypress_view import CypressView
from yt_local.security.permissions import Access
from yt_local.store.chunks import measure_chunks
from yt_local.store.model import Node
from yt_local.tables.static.read_ranges import parse_selection, selection_attributes
from yt_local.tables.static.static_tables import open_source
from yt_local.tables.static.table_reader import RowRange, StaticSource
from yt_local.tables.static.table_sizes import measure_tablet
from yt_local.tables.tablet_keys import key_to_yson
from yt_wire import yson
from yt_wire.ypath import RichPath

_RANGES: Final = ("ranges", "lower_limit", "upper_limit", "exact")
_LEAST_KEY: Final = yson.with_attributes(None, {"type": "min"})
_GREATEST_KEY: Final = yson.with_attributes(None, {"type": "max"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one table."""

    path: Any
    """With explicit ranges, whatever was asked for."""

    chunk_count: int
    data_weight: int
    row_count: int


def partition_table(view: CypressView, access: Access, path: RichPath, data_weight_per_piece: int) -> Iterator[Piece]:
    """Divide what a path selects; what is empty has no pieces.

    Static tables are cut between any two rows, dynamic ones between tablets, unless ranges were given for them.

    Raises:
        YtError: there is no table, or the user may not read it.
    """
    node = view.resolver.node(path.bare)
    access.check(node, "read")
    source = open_source(view.state.committed, node, path)
    if isinstance(source, StaticSource):
        yield from _static_pieces(view, node, path, source.locate(parse_selection(path)), data_weight_per_piece)
    else:
        yield from _dynamic_pieces(view, node, path)


def _static_pieces(
    view: CypressView, node: Node, path: RichPath, ranges: Sequence[RowRange], data_weight_per_piece: int
) -> Iterator[Piece]:
    chunks = view.state.committed.chunks.of(node.content)
    total = measure_chunks(chunks)
    for item in ranges:
        count = item.upper - item.lower
        weight = ceil(total.data_weight * count / total.row_count)
        step = max(ceil(count * data_weight_per_piece / max(weight, 1)), 1)
        for lower in range(item.lower, item.upper, step):
            upper = min(lower + step, item.upper)
            limits = {"lower_limit": {"row_index": lower}, "upper_limit": {"row_index": upper}}
            share = ceil(total.data_weight * (upper - lower) / total.row_count)
            yield Piece(_with_ranges(path, [limits]), len(chunks), share, upper - lower)


def _dynamic_pieces(view: CypressView, node: Node, path: RichPath) -> Iterator[Piece]:
    assert node.table is not None, "it has been opened"
    schema = node.table.schema
    keys = schema.key_columns
    tablets = view.state.committed.tablets.of(node.id)
    sizes = [measure_tablet(view.state.committed, schema, tablet) for tablet in tablets]
    given = selection_attributes(path).get("ranges", path.attributes.get("ranges"))
    if given is not None or any(name in path.attributes for name in _RANGES):
        ranges = [{name: path.attributes[name] for name in _RANGES[1:] if name in path.attributes}]
        yield Piece(
            _with_ranges(path, ranges if given is None else given),
            sum(size.chunk_count for size in sizes),
            sum(size.data_weight for size in sizes),
            sum(size.row_count for size in sizes),
        )
        return
    for index, (tablet, size) in enumerate(zip(tablets, sizes, strict=True)):
        if schema.is_sorted:
            is_last = index + 1 == len(tablets)
            lower: dict[str, Any] = {"key": key_to_yson(keys, tablet.pivot_key) or [_LEAST_KEY]}
            upper: dict[str, Any] = {
                "key": [_GREATEST_KEY] if is_last else key_to_yson(keys, tablets[index + 1].pivot_key)
            }
            is_empty = not size.row_count
        else:
            lower, upper = {"tablet_index": index}, {"tablet_index": index + 1}
            is_empty = tablet.trimmed_row_count >= tablet.total_row_count
        if not is_empty:
            limits = {"lower_limit": lower, "upper_limit": upper}
            yield Piece(_with_ranges(path, [limits]), size.chunk_count, size.data_weight, size.row_count)


def _with_ranges(path: RichPath, ranges: Sequence[Any]) -> Any:
    selected = {**path.attributes, **selection_attributes(path)}
    kept = {name: value for name, value in selected.items() if name not in _RANGES}
    return yson.with_attributes(path.bare, {**kept, "ranges": list(ranges)})
