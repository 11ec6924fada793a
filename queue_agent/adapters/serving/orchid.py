"""The Orchid service: where masters ask for the status of queues and consumers."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Protocol, Self

from queue_agent.core.values.encoding import Entity, Unsigned
from yt_wire import orchid, rpc, yson
from yt_wire.connection import ConnectionLimits, Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.gate import Gate
from yt_wire.orchid import Verb, resolve
from yt_wire.proto.ypath_pb2 import (
    TReqExecute,
    TReqGet,
    TReqList,
    TRspExecute,
    TRspExists,
    TRspGet,
    TRspList,
)
from yt_wire.rpc_server import RpcServer, Services
from yt_wire.yson import Yson

__all__ = ["OrchidServer", "OrchidTree", "resolve", "to_yson"]

_LIMITS: Final = ConnectionLimits(max_packet_size=1 << 20, max_queued_bytes=4 << 20, buffer_size=1 << 13)
"""Requests hold little more than a path."""


class OrchidTree(Protocol):
    """What is served; all methods raise YtError, with code 500 for a path that does not resolve."""

    async def get(self, path: Sequence[str]) -> Yson:
        """The value at a path of unescaped keys, such as `["queue_agent", "queues", "primary://tmp/q", "status"]`."""
        ...

    async def list(self, path: Sequence[str]) -> list[str]:
        """Keys of the map at a path."""
        ...

    async def attributes(self, path: Sequence[str]) -> Mapping[str, Yson]:
        """Those of the node at a path."""
        ...


async def read_attribute(tree: OrchidTree, node: Sequence[str], keys: Sequence[str]) -> Yson:
    """The value at a path inside the attributes of a node; YtError 500 if there is none."""
    return orchid.resolve_attribute(await tree.attributes(node), keys, node)


def keys_of(value: Yson, keys: Sequence[str]) -> list[str]:
    """What is listed of a map among attributes; YtError if it is no map."""
    if not isinstance(value, Mapping):
        raise YtError(f"Attribute {'/'.join(keys)} is not a map, it has no keys")
    return [str(key) for key in value]


class OrchidServer:
    """Serves a tree over RPC while it is entered.

    Args:
        listeners: bound sockets, see `gate.bind`; leaving closes them.
        gate: decides who gets in, and how long everyone stays.
        others: further services at the same port.
    """

    def __init__(
        self, tree: OrchidTree, listeners: Sequence[socket.socket], gate: Gate, others: Services | None = None
    ) -> None:
        self._tree = tree
        services = {orchid.SERVICE: {orchid.METHOD: self._execute}, **(others or {})}
        self._server = RpcServer(services, listeners, gate, _LIMITS)

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, traceback)

    @property
    def address(self) -> str:
        """`host:port` as bound."""
        return self._server.address

    async def _execute(self, request: rpc.Request) -> Reply:
        rpc.parse(TReqExecute, request.body)
        inner = orchid.decode_request(request.attachments)
        try:
            parts = rpc.encode_response(inner.header, await self._read(inner))
        except YtError as error:
            parts = rpc.encode_error_response(inner.header, error)
        return Reply(TRspExecute().SerializeToString(), parts)

    async def _read(self, request: rpc.Request) -> bytes:
        """The serialized answer to the inner request."""
        header = orchid.find_path_header(request)
        if header is None:
            raise YtError("YPath request has no path", ErrorCode.PROTOCOL)
        if header.mutating:
            raise YtError("Orchid nodes are read-only")
        try:
            verb = Verb(request.header.method)
        except ValueError:
            raise YtError(f"Method {request.header.method} is not supported", ErrorCode.NO_SUCH_METHOD) from None
        target = header.target_path.decode("utf-8", "surrogateescape")
        node_path, attribute = orchid.split_attribute(target)
        path, body = orchid.split_path(node_path), request.body
        try:
            return await self._answer(verb, path, attribute, body)
        except YtError as error:
            shown = target.encode("utf-8", "backslashreplace").decode()
            # Masters wrap whatever fails on the way down a path (`ResolveYPath`); clients look for 500.
            raise YtError(f"Error resolving path {shown}", ErrorCode.RESOLVE, inner_errors=[error]) from error

    async def _answer(self, verb: Verb, path: Sequence[str], attribute: Sequence[str] | None, body: bytes) -> bytes:
        """The serialized answer to a question about a path."""
        match verb:
            case Verb.GET:
                get = rpc.parse(TReqGet, body)
                value = to_yson(await self._get(path, attribute))
                value = _cut(value, get.limit) if get.HasField("limit") else value
                return TRspGet(value=yson.dumps(value)).SerializeToString()
            case Verb.LIST:
                listing = rpc.parse(TReqList, body)
                # As bytes: a key need not be UTF-8.
                names = await self._list(path, attribute)
                keys: Yson = [key.encode("utf-8", "surrogateescape") for key in names]
                keys = _cut(keys, listing.limit) if listing.HasField("limit") else keys
                return TRspList(value=yson.dumps(keys)).SerializeToString()
            case Verb.EXISTS:
                return TRspExists(value=await self._exists(path, attribute)).SerializeToString()

    async def _get(self, path: Sequence[str], attribute: Sequence[str] | None) -> Yson:
        if attribute is None:
            return await self._tree.get(path)
        return await read_attribute(self._tree, path, attribute)

    async def _list(self, path: Sequence[str], attribute: Sequence[str] | None) -> list[str]:
        if attribute is None:
            return await self._tree.list(path)
        return keys_of(await read_attribute(self._tree, path, attribute), attribute)

    async def _exists(self, path: Sequence[str], attribute: Sequence[str] | None) -> bool:
        try:
            await self._get(path, attribute)
        except YtError as error:
            # An agent that was asked for it wraps all errors, those that tell nothing of the path as well.
            if all(one.code == ErrorCode.RESOLVE for one in error.walk()):
                return False
            raise
        return True


def to_yson(value: Yson) -> Yson:
    """A published value as the bindings write it: mappings and sequences of any kind, and unsigned numbers."""
    attributes = {key: to_yson(attribute) for key, attribute in yson.attributes_of(value).items()}
    match value:
        case Entity():
            return yson.with_attributes(None, {key: to_yson(member) for key, member in value.attributes.items()})
        case Unsigned():
            result: Yson = yson.Uint64(value)
        case Mapping():
            result = {key: to_yson(member) for key, member in value.items()}
        case list() | tuple():
            result = [to_yson(member) for member in value]
        case _:
            return value
    return yson.with_attributes(result, attributes) if attributes else result


def _cut(value: Yson, limit: int) -> Yson:
    """The first so many members, marked as incomplete if there are more."""
    if not isinstance(value, (dict, list)) or len(value) <= limit:
        return value
    members = dict(list(value.items())[:limit]) if isinstance(value, dict) else value[:limit]
    return yson.with_attributes(members, {**yson.attributes_of(value), "incomplete": True})
