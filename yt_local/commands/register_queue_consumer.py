"""register_queue_consumer, unregister_queue_consumer, list_queue_consumer_registrations: who may read a queue."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, reply, simple_method
from yt_local.calls.command import Body, Command, Int64, Parameters, RichPathParameter, light, volatile
from yt_local.calls.manual import Manual
from yt_local.calls.messages import path_text, request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _Registration(Parameters):
    queue_path: RichPathParameter
    consumer_path: RichPathParameter


class _Register(_Registration):
    vital: bool
    partitions: list[Int64] | None = None


class _ListRegistrations(Parameters):
    queue_path: RichPathParameter | None = None
    consumer_path: RichPathParameter | None = None


async def _register(cluster: Cluster, session: Session, parameters: _Register, _: Body) -> Any:
    cluster.registrations.register(
        session.access,
        parameters.queue_path,
        parameters.consumer_path,
        vital=parameters.vital,
        partitions=parameters.partitions,
    )
    return {}


async def _unregister(cluster: Cluster, session: Session, parameters: _Registration, _: Body) -> Any:
    cluster.registrations.unregister(session.access, parameters.queue_path, parameters.consumer_path)
    return {}


async def _list_registrations(cluster: Cluster, session: Session, parameters: _ListRegistrations, _: Body) -> Any:
    return cluster.registrations.list(parameters.queue_path, parameters.consumer_path)


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "register_queue_consumer",
        _Register,
        _register,
        Manual(
            "Lets a consumer read a queue; replaces the registration there may be.",
            errors={
                1: "a path does not lead to a table",
                901: "no permission `register_queue_consumer` with this vitality",
            },
            differs="Counts at once; a real cluster's proxies may take seconds.",
            parameters={
                "partitions": "kept and listed; neither pulls nor advances look at it",
            },
        ),
        transactions="ignored",
    ),
    volatile(
        "unregister_queue_consumer",
        _Registration,
        _unregister,
        Manual(
            "Takes a registration back; there need not be one. The user needs `remove` on the queue or consumer, as "
            "in the sources of YTsaurus; its documentation says `write`.",
            errors={901: "neither queue nor consumer may be removed by the user"},
        ),
        transactions="ignored",
    ),
    light(
        "list_queue_consumer_registrations",
        _ListRegistrations,
        _list_registrations,
        Manual(
            "Registrations of a queue, of a consumer, or all.",
            '`[{queue_path=<cluster=c>"//q"; consumer_path=<cluster=c>"//c"; vital=bool; partitions=#}; ...]`; '
            "`partitions` is a list if one was given.",
            differs="All may be listed, which newer clusters forbid.",
        ),
        transactions="ignored",
    ),
)


async def _rpc_list_registrations(call: Call, request: api.TReqListQueueConsumerRegistrations) -> Reply:
    answer = await call.execute("list_queue_consumer_registrations", request_parameters(request))
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


METHODS: Final[tuple[Method, ...]] = (
    simple_method(api.TReqRegisterQueueConsumer, "register_queue_consumer"),
    simple_method(api.TReqUnregisterQueueConsumer, "unregister_queue_consumer"),
    Method(api.TReqListQueueConsumerRegistrations, _rpc_list_registrations),
)
