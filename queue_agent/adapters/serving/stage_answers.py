"""What an agent answers of its whole stage: its own answers, and those of the other agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from queue_agent.adapters.serving.http_requests import read_limit
from queue_agent.adapters.serving.own_answers import SHOW_AGENT, Document, OwnAnswers
from queue_agent.core.group.questions import Answers, Question
from queue_agent.core.status.stage_lists import check_list, merge_alerts, merge_pages, merge_verdicts, tell
from queue_agent.ports.group import StageAnswers
from yt_wire.error import YtError

_NOBODY: Final = Answers({})


class WholeStage:
    """Answers questions about all objects of the stage.

    Args:
        own: what is led here.
        stage: the other agents; None: there are none.
    """

    def __init__(self, own: OwnAnswers, stage: StageAnswers | None) -> None:
        self._own = own
        self._stage = stage

    async def list_objects(self, question: Question, name: str) -> Document:
        """A page of `queues` or `consumers`."""
        own, others = await self._ask_all(question, check_list(name, ("cluster", "path")))
        limit = read_limit(question.parameters.get("limit"))
        return merge_pages(name, [own, *others.by_agent.values()], limit, others.missing)

    async def list_verdicts(self, question: Question) -> Document:
        """Verdicts, worst first."""
        own, others = await self._ask_all(question, check_list("verdicts", ("consumer", "queue")))
        limit = read_limit(question.parameters.get("limit"))
        return merge_verdicts([own, *others.by_agent.values()], limit, others.missing)

    async def list_alerts(self, question: Question) -> Document:
        """Alerts, worst first."""
        own, others = await self._ask_all(question, check_list("alerts", ("kind", "reason")))
        limit = read_limit(question.parameters.get("limit"))
        return merge_alerts({self._address: own, **others.by_agent}, limit, others.missing)

    async def list_agents(self) -> Document:
        """Every agent, as it describes itself; first the one that was asked."""
        own, others = await self._ask_all(Question(SHOW_AGENT), _check_agent)
        agents = {self._address: own, **others.by_agent}
        return {
            "agents": [{**one, "address": agent, "asked": agent == self._address} for agent, one in agents.items()],
            **tell(others.missing),
        }

    async def ask_leader(self, question: Question) -> Document:
        """The answer of the agent that leads an object; YtError 3105 if none does."""
        answer = None if self._stage is None else await self._stage.ask_leader(question.ref, question)
        if answer is None:
            return await self._own.answer(question)
        if not isinstance(answer, Mapping):
            raise YtError(f"The agent that leads {question.ref} answers what is no answer")
        return answer

    @property
    def _address(self) -> str:
        return "" if self._stage is None else self._stage.address

    async def _ask_all(self, question: Question, check: Callable[[Any], Any]) -> tuple[Document, Answers]:
        own = await self._own.answer(question)  # the first: what makes no sense is refused before others are asked
        return own, _NOBODY if self._stage is None else await self._stage.ask_others(question, check)


def _check_agent(answer: Any) -> Document:
    if not isinstance(answer, Mapping) or not isinstance(answer.get("version"), str):
        raise ValueError("no version")
    return answer
