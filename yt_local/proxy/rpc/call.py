"""One call of a method: who calls, and how it becomes a command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, assert_never

from google.protobuf.message import Message

from yt_local.base.faults import Cut, Drop, Fault, Hang, HttpStatus, OnConnection
from yt_local.cluster import Cluster
from yt_local.commands.command import Body
from yt_local.proxy.envelope import enveloped
from yt_local.session import Session
from yt_wire import rpc
from yt_wire.bus import Part
from yt_wire.connection import HangUp, Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid
from yt_wire.proto.core_pb2 import TGuid
from yt_wire.streams import Streams

M = TypeVar("M", bound=Message)

NO_BODY: Final = Body()
NOTHING: Final = Reply()
"""The answer of methods that have nothing to say: an empty message."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a method works with."""

    cluster: Cluster
    session: Session

    attachments: Sequence[Part]
    request_streams: Streams | None

    @property
    def streams(self) -> Streams:
        """YtError 101 if the caller asked for none."""
        if self.request_streams is None:
            raise YtError("Request is missing streaming parameters", ErrorCode.PROTOCOL)
        return self.request_streams

    async def execute(self, name: str, parameters: Mapping[str, Any], body: Body = NO_BODY) -> Any:
        """Run a command as a request for it would, with the faults that are to befall it.

        Raises:
            YtError: what the command raises.
            HangUp: the connection is to be closed.
        """
        cluster, session = self.cluster, self.session

        async def run() -> Any:
            return await cluster.execute(session, cluster.command(name), parameters, body)

        with enveloped(cluster, session, name, parameters, HangUp) as envelope:
            return await run() if envelope.fault is None else await _faultily(envelope.fault, run)


async def _faultily(fault: Fault, run: Callable[[], Awaitable[Any]]) -> Any:
    """End a call as a fault of the connection wants it."""
    effect = fault.effect
    assert isinstance(effect, OnConnection)
    match effect:
        case Hang():
            await fault.ended.wait()
        case Drop(executed=True) | Cut():
            await run()
        case Drop():
            pass
        case HttpStatus(status):
            raise YtError(f"Refused by a fault switch, over HTTP with status {status}", ErrorCode.UNAVAILABLE)
        case _:
            assert_never(effect)
    raise HangUp


Run = Callable[[Call, Any], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a service: its request, and what answers it."""

    request_type: type[Message]
    run: Run
    takes_pieces: bool = False
    """Whether it reads the stream of its caller."""


def reply(message: Message, *attachments: Part) -> Reply:
    """An answer."""
    return Reply(message.SerializeToString(), attachments)


def guid(text: str) -> TGuid:
    """An id as messages have it."""
    return rpc.to_proto_guid(Guid.parse(text))
