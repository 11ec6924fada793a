"""The tree an agent serves to masters and people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from queue_agent.controllers.board import Board
from queue_agent.core.controller_info import controller_info
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.status import pass_node
from queue_agent.wire.error import ErrorCode, YtError
from queue_agent.wire.orchid import resolve

_QUEUES = ("queues", "owned_queues")
_CONSUMERS = ("consumers", "owned_consumers")


class OrchidTree:
    """`adapters.orchid.OrchidTree` over the board.

    Values of `queues` and `consumers` are opaque: whoever gets the maps sees the keys alone. Those of `owned_queues`
    and `owned_consumers` are shown when the map itself is asked for.

    Args:
        board: everything served.
        synchronizer_active: whether the synchronizer runs in this process.
    """

    def __init__(self, board: Board, synchronizer_active: bool) -> None:
        self._board = board
        self._synchronizer_active = synchronizer_active

    async def get(self, path: Sequence[str]) -> Any:
        """The value at a path of keys.

        Raises:
            YtError: code 500 for a path that leads nowhere, 3105 for an object that is not served here.
        """
        match list(path):
            case ["queue_agent", kind, key, *rest] if kind in (*_QUEUES, *_CONSUMERS):
                return resolve(self._object(kind, key, rest), rest, path[:3])
            case ["queue_agent", "owned_queues"]:
                return {str(ref): self._board.queue_node(ref) for ref in self._board.queues()}
            case ["queue_agent", "owned_consumers"]:
                return {str(ref): self._board.consumer_node(ref) for ref in self._board.consumers()}
            case _:
                return resolve(self._root(), path)

    async def list(self, path: Sequence[str]) -> list[str]:
        """Keys of the map at a path; errors as of `get`."""
        value = await self.get(path) if len(path) > 2 else resolve(self._root(), path)
        if not isinstance(value, Mapping):
            raise YtError(f"Node /{'/'.join(['', *path])} is not a map, it has no keys")
        return [str(key) for key in value]

    def _root(self) -> dict[str, Any]:
        queues = {str(ref): None for ref in self._board.queues()}
        consumers = {str(ref): None for ref in self._board.consumers()}
        return {
            "queue_agent": {
                **pass_node(self._board.agent_pass()),
                "queues": queues,
                "consumers": consumers,
                "owned_queues": queues,
                "owned_consumers": consumers,
                "controller_info": controller_info(self._board.all_queues, self._board.all_consumers),
            },
            "cypress_synchronizer": {
                "active": self._synchronizer_active,
                **pass_node(self._board.synchronizer_pass()),
            },
            "alerts": self._board.alerts(),
        }

    def _object(self, kind: str, key: str, rest: Sequence[str]) -> Mapping[str, Any]:
        """The node of an object; when the status is asked for, that alone, for partitions may be many."""
        try:
            ref = CrossClusterRef.parse(key)
        except ValueError as error:
            raise YtError(f"Error parsing object reference: {error}", ErrorCode.RESOLVE) from error
        board = self._board
        is_queue = kind in _QUEUES
        get_status: Callable[[CrossClusterRef], Any] = board.queue_status if is_queue else board.consumer_status
        get_node: Callable[[CrossClusterRef], Any] = board.queue_node if is_queue else board.consumer_node
        if rest[:1] == ["status"]:
            status = get_status(ref)
            node = None if status is None else {"status": status}
        else:
            node = get_node(ref)
        if node is None:
            raise self._unknown(ref, is_queue)
        return node

    def _unknown(self, ref: CrossClusterRef, is_queue: bool) -> YtError:
        if self._board.is_served_queue(ref) if is_queue else self._board.is_served_consumer(ref):
            return YtError(f"Object {ref} is missing")
        return YtError(f"Object {ref} is not mapped to any queue agent", ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED)
