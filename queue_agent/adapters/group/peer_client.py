"""Other agents, asked over RPC: by masters' way for the tree, and by the agents' own for all they lead."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Final, Self

from queue_agent.adapters.group.orchid_client import OrchidClient
from queue_agent.adapters.serving.peer_server import MAX_ANSWER, METHOD, SERVICE, decode_answer, encode_question
from queue_agent.core.group.questions import Question
from yt_wire.connection import ConnectionLimits
from yt_wire.error import ErrorCode, YtError
from yt_wire.rpc_client import RpcClient
from yt_wire.yson import Yson

_CONNECT_SECONDS: Final = 1.5
"""Less than the others have for an answer: so they learn that one cannot be reached."""

_LIMITS: Final = ConnectionLimits(max_packet_size=MAX_ANSWER + (64 << 10))


class PeerClient:
    """`ports.PeerAgents`; an async context manager, connections are kept from one call to the next."""

    def __init__(self) -> None:
        self._tree = OrchidClient()
        self._client = RpcClient(SERVICE, _CONNECT_SECONDS, _LIMITS)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._tree)
        await self._stack.enter_async_context(self._client)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def get(self, address: str, path: Sequence[str], time_limit: float) -> Yson:
        """The value at a path of an agent's tree; see the port."""
        return await self._tree.get(address, path, time_limit)

    async def ask(self, address: str, question: Question, time_limit: float) -> Any:
        """An agent's answer; see the port."""
        try:
            response = await self._client.call(address, METHOD, encode_question(question), time_limit=time_limit)
        except YtError as error:
            if error.find(ErrorCode.NO_SUCH_SERVICE, ErrorCode.NO_SUCH_METHOD) is None:
                raise
            message = f"Agent {address} is of an earlier version, which other agents cannot ask; update it"
            raise YtError(message, ErrorCode.NO_SUCH_SERVICE) from error
        try:
            return await asyncio.to_thread(decode_answer, response.body)
        except (ValueError, RecursionError) as error:
            raise YtError(f"Agent {address} answers what is no answer: {error}", ErrorCode.PROTOCOL) from error
