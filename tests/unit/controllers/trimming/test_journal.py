"""The journal of trims is written before they are carried out, and keeps its rows through failures."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NoReturn

import pytest
from structlog.testing import capture_logs

from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status import record_writer
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.record_writer import MAX_BATCH, MAX_WAITING
from queue_agent.controllers.trimming import journal
from queue_agent.controllers.trimming.journal import FAILED, TrimJournalKeeper
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.errors import ClusterError, ObjectNotFound

NOW = datetime(2025, 1, 23, tzinfo=UTC)


class StoppedClock:
    """`ports.Clock` that never moves."""

    def now(self) -> datetime:
        return NOW


@dataclass
class FakeStore:
    """`ports.TrimJournalStore` in memory; `broken` is what every request ends with, if set."""

    batches: list[list[int]] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    refused: frozenset[int] = frozenset()
    broken: ClusterError | None = None
    gate: asyncio.Event | None = None
    attempts: int = 0

    async def write(self, records: Collection[TrimRecord]) -> None:
        self.attempts += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        if any(record.trimmed_row_count in self.refused for record in records):
            raise ClusterError("too long")
        self.batches.append([record.trimmed_row_count for record in records])

    async def remove(self, records: Collection[TrimRecord]) -> None:
        if self.broken is not None:
            raise self.broken
        self.removed += [record.trimmed_row_count for record in records]

    @property
    def rows(self) -> list[int]:
        return [row for batch in self.batches for row in batch]


@dataclass
class FakeObserver:
    """Counts."""

    written: int = 0
    dropped: int = 0
    failed: int = 0

    def journal_written(self, count: int) -> None:
        self.written += count

    def journal_dropped(self, count: int) -> None:
        self.dropped += count

    def journal_failed(self) -> None:
        self.failed += 1


class World:
    """A keeper and what it works with."""

    def __init__(self) -> None:
        self.store, self.observer = FakeStore(), FakeObserver()
        self.board = Board("agent-1", StoppedClock())
        origins = Origins(Process("agent-1", 481, 7), "Control:0", random.Random(1))
        self.keeper = TrimJournalKeeper(self.store, self.board, StoppedClock(), origins, self.observer)

    def note(self, *numbers: int) -> None:
        for number in numbers:
            self.keeper.note(record(number))

    async def announce(self, *numbers: int) -> None:
        await self.keeper.announce([record(number) for number in numbers])


def record(number: int) -> TrimRecord:
    constraint = TrimConstraint(ConstraintKind.END_OF_PARTITION)
    return TrimRecord(NOW, "agent-1:481", CrossClusterRef("pythia", "//tmp/q"), "1-2-3-4", 0, 0, number, constraint)


async def test_everything_noted_is_written_once_in_batches() -> None:
    world = World()
    world.note(*range(MAX_BATCH + 5))
    await world.keeper.do_pass(0)
    await world.keeper.do_pass(1)
    assert [len(batch) for batch in world.store.batches] == [MAX_BATCH, 5]
    assert world.store.rows == list(range(MAX_BATCH + 5))
    assert world.observer.written == MAX_BATCH + 5


async def test_what_can_not_be_written_waits_and_is_told_once() -> None:
    world = World()
    world.store.broken = ObjectNotFound("no such table", 500)
    with capture_logs() as logs:
        for number in range(3):
            world.note(number)
            await world.keeper.do_pass(number)
    assert [log["event"] for log in logs] == ["cannot write the trim journal"]
    assert world.observer.failed == 3
    assert world.board.alerts()[FAILED]["inner_errors"][0]["message"] == "no such table"
    world.store.broken = None
    await world.keeper.do_pass(3)
    assert sorted(world.store.rows) == [0, 1, 2]
    assert world.board.alerts() == {}


async def test_the_oldest_are_dropped_when_there_are_too_many() -> None:
    world = World()
    world.note(*range(MAX_WAITING + 3))
    assert world.observer.dropped == 3
    await world.keeper.do_pass(0)
    assert world.store.rows == list(range(3, MAX_WAITING + 3))


async def test_nothing_is_lost_that_is_noted_while_a_batch_is_written() -> None:
    world = World()
    world.store.gate = asyncio.Event()
    world.note(1, 2)
    async with asyncio.TaskGroup() as group:
        group.create_task(world.keeper.do_pass(0))
        await asyncio.sleep(0)
        world.note(*range(3, MAX_WAITING + 2))
        world.store.gate.set()
    assert world.observer.dropped == 1
    assert world.store.rows == list(range(1, MAX_WAITING + 2))


async def never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError


async def test_what_was_noted_last_is_written_before_the_end() -> None:
    world = World()
    async with world.keeper.writing(never):
        world.note(1)
    assert world.store.rows == [1]


async def test_the_end_does_not_wait_for_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writer, "LAST_WRITE_SECONDS", 0.01)
    world = World()
    world.store.gate = asyncio.Event()
    with capture_logs() as logs:
        async with world.keeper.writing(never):
            world.note(1)
    assert [log["event"] for log in logs] == ["stopped before the trim journal was complete"]


async def test_what_is_announced_is_written_before_the_trim() -> None:
    world = World()
    await world.announce(1, 2)
    assert world.store.batches == [[1, 2]]


async def test_all_who_come_while_a_batch_is_written_are_in_the_next_one() -> None:
    world = World()
    world.store.gate = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.announce(1))
        await asyncio.sleep(0)
        for number in (2, 3, 4):
            group.create_task(world.announce(number))
        await asyncio.sleep(0)
        world.store.gate.set()
    assert world.store.batches[0] == [1]
    assert sorted(world.store.rows) == [1, 2, 3, 4]
    assert len(world.store.batches) == 2


async def test_a_journal_that_does_not_answer_holds_no_trim_back_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "PATIENCE_SECONDS", 0.05)
    world = World()
    world.store.gate = asyncio.Event()
    with capture_logs() as logs:
        await world.announce(1)
        await world.announce(2)
    assert world.store.attempts == 1, "the second trim does not wait for the table at all"
    assert [log["event"] for log in logs] == ["cannot write the trim journal"]
    assert FAILED in world.board.alerts()
    world.store.gate.set()
    await world.keeper.do_pass(0)
    assert sorted(set(world.store.rows)) == [1, 2]
    assert world.board.alerts() == {}
    await world.announce(3)
    assert world.store.rows[-1] == 3, "and the next trim waits again"


async def test_a_record_that_the_table_refuses_keeps_back_no_other() -> None:
    world = World()
    world.store.refused = frozenset({3})
    world.note(*range(8))
    for number in range(8):
        await world.keeper.do_pass(number)
    assert sorted(world.store.rows) == [0, 1, 2, 4, 5, 6, 7]
    assert FAILED in world.board.alerts()


async def test_the_record_of_a_trim_that_was_refused_is_removed_again() -> None:
    world = World()
    await world.announce(1, 2)
    world.keeper.take_back(record(2))
    world.store.broken = ClusterError("no answer")
    await world.keeper.do_pass(0)
    assert FAILED in world.board.alerts()
    world.store.broken = None
    await world.keeper.do_pass(1)
    await world.keeper.do_pass(2)
    assert world.store.removed == [2]
    assert world.board.alerts() == {}
