"""No row of a replica goes that was not read in the queue, whatever is written, lost and trimmed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_agent.controllers.trimming.replica_alignment import CopyOfQueue, confirm_alignment
from queue_agent.core.queues.snapshots import QueuePartition
from queue_agent.core.trimming.bounds import read_by
from queue_agent.core.trimming.errors import find_trim_error
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.trim_constraints import ConstraintKind
from queue_agent.ports.cluster import Cluster
from tests.unit.core.trimming.plans import ALICE, ORIGIN, QUEUE, mounted
from tests.unit.core.trimming.test_replica_trims import FAR, NEAR


@dataclass(frozen=True)
class Row:
    """A row of the queue, whichever table it is in."""

    number: int
    timestamp: int


@dataclass
class FakeTable:
    """A copy of the queue's only partition, on a cluster of its own."""

    rows: list[Row] = field(default_factory=list)
    lower: int = 0
    before_answers: Callable[[], None] = lambda: None

    async def select_row_values(
        self, path: str, columns: list[str], rows: Collection[tuple[int, int]]
    ) -> Mapping[str, Mapping[tuple[int, int], int]]:
        self.before_answers()
        present = range(self.lower, len(self.rows))
        return {columns[0]: {(0, index): self.rows[index].timestamp for _, index in rows if index in present}}

    async def find_other_row(self, object_id: str, partition_index: int, rows: range, timestamp: int) -> int | None:
        self.before_answers()
        present = range(self.lower, len(self.rows))
        return next((row for row in rows if row in present and self.rows[row].timestamp != timestamp), None)


class World:
    """A queue whose synchronous replica is near, and another replica that is far."""

    def __init__(self) -> None:
        self.log: list[Row] = []
        self.replicated = 0
        self.near, self.far = FakeTable(), FakeTable()
        self.transactions = 0
        self.read = 0

    def commit(self, row_count: int) -> list[Row]:
        """A transaction, as it is in the log; its rows are not in the synchronous replica yet."""
        self.transactions += 1
        rows = [Row(len(self.log) + index, self.transactions) for index in range(row_count)]
        self.log.extend(rows)
        return rows

    def write(self, *row_counts: int) -> None:
        for row_count in row_counts:
            self.near.rows.extend(self.commit(row_count))

    def replicate(self, row_count: int | None = None) -> None:
        end = len(self.log) if row_count is None else self.replicated + row_count
        self.far.rows.extend(self.log[self.replicated : end])
        self.replicated = min(end, len(self.log))

    def lose(self, row_count: int) -> None:
        """Rows that the replica will never have."""
        self.replicated = min(self.replicated + row_count, len(self.log))

    def plan(self) -> TrimPlan:
        partition = mounted(self.far.lower, len(self.far.rows))
        assert isinstance(partition, QueuePartition)
        bounds = [read_by(ALICE, self.read, len(self.near.rows))]
        return TrimPlan(QUEUE, partitions={0: PartitionPlan(partition, bounds)}, replica=FAR)

    async def confirm(self) -> TrimPlan:
        clusters = {"hume": cast(Cluster, self.near), "pythia": cast(Cluster, self.far)}
        return await confirm_alignment(clusters, self.plan(), CopyOfQueue(FAR, "2"), CopyOfQueue(NEAR, "1"), ORIGIN)

    def unread(self, trimmed_row_count: int) -> list[Row]:
        """Rows of the replica below an index that consumers have not read."""
        read = set(self.near.rows[: self.read])
        return [row for row in self.far.rows[:trimmed_row_count] if row not in read]


def target(plan: TrimPlan) -> int | None:
    return plan.trims[0].target


class History:
    """Draws what happens to a world; rows get lost on one side only.

    Args:
        data: of the example.
    """

    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self.world = World()
        loses = data.draw(st.sampled_from(["nobody", "far", "near"]), label="who loses rows")
        self._far_loses = loses == "far"
        if loses == "near":
            self.world.commit(data.draw(st.integers(1, 12), label="rows the synchronous replica was made without"))
            self.world.write(data.draw(sizes))
        for _ in range(data.draw(st.integers(1, 12), label="events before")):
            self.happen()
        self.read_some()
        for table in (self.world.near, self.world.far):
            table.before_answers = self.meanwhile

    def meanwhile(self) -> None:
        for _ in range(self._data.draw(st.integers(0, 2), label="events meanwhile")):
            self.happen()

    def happen(self) -> None:
        world, draw = self.world, self._data.draw
        events: list[Callable[[], Any]] = [
            lambda: world.write(draw(sizes)),
            lambda: world.write(draw(sizes)),
            self._write_two_at_once,
            world.replicate,
            lambda: world.replicate(draw(sizes)),
            self._trim_near,
        ]
        if self._far_loses:
            events.append(lambda: world.lose(draw(st.integers(1, 12))))
        draw(st.sampled_from(events))()

    def read_some(self) -> None:
        world = self.world
        world.read = self._data.draw(st.integers(0, len(world.near.rows)), label="rows read")
        world.far.lower = min(self._data.draw(st.integers(0, 3), label="trimmed before"), len(world.far.rows))

    def _write_two_at_once(self) -> None:
        """With weak commit ordering the log and the synchronous replica may have them in another order."""
        first, second = self.world.commit(self._data.draw(sizes)), self.world.commit(self._data.draw(sizes))
        self.world.near.rows.extend([*second, *first])

    def _trim_near(self) -> None:
        self.world.near.lower = max(self.world.near.lower, self.world.read)


