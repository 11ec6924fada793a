"""The agents of a stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from queue_agent.core.group.members import GroupView
from queue_agent.core.group.questions import Answers, Question
from queue_agent.core.values.refs import CrossClusterRef


class AgentGroup(Protocol):
    """The agents of a stage, as the cluster of the state knows them; raises `ClusterError` like a cluster."""

    async def join(self, lease: float) -> str:
        """Become a member, for as long as the membership is pinged.

        Args:
            lease: seconds the membership lives without a ping.

        Returns:
            The id of the membership, a master transaction.

        Raises:
            ClusterError: also if an agent of the same address is a member.
        """
        ...

    async def register(self) -> None:
        """Have the agent be known as one that there is; whoever joins is."""
        ...

    async def ping(self, membership: str) -> None:
        """Prolong a membership; ClusterError with code 11000 if it has ended."""
        ...

    async def leave(self, membership: str) -> None:
        """End a membership, and give back what it has locked."""
        ...

    async def look(self) -> GroupView:
        """Who is there now."""
        ...

    async def claim_synchronizer(self, membership: str) -> bool:
        """Try to become the one that keeps the state tables; False if another is."""
        ...

    async def resign_synchronizer(self, membership: str) -> None:
        """Let another keep the state tables."""
        ...


class PeerAgents(Protocol):
    """The other agents."""

    async def get(self, address: str, path: Sequence[str], time_limit: float) -> Any:
        """The value at a path, of unescaped keys, of an agent's tree.

        Args:
            address: of the agent, `host:port`.
            path: as of `adapters.orchid.OrchidTree.get`.
            time_limit: seconds until the answer has to be there.

        Raises:
            YtError: the agent's own; code 100 if it cannot be reached, 3 if time is up.
        """
        ...

    async def ask(self, address: str, question: Question, time_limit: float) -> Any:
        """An agent's answer about what it leads, as JSON has it.

        Args:
            address: of the agent, `host:port`.
            question: what is asked.
            time_limit: seconds until the answer has to be there.

        Raises:
            YtError: as of `get`; code 101 for what is no answer, or too large, 102 if the agent does not know of such
                questions.
        """
        ...


class StageAnswers(Protocol):
    """The other agents of the stage, asked together."""

    async def ask_others(self, question: Question, check: Callable[[Any], Any]) -> Answers:
        """What all others answer, within a bounded time.

        Args:
            question: what is asked.
            check: gives an answer as it is to be used; ValueError: it makes no sense.
        """
        ...

    async def ask_each(self, question_for: Callable[[str], Question], check: Callable[[Any], Any]) -> Answers:
        """The same, with a question for each agent by its address."""
        ...

    async def ask_leader(self, ref: CrossClusterRef, question: Question) -> Any:
        """The answer of whoever leads an object.

        Returns:
            None if this agent leads it, or nobody does.

        Raises:
            YtError: the other agent's; or nobody could be asked.
        """
        ...

    @property
    def address(self) -> str:
        """Of this agent."""
        ...
