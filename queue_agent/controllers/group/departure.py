"""Leaving the agents of a stage without a gap: others begin before this one ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import structlog

from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.group.membership import Membership
from queue_agent.controllers.status.board import Board
from queue_agent.errors import ClusterError
from queue_agent.ports.group import AgentGroup

log = structlog.get_logger(__name__)

_POLL_SECONDS: Final = 0.05
_KEEPING_SECONDS: Final = 2.0
_LAST_PASSES: Final = 2
"""Passes of the agent after everything has been handed over: others have seen by then what they have got."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Between whoever ends an agent and the agent."""

    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the agent may be ended; it is not ended by itself."""


async def depart(
    departure: Departure,
    group: AgentGroup,
    leadership: Leadership,
    membership: Membership,
    board: Board,
    keep: Callable[[], Awaitable[None]],
) -> None:
    """Wait until that is wanted, then hand everything over; passes and servers go on meanwhile.

    Args:
        departure: says when, and hears of the end.
        group: the agents of the stage.
        leadership, membership: of this agent, which end.
        board: shows what is still led here.
        keep: writes what whoever takes over has to know; given up after `_KEEPING_SECONDS`.
    """
    await departure.wanted.wait()
    with suppress(TimeoutError):
        async with asyncio.timeout(_KEEPING_SECONDS):
            await keep()
    await leadership.retire()
    if membership.is_joined:
        await membership.leave()
        await _hand_over(group, leadership.address, board)
    departure.done.set()


async def _hand_over(group: AgentGroup, address: str, board: Board) -> None:
    if address not in board.placement.object_counts:  # rows of other stages stay as they are
        return
    while address in board.placement.object_counts:
        try:
            view = await group.look()
        except ClusterError as error:
            log.warning("nothing handed over", error=str(error))
            return
        if not set(view.eligible) - {address}:
            return
        await asyncio.sleep(_POLL_SECONDS)
    last = board.agent_pass().pass_index + _LAST_PASSES
    while board.agent_pass().pass_index < last:  # noqa: ASYNC110 - passes tell nobody that they have ended
        await asyncio.sleep(_POLL_SECONDS)