sizes = st.integers(1, 4) | st.integers(1, 30)


@settings(max_examples=400)
@given(data=st.data())
def test_no_row_goes_that_was_not_read(data: st.DataObject) -> None:
    history = History(data)
    world = history.world
    before = target(world.plan())
    proven = target(asyncio.run(world.confirm()))
    if proven is not None:
        assert before is not None
        assert proven <= before
        assert world.unread(proven) == []


async def test_a_replica_made_anew_is_not_trimmed_though_its_last_batch_looks_the_same() -> None:
    world = World()
    world.write(1, 1, 1)
    world.lose(3)
    world.write(10)
    world.replicate()
    world.read = 4
    assert len(world.unread(4)) == 3
    plan = await world.confirm()
    assert target(plan) is None
    assert "The replica lacks rows" in str(find_trim_error(plan, {}, ORIGIN))


async def test_writes_between_two_answers_do_not_make_a_replica_look_aligned() -> None:
    world = World()
    world.write(*[1] * 20)
    world.lose(1)
    world.replicate()
    world.read = 15
    world.near.before_answers = world.replicate

    def write_what_the_replica_lacks() -> None:
        world.write(1)
        world.replicate()

    # When the replica answers, it has as many rows as the queue had a moment before.
    world.far.before_answers = write_what_the_replica_lacks
    assert target(await world.confirm()) is None
    assert len(world.far.rows) == 20


async def test_a_target_within_a_long_transaction_goes_by_its_ends() -> None:
    world = World()
    world.write(2, 5000, 3)
    world.replicate()
    world.read = 2500
    assert target(await world.confirm()) == 2500
    world = World()
    world.write(2, 5000)
    world.replicate()
    world.read = 2500
    plan = await world.confirm()
    assert target(plan) == 2
    constraint = plan.trims[0].constraint
    assert (constraint.kind, constraint.subject) == (ConstraintKind.REPLICA_ALIGNMENT, str(NEAR))


async def test_a_long_transaction_hides_no_shift() -> None:
    world = World()
    world.write(1, 1, 1)
    world.lose(3)
    world.write(5000)
    world.replicate()
    world.read = 2500
    assert target(await world.confirm()) is None
    world.write(1)
    world.replicate()
    plan = await world.confirm()
    assert target(plan) is None
    assert find_trim_error(plan, {}, ORIGIN) is not None


async def test_a_replica_without_rows_in_common_waits_without_an_alarm() -> None:
    world = World()
    world.write(3)
    world.replicate()
    world.read = 3
    plan = await world.confirm()
    assert target(plan) is None
    assert find_trim_error(plan, {}, ORIGIN) is None
    constraint = plan.trims[0].constraint
    assert (constraint.kind, constraint.subject) == (ConstraintKind.REPLICA_ALIGNMENT, str(NEAR))
    assert "Trimming goes on when both have rows of a later transaction" in str(constraint.message)
    world.write(1)
    world.replicate()
    assert target(await world.confirm()) == 3


async def test_a_replica_is_trimmed_after_the_queue_was() -> None:
    world = World()
    world.write(3, 2, 2)
    world.replicate()
    world.read = world.near.lower = 5
    assert target(await world.confirm()) is None
    world.write(1)
    world.replicate()
    assert target(await world.confirm()) == 5


@pytest.mark.parametrize("lost", [1, 3, 7])
async def test_rows_lost_in_the_middle_hold_all_above_them(lost: int) -> None:
    world = World()
    world.write(2, 2)
    world.replicate()
    world.lose(0)
    world.write(*[1] * lost)
    world.lose(lost)
    world.write(2, 2, 2, 2, 2)
    world.replicate()
    world.read = 8
    assert target(await world.confirm()) in (None, 2)
