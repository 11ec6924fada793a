"""The other agents of the stage, asked together: whoever does not answer in time is named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.forwarding import Forwarder
from queue_agent.core.group.questions import Answers, Missing, Question
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.group import PeerAgents
from yt_wire.error import ErrorCode, YtError

TIME_LIMIT: Final = 2.0
"""Seconds that the others have for an answer: so long, at most, an agent that is dead delays an answer."""

PAUSE: Final = 2.0
"""Seconds for which an agent that did not answer is not asked again; twice as long each time, up to the most."""

MOST_PAUSE: Final = 30.0

AT_ONCE: Final = 16
"""Agents that are asked at once; each answer takes room."""

_TRANSIENT: Final = (ErrorCode.TRANSPORT, ErrorCode.TIMEOUT, ErrorCode.PROTOCOL, ErrorCode.NO_SUCH_SERVICE)


@dataclass(frozen=True, slots=True)
class _Silence:
    """An agent that is not asked for a while."""

    until: float
    pause: float
    reason: str


class Stage:
    """`ports.StageAnswers`.

    Agents are asked of what they lead themselves, and ask nobody in turn: there are no circles.

    Args:
        peers: the other agents.
        board: who leads what, and who is there.
        forwarder: asks whoever leads an object.
        time_limit: seconds, for all others together.
    """

    def __init__(self, peers: PeerAgents, board: Board, forwarder: Forwarder, time_limit: float = TIME_LIMIT) -> None:
        self._peers = peers
        self._board = board
        self._forwarder = forwarder
        self._time_limit = time_limit
        self._silent: dict[str, _Silence] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    @property
    def address(self) -> str:
        """Of this agent."""
        return self._board.placement.address

    async def ask_leader(self, ref: CrossClusterRef, question: Question) -> Any:
        """See the port."""
        if question.is_about_queue and ref not in self._board.placement.queues:
            return None  # whoever leads a consumer of that name would be asked until nobody waits any more
        _, answer = await self._forwarder.ask(ref, lambda host, limit: self._peers.ask(host, question, limit))
        return answer

    async def ask_others(self, question: Question, check: Callable[[Any], Any]) -> Answers:
        """See the port."""
        return await self.ask_each(lambda agent: question, check)

    async def ask_each(self, question_for: Callable[[str], Question], check: Callable[[Any], Any]) -> Answers:
        """See the port."""
        counts = self._board.placement.object_counts
        others = sorted({*counts, *self._board.group.members} - {self.address})
        self._silent = {agent: silence for agent, silence in self._silent.items() if agent in others}
        deadline = asyncio.get_running_loop().time() + self._time_limit
        async with asyncio.TaskGroup() as group:
            tasks = {
                agent: group.create_task(self._ask(agent, question_for(agent), check, deadline)) for agent in others
            }
        told = {agent: task.result() for agent, task in tasks.items()}
        missing = [Missing(agent, one, counts.get(agent, 0)) for agent, one in told.items() if isinstance(one, str)]
        return Answers(
            {agent: one[0] for agent, one in told.items() if not isinstance(one, str)}, (*self._unknown(), *missing)
        )

    def _unknown(self) -> list[Missing]:
        """What no agent can be asked of."""
        if self._board.agent_pass().last_success_instant is None:
            return [Missing(None, "This agent has not read yet which agents there are", 0)]
        placement = self._board.placement
        everything = {ref.table for ref in (*placement.queues, *placement.consumers, *placement.multi_consumers)}
        homeless = len(everything) - sum(placement.object_counts.values())
        return [Missing(None, "No agent leads these objects", homeless)] if homeless > 0 else []

    async def _ask(
        self, agent: str, question: Question, check: Callable[[Any], Any], deadline: float
    ) -> tuple[Any] | str:
        """The answer, or why there is none."""
        clock = asyncio.get_running_loop().time
        silence = self._silent.get(agent)
        if silence is not None and clock() < silence.until:
            return silence.reason
        try:
            async with asyncio.timeout_at(deadline), self._places:
                answer = check(await self._peers.ask(agent, question, deadline - clock()))
        except TimeoutError:
            error = YtError(f"It does not answer within {self._time_limit:g} s", ErrorCode.TIMEOUT)
        except ValueError as nonsense:
            error = YtError(f"It answers what makes no sense here: {nonsense}", ErrorCode.PROTOCOL)
        except YtError as told:
            error = told
        else:
            self._silent.pop(agent, None)
            return (answer,)
        reason = _reason(error, self._time_limit)
        if error.find(*_TRANSIENT) is not None:
            pause = PAUSE if silence is None else min(2 * silence.pause, MOST_PAUSE)
            self._silent[agent] = _Silence(clock() + pause, pause, reason)
        return reason


def _reason(error: YtError, time_limit: float) -> str:
    if error.find(ErrorCode.NO_SUCH_SERVICE) is not None:
        return "It is of an earlier version, which other agents cannot ask"
    if error.code == ErrorCode.TIMEOUT:
        return f"It does not answer within {time_limit:g} s"
    if error.find(ErrorCode.TRANSPORT) is not None:
        return "It cannot be reached"
    return error.message
