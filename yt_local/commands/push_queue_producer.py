"""push_queue_producer, and the sessions it needs: rows into a queue, each once."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, reply, simple_method
from yt_local.calls.command import (
    Body,
    Command,
    Int64,
    Parameters,
    RichPathParameter,
    TransactionId,
    tablet_transaction,
    volatile,
)
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.rowsets import decode_rows
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _Session(Parameters):
    producer_path: RichPathParameter
    queue_path: RichPathParameter
    session_id: str


class _CreateSession(_Session):
    user_meta: Any = None


class _Push(_Session):
    epoch: Int64
    sequence_number: Int64 | None = None
    user_meta: Any = None
    require_sync_replica: bool = True
    transaction_id: TransactionId = None


async def _create_session(cluster: Cluster, session: Session, parameters: _CreateSession, _: Body) -> Any:
    return cluster.producers.create_session(
        session.access, parameters.producer_path, parameters.queue_path, parameters.session_id, parameters.user_meta
    )


async def _remove_session(cluster: Cluster, session: Session, parameters: _Session, _: Body) -> Any:
    cluster.producers.remove_session(
        session.access, parameters.producer_path, parameters.queue_path, parameters.session_id
    )
    return {}


async def _push(cluster: Cluster, session: Session, parameters: _Push, body: Body) -> Any:
    return cluster.producers.push(
        session.access,
        parameters.producer_path,
        parameters.queue_path,
        parameters.session_id,
        parameters.epoch,
        body.rows_for(tuple),  # the queue may be on another cluster
        first_sequence_number=parameters.sequence_number,
        user_meta=parameters.user_meta,
        require_sync_replica=parameters.require_sync_replica,
        transaction=tablet_transaction(cluster, parameters.transaction_id),
    )


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "create_queue_producer_session",
        _CreateSession,
        _create_session,
        Manual(
            "Begins a session, or takes it over: the epoch grows, and the earlier holder is fenced off.",
            "`{epoch=int; sequence_number=int; user_meta=any}`; -1 before the first push.",
            {
                1: "the producer's table has another form",
                500: "no such node",
                1702: "the producer's table is not mounted",
            },
        ),
        transactions="ignored",
    ),
    volatile(
        "remove_queue_producer_session",
        _Session,
        _remove_session,
        Manual(
            "Forgets a session; there need not be one.",
            errors={1: "the producer's table has another form", 500: "no such node", 1702: "it is not mounted"},
        ),
        transactions="ignored",
    ),
    # Declared with rows in its body, although older servers declare none: clients still send them.
    volatile(
        "push_queue_producer",
        _Push,
        _push,
        Manual(
            "Writes rows to a queue, each once however often it is pushed.",
            "`{last_sequence_number=int; skipped_row_count=int}`",
            {
                1: "not a queue or a producer; no such session; a `$sequence_number` that is not an integer",
                307: "a row does not go with the schema",
                1700: "another push or owner of the session was faster",
                1701: "`$tablet_index` out of range",
                1702: "queue or producer is not mounted",
                1717: "more rows than a transaction may have",
                3101: "the epoch is greater than the session's",
                3102: "the epoch is less than the session's: somebody has taken it over",
                3103: "sequence numbers are missing, negative, given twice, or do not grow",
            },
            differs="Pushing only old rows, or none, leaves the stored number as it is; the first releases of the real "
            "command lowered it.",
            parameters={
                "epoch": "what `create_queue_producer_session` answered",
                "sequence_number": "number of the first row; the others follow",
            },
        ),
        input_type="tabular",
        transactions="taken",
    ),
)


async def _rpc_create_session(call: Call, request: api.TReqCreateQueueProducerSession) -> Reply:
    answer = await call.execute("create_queue_producer_session", request_parameters(request))
    return reply(
        api.TRspCreateQueueProducerSession(
            sequence_number=answer["sequence_number"],
            epoch=answer["epoch"],
            user_meta=None if yson.is_null(answer["user_meta"]) else yson.dumps(answer["user_meta"]),
        )
    )


async def _rpc_push(call: Call, request: api.TReqPushQueueProducer) -> Reply:
    rows = [row.values for row in decode_rows(request.rowset_descriptor, call.attachments)]
    answer = await call.execute("push_queue_producer", request_parameters(request), Body(rows=rows))
    return reply(
        api.TRspPushQueueProducer(
            last_sequence_number=answer["last_sequence_number"], skipped_row_count=answer["skipped_row_count"]
        )
    )


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqCreateQueueProducerSession, _rpc_create_session),
    simple_method(api.TReqRemoveQueueProducerSession, "remove_queue_producer_session"),
    Method(api.TReqPushQueueProducer, _rpc_push),
)
