"""concatenate: tables or files one after the other."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, RichPathParameter, Transactional, volatile
from yt_local.calls.manual import OVER_LIMITS, WRITTEN_BY_OTHERS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.static.concatenation import concatenate
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _Concatenate(Transactional):
    source_paths: list[RichPathParameter]
    destination_path: RichPathParameter


async def _concatenate(cluster: Cluster, session: Session, parameters: _Concatenate, _: Body) -> Any:
    concatenate(
        cluster.view,
        session.access.user,
        parameters.transaction_id,
        parameters.source_paths,
        parameters.destination_path,
    )
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "concatenate",
        _Concatenate,
        _concatenate,
        Manual(
            "Tables, or files, one after the other into another; chunks are shared.",
            errors={
                1: "tables and files together; dynamic tables; schemas that do not go together",
                402: WRITTEN_BY_OTHERS,
                500: "no such node",
                902: OVER_LIMITS,
            },
            ignored=("uniqualize_chunks",),
            parameters={"source_paths": "where from, in this order"},
        ),
        transactions="taken",
    ),
)


async def _rpc_concatenate(call: Call, request: api.TReqConcatenateNodes) -> Reply:
    names = {"src_paths": "source_paths", "dst_path": "destination_path"}
    await call.execute("concatenate", request_parameters(request, names))
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqConcatenateNodes, _rpc_concatenate),)
