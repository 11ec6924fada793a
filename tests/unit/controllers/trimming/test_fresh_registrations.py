"""One reading of the registrations for all who ask at the same time, and none that began before somebody asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from queue_agent.controllers.trimming.fresh_registrations import FreshRegistrations
from queue_agent.core.state.rows import Registration
from queue_agent.errors import ClusterError, ClusterUnavailable
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, FakeStore

VITAL = Registration(QUEUE, CONSUMER, vital=True)


class SlowStore(FakeStore):
    """Sees the table when it is asked, and answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.readings: list[asyncio.Event] = []
        self.under_way = self.most_under_way = 0

    async def read_registrations(self) -> Sequence[Registration]:
        rows, broken, gate = list(self.registrations), self.broken, asyncio.Event()
        self.readings.append(gate)
        self.under_way += 1
        self.most_under_way = max(self.under_way, self.most_under_way)
        await gate.wait()
        self.under_way -= 1
        if broken is not None:
            raise broken
        return rows


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def ask(fresh: FreshRegistrations) -> Any:
    try:
        return await fresh.read()
    except ClusterError as error:
        return error


async def test_all_who_ask_at_once_share_a_reading() -> None:
    store = SlowStore()
    fresh = FreshRegistrations(store)
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(ask(fresh)) for _ in range(5000)]
        await settle()
        store.readings[0].set()  # begun by the first, before the others asked
        await settle()
        store.readings[1].set()
    assert all(one.result() == {} for one in asked)
    assert (len(store.readings), store.most_under_way) == (2, 1)


async def test_who_asks_during_a_reading_gets_one_that_begins_after_it() -> None:
    store = SlowStore()
    fresh = FreshRegistrations(store)
    async with asyncio.TaskGroup() as tasks:
        early = tasks.create_task(ask(fresh))
        await settle()
        store.registrations.append(VITAL)
        late = [tasks.create_task(ask(fresh)) for _ in range(3)]
        await settle()
        assert len(store.readings) == 1
        store.readings[0].set()
        await settle()
        assert (early.result(), [one.done() for one in late]) == ({}, [False] * 3)
        store.readings[1].set()
    assert [one.result() for one in late] == [{QUEUE: [VITAL]}] * 3
    assert (len(store.readings), store.most_under_way) == (2, 1)


async def test_who_gives_up_leaves_the_others_an_answer() -> None:
    store = SlowStore()
    fresh = FreshRegistrations(store)
    async with asyncio.TaskGroup() as tasks:
        hasty, patient = tasks.create_task(ask(fresh)), tasks.create_task(ask(fresh))
        await settle()
        hasty.cancel()
        await settle()
        store.readings[-1].set()
    assert patient.result() == {}


async def test_a_reading_that_fails_fails_for_all_who_wait_for_it_and_for_nobody_else() -> None:
    store = SlowStore()
    fresh = FreshRegistrations(store)
    store.broken = ClusterUnavailable("gone", 105)
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(ask(fresh))
        await settle()
        early = [tasks.create_task(ask(fresh)) for _ in range(3)]
        await settle()
        store.readings[0].set()
        await settle()
        store.broken = None
        late = tasks.create_task(ask(fresh))
        await settle()
        store.readings[1].set()
        await settle()
        store.readings[2].set()
    assert [str(one.result()) for one in (first, *early)] == ["gone"] * 4
    assert late.result() == {}
    assert len(store.readings) == 3
