"""copy, move: nodes to other places."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, guid, reply
from yt_local.calls.command import Body, Command, PathParameter, Transactional, volatile
from yt_local.calls.manual import EXISTS, HAS_ANOTHER_LOCK, LONG_NAME, OVER_LIMITS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.cypress.subtrees import CopyOptions
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api

_COPYING: Final = ("enable_cross_cell_copying", "pessimistic_quota_check", "allow_secondary_index_abandonment")

_COPY_ERRORS: Final = {
    1: "into itself or below, or over what it is part of; replicated tables; mounted tables in a transaction",
    402: HAS_ANOTHER_LOCK,
    500: "a path leads nowhere; the parent is missing and `recursive` is not given",
    501: EXISTS,
    505: LONG_NAME,
    902: OVER_LIMITS,
    1706: "a dynamic table below has tablets that are neither unmounted nor frozen",
}

_SOURCE_AND_DESTINATION: Final = {"src_path": "source_path", "dst_path": "destination_path"}


class _Copy(Transactional):
    source_path: PathParameter
    destination_path: PathParameter
    recursive: bool = False
    force: bool = False
    ignore_existing: bool = False
    lock_existing: bool = False
    preserve_account: bool = False
    preserve_owner: bool = False
    preserve_acl: bool = False
    preserve_creation_time: bool | None = None
    preserve_modification_time: bool = False
    preserve_expiration_time: bool = False
    preserve_expiration_timeout: bool = False


async def _copy(cluster: Cluster, session: Session, parameters: _Copy, _: Body) -> Any:
    return _copied(cluster, session, parameters, move=False)


async def _move(cluster: Cluster, session: Session, parameters: _Copy, _: Body) -> Any:
    return _copied(cluster, session, parameters, move=True)


def _copied(cluster: Cluster, session: Session, parameters: _Copy, *, move: bool) -> Any:
    kept = {
        "account": parameters.preserve_account,
        "owner": parameters.preserve_owner,
        "acl": parameters.preserve_acl or move,
        "inherit_acl": parameters.preserve_acl or move,
        "creation_time": move if parameters.preserve_creation_time is None else parameters.preserve_creation_time,
        "modification_time": parameters.preserve_modification_time,
        "expiration_time": parameters.preserve_expiration_time,
        "expiration_timeout": parameters.preserve_expiration_timeout,
    }
    options = CopyOptions(
        recursive=parameters.recursive,
        force=parameters.force,
        ignore_existing=parameters.ignore_existing,
        lock_existing=parameters.lock_existing,
        keep={name for name, wanted in kept.items() if wanted},
    )
    cypress = cluster.view(session.transaction_id).cypress
    return {
        "node_id": cypress.copy(session.access, parameters.source_path, parameters.destination_path, options, move=move)
    }


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "copy",
        _Copy,
        _copy,
        Manual(
            "A copy of a node and all below it; static tables and files share their chunks. A copy of a consumer or "
            "producer is a table without the mark.",
            "`{node_id=id}` of the copy.",
            _COPY_ERRORS,
            ignored=_COPYING,
        ),
        transactions="taken",
    ),
    volatile(
        "move",
        _Copy,
        _move,
        Manual(
            "A node and all below it to another place; nodes get new ids there, tablets keep theirs. Consumers and "
            "producers lose their marks.",
            "`{node_id=id}`.",
            _COPY_ERRORS,
            ignored=_COPYING,
        ),
        transactions="taken",
    ),
)


async def _rpc_copy(call: Call, request: api.TReqCopyNode) -> Reply:
    answer = await call.execute("copy", request_parameters(request, _SOURCE_AND_DESTINATION))
    return reply(api.TRspCopyNode(node_id=guid(answer["node_id"])))


async def _rpc_move(call: Call, request: api.TReqMoveNode) -> Reply:
    answer = await call.execute("move", request_parameters(request, _SOURCE_AND_DESTINATION))
    return reply(api.TRspMoveNode(node_id=guid(answer["node_id"])))


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqCopyNode, _rpc_copy),
    Method(api.TReqMoveNode, _rpc_move),
)
