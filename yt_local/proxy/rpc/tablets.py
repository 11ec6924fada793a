"""Methods on the tablets of dynamic tables, and on their replicas."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from yt_local.commands.command import Body
from yt_local.proxy.rpc.call import NOTHING, Call, Method, guid, reply
from yt_local.proxy.rpc.parameters import parameters
from yt_local.proxy.rpc.rowsets import decode_named_rows, decode_rows, serialized_key
from yt_local.proxy.rpc.schemas import schema_message
from yt_local.proxy.rpc.wire_types import TABLET_STATES
from yt_local.store.model import Node
from yt_local.store.replicated_types import NO_REPLICA, REPLICATED_TABLE, UPSTREAM_REPLICA_ID
from yt_wire import rpc, yson
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api
from yt_wire.ypath import parse_rich

_NUMBERED: Final = [b"%d" % index for index in range(1024)]

_REPLICA_MODES: Final = {"sync": api.TRM_SYNC, "async": api.TRM_ASYNC}


def _simple(request_type: type[Message], command: str) -> Method:
    """A method that is a command with nothing to answer."""

    async def run(call: Call, request: Message) -> Reply:
        await call.execute(command, parameters(request))
        return NOTHING

    return Method(request_type, run)


async def _mount(call: Call, request: api.TReqMountTable) -> Reply:
    names = {} if rpc.from_proto_guid(request.cell_id) != NULL_GUID else {"cell_id": ""}
    await call.execute("mount_table", parameters(request, names))
    return NOTHING


async def _alter(call: Call, request: api.TReqAlterTable) -> Reply:
    if rpc.from_proto_guid(request.schema_id) != NULL_GUID:
        raise YtError("Schemas are given as such, not by their ids")
    await call.execute("alter_table", parameters(request))
    return NOTHING


async def _reshard(call: Call, request: api.TReqReshardTable) -> Reply:
    found = parameters(request)
    data = b"".join(part for part in call.attachments if part)
    if data:
        # These columns have no names.
        found["pivot_keys"] = [list(row.values.values()) for row in decode_named_rows(_NUMBERED, data)]
    await call.execute("reshard_table", found)
    return NOTHING


async def _get_mount_info(call: Call, request: api.TReqGetTableMountInfo) -> Reply:
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
    for tablet in cluster.state.tablets(node.id) if node.table.dynamic else ():
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
            mode=_REPLICA_MODES[replica.mode],
        )
        for replica in call.cluster.replication.replicas(node.id)
    ]


async def _get_tablet_infos(call: Call, request: api.TReqGetTabletInfos) -> Reply:
    answer = await call.execute("get_tablet_infos", {"tablet_indexes": [], **parameters(request)})
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
            mode=_REPLICA_MODES[replica["mode"]],
            current_replication_row_index=replica["current_replication_row_index"],
            committed_replication_row_index=replica["committed_replication_row_index"],
            replication_error=rpc.to_proto_error(YtError.from_map(error)) if error else None,
        )
    return message


async def _get_tablet_errors(call: Call, request: api.TReqGetTabletErrors) -> Reply:
    answer = await call.execute("get_tablet_errors", parameters(request))
    message = api.TRspGetTabletErrors()
    for ids, lists, errors in (
        (message.tablet_ids, message.tablet_errors, answer["tablet_errors"]),
        (message.replica_ids, message.replication_errors, answer["replication_errors"]),
    ):
        for object_id, found in errors.items():
            ids.append(guid(object_id))
            lists.add(errors=[rpc.to_proto_error(YtError.from_map(error)) for error in found])
    return reply(message)


async def _get_pivot_keys(call: Call, request: api.TReqGetTablePivotKeys) -> Reply:
    answer = await call.execute("get_table_pivot_keys", parameters(request))
    return reply(api.TRspGetTablePivotKeys(value=yson.dumps(answer)))


async def _get_in_sync_replicas(call: Call, request: api.TReqGetInSyncReplicas) -> Reply:
    all_keys = not request.HasField("rowset_descriptor")
    rows = [] if all_keys else decode_rows(request.rowset_descriptor, call.attachments)
    found = {**parameters(request), "timestamp": request.timestamp, "all_keys": all_keys}
    answer = await call.execute("get_in_sync_replicas", found, Body(rows=[row.values for row in rows]))
    return reply(api.TRspGetInSyncReplicas(replica_ids=map(guid, answer)))


METHODS: Final = (
    Method(api.TReqMountTable, _mount),
    _simple(api.TReqUnmountTable, "unmount_table"),
    _simple(api.TReqRemountTable, "remount_table"),
    _simple(api.TReqFreezeTable, "freeze_table"),
    _simple(api.TReqUnfreezeTable, "unfreeze_table"),
    Method(api.TReqAlterTable, _alter),
    _simple(api.TReqAlterTableReplica, "alter_table_replica"),
    _simple(api.TReqTrimTable, "trim_rows"),
    Method(api.TReqReshardTable, _reshard),
    Method(api.TReqGetTableMountInfo, _get_mount_info),
    Method(api.TReqGetTabletInfos, _get_tablet_infos),
    Method(api.TReqGetTabletErrors, _get_tablet_errors),
    Method(api.TReqGetTablePivotKeys, _get_pivot_keys),
    Method(api.TReqGetInSyncReplicas, _get_in_sync_replicas),
)
