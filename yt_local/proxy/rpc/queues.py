"""Methods of the Queue API."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import Message

from yt_local.commands.command import Body
from yt_local.proxy.rpc.call import NOTHING, Call, Method, Run, reply
from yt_local.proxy.rpc.parameters import parameters, path_text
from yt_local.proxy.rpc.rowsets import decode_rows, descriptor, encode_rows
from yt_local.queues.queues import PulledRows
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


def _simple(command: str) -> Run:
    """A method that is a command with nothing to answer."""

    async def run(call: Call, request: Message) -> Reply:
        await call.execute(command, parameters(request))
        return NOTHING

    return run


async def _pull(call: Call, request: api.TReqPullQueue) -> Reply:
    answer = await call.execute("pull_queue", parameters(request))
    rows: PulledRows = answer.rows
    message = api.TRspPullQueue(rowset_descriptor=descriptor(rows.columns), start_offset=rows.start_offset)
    return reply(message, encode_rows(rows.columns, rows.rows))


async def _pull_for_consumer(call: Call, request: api.TReqPullQueueConsumer) -> Reply:
    answer = await call.execute("pull_queue_consumer", parameters(request))
    rows: PulledRows = answer.rows
    message = api.TRspPullQueueConsumer(rowset_descriptor=descriptor(rows.columns), start_offset=rows.start_offset)
    return reply(message, encode_rows(rows.columns, rows.rows))


async def _list_registrations(call: Call, request: api.TReqListQueueConsumerRegistrations) -> Reply:
    answer = await call.execute("list_queue_consumer_registrations", parameters(request))
    message = api.TRspListQueueConsumerRegistrations()
    for found in answer:
        registration = message.registrations.add(
            queue_path=path_text(found["queue_path"]),
            consumer_path=path_text(found["consumer_path"]),
            vital=found["vital"],
        )
        if not yson.is_null(found["partitions"]):
            registration.partitions.SetInParent()
            registration.partitions.items.extend(found["partitions"])
    return reply(message)


async def _create_session(call: Call, request: api.TReqCreateQueueProducerSession) -> Reply:
    answer = await call.execute("create_queue_producer_session", parameters(request))
    return reply(
        api.TRspCreateQueueProducerSession(
            sequence_number=answer["sequence_number"],
            epoch=answer["epoch"],
            user_meta=None if yson.is_null(answer["user_meta"]) else yson.dumps(answer["user_meta"]),
        )
    )


async def _push(call: Call, request: api.TReqPushQueueProducer) -> Reply:
    rows = [row.values for row in decode_rows(request.rowset_descriptor, call.attachments)]
    answer = await call.execute("push_queue_producer", parameters(request), Body(rows=rows))
    return reply(
        api.TRspPushQueueProducer(
            last_sequence_number=answer["last_sequence_number"], skipped_row_count=answer["skipped_row_count"]
        )
    )


METHODS: Final = (
    Method(api.TReqPullQueue, _pull),
    Method(api.TReqPullQueueConsumer, _pull_for_consumer),
    Method(api.TReqAdvanceQueueConsumer, _simple("advance_queue_consumer")),
    Method(api.TReqRegisterQueueConsumer, _simple("register_queue_consumer")),
    Method(api.TReqUnregisterQueueConsumer, _simple("unregister_queue_consumer")),
    Method(api.TReqListQueueConsumerRegistrations, _list_registrations),
    Method(api.TReqCreateQueueProducerSession, _create_session),
    Method(api.TReqRemoveQueueProducerSession, _simple("remove_queue_producer_session")),
    Method(api.TReqPushQueueProducer, _push),
)
