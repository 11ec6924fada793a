"""One bad question among good ones, and a cluster that answers nothing at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from queue_agent.adapters.cluster.batcher import Batcher
from queue_agent.adapters.cluster.second_chance import SecondChances
from queue_agent.errors import ClusterError, ClusterUnavailable, ObjectNotFound
from tests.waiting import LIMIT_SECONDS

PATIENCE = 0.05


class Moody:
    """Answers with the double, but for requests that hold a question of one of the bad kinds."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.arrivals: asyncio.Queue[None] = asyncio.Queue()
        self.failing: set[int] = set()
        self.hanging: set[int] = set()
        self.slow: set[int] = set()
        self.down = False
        self.under_way = 0

    async def send(self, key: str, questions: Sequence[int]) -> list[int | ClusterError]:
        self.batches.append(list(questions))
        self.arrivals.put_nowait(None)
        self.under_way += 1
        try:
            if self.down or self.failing & set(questions):
                raise ClusterUnavailable("down" if self.down else "failed")
            if self.hanging & set(questions):
                await asyncio.Event().wait()
            if self.slow & set(questions):
                await asyncio.sleep(PATIENCE * 3)  # late, but before anybody gives up
            return [ObjectNotFound(f"no {question}") if question < 0 else 2 * question for question in questions]
        finally:
            self.under_way -= 1


@pytest.fixture
def cluster() -> Moody:
    return Moody()


@pytest.fixture
async def batcher(cluster: Moody) -> AsyncIterator[Batcher[str, int, int]]:
    async with Batcher(cluster.send, SecondChances(lambda question: question, PATIENCE)) as batcher:
        yield batcher


async def test_a_failing_question_fails_alone_and_in_the_same_round(
    cluster: Moody, batcher: Batcher[str, int, int]
) -> None:
    cluster.failing = {3}
    *good, bad = await batcher.ask_all("", [1, 2, -4, 3])
    assert good[:2] == [2, 4]
    assert isinstance(good[2], ObjectNotFound)
    assert isinstance(bad, ClusterUnavailable)
    assert cluster.batches == [[1, 2, -4, 3], [3], [1], [2], [-4]]


async def test_a_culprit_travels_alone_until_it_is_answered(cluster: Moody, batcher: Batcher[str, int, int]) -> None:
    cluster.failing = {3}
    await batcher.ask_all("", [1, 2, 3])
    cluster.batches.clear()
    assert (await batcher.ask_all("", [1, 2, 3]))[:2] == [2, 4]
    assert sorted(cluster.batches) == [[1, 2], [3]]
    cluster.failing = set()
    assert await batcher.ask_all("", [1, 2, 3]) == [2, 4, 6]
    cluster.batches.clear()
    assert await batcher.ask_all("", [1, 2, 3]) == [2, 4, 6]
    assert cluster.batches == [[1, 2, 3]]


async def test_a_question_without_an_answer_keeps_nobody_else_waiting(
    cluster: Moody, batcher: Batcher[str, int, int]
) -> None:
    cluster.hanging = {3}

    async with asyncio.TaskGroup() as group:
        stuck = group.create_task(batcher.ask("", 3))
        async with asyncio.timeout(LIMIT_SECONDS):
            assert await batcher.ask_all("", [1, 2]) == [2, 4]
            cluster.batches.clear()
            other = group.create_task(batcher.ask("", 3))
            assert await batcher.ask_all("", [1, 2]) == [2, 4]
        stuck.cancel()
        other.cancel()


async def test_the_whole_answer_counts_when_it_comes_after_all(cluster: Moody, batcher: Batcher[str, int, int]) -> None:
    cluster.slow = {3}
    assert await batcher.ask_all("", [1, 2, 3]) == [2, 4, 6]
    for _ in range(10):
        await asyncio.sleep(0)  # whoever asked has the answer before the conclusion is drawn
    cluster.batches.clear()
    assert await batcher.ask_all("", [1, 2, 3]) == [2, 4, 6]
    assert sorted(cluster.batches) == [[1, 2], [3]], "three was slow both times, the others were not"


async def test_when_everything_is_slow_nobody_is_to_blame(cluster: Moody, batcher: Batcher[str, int, int]) -> None:
    cluster.slow = {1, 2, 3}
    assert await batcher.ask_all("", [1, 2, 3]) == [2, 4, 6]
    cluster.slow = set()
    cluster.batches.clear()
    assert await batcher.ask_all("", [1, 2, 3]) == [2, 4, 6]
    assert cluster.batches == [[1, 2, 3]]


async def test_a_cluster_that_is_down_is_not_asked_about_everything_again(
    cluster: Moody, batcher: Batcher[str, int, int]
) -> None:
    cluster.down = True
    outcomes = await batcher.ask_all("", range(50))
    assert all(isinstance(outcome, ClusterUnavailable) for outcome in outcomes)
    assert len(cluster.batches) < 12
    cluster.batches.clear()
    await batcher.ask_all("", range(50))
    assert [len(batch) for batch in cluster.batches] == [50, 1]
    cluster.down = False
    cluster.batches.clear()
    assert await batcher.ask_all("", range(50)) == [2 * question for question in range(50)]
    assert len(cluster.batches) == 1, "nobody was to blame"


async def test_a_cluster_that_was_down_is_found_again_past_a_culprit(
    cluster: Moody, batcher: Batcher[str, int, int]
) -> None:
    cluster.down = True
    for _ in range(3):
        await batcher.ask_all("", [1, 2, 3])
    cluster.down, cluster.failing = False, {3}
    rounds = [(await batcher.ask_all("", [1, 2, 3]))[:2] for _ in range(3)]
    assert rounds[-1] == [2, 4]


async def test_only_a_few_questions_are_asked_alone_at_once(cluster: Moody, batcher: Batcher[str, int, int]) -> None:
    cluster.hanging = set(range(100))
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(batcher.ask_all("", range(100)))
        async with asyncio.timeout(LIMIT_SECONDS):
            for _ in range(9):
                await cluster.arrivals.get()
        await asyncio.sleep(0)
        assert cluster.under_way == 9
        asking.cancel()


async def test_leaving_ends_what_is_asked_alone_too(cluster: Moody) -> None:
    cluster.hanging = {1, 2}
    async with asyncio.TaskGroup() as group, Batcher(cluster.send, SecondChances(lambda it: it, PATIENCE)) as batcher:
        asking = group.create_task(batcher.ask_all("", [1, 2]))
        async with asyncio.timeout(LIMIT_SECONDS):
            for _ in range(3):
                await cluster.arrivals.get()
    assert all(isinstance(outcome, ClusterUnavailable) for outcome in await asking)
    assert cluster.under_way == 0
