"""Ledgers are read when a consumer is taken over, and written in the background, by the leader only."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.controllers.consumers import ledger_keeper
from queue_agent.controllers.consumers.ledger_keeper import FAILED, LEDGER_PERIOD, ROUTINE, LedgerKeeper
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status.board import Board
from queue_agent.core.group.lease import Hold
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.keeping import LedgerRow, Written
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.position import open_position
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.errors import ClusterError, ObjectNotFound
from tests.unguarded import NoOtherAgents


class SetClock:
    """`ports.Clock` that goes when it is told to."""

    def __init__(self) -> None:
        self.time = datetime(2025, 1, 23, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


class Leads(NoOtherAgents):
    """`ports.LeadershipGuard` that can be taken away."""

    held = False

    def find_hold(self, refs: Collection[CrossClusterRef]) -> Hold | None:  # type: ignore[override] # it may be held
        return Hold("another agent leads it") if self.held else None


@dataclass
class Store:
    """`ports.LedgerStore` in memory; `broken` is what every request ends with, if set."""

    kept: dict[Pair, QueueState] = field(default_factory=dict)
    batches: list[list[LedgerRow]] = field(default_factory=list)
    reads: int = 0
    broken: ClusterError | None = None
    refused: dict[str, Exception] = field(default_factory=dict)
    """By path of a queue: what a request with rows of it ends with."""

    async def find(self, pair: Pair) -> QueueState | None:
        self.reads += 1
        if self.broken is not None:
            raise self.broken
        return self.kept.get(pair)

    async def write(self, rows: Collection[LedgerRow]) -> None:
        if self.broken is not None:
            raise self.broken
        for row in rows:
            if row.pair.queue.path in self.refused:
                raise self.refused[row.pair.queue.path]
        self.batches.append(list(rows))


@dataclass
class Heard:
    """`ports.LedgerObserver` that counts."""

    written: int = 0
    waiting: int = 0
    failed: int = 0

    def ledger_written(self, count: int) -> None:
        self.written += count

    def ledger_waiting(self, count: int) -> None:
        self.waiting = count

    def ledger_failed(self) -> None:
        self.failed += 1


class World:
    """A keeper with all that it works with."""

    def __init__(self) -> None:
        self.clock, self.store, self.heard, self.leads = SetClock(), Store(), Heard(), Leads()
        self.board = Board("host", self.clock)
        origins = Origins(Process("host", 1, 2), "Control:0", random.Random(0))
        self.keeper = LedgerKeeper(self.store, self.leads, self.board, self.clock, origins, self.heard)

    @property
    def failed(self) -> bool:
        return FAILED in self.board.alerts()

    async def after(self, time: timedelta) -> None:
        self.clock.time += time
        await self.keeper.do_pass(0)

    @property
    def written(self) -> list[tuple[str, int]]:
        return [(row.pair.queue.path, row.partition_index) for batch in self.store.batches for row in batch]


def pair(name: str = "q") -> Pair:
    return Pair(CrossClusterRef("a", f"//{name}"), CrossClusterRef("a", "//c"))


def state(name: str = "q", offset: int = 0, partitions: int = 1) -> QueueState:
    position = open_position(Reading(0, 10, offset, 900.0, "1-1"), 1000.0)
    return QueueState(pair(name), dict.fromkeys(range(partitions), position), last_poll=1000.0, is_kept=True)


SECOND = timedelta(seconds=1)


async def test_what_was_kept_is_gone_on_from() -> None:
    world = World()
    world.store.kept[pair()] = state(offset=7)

    assert await world.keeper.open(pair()) == state(offset=7)
    assert await world.keeper.open(pair("other")) == QueueState(pair("other"), is_kept=True)


async def test_changes_are_written_once_a_minute_and_urgent_ones_at_the_next_pass() -> None:
    world = World()
    world.keeper.note(state("slow"), urgent=False)
    world.keeper.note(state("fast"), urgent=True)

    await world.after(SECOND)
    assert world.written == [("//fast", 0), ("//fast", -1)]
    await world.after(ROUTINE)
    assert world.written[2:] == [("//slow", 0), ("//slow", -1)]
    await world.after(ROUTINE)
    assert len(world.written) == 4, "nothing has changed since"
    assert world.heard.written == 4


async def test_only_the_last_of_many_changes_is_written_and_only_of_what_has_changed() -> None:
    world = World()
    first = state(partitions=2)
    world.keeper.note(first, urgent=True)
    await world.after(SECOND)
    moved = replace(first, positions={**first.positions, 1: first.positions[1]._replace(seen_at=1001.0, silent=1.0)})
    again = replace(moved, positions={**first.positions, 1: first.positions[1]._replace(seen_at=1002.0, silent=2.0)})
    world.keeper.note(moved, urgent=False)
    world.keeper.note(again, urgent=False)
    world.store.batches.clear()

    await world.after(ROUTINE)

    [batch] = world.store.batches
    assert [(row.partition_index, row.state.get("silent")) for row in batch] == [(1, 2.0), (-1, None)]


async def test_nobody_writes_what_another_agent_leads() -> None:
    world = World()
    world.leads.held = True
    world.keeper.note(state(), urgent=True)

    await world.after(SECOND)
    assert world.written == []
    world.leads.held = False
    await world.after(ROUTINE)
    assert world.written, "the former leader might still have written before"


async def test_what_may_not_be_written_yet_is_written_as_soon_as_it_may() -> None:
    world = World()
    world.leads.held = True
    world.keeper.note(state(), urgent=True)
    for _ in range(30):
        await world.after(LEDGER_PERIOD)
    await world.keeper.flush()
    assert world.written == []
    world.leads.held = False
    await world.after(LEDGER_PERIOD)
    assert world.written != []


async def test_what_is_led_by_others_for_long_is_forgotten() -> None:
    world = World()
    world.leads.held = True
    world.keeper.note(state(), urgent=False)
    for _ in range(121):
        await world.after(ROUTINE)
    world.leads.held = False

    await world.after(ROUTINE)

    assert world.written == []


async def test_a_consumer_that_is_taken_over_again_begins_with_what_others_wrote() -> None:
    world = World()
    world.keeper.note(state(offset=1), urgent=True)
    world.store.kept[pair()] = state(offset=8)

    assert await world.keeper.open(pair()) == state(offset=8)
    await world.after(ROUTINE)
    assert world.written == [], "older than what others wrote"


async def test_what_is_judged_no_more_is_written_to_its_end() -> None:
    world = World()
    world.keeper.note(state(), urgent=False)
    world.keeper.close(pair())

    await world.after(SECOND)

    assert world.written == [("//q", 0), ("//q", -1)]


async def test_a_pass_writes_no_more_than_it_may_and_tells_what_waits() -> None:
    world = World()
    for number in range(5):
        world.keeper.note(state(f"q{number}", partitions=ledger_keeper.MAX_ROWS // 2), urgent=True)

    await world.after(SECOND)

    assert len(world.store.batches[0]) <= ledger_keeper.MAX_ROWS
    assert world.heard.waiting == 4


async def test_a_pair_with_more_rows_than_a_pass_may_write_is_written_all_the_same() -> None:
    world = World()
    world.keeper.note(state(partitions=ledger_keeper.MAX_ROWS + 1), urgent=True)

    await world.after(SECOND)

    assert world.heard.written == ledger_keeper.MAX_ROWS + 2


async def test_before_others_take_over_everything_is_written() -> None:
    world = World()
    for number in range(3):
        world.keeper.note(state(f"q{number}", partitions=ledger_keeper.MAX_ROWS // 2), urgent=False)

    await world.keeper.flush()

    assert {path for path, _ in world.written} == {"//q0", "//q1", "//q2"}


async def test_flushing_gives_up_where_nothing_can_be_written() -> None:
    world = World()
    world.store.broken = ClusterError("down")
    world.keeper.note(state(), urgent=False)

    await world.keeper.flush()

    assert world.failed


async def test_a_table_that_is_not_there_is_an_alert_and_looked_for_again() -> None:
    world = World()
    world.store.broken = ObjectNotFound("no such table")

    assert await world.keeper.open(pair()) is None
    assert world.failed
    assert await world.keeper.open(pair("other")) is None
    assert world.store.reads == 1, "not again for each consumer"
    world.store.broken = None
    world.clock.time += timedelta(minutes=2)
    assert await world.keeper.open(pair()) is not None
    assert not world.failed


async def test_what_could_not_be_written_is_written_later() -> None:
    world = World()
    world.store.broken = ClusterError("down")
    world.keeper.note(state(), urgent=True)

    await world.after(SECOND)
    await world.after(SECOND)
    assert (world.heard.failed, world.failed) == (2, True)
    world.store.broken = None
    await world.after(SECOND)

    assert world.written == [("//q", 0), ("//q", -1)]
    assert not world.failed


@pytest.mark.parametrize("error", [ClusterError("row is too large"), ValueError("nobody expected this")])
async def test_rows_that_are_refused_keep_no_others_back(error: Exception) -> None:
    world = World()
    names = [f"q{number}" for number in range(20)]
    world.store.refused["//q3"] = error
    for name in names:
        world.keeper.note(state(name), urgent=True)

    for _ in range(60):
        await world.after(SECOND)

    assert {path for path, _ in world.written} == {f"//{name}" for name in names} - {"//q3"}
    assert world.heard.waiting == 1
    world.store.refused.clear()
    for number in range(40):
        world.keeper.note(state(f"r{number}"), urgent=True)
        await world.after(SECOND)
    assert not world.failed
    assert world.heard.waiting == 0


async def test_only_what_the_table_has_counts_as_written() -> None:
    world = World()
    await world.keeper.open(pair())
    world.keeper.note(state(), urgent=True)
    assert world.keeper.find_written(pair()) is None

    await world.after(SECOND)

    assert world.keeper.find_written(pair()) == Written.of(state())


async def test_a_table_that_is_not_there_is_told_from_one_that_cannot_be_read() -> None:
    world = World()
    world.store.broken = ClusterError("busy")
    assert await world.keeper.open(pair()) is None
    assert not world.keeper.is_missing
    world.store.broken = ObjectNotFound("no such table")
    world.clock.time += timedelta(seconds=61)
    assert await world.keeper.open(pair()) is None
    assert world.keeper.is_missing
