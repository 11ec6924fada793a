"""get_table_columnar_statistics: how much is in which columns of tables."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, RichPathParameter, Transactional, light
from yt_local.calls.manual import NO_SUCH_NODE, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.single_rows import serialized_values
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.static.columnar_statistics import ColumnStatistics
from yt_local.tables.static.read_ranges import parse_selection
from yt_local.tables.static.static_tables import open_source
from yt_local.tables.view import TableView
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api
from yt_wire.ypath import RichPath


class _Statistics(Transactional):
    paths: list[RichPathParameter]


async def _get_statistics(cluster: Cluster, session: Session, parameters: _Statistics, _: Body) -> Any:
    view = cluster.view(session.transaction_id)
    return [await _statistics_of(cluster, session, view, path) for path in parameters.paths]


async def _statistics_of(cluster: Cluster, session: Session, view: TableView, path: RichPath) -> dict[str, Any]:
    node = view.resolver.node(path.bare)
    session.access.check(node, "read")
    selection = parse_selection(path)
    session.access.check_columns(node, None if selection.columns is None else map(bytes.decode, selection.columns))
    source = open_source(cluster.state, node, path)
    assert node.table is not None, "it has been opened"
    names: Sequence[bytes] = [column.name.encode() for column in node.table.schema.columns]
    if selection.columns is not None:
        names = selection.columns
    elif not names:
        raise YtError(f'Table "{path.bare}" does not have schema and column selector is not specified')
    statistics = ColumnStatistics(names)
    pieces = source.pieces(source.locate(selection), names)
    for piece in cluster.state.chunks.pinned(node.content.chunk_ids, pieces):
        statistics.add(piece.rows)
        await asyncio.sleep(0)  # others get their turn
    return statistics.to_map()


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "get_table_columnar_statistics",
        _Statistics,
        _get_statistics,
        Manual(
            "How much is in the columns of tables.",
            "A list with a map for each path: `column_data_weights`, `column_min_values`, `column_max_values`, "
            "`column_non_null_value_counts` by name of the column, `chunk_row_count`, and `legacy_chunk_row_count` and "
            "`legacy_chunks_data_weight`, which are 0.",
            {1: "no table; a table without a schema, and no columns in its path", 500: NO_SUCH_NODE},
            ignored=("fetcher_mode", "max_chunks_per_node_fetch", "enable_early_finish"),
            differs="All rows are read. Columns with values that are lists or maps have null for both extremes.",
            parameters={"paths": "the tables, with columns and ranges; all columns of the schema if none are named"},
        ),
        transactions="taken",
    ),
)


async def _rpc_get_statistics(call: Call, request: api.TReqGetColumnarStatistics) -> Reply:
    paths = [yson.loads(path if isinstance(path, bytes) else path.encode()) for path in request.paths]
    parameters = {**request_parameters(request, {"paths": ""}), "paths": paths}
    answer = await call.execute("get_table_columnar_statistics", parameters)
    return reply(api.TRspGetColumnarStatistics(statistics=map(_statistics_message, answer)))


def _statistics_message(found: Mapping[str, Any]) -> api.TColumnarStatistics:
    """Columns have no names here: they are in the order in which the caller names them."""
    return api.TColumnarStatistics(
        column_data_weights=found["column_data_weights"].values(),
        column_min_values=serialized_values(list(found["column_min_values"].values())),
        column_max_values=serialized_values(list(found["column_max_values"].values())),
        column_non_null_value_counts=found["column_non_null_value_counts"].values(),
        chunk_row_count=found["chunk_row_count"],
        legacy_chunk_row_count=found["legacy_chunk_row_count"],
    )


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqGetColumnarStatistics, _rpc_get_statistics),)
