"""read_file: bytes of a file, piece by piece."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Annotated, Any, Final

from pydantic import Field

from yt_local.calls.call import NOTHING, Call, Method, guid
from yt_local.calls.command import Body, Command, EntityTag, RichPathParameter, Stream, Transactional
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.static.files import file_node, read_bytes
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api

_Size = Annotated[int, Field(ge=0, lt=2**63)]

_PIECE_BYTES: Final = 1 << 20


class _ReadFile(Transactional):
    path: RichPathParameter
    offset: _Size | None = None
    length: _Size | None = None
    file_reader: dict[str, Any] | None = None


async def _read_file(cluster: Cluster, session: Session, parameters: _ReadFile, _: Body) -> Stream:
    view = cluster.view(session.transaction_id)
    node = file_node(view, parameters.path.bare)
    session.access.check(node, "read")
    pieces = read_bytes(cluster.state, node, parameters.offset or 0, parameters.length)
    told = {"id": node.id, "revision": yson.Uint64(node.revision)}
    tag = EntityTag(node.id, node.revision)
    return Stream(cluster.state.chunks.pinned(node.content.chunk_ids, pieces), told, tag=tag)


COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "read_file",
        "null",
        "binary",
        is_volatile=False,
        is_heavy=True,
        parameters=_ReadFile,
        run=_read_file,
        transactions="taken",
        manual=Manual(
            "The content of a file, or a part of it.",
            "bytes; the response parameters have `id` and `revision`. Over HTTP, both are the `ETag`, and "
            "`If-None-Match` with it, or with the revision alone, is answered with 304 while the file is the same.",
            {1: "no file; a part that is none; a tag that is none", 500: "no such node"},
            ignored=("file_reader", "etag", "etag_revision"),
            differs="An error after the first MiB cuts the answer off.",
            parameters={
                "offset": "bytes before the part",
                "length": "bytes; up to the end if not given",
                "file_reader": "no effect",
            },
        ),
    ),
)


async def _rpc_read_file(call: Call, request: api.TReqReadFile) -> Reply:
    found = request_parameters(request, {"config": "file_reader"})
    answer = await call.execute("read_file", found)
    with closing(answer.pieces):
        call.streams.incoming.discard()
        out = call.streams.outgoing
        node = call.node(found)
        meta = api.TReadFileMeta(revision=node.revision, id=guid(node.id))
        await out.write(meta.SerializeToString())
        for piece in answer.pieces:
            for start in range(0, len(piece), _PIECE_BYTES):
                await out.write(piece[start : start + _PIECE_BYTES])
            await asyncio.sleep(0)  # others get their turn
        await out.close()
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqReadFile, _rpc_read_file),)
