from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from queue_agent.adapters.cluster.batcher import MAX_SIZE, Batcher
from queue_agent.errors import ClusterError, ClusterUnavailable, ObjectNotFound


class Doubler:
    """Answers with the double; negative numbers are not found."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[int]]] = []
        self.started = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def send(self, key: str, questions: Sequence[int]) -> list[int | ClusterError]:
        self.batches.append((key, list(questions)))
        self.started.set()
        await self.gate.wait()
        if 666 in questions:
            raise ClusterUnavailable("down")
        if 13 in questions:
            raise TypeError("a bug")
        return [ObjectNotFound(f"no {question}") if question < 0 else 2 * question for question in questions]


async def ask_all_at_once(batcher: Batcher[str, int, int], questions: Sequence[int]) -> list[int | Exception]:
    async def ask(question: int) -> int | Exception:
        try:
            return await batcher.ask("key", question)
        except (ClusterError, TypeError) as error:
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(question)) for question in questions]
    return [task.result() for task in tasks]


async def test_questions_of_the_same_moment_travel_together() -> None:
    doubler = Doubler()
    async with Batcher(doubler.send) as batcher:
        assert await ask_all_at_once(batcher, [1, 2, 3]) == [2, 4, 6]
    assert doubler.batches == [("key", [1, 2, 3])]


async def test_keys_are_kept_apart() -> None:
    doubler = Doubler()
    async with Batcher(doubler.send) as batcher, asyncio.TaskGroup() as group:
        group.create_task(batcher.ask("a", 1))
        group.create_task(batcher.ask("b", 2))
        await asyncio.sleep(0)
    assert sorted(doubler.batches) == [("a", [1]), ("b", [2])]


async def test_a_full_batch_leaves_at_once_and_the_next_question_starts_another() -> None:
    doubler = Doubler()
    async with Batcher(doubler.send) as batcher:
        await ask_all_at_once(batcher, range(MAX_SIZE + 1))
    assert [len(questions) for _, questions in doubler.batches] == [MAX_SIZE, 1]


async def test_everyone_gets_an_error_of_their_own() -> None:
    doubler = Doubler()
    async with Batcher(doubler.send) as batcher:
        good, bad = await ask_all_at_once(batcher, [4, -1])
    assert good == 8
    assert isinstance(bad, ObjectNotFound)


async def test_answers_and_errors_come_in_order_of_the_questions() -> None:
    doubler = Doubler()
    async with Batcher(doubler.send) as batcher:
        first, second, third = await batcher.ask_all("key", [1, -1, 2])
        assert await batcher.ask_all("key", []) == []
    assert (first, third) == (2, 4)
    assert isinstance(second, ObjectNotFound)


async def test_a_batch_that_fails_fails_everyone_in_it() -> None:
    doubler = Doubler()
    async with Batcher(doubler.send) as batcher:
        errors = await ask_all_at_once(batcher, [1, 666])
    assert all(isinstance(error, ClusterUnavailable) and error.message == "down" for error in errors)
    assert errors[0] is not errors[1]


async def test_a_bug_reaches_those_who_asked_and_the_batcher_goes_on() -> None:
    doubler = Doubler()
    async with Batcher(doubler.send) as batcher:
        errors = await ask_all_at_once(batcher, [1, 13])
        assert await batcher.ask("key", 5) == 10
    assert all(isinstance(error, TypeError) for error in errors)


async def test_one_who_gives_up_does_not_disturb_the_others() -> None:
    doubler = Doubler()
    doubler.gate.clear()
    async with Batcher(doubler.send) as batcher, asyncio.TaskGroup() as group:
        patient = group.create_task(batcher.ask("key", 1))
        hasty = group.create_task(batcher.ask("key", 2))
        await doubler.started.wait()
        hasty.cancel()
        doubler.gate.set()
        assert await patient == 2
    assert hasty.cancelled()


async def test_a_question_given_up_before_its_batch_left_is_not_sent() -> None:
    doubler = Doubler()
    async with Batcher(doubler.send) as batcher, asyncio.TaskGroup() as group:
        patient = group.create_task(batcher.ask("key", 1))
        hasty = group.create_task(batcher.ask("key", 2))
        await asyncio.sleep(0)
        hasty.cancel()
        assert await patient == 2
    assert doubler.batches == [("key", [1])]


async def test_leaving_fails_the_questions_under_way() -> None:
    doubler = Doubler()
    doubler.gate.clear()
    async with asyncio.TaskGroup() as group, Batcher(doubler.send) as batcher:
        asked = group.create_task(ask_all_at_once(batcher, [1]))
        await doubler.started.wait()
        waiting = group.create_task(ask_all_at_once(batcher, [2]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    for [error] in (await asked, await waiting):
        with pytest.raises(ClusterUnavailable):
            raise error if isinstance(error, Exception) else AssertionError(error)
