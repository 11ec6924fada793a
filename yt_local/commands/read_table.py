"""read_table: rows of a table, piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing
from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, Parameters, RichPathParameter, Stream, Transactional
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.rowsets import NamedRowEncoder, pack_refs
from yt_local.calls.schemas import schema_message
from yt_local.cluster import Cluster
from yt_local.formats.format import RowShape
from yt_local.schema.schema import Column
from yt_local.security.permissions import Access
from yt_local.session import Session
from yt_local.store.model import Node
from yt_local.tables.static.read_ranges import Selection, parse_selection
from yt_local.tables.static.static_tables import open_source
from yt_local.tables.static.table_reader import ControlAttributes, Piece, response_parameters, with_control_records
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api

_INDEXES: Final = ("table_index", "range_index", "row_index")

_ALL_INDEXES: Final = (*_INDEXES, "tablet_index")


class _ControlAttributes(Parameters):
    enable_table_index: bool = False
    enable_range_index: bool = False
    enable_row_index: bool = False
    enable_tablet_index: bool = False

    @property
    def wanted(self) -> ControlAttributes:
        return ControlAttributes(
            table_index=self.enable_table_index,
            range_index=self.enable_range_index,
            row_index=self.enable_row_index,
            tablet_index=self.enable_tablet_index,
        )


class _ReadTable(Transactional):
    path: RichPathParameter
    control_attributes: _ControlAttributes = _ControlAttributes()
    unordered: bool = False
    start_row_index_only: bool = False
    table_reader: dict[str, Any] | None = None
    omit_inaccessible_columns: bool = False


async def _read_table(cluster: Cluster, session: Session, parameters: _ReadTable, _: Body) -> Stream:
    view = cluster.view(session.transaction_id)
    node = view.resolver.node(parameters.path.bare)
    session.access.check(node, "read")
    selection = parse_selection(parameters.path)
    omitted = _omitted(session.access, node, selection, omit=parameters.omit_inaccessible_columns)
    source = open_source(cluster.state, node, parameters.path)
    ranges = source.locate(selection)
    wanted = [] if parameters.start_row_index_only else ranges
    pieces = with_control_records(
        _without(source.pieces(wanted, selection.columns), omitted), parameters.control_attributes.wanted
    )
    assert node.table is not None
    columns = None if selection.columns is None else [name for name in selection.columns if name not in omitted]
    shape = RowShape(node.table.schema.columns, columns, is_table=True)
    told = {**response_parameters(ranges), "omitted_inaccessible_columns": [name.decode() for name in sorted(omitted)]}
    return Stream(cluster.state.chunks.pinned(node.content.chunk_ids, pieces), told, shape)


def _omitted(access: Access, node: Node, selection: Selection, *, omit: bool) -> AbstractSet[bytes]:
    """Columns that the reader may not see; YtError 901 if there are some and they are not to be left out."""
    wanted = None if selection.columns is None else [name.decode() for name in selection.columns]
    if not omit:
        access.check_columns(node, wanted)
    return {name.encode() for name in access.denied_columns(node, wanted)}


def _without(pieces: Iterator[Piece], omitted: AbstractSet[bytes]) -> Iterator[Piece]:
    if not omitted:
        yield from pieces
        return
    for piece in pieces:
        rows = [{name: value for name, value in row.items() if name not in omitted} for row in piece.rows]
        yield piece._replace(rows=rows)


COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "read_table",
        "null",
        "tabular",
        is_volatile=False,
        is_heavy=True,
        parameters=_ReadTable,
        run=_read_table,
        transactions="taken",
        manual=Manual(
            "Rows of a table, or the columns and ranges that its path names.",
            "Rows, with control attributes between them if asked for; the response parameters have `start_row_index` "
            "and `approximate_row_count`.",
            {1: "no table; ranges that do not go with it", 500: "no such node"},
            ignored=("unordered", "table_reader", "omit_inaccessible_rows"),
            differs="Rows of dynamic tables are read whatever state their tablets are in. An error "
            "after the first MiB cuts the "
            "answer off.",
            parameters={
                "path": "the table, with columns and ranges",
                "control_attributes": "map of `enable_row_index`, `enable_range_index`, `enable_table_index`, "
                "`enable_tablet_index`",
                "unordered": "no effect: the order is kept",
                "start_row_index_only": "no rows, the response parameters alone",
                "table_reader": "no effect",
                "omit_inaccessible_columns": "columns that the user may not read are left out; the response parameter "
                "`omitted_inaccessible_columns` names them. Else they are an error 901",
            },
        ),
    ),
)


async def _rpc_read_table(call: Call, request: api.TReqReadTable) -> Reply:
    if request.desired_rowset_format != api.RF_YT_WIRE:
        raise YtError("Rows are served in wire format only, not as Arrow or in formats of commands")
    found = request_parameters(request, {"config": "table_reader", "format": ""})
    wanted = {name: bool(found.pop(f"enable_{name}", False)) for name in _INDEXES}
    found["control_attributes"] = {f"enable_{name}": value for name, value in wanted.items()}
    answer = await call.execute("read_table", found)
    with closing(answer.pieces):
        call.streams.incoming.discard()
        out = call.streams.outgoing
        node = call.node(found)
        assert node.table is not None, "the command has read it"
        told = answer.response_parameters
        statistics = api.TRowsetStatistics(
            total_row_count=told["approximate_row_count"], data_statistics=api.TDataStatistics()
        )
        meta = api.TRspReadTableMeta(
            start_row_index=told.get("start_row_index", 0),
            statistics=statistics,
            schema=schema_message(node.table.schema),
        )
        await out.write(meta.SerializeToString())
        shown_statistics = statistics.SerializeToString()
        encoder = NamedRowEncoder([*node.table.schema.columns, *(Column(f"${name}", "int64") for name in _ALL_INDEXES)])
        for rows in _with_indexes(answer.pieces, wanted):
            message, content = encoder.encode(rows)
            await out.write(pack_refs([pack_refs([message.SerializeToString(), content]), shown_statistics]))
            await asyncio.sleep(0)  # others get their turn
        message, content = encoder.encode([])
        await out.write(pack_refs([pack_refs([message.SerializeToString(), content]), shown_statistics]))
        await out.close()
    return NOTHING


def _with_indexes(pieces: Iterator[list[Any]], wanted: dict[str, bool]) -> Iterator[list[dict[bytes, Any]]]:
    """Rows with what control records say of them as columns of their own; there are no empty batches."""
    if not any(wanted.values()):
        yield from filter(None, pieces)
        return
    current: dict[bytes, int] = {}
    for piece in pieces:
        rows = []
        for item in piece:
            if yson.is_null(item):
                current |= {f"${name}".encode(): int(value) for name, value in yson.attributes_of(item).items()}
                continue
            rows.append({**item, **current})
            if wanted["row_index"]:
                current[b"$row_index"] += 1
        if rows:
            yield rows


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqReadTable, _rpc_read_table),)
