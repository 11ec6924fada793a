"""Commands on files."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final

from pydantic import Field

from yt_local.cluster import Cluster
from yt_local.commands.command import (
    Body,
    Command,
    PathParameter,
    RichPathParameter,
    Stream,
    Transactional,
    volatile,
)
from yt_local.session import Session
from yt_local.tables.static.files import FileCache, FileUpload, file_node, read_bytes

_Size = Annotated[int, Field(ge=0, lt=2**63)]


class _WriteFile(Transactional):
    path: RichPathParameter
    compute_md5: bool = False
    file_writer: dict[str, Any] | None = None


class _ReadFile(Transactional):
    path: RichPathParameter
    offset: _Size | None = None
    length: _Size | None = None
    file_reader: dict[str, Any] | None = None


class _GetFromCache(Transactional):
    md5: str
    cache_path: PathParameter


class _PutToCache(_GetFromCache):
    path: PathParameter


async def _write_file(cluster: Cluster, session: Session, parameters: _WriteFile, body: Body) -> Any:
    file = FileUpload(
        lambda: cluster.view(session.transaction_id),
        session.access.user,
        parameters.path,
        compute_md5=parameters.compute_md5,
    )
    assert body.pieces is not None
    with file.upload:
        async for piece in body.pieces:
            file.write(piece)
            await asyncio.sleep(0)  # others get their turn
        file.commit()
    return {}


async def _read_file(cluster: Cluster, session: Session, parameters: _ReadFile, _: Body) -> Stream:
    view = cluster.view(session.transaction_id)
    node = file_node(view, parameters.path.bare)
    session.access.check(node, "read")
    pieces = read_bytes(cluster.state, node, parameters.offset or 0, parameters.length)
    return Stream(cluster.state.chunks.pinned(node.content.chunk_ids, pieces))


async def _get_file_from_cache(cluster: Cluster, session: Session, parameters: _GetFromCache, _: Body) -> Any:
    return FileCache(cluster.view(session.transaction_id), session.access, parameters.cache_path).find(parameters.md5)


async def _put_file_to_cache(cluster: Cluster, session: Session, parameters: _PutToCache, _: Body) -> Any:
    with cluster.state.change():
        cache = FileCache(cluster.view(session.transaction_id), session.access, parameters.cache_path)
        return cache.put(parameters.path, parameters.md5)


COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "write_file",
        "binary",
        "structured",
        is_volatile=True,
        is_heavy=True,
        parameters=_WriteFile,
        run=_write_file,
        changes=True,
        transactions="taken",
        takes_pieces=True,
    ),
    Command(
        "read_file",
        "null",
        "binary",
        is_volatile=False,
        is_heavy=True,
        parameters=_ReadFile,
        run=_read_file,
        transactions="taken",
    ),
    volatile("get_file_from_cache", _GetFromCache, _get_file_from_cache, transactions="taken"),
    volatile("put_file_to_cache", _PutToCache, _put_file_to_cache, transactions="taken"),
)
