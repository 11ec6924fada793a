"""Questions about objects that other agents lead."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from queue_agent.controllers.status.board import Board
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.group import PeerAgents
from yt_wire.error import ErrorCode, YtError

_ASK_AGAIN: Final = (
    ErrorCode.TRANSPORT,
    ErrorCode.UNAVAILABLE,
    ErrorCode.TIMEOUT,
    ErrorCode.QUEUE_AGENT_RETRIABLE,
    ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED,
)
"""The last: whoever leads an object by what is known here has not read that yet."""

_PAUSE_SECONDS: Final = 0.1
_MIN_ATTEMPT_SECONDS: Final = 1.0


class Forwarder:
    """Asks the agent that leads an object; and again, while objects are being handed over.

    Args:
        peers: the other agents.
        board: who leads what, as of now.
        lease: seconds. For twice as long it is asked again: by then somebody leads what a dead agent has led.
        patience: seconds, after which nobody waits for the answer any more.
    """

    def __init__(self, peers: PeerAgents, board: Board, lease: float, patience: float) -> None:
        self._peers = peers
        self._board = board
        self._patience = min(2 * lease, patience)
        self._attempt = max(lease / 3, _MIN_ATTEMPT_SECONDS)

    async def get(self, ref: CrossClusterRef, path: Sequence[str]) -> tuple[bool, Any]:
        """The value at a path of the tree of the agent that leads an object.

        Returns:
            Whether there is an answer, and the answer; there is none if no other agent leads the object (any more).

        Raises:
            YtError: the other agent's, if it is about the path; or nobody could be asked.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._patience
        while True:
            placement = self._board.placement
            host = placement.find_host(ref)
            if host is None or host == placement.address:
                return False, None
            try:
                return True, await self._peers.get(host, path, min(self._attempt, max(deadline - clock(), 0.0)))
            except YtError as error:
                if error.find(*_ASK_AGAIN) is None or clock() + _PAUSE_SECONDS >= deadline:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)
