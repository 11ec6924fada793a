"""GetTableMountInfo, which clients of the RPC proxy ask for before all else; over HTTP there is no such command."""

from __future__ import annotations

from typing import Final

from yt_local.calls.call import Call, Method, guid, reply
from yt_local.calls.command import Command
from yt_local.calls.schemas import schema_message
from yt_local.calls.single_rows import serialized_key
from yt_local.calls.wire_types import REPLICA_MODES, TABLET_STATES
from yt_local.store.model import Node
from yt_local.store.replicated_types import NO_REPLICA, REPLICATED_TABLE, UPSTREAM_REPLICA_ID
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api
from yt_wire.ypath import parse_rich

COMMANDS: Final[tuple[Command, ...]] = ()


async def _rpc_get_mount_info(call: Call, request: api.TReqGetTableMountInfo) -> Reply:
    path = parse_rich(request.path).path
    cluster = call.cluster
    node = cluster.resolver.node(path)
    if node.table is None:
        raise YtError(f"{path} is not a table but a {node.type}")
    answer = api.TRspGetTableMountInfo(
        table_id=guid(node.id),
        schema=schema_message(node.table.schema),
        dynamic=node.table.dynamic,
        upstream_replica_id=guid(str(node.attributes.get(UPSTREAM_REPLICA_ID, NO_REPLICA))),
        physical_path=cluster.resolver.path_of(node),
        replicas=_replicas(call, node),
    )
    keys = node.table.schema.key_columns
    for tablet in cluster.state.tablets.of(node.id) if node.table.dynamic else ():
        answer.tablets.add(
            tablet_id=guid(tablet.id),
            mount_revision=tablet.mount_revision,
            state=TABLET_STATES[tablet.state],
            pivot_key=serialized_key(keys, tablet.pivot_key),
            cell_id=None if tablet.cell_id is None else guid(tablet.cell_id),
        )
    return reply(answer)


def _replicas(call: Call, node: Node) -> list[api.TReplicaInfo]:
    if node.type != REPLICATED_TABLE:
        return []
    return [
        api.TReplicaInfo(
            replica_id=guid(replica.id),
            cluster_name=replica.cluster_name,
            replica_path=replica.replica_path,
            mode=REPLICA_MODES[replica.mode],
        )
        for replica in call.cluster.replication.replicas(node.id)
    ]


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqGetTableMountInfo, _rpc_get_mount_info),)
