"""get_tablet_infos, get_tablet_errors: how tablets are."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from yt_local.calls.call import Call, Method, guid, reply
from yt_local.calls.command import Body, Command, Int64, Parameters, PathParameter, volatile
from yt_local.calls.manual import NO_SUCH_NODE, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.wire_types import REPLICA_MODES
from yt_local.cluster import Cluster
from yt_local.security.permissions import UNCHECKED
from yt_local.session import Session
from yt_wire import rpc
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api

_TABLE: Final = "no table, or a static one"


class _TabletInfos(Parameters):
    path: PathParameter
    tablet_indexes: list[Int64]
    request_errors: bool = False


class _Errors(Parameters):
    path: PathParameter
    limit: Annotated[Int64, Field(ge=1)] | None = None


async def _get_tablet_infos(cluster: Cluster, session: Session, parameters: _TabletInfos, _: Body) -> Any:
    infos = cluster.tables.tablet_infos(
        parameters.path, parameters.tablet_indexes, request_errors=parameters.request_errors
    )
    errors: dict[str, Any] = {"tablet_errors": []} if parameters.request_errors else {}
    return {"tablets": [{**info, **errors} for info in infos]}


async def _get_tablet_errors(cluster: Cluster, session: Session, parameters: _Errors, _: Body) -> Any:
    table = cluster.tables.open(parameters.path, UNCHECKED)
    errors = {
        replica.id: [error.to_map() for error in cluster.replication.errors(replica)]
        for replica in cluster.replication.replicas(table.node.id)
    }
    told = {key: found for key, found in errors.items() if found}
    shown = dict(list(told.items())[: parameters.limit])
    incomplete = {} if len(shown) == len(told) else {"incomplete": True}
    return {"tablet_errors": {}, "replication_errors": shown, **incomplete}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "get_tablet_infos",
        _TabletInfos,
        _get_tablet_infos,
        Manual(
            "How far each tablet is.",
            "`{tablets=[{total_row_count=int; trimmed_row_count=int; delayed_lockless_row_count=0; "
            "barrier_timestamp=uint64; "
            "last_write_timestamp=uint64}; ...]}` in the order of `tablet_indexes`; with "
            "`tablet_errors` if `request_errors`, "
            "with `replica_infos` for a replicated table.",
            {
                1: _TABLE,
                500: NO_SUCH_NODE,
                1701: "an index out of range",
                1702: "a tablet is neither mounted nor frozen",
            },
            parameters={
                "tablet_indexes": "the tablets; the same may come twice",
                "request_errors": "`tablet_errors`, and `replication_error` of replicas",
            },
        ),
        changes=False,
        transactions="ignored",
    ),
    volatile(
        "get_tablet_errors",
        _Errors,
        _get_tablet_errors,
        Manual(
            "Errors of tablets.",
            "`{tablet_errors={}; replication_errors={replica id=[error; ...]; ...}}`: why replicas are behind; and "
            "`incomplete=%true` if `limit` has left some out.",
            {1: _TABLE, 500: NO_SUCH_NODE},
            parameters={"limit": "how many replicas the answer may name"},
        ),
        transactions="ignored",
    ),
)


async def _rpc_get_tablet_infos(call: Call, request: api.TReqGetTabletInfos) -> Reply:
    answer = await call.execute("get_tablet_infos", {"tablet_indexes": [], **request_parameters(request)})
    return reply(api.TRspGetTabletInfos(tablets=[_tablet_info(info) for info in answer["tablets"]]))


def _tablet_info(info: dict[str, Any]) -> api.TRspGetTabletInfos.TTabletInfo:
    message = api.TRspGetTabletInfos.TTabletInfo(
        total_row_count=info["total_row_count"],
        trimmed_row_count=info["trimmed_row_count"],
        barrier_timestamp=info["barrier_timestamp"],
        last_write_timestamp=info["last_write_timestamp"],
        delayed_lockless_row_count=info["delayed_lockless_row_count"],
    )
    for replica in info.get("replica_infos", ()):
        error = replica.get("replication_error")
        message.replicas.add(
            replica_id=guid(replica["replica_id"]),
            last_replication_timestamp=replica["last_replication_timestamp"],
            mode=REPLICA_MODES[replica["mode"]],
            current_replication_row_index=replica["current_replication_row_index"],
            committed_replication_row_index=replica["committed_replication_row_index"],
            replication_error=rpc.to_proto_error(YtError.from_map(error)) if error else None,
        )
    return message


async def _rpc_get_tablet_errors(call: Call, request: api.TReqGetTabletErrors) -> Reply:
    answer = await call.execute("get_tablet_errors", request_parameters(request))
    message = api.TRspGetTabletErrors(incomplete=answer.get("incomplete"))
    for ids, lists, errors in (
        (message.tablet_ids, message.tablet_errors, answer["tablet_errors"]),
        (message.replica_ids, message.replication_errors, answer["replication_errors"]),
    ):
        for object_id, found in errors.items():
            ids.append(guid(object_id))
            lists.add(errors=[rpc.to_proto_error(YtError.from_map(error)) for error in found])
    return reply(message)


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqGetTabletInfos, _rpc_get_tablet_infos),
    Method(api.TReqGetTabletErrors, _rpc_get_tablet_errors),
)
