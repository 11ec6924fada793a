"""Other agents, asked over RPC the way masters ask."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from yt_wire import orchid
from yt_wire.orchid import Verb
from yt_wire.proto.ypath_pb2 import TReqExecute
from yt_wire.rpc_client import RpcClient
from yt_wire.yson import Yson

_CONNECT_SECONDS: Final = 2.0


class OrchidClient:
    """`ports.PeerAgents`; an async context manager, connections are kept from one call to the next."""

    def __init__(self) -> None:
        self._client = RpcClient(orchid.SERVICE, _CONNECT_SECONDS)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, traceback)

    async def get(self, address: str, path: Sequence[str], time_limit: float) -> Yson:
        """The value at a path of an agent's tree; see the port."""
        request = orchid.encode_request(Verb.GET, orchid.join_path(path))
        response = await self._client.call(
            address, orchid.METHOD, TReqExecute().SerializeToString(), request, time_limit=time_limit
        )
        answer = orchid.decode_response(response.attachments)
        if answer.error:
            raise answer.error
        return orchid.decode_value(Verb.GET, answer)
