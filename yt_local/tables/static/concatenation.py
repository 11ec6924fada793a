"""Concatenation: tables or files put together without a look at what is in their chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from yt_local.cypress.cypress_view import CypressView
from yt_local.schema.rows import SCHEMA_VIOLATION
from yt_local.schema.schema import TableSchema
from yt_local.schema.schema_compatibility import check_compatible
from yt_local.store.chunks import Chunk, KeyPart
from yt_local.store.locks import EXCLUSIVE, SHARED
from yt_local.store.model import Node, TableState
from yt_local.tables.static.chunk_keys import encode_key
from yt_local.tables.static.chunk_writer import SORT_ORDER_VIOLATION, UNIQUE_KEY_VIOLATION
from yt_local.tables.static.table_content import key_parts
from yt_local.tables.static.upload_plans import WEAK_SCHEMA, is_append
from yt_local.tables.static.uploads import put_content
from yt_wire.error import YtError
from yt_wire.ypath import RichPath

_TYPES: Final = ("table", "file")


def concatenate(
    find_view: Callable[[str | None], CypressView],
    user: str,
    transaction_id: str | None,
    sources: Sequence[RichPath],
    destination: RichPath,
) -> None:
    """Give a table or file the content of others, in place of its own or behind it.

    Args:
        find_view: gives the tree as a transaction sees it.
        user: who asks.
        transaction_id: what the command is part of; a source may name another one to be seen from.
        sources: in their order; a sorted destination takes their chunks in the order of keys.
        destination: it is to be there.

    Raises:
        YtError: types or schemas do not go together, or rows do not come in order.
    """
    view = find_view(transaction_id)
    committed = view.state.committed
    with view.state.change(), view.attributes.limits.kept():
        nodes = [_source(find_view, user, transaction_id, path) for path in sources]
        node = view.resolver.node(destination.bare)
        view.permissions.access(user).check(node, "write")
        _check_types([*zip(sources, nodes, strict=True), (destination, node)])
        append = is_append(destination.attributes)
        chunks = [chunk for source in nodes for chunk in committed.chunks.of(source.content)]
        table = node.table
        if table is not None:
            table = _output_table(list(zip(sources, nodes, strict=True)), destination, table, append=append)
            parts = key_parts(table.schema)
            if not table.weak and parts:
                before = committed.chunks.of(node.content) if append else []
                chunks = _ordered(chunks, table.schema, parts)
                _check_order([*before[-1:], *chunks], table.schema, parts)
        view.state.lock(node, SHARED if append and not (table and table.schema.is_sorted) else EXCLUSIVE)
        put_content(view, node, [chunk.id for chunk in chunks], append=append, table=table)


def _source(
    find_view: Callable[[str | None], CypressView], user: str, transaction_id: str | None, path: RichPath
) -> Node:
    if path.columns_and_ranges or "ranges" in path.attributes or "columns" in path.attributes:
        raise YtError(f"Columns and ranges cannot be specified for source path {path.path}")
    view = find_view(path.attributes.get("transaction_id", transaction_id))
    node = view.resolver.node(path.bare)
    access = view.permissions.access(user)
    access.check(node, "read")
    access.check_columns(node)
    return node


def _check_types(nodes: Sequence[tuple[RichPath, Node]]) -> None:
    first_path, first = nodes[0]
    for path, node in nodes:
        if node.type not in _TYPES:
            raise YtError(f'Invalid type of {path.bare}: expected "table" or "file", "{node.type}" found')
        if node.type != first.type:
            raise YtError(
                f'Type of {path.bare} ("{node.type}") must be the same as type of {first_path.bare} ("{first.type}")'
            )
        if node.table is not None and node.table.dynamic:
            what = "Destination" if path is nodes[-1][0] else "Source"
            raise YtError(f"{what} table {path.bare} is dynamic, concatenation of dynamic tables is not supported")


def _output_table(
    sources: Sequence[tuple[RichPath, Node]], destination: RichPath, table: TableState, *, append: bool
) -> TableState:
    """What becomes of the destination; YtError if the rows of a source may not be rows of it."""
    tables = [(path, node.table) for path, node in sources if node.table is not None]
    if not table.weak:
        for path, source in tables:
            if source.weak:
                raise YtError(
                    f"Schema of input table {path.bare} is weak, schema of output table {destination.bare} is strong",
                    SCHEMA_VIOLATION,
                )
            try:
                check_compatible(source.schema, table.schema)
            except YtError as error:
                raise YtError(
                    f"Schema of input table {path.bare} is not compatible with schema of output table"
                    f" {destination.bare}",
                    SCHEMA_VIOLATION,
                    inner_errors=[error],
                ) from error
        return table
    schemas = {_unordered(source.schema) for _, source in tables if not source.weak}
    if append or len(schemas) != 1 or any(source.weak for _, source in tables):
        return TableState(WEAK_SCHEMA, dynamic=False, weak=True)
    return TableState(schemas.pop(), dynamic=False)


def _unordered(schema: TableSchema) -> TableSchema:
    """The schema of rows that come in any order; the same for schemas that differ in the order of columns only."""
    columns = tuple(replace(column, sort_order=None) for column in schema.columns)
    return TableSchema(tuple(sorted(columns, key=lambda column: column.name)), strict=schema.strict)


def _ordered(chunks: Sequence[Chunk], schema: TableSchema, parts: Sequence[KeyPart]) -> list[Chunk]:
    for chunk in chunks:
        if chunk.sort_columns[: len(parts)] != tuple(parts):
            raise YtError(f"Chunk {chunk.id} has less key columns than output schema", SCHEMA_VIOLATION)
        if schema.unique_keys and not (chunk.unique_keys and len(chunk.sort_columns) == len(parts)):
            raise YtError(
                f"Output table schema forces keys to be unique while chunk {chunk.id} schema does not", SCHEMA_VIOLATION
            )
    return sorted(chunks, key=lambda chunk: (_first_key(chunk, parts), _last_key(chunk, parts)))


def _check_order(chunks: Sequence[Chunk], schema: TableSchema, parts: Sequence[KeyPart]) -> None:
    for current, following in pairwise(chunks):
        last, first = _last_key(current, parts), _first_key(following, parts)
        attributes = {"current_chunk_id": current.id, "next_chunk_id": following.id}
        if last > first:
            raise YtError("Chunks ranges are overlapping", SORT_ORDER_VIOLATION, attributes)
        if last == first and schema.unique_keys:
            raise YtError(
                "Key appears in two chunks but output table schema requires unique keys",
                UNIQUE_KEY_VIOLATION,
                attributes,
            )


def _first_key(chunk: Chunk, parts: Sequence[KeyPart]) -> bytes:
    return encode_key(parts, chunk.first_keys[0])


def _last_key(chunk: Chunk, parts: Sequence[KeyPart]) -> bytes:
    return encode_key(parts, chunk.last_key)
