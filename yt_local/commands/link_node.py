"""link: symbolic links."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, guid, reply
from yt_local.calls.command import Body, Command, PathParameter, Transactional, volatile
from yt_local.calls.manual import EXISTS, OVER_LIMITS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api

_TARGET_AND_LINK: Final = {"src_path": "target_path", "dst_path": "link_path"}


class _Link(Transactional):
    target_path: PathParameter
    link_path: PathParameter
    recursive: bool = False
    force: bool = False
    ignore_existing: bool = False
    lock_existing: bool = False


async def _link(cluster: Cluster, session: Session, parameters: _Link, _: Body) -> Any:
    node_id = cluster.view(session.transaction_id).cypress.link(
        session.access,
        parameters.target_path,
        parameters.link_path,
        recursive=parameters.recursive,
        force=parameters.force,
        ignore_existing=parameters.ignore_existing,
        lock_existing=parameters.lock_existing,
    )
    return {"node_id": node_id}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "link",
        _Link,
        _link,
        Manual(
            "A symbolic link.",
            "`{node_id=id}` of the link.",
            {
                1: "the link would lead to itself",
                500: "the target or the parent is missing",
                501: EXISTS,
                902: OVER_LIMITS,
            },
            ignored=("attributes",),
            differs="Attributes are given by `create` with the type `link`.",
            parameters={"target_path": "target of the link", "link_path": "path of the link"},
        ),
        transactions="taken",
    ),
)


async def _rpc_link(call: Call, request: api.TReqLinkNode) -> Reply:
    answer = await call.execute("link", request_parameters(request, _TARGET_AND_LINK))
    return reply(api.TRspLinkNode(node_id=guid(answer["node_id"])))


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqLinkNode, _rpc_link),)
