"""Questions about objects that other agents lead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from queue_agent.controllers.status.board import Board
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.isolation import contain
from queue_agent.ports.group import PeerAgents
from yt_wire.error import ErrorCode, YtError

log = structlog.get_logger(__name__)

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

_LEADER_SECONDS: Final = 0.7
"""Without an answer from the leader for so long, somebody else looks; whoever has an answer first gives it.

Masters ask another agent after a second, and people are to wait for 2.5 s at most, even if both are lost.
"""

_SILENT_LEADER_SECONDS: Final = 0.05
"""The same, if the leader has not answered earlier questions."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Of an agent that was asked for what it leads."""

    leader: str
    """Its address."""

    seconds: float
    """Since the first question that it has not answered."""


StandIn = Callable[[Silence], Awaitable[Any]]
"""Makes an answer in place of the leader's; None: there is none."""


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
        self._silent_since: dict[str, float] = {}
        """Agents that have not answered the last question in time, and since when; by their addresses."""

    async def get(self, ref: CrossClusterRef, path: Sequence[str], stand_in: StandIn) -> tuple[bool, Any]:
        """The value at a path of the tree of the agent that leads an object; see `ask`.

        Args:
            stand_in: gives the value if the leader does not within `_LEADER_SECONDS`; the leader is still asked.
        """
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self._get(ref, path))
            is_silent = self._board.placement.find_host(ref) in self._silent_since
            await asyncio.wait([asking], timeout=_SILENT_LEADER_SECONDS if is_silent else _LEADER_SECONDS)
            silence = None if asking.done() else self._note_silence(ref)
            if silence is not None:
                looking = group.create_task(_look(ref, stand_in, silence))
                await asyncio.wait([asking, looking], return_when=asyncio.FIRST_COMPLETED)
                if asking.done():
                    looking.cancel()
                elif (found := looking.result()) is not None:
                    asking.cancel()
                    return True, found
            outcome = await asking
        if isinstance(outcome, YtError):
            raise outcome
        return outcome

    async def _get(self, ref: CrossClusterRef, path: Sequence[str]) -> tuple[bool, Any] | YtError:
        try:
            return await self.ask(ref, lambda host, limit: self._peers.get(host, path, limit))
        except YtError as error:
            return error

    def _note_silence(self, ref: CrossClusterRef) -> Silence | None:
        """Note that the leader of an object has not answered; None if no other agent leads it any more."""
        placement, now = self._board.placement, asyncio.get_running_loop().time()
        leader = placement.find_host(ref)
        if leader is None or leader == placement.address:
            return None
        if leader not in self._silent_since:
            leaders = set(placement.hosts.values())
            self._silent_since = {one: since for one, since in self._silent_since.items() if one in leaders}
            self._silent_since[leader] = now - _LEADER_SECONDS
        return Silence(leader, now - self._silent_since[leader])

    async def ask(self, ref: CrossClusterRef, call: Callable[[str, float], Awaitable[Any]]) -> tuple[bool, Any]:
        """Ask the agent that leads an object.

        Args:
            ref: the object.
            call: is given the agent's address, and seconds for the answer.

        Returns:
            Whether there is an answer, and the answer; there is none if no other agent leads the object (any more).

        Raises:
            YtError: the other agent's, if it is about the question; or nobody could be asked.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._patience
        while True:
            placement = self._board.placement
            host = placement.find_host(ref)
            if host is None or host == placement.address:
                return False, None
            try:
                answer = await call(host, min(self._attempt, max(deadline - clock(), 0.0)))
            except YtError as error:
                if error.find(*_ASK_AGAIN) is None or clock() + _PAUSE_SECONDS >= deadline:
                    raise
            else:
                self._silent_since.pop(host, None)
                return True, answer
            await asyncio.sleep(_PAUSE_SECONDS)


async def _look(ref: CrossClusterRef, stand_in: StandIn, silence: Silence) -> Any:
    """The answer in place of the leader's; None if there is none, for whatever reason."""
    try:
        return await stand_in(silence)
    except YtError as error:
        log.info("no stand-in", cluster=ref.cluster, path=ref.path, error=str(error))
    except Exception as error:  # noqa: BLE001 - contained: the leader may still answer
        contain("orchid", ref, error)
    return None
