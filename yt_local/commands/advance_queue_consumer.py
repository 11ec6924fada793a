"""advance_queue_consumer, and its former name advance_consumer: offsets of consumers."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Method, simple_method
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
from yt_local.calls.manual import NOT_REGISTERED, Manual
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.proto import api_pb2 as api

_ADVANCE: Final = Manual(
    "Moves a consumer's offset.",
    errors={
        1: "a negative partition or offset; a consumer table of another form; a consumer of another cluster; an "
        "unknown cluster",
        500: "no such node; the queue too must be there, unless `client_side`",
        901: NOT_REGISTERED,
        1700: "somebody else has moved it since the transaction started; at the commit",
        1702: "the consumer's table is not mounted",
        3100: "the offset is not `old_offset`; attributes tell what it is",
    },
    parameters={
        "new_offset": "index of the first row that has not been read; not compared with the queue",
        "old_offset": "where the consumer has to stand; not looked at if null",
        "client_side": "the offset is written without asking for a registration, and without `meta`",
    },
)


class _Registration(Parameters):
    queue_path: RichPathParameter
    consumer_path: RichPathParameter


class _Advance(_Registration):
    partition_index: Int64
    new_offset: Int64
    old_offset: Int64 | None = None
    client_side: bool = False
    transaction_id: TransactionId = None


async def _advance(cluster: Cluster, session: Session, parameters: _Advance, _: Body) -> Any:
    cluster.queues.advance(
        session.access,
        parameters.consumer_path,
        parameters.queue_path,
        parameters.partition_index,
        parameters.old_offset,
        parameters.new_offset,
        client_side=parameters.client_side,
        transaction=tablet_transaction(cluster, parameters.transaction_id),
    )
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile("advance_queue_consumer", _Advance, _advance, _ADVANCE, transactions="taken"),
    volatile("advance_consumer", _Advance, _advance, _ADVANCE, transactions="taken"),
)


METHODS: Final[tuple[Method, ...]] = (
    simple_method(api.TReqAdvanceQueueConsumer, "advance_queue_consumer", former_name="AdvanceConsumer"),
)
