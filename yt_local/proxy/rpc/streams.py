"""Methods that read and write static tables and files, piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import closing
from typing import Any, Final

from yt_local.commands.command import Body
from yt_local.proxy.rpc.call import NOTHING, Call, Method, guid, reply
from yt_local.proxy.rpc.parameters import parameters, path_text
from yt_local.proxy.rpc.rowsets import NamedRowEncoder, decode_named_rows, pack_refs, unpack_refs
from yt_local.proxy.rpc.schemas import schema_message
from yt_local.schema.schema import Column, parse_schema
from yt_local.store.model import Node
from yt_wire import rpc, yson
from yt_wire.connection import Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.proto import api_pb2 as api
from yt_wire.ypath import parse_rich

_PIECE_BYTES: Final = 1 << 20
_INDEXES: Final = ("table_index", "range_index", "row_index")
_ALL_INDEXES: Final = (*_INDEXES, "tablet_index")


async def _read_table(call: Call, request: api.TReqReadTable) -> Reply:
    if request.desired_rowset_format != api.RF_YT_WIRE:
        raise YtError("Rows are served in wire format only, not as Arrow or in formats of commands")
    found = parameters(request, {"config": "table_reader", "format": ""})
    wanted = {name: bool(found.pop(f"enable_{name}", False)) for name in _INDEXES}
    found["control_attributes"] = {f"enable_{name}": value for name, value in wanted.items()}
    answer = await call.execute("read_table", found)
    with closing(answer.pieces):
        call.streams.incoming.discard()
        out = call.streams.outgoing
        node = _node(call, found)
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


async def _write_table(call: Call, request: api.TReqWriteTable) -> Reply:
    streams = call.streams
    found = parameters(request, {"config": "table_writer", "format": ""})
    if request.HasField("format"):
        raise YtError("Rows are taken in wire format only")
    node = _node(call, found, "write")  # others are not told the schema
    if node.table is None:
        raise YtError(f'Invalid type of {found["path"]}: expected "table", "{node.type}" found')
    schema = node.table.schema
    given = parse_rich(found["path"]).attributes.get("schema")
    if not yson.is_null(given):
        schema = parse_schema(given)
    await streams.outgoing.write(api.TWriteTableMeta(schema=schema_message(schema)).SerializeToString())
    await streams.outgoing.end()
    await call.execute("write_table", found, Body(batches=_batches(streams.incoming)))
    return NOTHING


async def _batches(blocks: AsyncIterable[bytes]) -> AsyncIterator[list[dict[bytes, Any]]]:
    """Rows of blocks, each of which names the columns that no block had before."""
    names: list[bytes] = []
    async for block in blocks:
        parts = unpack_refs(block)
        if len(parts) != 2:
            raise YtError(f"A block of rows has {len(parts)} parts", ErrorCode.PROTOCOL)
        message = rpc.parse(api.TRowsetDescriptor, parts[0])
        names += [entry.name for entry in message.name_table_entries]
        yield [row.values for row in decode_named_rows(names, parts[1])]


async def _read_file(call: Call, request: api.TReqReadFile) -> Reply:
    found = parameters(request, {"config": "file_reader"})
    answer = await call.execute("read_file", found)
    with closing(answer.pieces):
        call.streams.incoming.discard()
        out = call.streams.outgoing
        node = _node(call, found)
        meta = api.TReadFileMeta(revision=node.revision, id=guid(node.id))
        await out.write(meta.SerializeToString())
        for piece in answer.pieces:
            for start in range(0, len(piece), _PIECE_BYTES):
                await out.write(piece[start : start + _PIECE_BYTES])
            await asyncio.sleep(0)  # others get their turn
        await out.close()
    return NOTHING


async def _write_file(call: Call, request: api.TReqWriteFile) -> Reply:
    streams = call.streams
    found = parameters(request, {"config": "file_writer"})
    _node(call, found)
    await streams.outgoing.end()
    await call.execute("write_file", found, Body(pieces=aiter(streams.incoming)))
    return NOTHING


def _node(call: Call, found: dict[str, Any], *permissions: str) -> Node:
    """The node a request is about, as its transaction sees it; YtError 901 if the user has none of the permissions."""
    transaction_id = found.get("transaction_id")
    view = call.cluster.view(transaction_id)
    node = view.resolver.node(parse_rich(found["path"]).bare)
    if permissions:
        call.cluster.session_of(call.session.access.user, transaction_id).access.check(node, *permissions)
    return node


async def _partition_tables(call: Call, request: api.TReqPartitionTables) -> Reply:
    answer = await call.execute("partition_tables", {"paths": [], **parameters(request)})
    message = api.TRspPartitionTables()
    for partition in answer["partitions"]:
        message.partitions.add(
            table_ranges=map(path_text, partition["table_ranges"]),
            aggregate_statistics=partition["aggregate_statistics"],
        )
    return reply(message)


METHODS: Final = (
    Method(api.TReqPartitionTables, _partition_tables),
    Method(api.TReqReadTable, _read_table),
    Method(api.TReqWriteTable, _write_table, takes_pieces=True),
    Method(api.TReqReadFile, _read_file),
    Method(api.TReqWriteFile, _write_file, takes_pieces=True),
)
