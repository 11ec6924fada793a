"""get_in_sync_replicas: replicas that have everything."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, guid, reply
from yt_local.calls.command import Body, Command, Int64, Parameters, PathParameter, volatile
from yt_local.calls.manual import NO_SUCH_NODE, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.rowsets import decode_rows
from yt_local.cluster import Cluster
from yt_local.security.permissions import UNCHECKED
from yt_local.session import Session
from yt_local.store.replicated_types import REPLICATED_TABLE
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api


class _InSync(Parameters):
    path: PathParameter
    timestamp: Int64
    all_keys: bool = False


async def _get_in_sync_replicas(cluster: Cluster, session: Session, parameters: _InSync, body: Body) -> Any:
    table = cluster.tables.open(parameters.path, UNCHECKED)
    if table.node.type != REPLICATED_TABLE:
        raise YtError(f"Table {parameters.path} is not replicated")
    replication = cluster.replication
    replicas = replication.replicas(table.node.id)
    if not parameters.all_keys:
        keys = [table.codec.parse_key(row) for row in body.rows_for(lambda: table.schema.columns)]
        if not keys:
            return [replica.id for replica in replicas]  # each has all of no keys, even one that is disabled
    return [
        replica.id
        for replica in replicas
        if replica.enabled and replication.is_up_to_date(replica, parameters.timestamp)
    ]


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "get_in_sync_replicas",
        _InSync,
        _get_in_sync_replicas,
        Manual(
            "Which replicas have everything up to a timestamp.",
            "`[replica id; ...]`",
            {1: "the table is not replicated", 307: "a key against the schema", 500: NO_SUCH_NODE},
            ignored=("cached_sync_replicas_timeout",),
            differs="A replica is looked at as a whole: keys do not make a difference.",
            parameters={
                "timestamp": "up to when",
                "all_keys": "there are no keys in the body: replicas with everything",
            },
        ),
        input_type="tabular",
        changes=False,
    ),
)


async def _rpc_get_in_sync_replicas(call: Call, request: api.TReqGetInSyncReplicas) -> Reply:
    all_keys = not call.attachments
    rows = [] if all_keys else decode_rows(request.rowset_descriptor, call.attachments)
    found = {**request_parameters(request), "timestamp": request.timestamp, "all_keys": all_keys}
    answer = await call.execute("get_in_sync_replicas", found, Body(rows=[row.values for row in rows]))
    return reply(api.TRspGetInSyncReplicas(replica_ids=map(guid, answer)))


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqGetInSyncReplicas, _rpc_get_in_sync_replicas),)
