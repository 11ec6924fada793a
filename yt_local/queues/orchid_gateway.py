"""What a master does when a client reads `@queue_status`: ask an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from types import TracebackType
from typing import Final, Self

from yt_wire import orchid, rpc, yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.orchid import Verb
from yt_wire.proto.ypath_pb2 import TReqExecute
from yt_wire.rpc_client import RpcClient
from yt_wire.ypath import tokenize

DEFAULT_CALL_TIMEOUT: Final = 60.0
DEFAULT_CONNECT_TIMEOUT: Final = 5.0

_BAN_SECONDS: Final = 60.0
_PATIENCE_SECONDS: Final = 1.0
"""After so long without an answer another agent is asked as well: reads change nothing, and the first answer counts."""

_ANOTHER_MAY_ANSWER: Final = frozenset(
    {ErrorCode.TRANSPORT, ErrorCode.NO_SUCH_SERVICE, ErrorCode.NO_SUCH_METHOD, ErrorCode.UNAVAILABLE}
)


class OrchidGateway:
    """Reads Orchid trees of agents while it is entered; connections are kept from one call to the next.

    Every method takes the addresses (`host:port`) of agents of which any can answer, and raises YtError: the agent's
    own about the path, or `Error executing Orchid request` when none of them could be asked.

    Args:
        call_timeout: seconds for a whole call.
        connect_timeout: seconds for one new connection.
    """

    def __init__(
        self, call_timeout: float = DEFAULT_CALL_TIMEOUT, connect_timeout: float = DEFAULT_CONNECT_TIMEOUT
    ) -> None:
        self._call_timeout = call_timeout
        self._client = RpcClient(orchid.SERVICE, connect_timeout)
        self._banned_until: dict[str, float] = {}
        self._turn = 0

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, traceback)

    async def close(self) -> None:
        """End all connections and the calls on them; later calls fail."""
        await self._client.close()

    async def get(self, addresses: Sequence[str], path: str) -> yson.Yson:
        r"""The value at a path such as `//queue_agent/queues/primary:\/\/tmp\/q/status`."""
        return await self._read(Verb.GET, addresses, path)

    async def list(self, addresses: Sequence[str], path: str) -> yson.Yson:
        """Keys of the map at a path."""
        return await self._read(Verb.LIST, addresses, path)

    async def exists(self, addresses: Sequence[str], path: str) -> bool:
        """Whether a path resolves."""
        return bool(await self._read(Verb.EXISTS, addresses, path))

    async def _read(self, verb: Verb, addresses: Sequence[str], path: str) -> yson.Yson:
        try:
            response = await self._execute(addresses, orchid.encode_request(verb, path))
            answer = orchid.decode_response(response.attachments)
            inner_error = answer.error
            value = None if inner_error else orchid.decode_value(verb, answer)
        except YtError as error:
            raise _execution_error(verb, addresses, path, error) from error
        if inner_error:
            raise inner_error
        return value

    async def _execute(self, addresses: Sequence[str], request: Sequence[bytes | None]) -> rpc.Response:
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._call_timeout
        banned = {address for address, until in self._banned_until.items() if until > clock()}
        self._turn += 1
        waiting = order_addresses(addresses, self._turn, banned)
        failures: list[YtError] = []
        refusal: YtError | None = None
        asked: dict[asyncio.Task[rpc.Response | YtError], str] = {}
        async with asyncio.TaskGroup() as group:
            while (waiting or asked) and refusal is None:
                if waiting:
                    address = waiting.pop(0)
                    asked[group.create_task(self._ask(address, request, deadline))] = address
                patience = _PATIENCE_SECONDS if waiting else None
                done, slow = await asyncio.wait(asked, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    self._ban(*(asked[task] for task in slow))
                for task in done:
                    del asked[task]
                    outcome = task.result()
                    if isinstance(outcome, rpc.Response):
                        _cancel(asked)
                        return outcome
                    if outcome.code in _ANOTHER_MAY_ANSWER:
                        failures.append(outcome)
                    else:
                        refusal = outcome
            _cancel(asked)
        if refusal is not None:
            raise refusal
        if len(failures) == 1:
            raise failures[0]
        raise YtError("No alive peers found", ErrorCode.UNAVAILABLE, inner_errors=failures)

    async def _ask(self, address: str, request: Sequence[bytes | None], deadline: float) -> rpc.Response | YtError:
        clock = asyncio.get_running_loop().time
        body = TReqExecute().SerializeToString()
        try:
            response = await self._client.call(address, orchid.METHOD, body, request, time_limit=deadline - clock())
        except YtError as error:
            if error.code in _ANOTHER_MAY_ANSWER:
                self._ban(address)
            return error
        self._banned_until.pop(address, None)
        return response

    def _ban(self, *addresses: str) -> None:
        until = asyncio.get_running_loop().time() + _BAN_SECONDS
        self._banned_until.update(dict.fromkeys(addresses, until))


def _cancel(tasks: Iterable[asyncio.Task[rpc.Response | YtError]]) -> None:
    for task in tasks:
        task.cancel()


def order_addresses(addresses: Sequence[str], turn: int, banned: Collection[str]) -> list[str]:
    """Say in which order to ask: turns are taken, those that failed lately come last."""
    start = turn % len(addresses) if addresses else 0
    return sorted([*addresses[start:], *addresses[:start]], key=banned.__contains__)


def _execution_error(verb: Verb, addresses: Sequence[str], path: str, cause: YtError) -> YtError:
    tokens = tokenize(path)
    attributes = {
        "path": "".join(tokens[-2:]),
        "method": str(verb),
        "endpoint": ", ".join(addresses),
        "remote_root": "".join(tokens[:-2]),
    }
    return YtError("Error executing Orchid request", attributes=attributes, inner_errors=[cause])
