"""set, multiset_attributes: new values."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, PathParameter, Transactional, volatile
from yt_local.calls.manual import HAS_ANOTHER_LOCK, LEADS_NOWHERE, LONG_NAME, LONG_STRING, OVER_LIMITS, Manual
from yt_local.calls.messages import request_parameters, text
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api


class _Path(Transactional):
    path: PathParameter


class _SetAttributes(_Path):
    force: bool = False


class _Set(Transactional):
    path: PathParameter
    recursive: bool = False
    force: bool = False


async def _set(cluster: Cluster, session: Session, parameters: _Set, body: Body) -> Any:
    cypress = cluster.view(session.transaction_id).cypress
    cypress.set(session.access, parameters.path, body.value, recursive=parameters.recursive, force=parameters.force)
    return {}


async def _multiset_attributes(cluster: Cluster, session: Session, parameters: _SetAttributes, body: Body) -> Any:
    if not isinstance(body.value, dict):
        raise YtError("multiset_attributes needs a map of attributes")
    cypress = cluster.view(session.transaction_id).cypress
    cypress.multiset_attributes(session.access, parameters.path, body.value, force=parameters.force)
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "set",
        _Set,
        _set,
        Manual(
            "A new value for a document, a scalar, an attribute or, with `force`, a map node.",
            errors={
                1: "another type of node; a map node without `force`; an attribute that cannot be set "
                "or has no such values",
                402: HAS_ANOTHER_LOCK,
                500: "the parent is missing and `recursive` is not given",
                503: LONG_STRING,
                505: LONG_NAME,
                902: OVER_LIMITS,
                905: "no such account",
            },
            ignored=("suppress_access_tracking", "suppress_modification_tracking"),
            parameters={"force": "a map node may be replaced as a whole"},
        ),
        input_type="structured",
        transactions="taken",
    ),
    volatile(
        "multiset_attributes",
        _SetAttributes,
        _multiset_attributes,
        Manual(
            "Several attributes of one node, all or none.",
            errors={
                1: "the input is not a map; an attribute that cannot be set or has no such values",
                500: LEADS_NOWHERE,
            },
            parameters={"force": "access control lists that the caller could not undo"},
        ),
        input_type="structured",
        transactions="taken",
    ),
)


async def _rpc_set(call: Call, request: api.TReqSetNode) -> Reply:
    await call.execute("set", request_parameters(request, {"value": ""}), Body(value=yson.loads(request.value)))
    return NOTHING


async def _rpc_multiset_attributes(call: Call, request: api.TReqMultisetAttributesNode) -> Reply:
    values = {text(item.attribute): yson.loads(item.value) for item in request.subrequests}
    await call.execute("multiset_attributes", request_parameters(request), Body(value=values))
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqSetNode, _rpc_set),
    Method(api.TReqMultisetAttributesNode, _rpc_multiset_attributes),
)
