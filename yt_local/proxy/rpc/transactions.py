"""Methods on transactions of both kinds."""

from __future__ import annotations

from typing import Any, Final

from yt_local.base.ids import TABLET_TRANSACTION_TYPES
from yt_local.cluster import Cluster
from yt_local.proxy.rpc.call import NOTHING, Call, Method, reply
from yt_local.proxy.rpc.parameters import parameters
from yt_wire import rpc
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID, Guid
from yt_wire.proto import api_pb2 as api

_MICROSECONDS: Final = 1000
"""In a millisecond, in which commands count."""

_MAX_TIMESTAMPS: Final = 1_000_000


async def _start(call: Call, request: api.TReqStartTransaction) -> Reply:
    if request.start_timestamp or rpc.from_proto_guid(request.id) != NULL_GUID:
        raise YtError("Transactions have ids and start timestamps of the cluster's own choice")
    found = parameters(request, {"parent_id": "transaction_id", "id": "", "start_timestamp": ""})
    if "timeout" in found:
        found["timeout"] = max(request.timeout // _MICROSECONDS, 1)
    if "deadline" in found:
        found["deadline"] = request.deadline // _MICROSECONDS
    answer = await call.execute("start_transaction", found)
    transaction_id = Guid.parse(answer["transaction_id"])
    return reply(
        api.TRspStartTransaction(
            id=rpc.to_proto_guid(transaction_id), start_timestamp=_start_timestamp(call.cluster, transaction_id)
        )
    )


async def _attach(call: Call, request: api.TReqAttachTransaction) -> Reply:
    transaction_id = rpc.from_proto_guid(request.transaction_id)
    answer: dict[str, Any]
    if transaction_id.object_type in TABLET_TRANSACTION_TYPES:
        tablet = call.cluster.tablet_transactions.get(str(transaction_id))
        atomicity = api.A_FULL if tablet.atomicity == "full" else api.A_NONE
        answer = {"type": api.TT_TABLET, "atomicity": atomicity, "timeout": int(tablet.timeout * 1_000_000)}
    else:
        master = call.cluster.state.versions.transaction(str(transaction_id))
        answer = {"type": api.TT_MASTER, "atomicity": api.A_FULL, "timeout": master.timeout * _MICROSECONDS}
        if request.ping:
            await call.execute("ping_transaction", {"transaction_id": str(transaction_id)})
    return reply(
        api.TRspAttachTransaction(
            start_timestamp=_start_timestamp(call.cluster, transaction_id), durability=api.D_SYNC, **answer
        )
    )


def _start_timestamp(cluster: Cluster, transaction_id: Guid) -> int:
    """Of a tablet transaction it is part of the id; those of masters have none here, so it is the last one."""
    is_of_tablets = transaction_id.object_type in TABLET_TRANSACTION_TYPES
    return transaction_id.counter if is_of_tablets else cluster.state.timestamps.last


async def _detach(_: Call, __: api.TReqDetachTransaction) -> Reply:
    return NOTHING


async def _ping(call: Call, request: api.TReqPingTransaction) -> Reply:
    await call.execute("ping_transaction", parameters(request, {"ping_ancestors": "ping_ancestor_transactions"}))
    return NOTHING


async def _commit(call: Call, request: api.TReqCommitTransaction) -> Reply:
    answer = await call.execute("commit_transaction", parameters(request))
    timestamp = answer["primary_commit_timestamp"]
    cell_tag = rpc.from_proto_guid(request.transaction_id).first >> 48
    return reply(
        api.TRspCommitTransaction(
            commit_timestamps=api.TTimestampMap(cell_tags=[cell_tag], timestamps=[timestamp]),
            primary_commit_timestamp=timestamp,
        )
    )


async def _abort(call: Call, request: api.TReqAbortTransaction) -> Reply:
    await call.execute("abort_transaction", parameters(request))
    return NOTHING


async def _flush(_: Call, __: api.TReqFlushTransaction) -> Reply:
    # Whoever asks is going to commit it as a part of another cluster's: its writes would be lost.
    raise YtError("Transactions cannot be part of those of other clusters")


async def _generate_timestamps(call: Call, request: api.TReqGenerateTimestamps) -> Reply:
    if not 0 < request.count <= _MAX_TIMESTAMPS:
        raise YtError(f"Number of timestamps must be between 1 and {_MAX_TIMESTAMPS}, got {request.count}")
    first = (await call.execute("generate_timestamp", {}))["timestamp"]
    # The caller makes the others itself, by counting on.
    with call.cluster.state.change():
        call.cluster.state.timestamps.advance(first + request.count - 1)
    return reply(api.TRspGenerateTimestamps(timestamp=first))


METHODS: Final = (
    Method(api.TReqStartTransaction, _start),
    Method(api.TReqAttachTransaction, _attach),
    Method(api.TReqDetachTransaction, _detach),
    Method(api.TReqPingTransaction, _ping),
    Method(api.TReqCommitTransaction, _commit),
    Method(api.TReqAbortTransaction, _abort),
    Method(api.TReqFlushTransaction, _flush),
    Method(api.TReqGenerateTimestamps, _generate_timestamps),
)
