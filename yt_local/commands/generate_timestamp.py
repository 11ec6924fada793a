"""generate_timestamp: timestamps that only grow."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, NoParameters, light, unsigned
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api

_MAX_TIMESTAMPS: Final = 1_000_000


async def _generate_timestamp(cluster: Cluster, session: Session, _: NoParameters, __: Body) -> Any:
    with cluster.state.change():
        return {"timestamp": unsigned(cluster.state.timestamps.next())}


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "generate_timestamp",
        NoParameters,
        _generate_timestamp,
        Manual("A timestamp that is greater than all before.", "`{timestamp=uint64}`"),
        transactions="ignored",
    ),
)


async def _rpc_generate_timestamps(call: Call, request: api.TReqGenerateTimestamps) -> Reply:
    if not 0 < request.count <= _MAX_TIMESTAMPS:
        raise YtError(f"Number of timestamps must be between 1 and {_MAX_TIMESTAMPS}, got {request.count}")
    first = (await call.execute("generate_timestamp", {}))["timestamp"]
    # The caller makes the others itself, by counting on.
    with call.cluster.state.change():
        call.cluster.state.timestamps.advance(first + request.count - 1)
    return reply(api.TRspGenerateTimestamps(timestamp=first))


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqGenerateTimestamps, _rpc_generate_timestamps),)
