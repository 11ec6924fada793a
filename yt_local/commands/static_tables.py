"""Commands on static tables, and on what tables and files have in common."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from yt_local.cluster import Cluster
from yt_local.commands.command import (
    Body,
    Command,
    Parameters,
    RichPathParameter,
    Stream,
    Transactional,
    volatile,
)
from yt_local.formats.format import InputRow, RowShape
from yt_local.schema.schema import Column
from yt_local.session import Session
from yt_local.tables.static.chunk_writer import BLOCK_ROWS
from yt_local.tables.static.concatenation import concatenate
from yt_local.tables.static.read_ranges import parse_selection
from yt_local.tables.static.row_batches import WeightLimits
from yt_local.tables.static.static_tables import TableUpload, open_source
from yt_local.tables.static.table_reader import ControlAttributes, response_parameters, with_control_records

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


class _Concatenate(Transactional):
    source_paths: list[RichPathParameter]
    destination_path: RichPathParameter


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


async def _read_table(cluster: Cluster, session: Session, parameters: _ReadTable, _: Body) -> Stream:
    view = cluster.view(session.transaction_id)
    node = view.resolver.node(parameters.path.bare)
    session.access.check(node, "read")
    selection = parse_selection(parameters.path)
    source = open_source(cluster.state, node, parameters.path)
    ranges = source.locate(selection)
    wanted = [] if parameters.start_row_index_only else ranges
    pieces = with_control_records(source.pieces(wanted, selection.columns), parameters.control_attributes.wanted)
    assert node.table is not None
    shape = RowShape(node.table.schema.columns, selection.columns, is_table=True)
    return Stream(cluster.state.chunks.pinned(node.content.chunk_ids, pieces), response_parameters(ranges), shape)


async def _concatenate(cluster: Cluster, session: Session, parameters: _Concatenate, _: Body) -> Any:
    concatenate(
        cluster.view,
        session.access.user,
        parameters.transaction_id,
        parameters.source_paths,
        parameters.destination_path,
    )
    return {}


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
    ),
    Command(
        "read_table",
        "null",
        "tabular",
        is_volatile=False,
        is_heavy=True,
        parameters=_ReadTable,
        run=_read_table,
        transactions="taken",
    ),
    volatile("concatenate", _Concatenate, _concatenate, transactions="taken"),
)
