"""Cycles are found though old objects are seldom looked through."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import AsyncIterator, Callable

import pytest

from queue_agent.app.garbage import collect_garbage

_TURNS = 100
"""Of the event loop, in each of which the collector has its turn; it looks at everything after 3,000 of them."""


class Cycle:
    """Garbage that only a collector finds."""

    def __init__(self) -> None:
        self.itself = self


def _grown(share: float) -> list[object]:
    """So much more in memory."""
    return [object() for _ in range(int(share * sys.getallocatedblocks()))]


@pytest.fixture
async def collecting() -> AsyncIterator[None]:
    """The collector of an agent, without pauses."""
    async with asyncio.TaskGroup() as group:
        ballast = _grown(0.01)
        task = group.create_task(collect_garbage(period=0))
        await _turn()
        del ballast
        yield
        task.cancel()
    gc.enable()


async def _turn(turns: int = _TURNS, until: Callable[[], bool] = lambda: False) -> bool:
    """Whether it was so within that many turns."""
    for _ in range(turns):
        await asyncio.sleep(0)
        if until():
            return True
    return False


async def _old_garbage() -> weakref.ref[Cycle]:
    """It was old before it was garbage."""
    cycle = Cycle()
    await _turn()
    return weakref.ref(cycle)


@pytest.mark.usefixtures("collecting")
async def test_what_is_new_is_looked_through_when_memory_has_grown() -> None:
    assert not gc.isenabled(), "Python looks for garbage, too"
    old_garbage = await _old_garbage()
    held = _grown(0.1)
    garbage = weakref.ref(Cycle())
    assert await _turn(until=lambda: garbage() is None)
    assert old_garbage() is not None, "everything was looked through"
    del held


@pytest.mark.usefixtures("collecting")
async def test_what_comes_while_memory_grows_slowly_is_looked_through_later() -> None:
    held = _grown(0.03)
    garbage = weakref.ref(Cycle())
    assert not await _turn(until=lambda: garbage() is None)
    more = _grown(0.03)
    assert await _turn(until=lambda: garbage() is None)
    del held, more


@pytest.mark.usefixtures("collecting")
async def test_nothing_is_looked_through_while_memory_does_not_grow() -> None:
    await _turn()
    garbage = weakref.ref(Cycle())
    assert not await _turn(until=lambda: garbage() is None)


@pytest.mark.usefixtures("collecting")
async def test_everything_is_looked_through_when_memory_has_grown_by_much() -> None:
    garbage = await _old_garbage()
    held = _grown(0.6)
    assert await _turn(until=lambda: garbage() is None)
    del held


@pytest.mark.usefixtures("collecting")
async def test_everything_is_looked_through_once_in_a_while() -> None:
    garbage = await _old_garbage()
    assert await _turn(3001, until=lambda: garbage() is None)
