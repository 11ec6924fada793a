"""Events are written in the background, kept through failures, and never more than an agent may write."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import pytest
from structlog.testing import capture_logs

from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status import record_writer
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.events import FAILED, MAX_EXPORTS_PER_HOUR, MAX_PER_HOUR, EventKeeper
from queue_agent.controllers.status.record_writer import MAX_BATCH, MAX_WAITING
from queue_agent.core.state.consumer_events import Event, EventQuery, EventSlice
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ObjectNotFound

START = datetime(2026, 5, 1, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//q")


@dataclass
class FakeClock:
    """`ports.Clock` that is moved by hand."""

    time: datetime = START

    def now(self) -> datetime:
        return self.time


@dataclass
class FakeStore:
    """`ports.EventStore` in memory; with `loses_answers` it writes, and says that it could not."""

    written: dict[str, Event] = field(default_factory=dict)
    batches: list[int] = field(default_factory=list)
    broken: ClusterError | None = None
    loses_answers: bool = False
    gate: asyncio.Event | None = None

    async def write(self, batch: Collection[Event]) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.broken is not None and not self.loses_answers:
            raise self.broken
        self.batches.append(len(batch))
        self.written |= {event.cursor: event for event in batch}
        if self.broken is not None:
            raise self.broken

    async def read(self, query: EventQuery) -> EventSlice:
        if self.broken is not None:
            raise self.broken
        newest = [self.written[cursor] for cursor in sorted(self.written, reverse=True)]
        found = [event for event in newest if query.matches(event)][: query.limit]
        return EventSlice(found, found[-1].cursor if len(found) == query.limit else None)

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.written.values()]


@dataclass
class FakeActs:
    """`ports.ActStore` in memory; reads as many rows as asked for, of which some tell nothing."""

    acts: list[Event] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    broken: ClusterError | None = None

    async def read(self, query: EventQuery) -> EventSlice:
        if self.broken is not None:
            raise self.broken
        rows = sorted(filter(query.matches, self.acts), key=lambda act: act.cursor, reverse=True)[: query.limit]
        events = [row for row in rows if row.event_id not in self.unreadable]
        return EventSlice(events, rows[-1].cursor if len(rows) == query.limit else None)


@dataclass
class FakeObserver:
    """Counts."""

    written: int = 0
    dropped: int = 0
    failed: int = 0

    def events_written(self, count: int) -> None:
        self.written += count

    def events_dropped(self, count: int) -> None:
        self.dropped += count

    def events_failed(self) -> None:
        self.failed += 1


class World:
    """A keeper and what it works with."""

    def __init__(self) -> None:
        self.store, self.acts = FakeStore(), FakeActs()
        self.observer, self.clock = FakeObserver(), FakeClock()
        self.board = Board("agent-1", self.clock)
        origins = Origins(Process("agent-1", 481, 7), "Control:0", random.Random(1))
        self.keeper = EventKeeper(self.store, self.acts, self.board, self.clock, origins, self.observer)

    def note(self, *numbers: int) -> None:
        for number in numbers:
            self.keeper.note(EventKind.LOSS, str(number), QUEUE)


async def test_everything_noted_is_written_once_in_batches() -> None:
    world = World()
    world.note(*range(MAX_BATCH + 5))
    await world.keeper.do_pass(0)
    await world.keeper.do_pass(1)
    assert world.store.batches == [MAX_BATCH, 5]
    assert world.store.reasons == [str(number) for number in range(MAX_BATCH + 5)]
    assert world.observer.written == MAX_BATCH + 5
    assert {event.actor for event in world.store.written.values()} == {"agent-1:481"}


async def test_an_event_whose_answer_is_lost_is_there_once() -> None:
    world = World()
    world.store.broken, world.store.loses_answers = ClusterError("gone"), True
    world.note(1)
    await world.keeper.do_pass(0)
    world.store.broken = None
    await world.keeper.do_pass(1)
    assert world.store.batches == [1, 1]
    assert world.store.reasons == ["1"]


async def test_what_can_not_be_written_waits_and_is_told_once() -> None:
    world = World()
    world.store.broken = ObjectNotFound("no such table", 500)
    with capture_logs() as logs:
        for number in range(3):
            world.note(number)
            await world.keeper.do_pass(number)
    assert [log["event"] for log in logs] == ["cannot write the record of events"]
    assert world.observer.failed == 3
    assert world.board.alerts()[FAILED]["inner_errors"][0]["message"] == "no such table"
    page = await world.keeper.find(EventQuery(START, 2))
    assert (len(page.events), page.is_persisted) == (2, False)
    assert page.next == page.events[-1].cursor
    world.store.broken = None
    await world.keeper.do_pass(3)
    assert sorted(world.store.reasons) == ["0", "1", "2"]
    assert world.board.alerts() == {}
    page = await world.keeper.find(EventQuery(START, 4))
    assert (len(page.events), page.is_persisted, page.next) == (3, True, None)


async def test_a_flood_ends_with_an_event_that_says_how_many_are_missing() -> None:
    world = World()
    world.note(*range(MAX_PER_HOUR + 3))
    assert world.observer.dropped == 3
    await world.keeper.do_pass(0)
    assert world.observer.written == MAX_PER_HOUR
    world.clock.time += timedelta(hours=1)
    await world.keeper.do_pass(1)
    last = list(world.store.written.values())[-1]
    assert (last.kind, last.details) == ("dropped", {"event_count": 3})
    world.note(7)
    await world.keeper.do_pass(2)
    assert world.store.reasons[-1] == "7"


async def test_exports_leave_room_for_losses() -> None:
    world = World()
    for _ in range(MAX_PER_HOUR):
        world.keeper.note(EventKind.EXPORT, "exported", QUEUE)
    assert world.observer.dropped == MAX_PER_HOUR - MAX_EXPORTS_PER_HOUR
    world.note(*range(MAX_PER_HOUR - MAX_EXPORTS_PER_HOUR))
    await world.keeper.do_pass(0)
    assert world.store.reasons.count("exported") == MAX_EXPORTS_PER_HOUR
    assert world.store.reasons[-1] == str(MAX_PER_HOUR - MAX_EXPORTS_PER_HOUR - 1)


async def read_all(world: World, limit: int) -> list[str]:
    """Ids of all events, page after page."""
    found: list[str] = []
    query = EventQuery(START, limit)
    while True:
        page = await world.keeper.find(query)
        assert len(page.events) <= limit
        found += [event.event_id for event in page.events]
        if page.next is None:
            return found
        query = replace(query, before=page.next)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
async def test_acts_and_events_are_one_history_whatever_the_page(limit: int) -> None:
    world = World()
    chance = random.Random(limit)
    everything = []
    for number in range(40):
        kind = "act" if chance.random() < 0.4 else "loss"
        event = Event(START + timedelta(seconds=number // 3), f"e{number:02}", kind, "x", "x", QUEUE)
        everything.append(event)
        if kind == "act":
            world.acts.acts.append(event)
        else:
            world.store.written[event.cursor] = event
    world.acts.unreadable = {act.event_id for act in world.acts.acts[3:6]}
    expected = [event.event_id for event in reversed(everything) if event.event_id not in world.acts.unreadable]
    assert await read_all(world, limit) == expected


async def test_a_journal_that_can_not_be_read_hides_no_event_and_is_told() -> None:
    world = World()
    world.note(1)
    await world.keeper.do_pass(0)
    world.acts.broken = ClusterError("gone")
    page = await world.keeper.find(EventQuery(START, 5))
    assert ([event.reason for event in page.events], page.is_persisted, page.has_acts) == (["1"], True, False)


async def test_a_clock_that_goes_back_does_not_silence_the_record() -> None:
    world = World()
    world.clock.time += timedelta(days=400)
    world.note(*range(MAX_PER_HOUR))
    world.clock.time = START
    world.note(-1)
    assert world.observer.dropped == 1, "the oldest of too many that wait"
    await world.keeper.do_pass(0)
    assert "-1" in world.store.reasons


async def test_the_oldest_are_dropped_when_too_many_wait() -> None:
    world = World()
    world.note(*range(MAX_WAITING))
    world.clock.time += timedelta(hours=1)
    world.note(-1, -2)
    assert world.observer.dropped == 2
    await world.keeper.do_pass(0)
    assert world.store.reasons == [*(str(number) for number in range(2, MAX_WAITING)), "-1", "-2"]


async def test_nothing_is_lost_that_is_noted_while_a_batch_is_written() -> None:
    world = World()
    world.store.gate = asyncio.Event()
    world.note(1, 2)
    async with asyncio.TaskGroup() as group:
        group.create_task(world.keeper.do_pass(0))
        await asyncio.sleep(0)
        world.note(*range(3, MAX_WAITING + 1))
        world.clock.time += timedelta(hours=1)
        world.note(0)
        world.store.gate.set()
    assert world.observer.dropped == 1
    assert set(world.store.reasons) == {str(number) for number in range(MAX_WAITING + 1)}


async def never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError


async def test_what_was_noted_last_is_written_before_the_end() -> None:
    world = World()
    async with world.keeper.writing(never):
        world.note(1)
    assert world.store.reasons == ["1"]


async def test_the_end_does_not_wait_for_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writer, "LAST_WRITE_SECONDS", 0.01)
    world = World()
    world.store.gate = asyncio.Event()
    with capture_logs() as logs:
        async with world.keeper.writing(never):
            world.note(1)
    assert [log["event"] for log in logs] == ["stopped before the record of events was complete"]
