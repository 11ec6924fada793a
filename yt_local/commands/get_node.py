"""get, list: what is at a path."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import AttributeFilter, Body, Command, PathParameter, Transactional, light
from yt_local.calls.manual import LEADS_NOWHERE, Manual
from yt_local.calls.messages import decoded, request_parameters, text
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api

_READING: Final = ("read_from", "cache_sticky_group_size", "expire_after_successful_update_time", "limit")


class _Read(Transactional):
    path: PathParameter
    attributes: AttributeFilter = None
    max_size: int | None = Field(default=None, ge=0)
    return_only_value: bool = False


async def _get(cluster: Cluster, session: Session, parameters: _Read, _: Body) -> Any:
    view = cluster.view(session.transaction_id)
    value = await cluster.get(session, view, parameters.path, parameters.attributes, parameters.max_size)
    return value if parameters.return_only_value else {"value": value}


async def _list(cluster: Cluster, session: Session, parameters: _Read, _: Body) -> Any:
    view = cluster.view(session.transaction_id)
    names = await cluster.list(session, view, parameters.path, parameters.attributes, parameters.max_size)
    return names if parameters.return_only_value else {"value": names}


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "get",
        _Read,
        _get,
        Manual(
            "The value of a node, an attribute or a part of either.",
            "`{value=...}`; the bare value with `return_only_value`. Nodes below that may not be read are entities, "
            "and opaque ones too unless they are the root of the answer.",
            {500: LEADS_NOWHERE},
            ignored=_READING,
            parameters={
                "attributes": "names of attributes that the values carry; a list, or a map with `keys`. Agents are "
                "asked for those of theirs that are named"
            },
        ),
        transactions="taken",
    ),
    light(
        "list",
        _Read,
        _list,
        Manual(
            "The names of a node's children, or of its attributes.",
            "`{value=[name; ...]}`; names carry the attributes that were asked for, and the list is "
            "`<incomplete=%true>` beyond `max_size`.",
            {500: f"{LEADS_NOWHERE}, or to what has no children"},
            ignored=_READING,
            parameters={
                "attributes": "names of attributes that the names carry; a list, or a map with `keys`. Agents are "
                "asked for those of theirs that are named"
            },
        ),
        transactions="taken",
    ),
)


async def _rpc_get(call: Call, request: api.TReqGetNode) -> Reply:
    answer = await call.execute("get", _read_parameters(request))
    return reply(api.TRspGetNode(value=yson.dumps(answer["value"])))


async def _rpc_list(call: Call, request: api.TReqListNode) -> Reply:
    answer = await call.execute("list", _read_parameters(request))
    return reply(api.TRspListNode(value=yson.dumps(answer["value"])))


def _read_parameters(request: api.TReqGetNode | api.TReqListNode) -> dict[str, Any]:
    found = request_parameters(request, {"options": ""})
    # Clients that want no attributes ask the older field for all of them; others name the same ones in both.
    names = [text(name) for name in request.legacy_attributes.keys]
    names += [decoded(name) for name in request.attributes.keys]
    if names:
        found["attributes"] = list(dict.fromkeys(names))
    return found


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqGetNode, _rpc_get),
    Method(api.TReqListNode, _rpc_list),
)
