"""The past of an object is read once, in the background; if that fails, the answer says why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.controllers.status import told_series
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.told_series import SeriesTeller
from queue_agent.core.state.rows import Registration
from queue_agent.core.status.past_series import Sample
from queue_agent.core.status.time_series import TimeSeriesView
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.ports.history import Past
from queue_agent.ports.passes import Clock
from yt_wire.scope import TaskScope

QUEUE, CONSUMER = CrossClusterRef("a", "//q"), CrossClusterRef("b", "//c")
OTHER = CrossClusterRef("a", "//other")
MINUTE = timedelta(minutes=1)


class Served(Board):
    """A board whose objects the test chooses."""

    def __init__(self, clock: Clock) -> None:
        super().__init__("host", clock)
        self.served = {QUEUE, OTHER, CONSUMER}

    def is_served_queue(self, ref: CrossClusterRef) -> bool:
        return ref in self.served

    def is_served_consumer(self, ref: CrossClusterRef) -> bool:
        return ref in self.served

    def registrations_of_consumer(self, ref: CrossClusterRef) -> Sequence[Registration]:
        return [Registration(QUEUE, CONSUMER, vital=True)]


class World:
    """Clock, memory and history."""

    def __init__(self) -> None:
        self.board = Served(self)
        self.time = datetime(2026, 5, 1, 12, tzinfo=UTC)
        self.view: TimeSeriesView | None = None
        self.is_full = False
        self.past: Past | Exception = Past([Sample(self.time - 5 * MINUTE, {"rows": 1.0})], True)
        self.reads = 0
        self.gate = asyncio.Event()
        self.gate.set()

    def now(self) -> datetime:
        return self.time

    def remember(self, *minutes: int) -> None:
        self.view = TimeSeriesView([self.time + minute * MINUTE for minute in minutes], {"rows": [2.0] * len(minutes)})

    def queue_series(self, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        return self.view

    def consumer_series(self, consumer: CrossClusterRef, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        return self.view

    def queue_spark(self, queue: CrossClusterRef) -> Sequence[float | None]:
        return []

    def consumer_spark(self, consumer: CrossClusterRef, queue: CrossClusterRef) -> Sequence[float | None]:
        return []

    async def read_queue(self, queue: CrossClusterRef, since: datetime) -> Past:
        self.reads += 1
        await self.gate.wait()
        if isinstance(self.past, Exception):
            raise self.past
        return self.past

    async def read_consumer(self, consumer: CrossClusterRef, queue: CrossClusterRef, since: datetime) -> Past:
        return await self.read_queue(queue, since)


@pytest.fixture
def world() -> World:
    return World()


async def test_the_past_is_read_once_and_memory_follows(world: World) -> None:
    async with TaskScope() as scope:
        teller = SeriesTeller(world, world, world.board, scope, world)
        told = await teller.queue_series(QUEUE, 24)
        assert told.view is not None and told.view.series["rows"][0] == 1.0
        world.time += MINUTE
        world.remember(0)
        told = await teller.queue_series(QUEUE, 24)
        assert told.view is not None and (told.view.series["rows"][0], told.view.series["rows"][-1]) == (1.0, 2.0)
        assert (told.history_until, told.note, world.reads) == (world.time, None, 1)
        assert (await teller.consumer_series(CONSUMER, QUEUE, 24)).history_until == world.time
        assert world.reads == 2


async def test_an_object_that_was_led_elsewhere_meanwhile_is_read_again(world: World) -> None:
    async with TaskScope() as scope:
        teller = SeriesTeller(world, world, world.board, scope, world)
        await teller.queue_series(QUEUE, 24)
        world.time += 30 * MINUTE
        world.remember(0)
        await teller.queue_series(QUEUE, 24)
        assert world.reads == 2


async def test_nothing_is_read_if_memory_suffices_or_there_is_no_history(world: World) -> None:
    async with TaskScope() as scope:
        world.remember(-24 * 60 + 1, -1)
        assert (await SeriesTeller(world, world, world.board, scope, world).queue_series(QUEUE, 24)).view is world.view
        world.remember(-1)
        told = await SeriesTeller(world, None, world.board, scope, world).queue_series(QUEUE, 24)
        assert (told.view, told.history_until, world.reads) == (world.view, None, 0)
        world.view, world.is_full = None, True
        told = await SeriesTeller(world, None, world.board, scope, world).queue_series(QUEUE, 24)
        assert "as many objects as it has room for" in str(told.note)


async def test_a_failure_is_told_and_tried_again_after_a_minute(world: World) -> None:
    async with TaskScope() as scope:
        teller = SeriesTeller(world, world, world.board, scope, world)
        world.remember(-1)
        for error, words in ((ClusterError("no such table"), "no such table"), (KeyError("ts"), "makes no sense")):
            world.past = error
            world.time += 2 * MINUTE
            for _ in range(2):
                told = await teller.queue_series(QUEUE, 24)
                assert (told.view, words in str(told.note)) == (world.view, True)
        assert world.reads == 2


async def test_who_asks_does_not_wait_for_a_slow_history(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_series, "WAIT_SECONDS", 0.01)
    async with TaskScope() as scope:
        teller = SeriesTeller(world, world, world.board, scope, world)
        world.gate.clear()
        told = await teller.queue_series(QUEUE, 24)
        assert (told.view, told.note) == (None, "The history is being read")
        monkeypatch.setattr(told_series, "WAIT_SECONDS", 10)
        world.gate.set()
        assert (await teller.queue_series(QUEUE, 24)).note is None
        assert world.reads == 1


async def test_a_history_that_never_answers_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_series, "READ_SECONDS", 0.01)
    async with TaskScope() as scope:
        world.gate.clear()
        told = await SeriesTeller(world, world, world.board, scope, world).queue_series(QUEUE, 24)
        assert "no answer within" in str(told.note)


async def test_that_only_the_newest_rows_were_read_is_told_and_few_objects_are_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told_series, "MOST_KEPT", 1)
    world.past = Past([Sample(world.time - MINUTE, {"rows": 1.0})], False)
    async with TaskScope() as scope:
        teller = SeriesTeller(world, world, world.board, scope, world)
        assert "only the newest were read" in str((await teller.queue_series(QUEUE, 24)).note)
        await teller.queue_series(OTHER, 24)
        await teller.queue_series(QUEUE, 24)
        assert world.reads == 3


async def test_names_that_strangers_make_up_have_no_history_read(world: World) -> None:
    unknown = CrossClusterRef("a", "//made/up")
    async with TaskScope() as scope:
        teller = SeriesTeller(world, world, world.board, scope, world)
        assert (await teller.queue_series(unknown, 24)).note is None
        await teller.consumer_series(unknown, QUEUE, 24)
        await teller.consumer_series(CONSUMER, OTHER, 24)
        assert world.reads == 0


async def test_few_reads_wait_and_each_is_followed_by_a_rest(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_series, "MOST_WAITING", 1)
    monkeypatch.setattr(told_series, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(told_series, "REST_FACTOR", 1e6)
    async with TaskScope() as scope:
        teller = SeriesTeller(world, world, world.board, scope, world)
        world.gate.clear()
        await teller.queue_series(QUEUE, 24)
        assert (await teller.queue_series(OTHER, 24)).note == "The history is being read"
        world.gate.set()
        assert (await teller.queue_series(QUEUE, 24)).note is None
        assert (await teller.queue_series(OTHER, 24)).note == "The history is being read"
        assert world.reads == 1
