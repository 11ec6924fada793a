from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine

import pytest

from queue_agent.controllers.passes import lane as lane_module
from queue_agent.controllers.passes.lane import LEAST_WIDTH, Lane
from tests.waiting import LIMIT_SECONDS

PATIENCE = 0.01


class Works:
    """Pieces of work that end when they are told to."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}

    def make(self, name: str) -> Callable[[], Coroutine[None, None, None]]:
        end = self._ends[name] = asyncio.Event()

        async def work() -> None:
            self.begun.append(name)
            await end.wait()
            self.ended.append(name)

        return work

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
        await until(lambda: all(name in self.ended for name in names))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - conditions of all kinds, over fakes that know no events
            await asyncio.sleep(0)


@pytest.fixture
async def tasks() -> AsyncIterator[asyncio.TaskGroup]:
    async with asyncio.TaskGroup() as tasks:
        yield tasks


async def put_all(lane: Lane, works: Works, *names: str) -> None:
    for name in names:
        lane.put(works.make(name))
    await settle()


async def run_out_of_patience() -> None:
    """Wait until what is under way has taken too long: timers of equal length end in the order they began in."""
    await asyncio.sleep(PATIENCE)  # nothing tells of it; a busy machine only makes it longer
    await settle()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_is_put_in_is_done_in_that_order_a_few_at_a_time(tasks: asyncio.TaskGroup) -> None:
    lane, works = Lane(tasks, width=2, patience=60, overflow=0), Works()
    assert not lane.full
    await put_all(lane, works, "a", "b", "c", "d")
    assert works.begun == ["a", "b"]
    assert lane.full
    await works.end("b")
    await settle()
    assert works.begun == ["a", "b", "c"]
    await works.end("a", "c", "d")
    await settle()
    assert not lane.full


async def test_what_takes_long_keeps_nobody_waiting(tasks: asyncio.TaskGroup) -> None:
    # Longer than a busy machine makes the loop wait: nothing else may take long.
    lane, works = Lane(tasks, width=1, patience=0.5, overflow=1), Works()
    await put_all(lane, works, "slow", "next", "last")
    await until(lambda: works.begun == ["slow", "next"])
    await works.end("next")
    await settle()
    assert works.begun == ["slow", "next", "last"]
    await works.end("slow", "last")
    await settle()
    await put_all(lane, works, "later", "then")
    assert works.begun[3:] == ["later"], "the width is as before"
    await works.end("later", "then")


async def test_the_more_the_loop_has_to_do_the_fewer_are_under_way(
    tasks: asyncio.TaskGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane, names = Lane(tasks, width=100, patience=60, overflow=0), [f"{number}" for number in range(200)]
    monkeypatch.setattr(lane_module, "LONG_TURN_SECONDS", 60)
    quick = Works()
    await put_all(lane, quick, *names)
    await until(lambda: len(quick.begun) == 100)
    monkeypatch.setattr(lane_module, "LONG_TURN_SECONDS", 0)
    await quick.end(*names)
    busy = Works()
    await put_all(lane, busy, *names)
    assert len(busy.begun) == LEAST_WIDTH
    await busy.end(*names)


async def test_it_has_caught_up_when_nothing_waits(tasks: asyncio.TaskGroup) -> None:
    lane, works = Lane(tasks, width=1, patience=60, overflow=0), Works()
    await lane.caught_up()
    await put_all(lane, works, "a", "b")
    waiting = tasks.create_task(lane.caught_up())
    await settle()
    assert not waiting.done()
    await works.end("a")
    await waiting
    await works.end("b")


async def test_there_is_a_limit_to_what_takes_long(tasks: asyncio.TaskGroup) -> None:
    lane, works = Lane(tasks, width=1, patience=PATIENCE, overflow=1), Works()
    await put_all(lane, works, "a", "b", "c")
    await until(lambda: works.begun == ["a", "b"])
    await run_out_of_patience()
    assert works.begun == ["a", "b"]
    await works.end("b")
    await until(lambda: "c" in works.begun)
    await works.end("a", "c")


async def test_when_what_takes_long_ends_its_room_goes_to_another_that_takes_long(tasks: asyncio.TaskGroup) -> None:
    lane, works = Lane(tasks, width=1, patience=PATIENCE, overflow=1), Works()
    await put_all(lane, works, "a", "b", "c")
    await until(lambda: works.begun == ["a", "b"])
    await run_out_of_patience()
    await works.end("a")
    await settle()
    assert works.begun == ["a", "b", "c"]
    await works.end("b", "c")


async def test_after_the_end_nothing_begins(tasks: asyncio.TaskGroup) -> None:
    lane, works = Lane(tasks, width=1, patience=60, overflow=0), Works()
    await put_all(lane, works, "a", "b")
    lane.stop()
    await works.end("a")
    await put_all(lane, works, "c")
    assert works.begun == ["a"]


async def test_who_is_cancelled_makes_room() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        lane, works = Lane(tasks, width=1, patience=60, overflow=0), Works()
        running: list[asyncio.Task[None] | None] = []

        async def cancelled() -> None:
            running.append(asyncio.current_task())
            await forever()

        lane.put(cancelled)
        lane.put(works.make("next"))
        await settle()
        [task] = running
        assert task is not None
        task.cancel()
        await until(lambda: works.begun == ["next"])
        await works.end("next")
