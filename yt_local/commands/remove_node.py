"""remove: nodes and attributes."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, PathParameter, Transactional, volatile
from yt_local.calls.manual import HAS_ANOTHER_LOCK, LEADS_NOWHERE, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _Remove(Transactional):
    path: PathParameter
    recursive: bool = False
    force: bool = False


async def _remove(cluster: Cluster, session: Session, parameters: _Remove, _: Body) -> Any:
    cypress = cluster.view(session.transaction_id).cypress
    cypress.remove(session.access, parameters.path, recursive=parameters.recursive, force=parameters.force)
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "remove",
        _Remove,
        _remove,
        Manual(
            "A node with what is below it, or an attribute.",
            errors={
                1: "a map node that is not empty without `recursive`; a built-in node or attribute",
                402: HAS_ANOTHER_LOCK,
                500: f"{LEADS_NOWHERE}, without `force`",
            },
            parameters={"recursive": "what is below goes as well", "force": "no error if there is nothing"},
        ),
        transactions="taken",
    ),
)


async def _rpc_remove(call: Call, request: api.TReqRemoveNode) -> Reply:
    await call.execute("remove", request_parameters(request))
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqRemoveNode, _rpc_remove),)
