"""exists: whether a path leads somewhere."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, PathParameter, Transactional, light
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api

_READING: Final = ("read_from", "cache_sticky_group_size", "expire_after_successful_update_time", "limit")


class _Path(Transactional):
    path: PathParameter


async def _exists(cluster: Cluster, session: Session, parameters: _Path, _: Body) -> Any:
    return {"value": await cluster.exists(session, cluster.view(session.transaction_id), parameters.path)}


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "exists",
        _Path,
        _exists,
        Manual(
            "Whether a path leads somewhere.",
            "`{value=bool}`; links that lead nowhere do not exist.",
            ignored=_READING,
        ),
        transactions="taken",
    ),
)


async def _rpc_exists(call: Call, request: api.TReqExistsNode) -> Reply:
    answer = await call.execute("exists", request_parameters(request))
    return reply(api.TRspExistsNode(exists=answer["value"]))


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqExistsNode, _rpc_exists),)
