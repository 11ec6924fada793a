"""One call of a method: who calls, and how it becomes a command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, assert_never

from google.protobuf.message import Message

from yt_local.base.faults import Cut, Drop, Fault, Hang, HttpStatus, OnConnection
from yt_local.calls.command import Body
from yt_local.calls.envelope import enveloped
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.store.model import Node
from yt_wire import rpc
from yt_wire.bus import Part
from yt_wire.connection import HangUp, Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid
from yt_wire.proto.core_pb2 import TGuid
from yt_wire.streams import Streams
from yt_wire.ypath import parse_rich

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

    def node(self, found: Mapping[str, Any], *permissions: str) -> Node:
        """The node that parameters are about, as their transaction sees it.

        Raises:
            YtError: 901 if the user has none of the permissions.
        """
        transaction_id = found.get("transaction_id")
        node = self.cluster.view(transaction_id).resolver.node(parse_rich(found["path"]).bare)
        if permissions:
            self.cluster.session_of(self.session.access.principal, transaction_id).access.check(node, *permissions)
        return node

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

    former_name: str | None = None
    """By which older clients still call it."""

    @property
    def names(self) -> Iterator[str]:
        """All it is called by."""
        yield self.request_type.DESCRIPTOR.name.removeprefix("TReq")
        if self.former_name is not None:
            yield self.former_name


def simple_method(request_type: type[Message], command: str, former_name: str | None = None) -> Method:
    """A method that is a command with nothing to answer."""

    async def run(call: Call, request: Message) -> Reply:
        await call.execute(command, request_parameters(request))
        return NOTHING

    return Method(request_type, run, former_name=former_name)


def reply(message: Message, *attachments: Part) -> Reply:
    """An answer."""
    return Reply(message.SerializeToString(), attachments)


def guid(text: str) -> TGuid:
    """An id as messages have it."""
    return rpc.to_proto_guid(Guid.parse(text))
