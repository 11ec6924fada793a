"""write_table: rows into a static table."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, Parameters, RichPathParameter, Transactional
from yt_local.calls.manual import OVER_LIMITS, WRITTEN_BY_OTHERS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.rowsets import decode_named_rows, unpack_refs
from yt_local.calls.schemas import schema_message
from yt_local.cluster import Cluster
from yt_local.formats.format import InputRow
from yt_local.schema.schema import Column, parse_schema
from yt_local.session import Session
from yt_local.tables.static.chunk_writer import BLOCK_ROWS
from yt_local.tables.static.row_batches import WeightLimits
from yt_local.tables.static.static_tables import TableUpload
from yt_wire import rpc, yson
from yt_wire.connection import Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.proto import api_pb2 as api
from yt_wire.ypath import parse_rich

Bytes = Annotated[int, Field(gt=0, lt=2**63)]


class _TableWriter(Parameters):
    desired_chunk_size: Bytes | None = None
    max_row_weight: Bytes = WeightLimits().row
    max_key_weight: Bytes = WeightLimits().key


class _WriteTable(Transactional):
    path: RichPathParameter
    table_writer: Annotated[_TableWriter, BeforeValidator(lambda value: {} if value is None else value)] = (
        _TableWriter()
    )
    """Clients send null for no settings."""


async def _write_table(cluster: Cluster, session: Session, parameters: _WriteTable, body: Body) -> Any:
    writer = parameters.table_writer
    limits = WeightLimits(writer.max_row_weight, writer.max_key_weight)
    table = TableUpload(
        lambda: cluster.view(session.transaction_id),
        session.access.user,
        parameters.path,
        limits,
        writer.desired_chunk_size,
    )
    with table.upload:
        async for rows in _batches(body, table.columns):
            table.write(rows)
            await asyncio.sleep(0)  # others get their turn
        table.commit()
    return {}


async def _batches(body: Body, columns: Sequence[Column]) -> AsyncIterator[Sequence[InputRow]]:
    """Rows as they come, so many at a time that each batch is a block."""
    held: list[InputRow] = []
    async for rows in body.batches or _decoded(body, columns):
        held += rows
        while len(held) >= BLOCK_ROWS:
            yield held[:BLOCK_ROWS]
            held = held[BLOCK_ROWS:]
    for start in range(0, len(held), BLOCK_ROWS):
        yield held[start : start + BLOCK_ROWS]


async def _decoded(body: Body, columns: Sequence[Column]) -> AsyncIterator[list[InputRow]]:
    assert body.pieces is not None
    reader = body.row_format.row_reader(columns)
    async for piece in body.pieces:
        yield reader.feed(piece)
    yield reader.finish()


COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "write_table",
        "tabular",
        "structured",
        is_volatile=True,
        is_heavy=True,
        parameters=_WriteTable,
        run=_write_table,
        changes=True,
        transactions="taken",
        takes_pieces=True,
        manual=Manual(
            "Replaces the rows of a static table, or adds to them with `<append=%true>`; all at once, at the end.",
            errors={
                1: "a dynamic table; attributes of the path that contradict each other or the table's schema",
                301: "rows are not in the order of the schema's keys",
                307: "a row does not go with the schema; keys that have to be unique are not",
                402: WRITTEN_BY_OTHERS,
                500: "no such node: `write_table` of the HTTP API makes none, clients make it before",
                902: OVER_LIMITS,
            },
            ignored=("max_row_buffer_size",),
            refused="`chunk_sort_columns` and `chunk_unique_keys` in the path.",
            differs="Computed columns are not filled in; of a column that a row has twice the last value counts.",
            parameters={
                "path": "the table, with `append`, `schema`, `sorted_by`, `optimize_for`, `compression_codec`, ...",
                "table_writer": "map of `max_row_weight`, `max_key_weight` and `desired_chunk_size` "
                "(no effect), in bytes",
            },
        ),
    ),
)


async def _rpc_write_table(call: Call, request: api.TReqWriteTable) -> Reply:
    streams = call.streams
    found = request_parameters(request, {"config": "table_writer", "format": ""})
    if request.HasField("format"):
        raise YtError("Rows are taken in wire format only")
    node = call.node(found, "write")  # others must not learn the schema
    if node.table is None:
        raise YtError(f'Invalid type of {found["path"]}: expected "table", "{node.type}" found')
    schema = node.table.schema
    given = parse_rich(found["path"]).attributes.get("schema")
    if not yson.is_null(given):
        schema = parse_schema(given)
    await streams.outgoing.write(api.TWriteTableMeta(schema=schema_message(schema)).SerializeToString())
    await streams.outgoing.end()
    await call.execute("write_table", found, Body(batches=_rpc_batches(streams.incoming)))
    return NOTHING


async def _rpc_batches(blocks: AsyncIterable[bytes]) -> AsyncIterator[list[dict[bytes, Any]]]:
    """Rows of blocks, each of which names the columns that no block had before."""
    names: list[bytes] = []
    async for block in blocks:
        parts = unpack_refs(block)
        if len(parts) != 2:
            raise YtError(f"A block of rows has {len(parts)} parts", ErrorCode.PROTOCOL)
        message = rpc.parse(api.TRowsetDescriptor, parts[0])
        names += [entry.name for entry in message.name_table_entries]
        yield [row.values for row in decode_named_rows(names, parts[1])]


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqWriteTable, _rpc_write_table, takes_pieces=True),)
