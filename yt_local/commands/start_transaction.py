"""start_transaction: transactions of masters and of tablets begin."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from yt_local.base.ids import TABLET_TRANSACTION_TYPES
from yt_local.base.scalars import milliseconds
from yt_local.calls.call import NOTHING, Call, Method, reply
from yt_local.calls.command import Body, Command, Parameters, TransactionId, volatile
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.dynamic.tablet_transaction import Atomicity
from yt_local.tables.dynamic.tablet_transactions import DEFAULT_TIMEOUT
from yt_wire import rpc
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID, Guid
from yt_wire.proto import api_pb2 as api

_MICROSECONDS: Final = 1000
"""In a millisecond, in which commands count."""


def _instant(value: Any) -> Any:
    """An instant as clients write them, ISO 8601 or milliseconds since the epoch; None if none is given."""
    if isinstance(value, str):
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value / 1000, UTC)
        except (OverflowError, OSError) as error:
            raise ValueError("not an instant") from error
    return value


class _Start(Parameters):
    type: Literal["master", "tablet"] = "master"
    timeout: Annotated[int, Field(gt=0, lt=2**53), BeforeValidator(milliseconds)] | None = None
    deadline: Annotated[datetime | None, BeforeValidator(_instant)] = None
    transaction_id: TransactionId = None
    prerequisite_transaction_ids: list[str] = Field(default_factory=list)
    atomicity: Atomicity = "full"
    attributes: dict[str, Any] | None = None


async def _start(cluster: Cluster, session: Session, parameters: _Start, _: Body) -> Any:
    deadline = None if parameters.deadline is None else parameters.deadline.timestamp()
    if parameters.type == "master":
        transaction_id = cluster.transactions.start(
            DEFAULT_TIMEOUT if parameters.timeout is None else parameters.timeout,
            deadline=deadline,
            parent_id=parameters.transaction_id,
            prerequisite_ids=parameters.prerequisite_transaction_ids,
            attributes=parameters.attributes,
            owner=session.access.user,
        ).id
        return {"transaction_id": transaction_id}
    if parameters.transaction_id is not None:
        raise YtError("Tablet transaction cannot have a parent")
    if parameters.prerequisite_transaction_ids:
        raise YtError("Tablet transaction cannot have prerequisites")
    transaction = cluster.tablet_transactions.start(
        DEFAULT_TIMEOUT if parameters.timeout is None else parameters.timeout,
        deadline,
        parameters.atomicity,
    )
    return {"transaction_id": transaction.id}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "start_transaction",
        _Start,
        _start,
        Manual(
            "Starts a master or a tablet transaction; with `transaction_id` inside of another.",
            "`{transaction_id=id}`",
            {
                1: "a tablet transaction with a parent or prerequisites",
                1000: "a prerequisite transaction is not there",
                11000: "no such parent",
                11002: "nested too deeply",
            },
            ignored=(
                "sticky",
                "ping_ancestor_transactions",
                "durability",
                "suppress_start_timestamp_generation",
                "coordinator_master_cell_tag",
                "replicate_to_master_cell_tags",
                "start_cypress_transaction",
            ),
            differs="Tablet transactions are sticky anyway: there is one proxy. `transaction_id_override` and "
            "`start_timestamp_override` are ignored.",
            parameters={
                "timeout": "milliseconds without a ping after which it ends; 15 s if not given, an hour at most",
                "deadline": "when it ends at the latest; an instant, or milliseconds since 1970",
                "transaction_id": "the transaction it is inside of",
                "atomicity": "of a tablet transaction: `none` for no atomicity at all",
                "attributes": "`title` and others",
            },
        ),
        transactions="taken",
    ),
)


async def _rpc_start(call: Call, request: api.TReqStartTransaction) -> Reply:
    if request.start_timestamp or rpc.from_proto_guid(request.id) != NULL_GUID:
        raise YtError("Transactions have ids and start timestamps of the cluster's own choice")
    found = request_parameters(request, {"parent_id": "transaction_id", "id": "", "start_timestamp": ""})
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


async def _rpc_attach(call: Call, request: api.TReqAttachTransaction) -> Reply:
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


async def _rpc_detach(_: Call, __: api.TReqDetachTransaction) -> Reply:
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqStartTransaction, _rpc_start),
    Method(api.TReqAttachTransaction, _rpc_attach),
    Method(api.TReqDetachTransaction, _rpc_detach),
)
