"""write_file: bytes into a file."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, RichPathParameter, Transactional
from yt_local.calls.manual import OVER_LIMITS, WRITTEN_BY_OTHERS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.static.files import FileUpload
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _WriteFile(Transactional):
    path: RichPathParameter
    compute_md5: bool = False
    file_writer: dict[str, Any] | None = None


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
        manual=Manual(
            "Replaces the content of a file, or adds to it with `<append=%true>`; all at once, at the end.",
            errors={1: "no file", 402: WRITTEN_BY_OTHERS, 500: "no such node", 902: OVER_LIMITS},
            ignored=("file_writer",),
            parameters={"compute_md5": "so that `@md5` is there", "file_writer": "no effect"},
        ),
    ),
)


async def _rpc_write_file(call: Call, request: api.TReqWriteFile) -> Reply:
    streams = call.streams
    found = request_parameters(request, {"config": "file_writer"})
    call.node(found)
    await streams.outgoing.end()
    await call.execute("write_file", found, Body(pieces=aiter(streams.incoming)))
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqWriteFile, _rpc_write_file, takes_pieces=True),)
