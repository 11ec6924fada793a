from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from queue_agent.controllers.status import stage as stage_module
from queue_agent.controllers.status.board import AGENT, Board
from queue_agent.controllers.status.forwarding import Forwarder
from queue_agent.controllers.status.stage import Stage
from queue_agent.core.group.members import GroupView
from queue_agent.core.group.placement import Placement
from queue_agent.core.group.questions import Missing, Question
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire.error import ErrorCode, YtError

NOW = datetime(2026, 5, 1, tzinfo=UTC)
QUEUE, OTHER, CONSUMER = (CrossClusterRef("a", path) for path in ("//q", "//other", "//c"))
QUESTION = Question("list_queues")


class Clock:
    def now(self) -> datetime:
        return NOW


class Peers:
    """`ports.PeerAgents`: answers are values, errors to raise, or None for none at all."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def get(self, address: str, path: Sequence[str], time_limit: float) -> Any:
        raise AssertionError("the tree is not asked")

    async def ask(self, address: str, question: Question, time_limit: float) -> Any:
        self.asked.append(address)
        answer = self.answers[address]
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return answer


def make_stage(peers: Peers, hosts: dict[CrossClusterRef, str], *members: str, time_limit: float = 0.05) -> Stage:
    board = Board("host", Clock())
    board.put_placement(Placement("me", hosts, [QUEUE, OTHER], [CONSUMER]))
    board.put_group(GroupView(members, {}, None))
    board.finish_pass(AGENT, 1, NOW, None)
    return Stage(peers, board, Forwarder(peers, board, 1.0, 1.0), time_limit)


HOSTS = {QUEUE: "x", OTHER: "me", CONSUMER: "y"}


async def test_all_other_agents_are_asked_members_without_objects_too() -> None:
    peers = Peers(x=1, y=2, idle=3)
    answers = await make_stage(peers, HOSTS, "me", "idle", "x").ask_others(QUESTION, lambda answer: answer * 10)
    assert (answers.by_agent, answers.missing) == ({"x": 10, "y": 20, "idle": 30}, ())


async def test_an_agent_that_does_not_answer_is_named_and_delays_by_the_limit_only_once() -> None:
    peers = Peers(x=None, y=2)
    stage, clock = make_stage(peers, HOSTS), asyncio.get_running_loop().time
    for _ in range(3):
        answers = await stage.ask_others(QUESTION, lambda answer: answer)
        assert answers.by_agent == {"y": 2}
        assert answers.missing == (Missing("x", "It does not answer within 0.05 s", 1),)
    assert peers.asked == ["x", "y", "y", "y"]
    assert clock() > 0


async def test_an_agent_that_answers_again_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_module, "PAUSE", 0.0)
    peers = Peers(x=YtError("gone", ErrorCode.TRANSPORT), y=2)
    stage = make_stage(peers, HOSTS)
    assert (await stage.ask_others(QUESTION, lambda answer: answer)).missing == (
        Missing("x", "It cannot be reached", 1),
    )
    peers.answers["x"] = 1
    answers = await stage.ask_others(QUESTION, lambda answer: answer)
    assert (answers.by_agent, answers.missing) == ({"x": 1, "y": 2}, ())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (YtError("x", ErrorCode.NO_SUCH_SERVICE), "It is of an earlier version, which other agents cannot ask"),
        (YtError("Its disk is full"), "Its disk is full"),
        (ValueError("no list of queues"), "It answers what makes no sense here: no list of queues"),
    ],
)
async def test_why_an_agent_is_missing_is_told(error: Exception, reason: str) -> None:
    peers = Peers(x=1, y=2)

    def check(answer: int) -> int:
        if answer == 1:
            raise error
        return answer

    answers = await make_stage(peers, HOSTS).ask_others(QUESTION, check)
    assert (answers.by_agent, answers.missing) == ({"y": 2}, (Missing("x", reason, 1),))


async def test_objects_that_no_agent_leads_are_counted() -> None:
    answers = await make_stage(Peers(x=1), {QUEUE: "x"}).ask_others(QUESTION, lambda answer: answer)
    assert answers.missing == (Missing(None, "No agent leads these objects", 2),)


async def test_an_agent_that_has_read_nothing_yet_says_so() -> None:
    board = Board("host", Clock())
    peers = Peers()
    answers = await Stage(peers, board, Forwarder(peers, board, 1.0, 1.0)).ask_others(QUESTION, lambda answer: answer)
    assert [one.reason for one in answers.missing] == ["This agent has not read yet which agents there are"]


async def test_the_leader_alone_is_asked_about_an_object() -> None:
    peers = Peers(x="plan", y="plan")
    stage = make_stage(peers, HOSTS)
    assert await stage.ask_leader(QUEUE, Question("plan_trim")) == "plan"
    assert await stage.ask_leader(OTHER, Question("plan_trim")) is None
    assert await stage.ask_leader(CrossClusterRef("a", "//unknown"), Question("show_series")) is None
    assert peers.asked == ["x"]


async def test_nobody_is_asked_for_a_plan_of_what_is_no_queue() -> None:
    assert await make_stage(Peers(), HOSTS).ask_leader(CONSUMER, Question("plan_trim")) is None
