from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from queue_agent.controllers.status import forwarding
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.forwarding import Forwarder, Silence
from queue_agent.core.group.placement import Placement
from queue_agent.core.group.questions import Question
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire.error import ErrorCode, YtError

QUEUE = CrossClusterRef("a", "//q")
PATIENCE = 30.0
GONE = YtError("connection refused", ErrorCode.TRANSPORT)


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 5, 1, tzinfo=UTC)


class Peers:
    """`ports.PeerAgents`: answers by agent are values, errors to raise, or None for none at all."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    async def get(self, address: str, path: Sequence[str], time_limit: float) -> Any:
        answer = self.answers[address]
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def ask(self, address: str, question: Question, time_limit: float) -> Any:
        raise AssertionError("the tree is asked")


class Looks:
    """Makes stand-ins, and remembers for whom."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.silences: list[Silence] = []
        self.begun = asyncio.Event()

    async def __call__(self, silence: Silence) -> Any:
        self.silences.append(silence)
        self.begun.set()
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, asyncio.Event):
            await self.answer.wait()
            return None
        return self.answer


@pytest.fixture
def board() -> Board:
    board = Board("host", Clock())
    board.put_placement(Placement("me", {QUEUE: "x"}, [QUEUE]))
    return board


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "_LEADER_SECONDS", 0.05)


async def test_the_answer_of_a_leader_counts_and_nobody_looks(board: Board) -> None:
    looks = Looks("stand-in")
    assert await Forwarder(Peers(x="led"), board, PATIENCE, PATIENCE).get(QUEUE, ["p"], looks) == (True, "led")
    assert looks.silences == []


@pytest.mark.parametrize("answer", [None, GONE, YtError("being handed over", ErrorCode.UNAVAILABLE)])
async def test_a_leader_that_does_not_answer_is_stood_in_for(board: Board, answer: YtError | None) -> None:
    looks = Looks("stand-in")
    async with asyncio.timeout(PATIENCE / 2):
        found = await Forwarder(Peers(x=answer), board, PATIENCE, PATIENCE).get(QUEUE, ["p"], looks)
    assert found == (True, "stand-in")
    [silence] = looks.silences
    assert (silence.leader, silence.seconds > 0.04) == ("x", True)


async def test_an_error_of_the_leader_about_the_question_is_passed_on(board: Board) -> None:
    looks = Looks("stand-in")
    with pytest.raises(YtError, match="no such child"):
        await Forwarder(Peers(x=YtError("no such child")), board, PATIENCE, PATIENCE).get(QUEUE, ["p"], looks)
    assert looks.silences == []


async def test_it_is_told_for_how_long_a_leader_has_been_silent_until_it_answers(board: Board) -> None:
    looks, peers = Looks("stand-in"), Peers(x=None)
    forwarder = Forwarder(peers, board, PATIENCE, PATIENCE)
    for _ in range(2):
        await forwarder.get(QUEUE, ["p"], looks)
    first, second = looks.silences
    assert second.seconds > first.seconds
    peers.answers["x"] = "led"
    assert await forwarder.get(QUEUE, ["p"], looks) == (True, "led")
    peers.answers["x"] = None
    await forwarder.get(QUEUE, ["p"], looks)
    assert looks.silences[2].seconds < second.seconds


@pytest.mark.parametrize("look", [None, YtError("no cluster"), RuntimeError("a bug")])
async def test_without_a_stand_in_the_leader_is_waited_for(board: Board, look: Any) -> None:
    peers = Peers(x=GONE)
    looks = Looks(look)
    getting = Forwarder(peers, board, PATIENCE, PATIENCE).get(QUEUE, ["p"], looks)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(getting)
        await looks.begun.wait()
        peers.answers["x"] = "led"
    assert task.result() == (True, "led")


async def test_whoever_answers_first_is_heard(board: Board) -> None:
    """The leader comes back while somebody else still looks."""
    peers, looks = Peers(x=GONE), Looks(asyncio.Event())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(Forwarder(peers, board, PATIENCE, PATIENCE).get(QUEUE, ["p"], looks))
        await looks.begun.wait()
        peers.answers["x"] = "led"
    assert task.result() == (True, "led")


async def test_an_object_that_has_come_here_meanwhile_is_not_stood_in_for(board: Board) -> None:
    looks = Looks("stand-in")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(Forwarder(Peers(x=GONE), board, PATIENCE, PATIENCE).get(QUEUE, ["p"], looks))
        await asyncio.sleep(0)
        board.put_placement(Placement("me", {QUEUE: "me"}, [QUEUE]))
    assert task.result() == (False, None)
    assert looks.silences == []
