"""ping_transaction, commit_transaction, abort_transaction: transactions live on, or end."""

from __future__ import annotations

from typing import Any, Final

from yt_local.base.ids import TABLET_TRANSACTION_TYPES
from yt_local.calls.call import NOTHING, Call, Method, reply
from yt_local.calls.command import Body, Command, Parameters, Prerequisites, TransactionId, unsigned, volatile
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire import rpc
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.guid import Guid
from yt_wire.proto import api_pb2 as api

_GONE: Final = {11000: "no such transaction"}

_TRANSACTION: Final = {**_GONE, 1: "no transaction is named"}


class _Transaction(Parameters):
    transaction_id: TransactionId = None

    @property
    def required_id(self) -> str:
        if self.transaction_id is None:
            raise YtError("Transaction id is required")
        return self.transaction_id


class _Ping(_Transaction):
    ping_ancestor_transactions: bool = False


class _Commit(Prerequisites, _Transaction):
    def check(self, cluster: Cluster, session: Session) -> None:
        """As for others; without its prerequisites the transaction is over."""
        try:
            super().check(cluster, session)
        except YtError:
            _end(cluster, session, self.required_id)
            raise


async def _ping(cluster: Cluster, session: Session, parameters: _Ping, _: Body) -> Any:
    if parameters.transaction_id is None:
        return {}
    if _is_of_tablets(parameters.transaction_id):
        cluster.tablet_transactions.get(parameters.transaction_id)
    else:
        cluster.transactions.ping(parameters.transaction_id, ancestors=parameters.ping_ancestor_transactions)
    return {}


async def _commit(cluster: Cluster, session: Session, parameters: _Commit, _: Body) -> Any:
    if _is_of_tablets(parameters.required_id):
        timestamp = cluster.tablet_transactions.commit(parameters.required_id)
    else:
        _check_owner(cluster, session, parameters.required_id)
        timestamp = cluster.transactions.commit(parameters.required_id)
    return {"primary_commit_timestamp": unsigned(timestamp), "commit_timestamps": {}}


async def _abort(cluster: Cluster, session: Session, parameters: _Transaction, _: Body) -> Any:
    _end(cluster, session, parameters.required_id)
    return {}


def _end(cluster: Cluster, session: Session, transaction_id: str) -> None:
    if _is_of_tablets(transaction_id):
        cluster.tablet_transactions.abort(transaction_id)
    else:
        _check_owner(cluster, session, transaction_id)
        cluster.transactions.abort(transaction_id)


def _check_owner(cluster: Cluster, session: Session, transaction_id: str) -> None:
    """YtError 11000 if there is no such master transaction, 901 if the user may not end it."""
    transaction = cluster.state.versions.transaction(transaction_id)
    session.access.check(cluster.state.node(transaction.id), "write")


def _is_of_tablets(transaction_id: str) -> bool:
    return Guid.parse(transaction_id).object_type in TABLET_TRANSACTION_TYPES


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "ping_transaction",
        _Ping,
        _ping,
        Manual(
            "Has a transaction live on for its timeout; without an id nothing is done.",
            errors=_GONE,
            parameters={
                "transaction_id": "the transaction",
                "ping_ancestor_transactions": "those it is inside of, too",
            },
        ),
        transactions="taken",
        changes=False,
    ),
    volatile(
        "commit_transaction",
        _Commit,
        _commit,
        Manual(
            "Makes what was done in a transaction visible to its parent, or to all.",
            "`{primary_commit_timestamp=uint64; commit_timestamps={}}`",
            {
                **_TRANSACTION,
                1000: "a prerequisite transaction is not there, or a node has another revision; nothing is written",
                1700: "somebody else has written a row since the start of the tablet transaction; nothing is written",
                1701: "a tablet was resharded meanwhile",
                1702: "a tablet is not mounted any more",
                1704: "a tablet was mounted again meanwhile",
            },
            parameters={"transaction_id": "the transaction"},
        ),
        transactions="taken",
    ),
    volatile(
        "abort_transaction",
        _Transaction,
        _abort,
        Manual(
            "Forgets what was done in a transaction and in those inside of it.",
            errors=_TRANSACTION,
            ignored=("force",),
            parameters={"transaction_id": "the transaction"},
        ),
        transactions="taken",
    ),
)


async def _rpc_ping(call: Call, request: api.TReqPingTransaction) -> Reply:
    await call.execute(
        "ping_transaction", request_parameters(request, {"ping_ancestors": "ping_ancestor_transactions"})
    )
    return NOTHING


async def _rpc_commit(call: Call, request: api.TReqCommitTransaction) -> Reply:
    answer = await call.execute("commit_transaction", request_parameters(request))
    timestamp = answer["primary_commit_timestamp"]
    cell_tag = rpc.from_proto_guid(request.transaction_id).first >> 48
    return reply(
        api.TRspCommitTransaction(
            commit_timestamps=api.TTimestampMap(cell_tags=[cell_tag], timestamps=[timestamp]),
            primary_commit_timestamp=timestamp,
        )
    )


async def _rpc_abort(call: Call, request: api.TReqAbortTransaction) -> Reply:
    await call.execute("abort_transaction", request_parameters(request))
    return NOTHING


async def _rpc_flush(_: Call, __: api.TReqFlushTransaction) -> Reply:
    # Whoever asks is going to commit it as a part of another cluster's: its writes would be lost.
    raise YtError("Transactions cannot be part of those of other clusters")


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqPingTransaction, _rpc_ping),
    Method(api.TReqCommitTransaction, _rpc_commit),
    Method(api.TReqAbortTransaction, _rpc_abort),
    Method(api.TReqFlushTransaction, _rpc_flush),
)
