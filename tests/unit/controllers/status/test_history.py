"""The history is written once, whatever happens on the way, and never stops anybody."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status import history, history_writer
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.history import HistoryRecorder
from queue_agent.controllers.status.history_writer import DROPPED, FAILED, TAKEN_OVER, HistoryWriter
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.status.history import HistoryRow
from queue_agent.core.status.history_outbox import EncodedRows
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ClusterUnavailable, TabletNotMounted
from queue_agent.ports.history import ProducerSession
from queue_agent.ports.passes import PassScope

NOW = datetime(2025, 1, 23, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")


class StoppedClock:
    """`ports.Clock` that never moves."""

    def now(self) -> datetime:
        return NOW


@dataclass
class Producer:
    """A queue and a producer's session in it, as a cluster keeps them."""

    epoch: int = -1
    sequence_number: int = -1
    owner: str | None = None
    rows: list[str] = field(default_factory=list)


class FakeStore:
    """`ports.HistoryStore` in memory; rows are encoded as their numbers, a byte each."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.broken: ClusterError | None = None
        self.answer_lost = False
        self.delayed = False
        self.late: list[tuple[int, int, list[str]]] = []
        """Pushes that are still on their way, as `delayed` has it."""
        self.gate: asyncio.Event | None = None
        self.at_gate = asyncio.Event()

    def encode(self, rows: Sequence[HistoryRow]) -> EncodedRows:
        return EncodedRows(b"".join(b"%d;" % row["pass_index"] for row in rows), len(rows))

    async def find_owner(self) -> str | None:
        self._check()
        return self.producer.owner

    async def begin_session(self, agent_instance: str) -> ProducerSession:
        self._check()
        self.producer.epoch += 1
        self.producer.owner = agent_instance
        return ProducerSession(self.producer.epoch, self.producer.sequence_number)

    async def push(self, epoch: int, sequence_number: int, rows: Sequence[EncodedRows]) -> None:
        if self.gate is not None:
            self.at_gate.set()
            await self.gate.wait()
        self._check()
        request = epoch, sequence_number, [row for piece in rows for row in content(piece)]
        if self.delayed:
            self.late.append(request)
            raise ClusterUnavailable("no answer")
        self.carry_out(*request)
        if self.answer_lost:
            raise ClusterUnavailable("no answer")

    def carry_out(self, epoch: int, sequence_number: int, rows: list[str]) -> None:
        if epoch != self.producer.epoch:
            raise ClusterError("zombie", 3102)
        for number, row in enumerate(rows, sequence_number):
            if number > self.producer.sequence_number:
                self.producer.rows.append(row)
                self.producer.sequence_number = number

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken


def content(piece: EncodedRows) -> list[str]:
    return piece.content.decode().removesuffix(";").split(";")


@dataclass
class FakeObserver:
    """`ports.HistoryObserver` and `PassObserver`: counts."""

    written: int = 0
    dropped: int = 0
    failed: int = 0
    waiting: int = 0

    def history_written(self, row_count: int) -> None:
        self.written += row_count

    def history_dropped(self, row_count: int) -> None:
        self.dropped += row_count

    def history_failed(self) -> None:
        self.failed += 1

    def history_waiting(self, row_count: int) -> None:
        self.waiting = row_count

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        pass


class World:
    """A writer and a recorder of one agent."""

    def __init__(self, producer: Producer | None = None, instance: str = "first", max_bytes: int = 1000) -> None:
        self.store, self.observer = FakeStore(producer or Producer()), FakeObserver()
        clock = StoppedClock()
        self.board = Board("agent-1", clock)
        origins = Origins(Process("agent-1", 481, 7), "Control:0", random.Random(1))
        self.writer = HistoryWriter(self.store, max_bytes, instance, self.board, clock, origins, self.observer)
        self.recorder = HistoryRecorder(self.board, self.store, self.writer, clock, instance, self.observer)

    def add(self, *numbers: int) -> int:
        return self.writer.add(self.store.encode([{"pass_index": number} for number in numbers]))

    @property
    def rows(self) -> list[str]:
        return self.store.producer.rows

    def publish(self, pass_index: int, error: str = "broken") -> None:
        instant = NOW + timedelta(seconds=pass_index)
        snapshot = QueueSnapshot(QueueRow(QUEUE), Role.LEADING, pass_index, instant, ErrorInfo(error))
        self.board.put_assignment(Assignment({QUEUE: Role.LEADING}, {}))
        self.board.put_queue(snapshot)


async def test_rows_are_written_in_order_and_numbers_go_on_after_a_restart() -> None:
    producer = Producer()
    world = World(producer)
    world.add(1, 2)
    world.add(3)
    await world.writer.do_pass(0)
    world.add(4)
    await world.writer.do_pass(1)
    assert producer.rows == ["1", "2", "3", "4"]
    assert (world.observer.written, world.observer.waiting, producer.epoch) == (4, 0, 0)
    again = World(producer, "second")
    again.add(5)
    await again.writer.do_pass(0)
    assert (producer.rows[4:], producer.sequence_number, producer.epoch) == (["5"], 4, 1)


async def test_rows_whose_answer_was_lost_are_not_written_twice() -> None:
    world = World()
    world.store.answer_lost = True
    world.add(1, 2)
    await world.writer.do_pass(0)
    world.store.answer_lost = False
    world.add(3)
    await world.writer.do_pass(1)
    assert world.rows == ["1", "2", "3"]
    assert world.observer.written == 3


async def test_a_push_that_arrives_late_is_refused() -> None:
    world = World()
    world.store.broken = ClusterUnavailable("timed out")
    world.add(1, 2)
    await world.writer.do_pass(0)
    world.store.broken = None
    await world.writer.do_pass(1)
    late_epoch = world.store.producer.epoch
    world.store.answer_lost = True
    world.add(3)
    await world.writer.do_pass(2)
    world.store.answer_lost = False
    world.add(4)
    await world.writer.do_pass(3)
    with pytest.raises(ClusterError, match="zombie"):
        world.store.carry_out(late_epoch, 2, ["3"])
    assert world.rows == ["1", "2", "3", "4"]


@given(st.lists(st.sampled_from(["add", "write", "lose", "delay", "arrive", "break", "restart"]), max_size=40))
def test_whatever_happens_every_row_is_written_once_and_in_order(events: list[str]) -> None:
    async def live_through() -> None:
        producer, numbers = Producer(), iter(range(1000))
        added: set[int] = set()
        lost: set[int] = set()
        late: list[tuple[int, int, list[str]]] = []
        world = World(producer)
        for event in events:
            match event:
                case "add":
                    new = [next(numbers), next(numbers)]
                    added.update(new)
                    world.add(*new)
                case "restart":
                    # What waits in memory is gone with it.
                    lost |= added
                    world = World(producer, f"agent {next(numbers)}")
                case "arrive":
                    if late:
                        with suppress(ClusterError):
                            world.store.carry_out(*late.pop(0))
                case _:
                    world.store.answer_lost = event == "lose"
                    world.store.delayed = event == "delay"
                    world.store.broken = ClusterUnavailable("away") if event == "break" else None
                    await world.writer.do_pass(0)
                    late += world.store.late
                    world.store.late.clear()
        world.store.answer_lost = world.store.delayed = False
        world.store.broken = None
        for _ in range(2):
            await world.writer.do_pass(0)
        for request in late:
            with suppress(ClusterError):
                world.store.carry_out(*request)
        assert world.observer.waiting == 0
        written = [int(row) for row in producer.rows]
        assert written == sorted(set(written))
        assert added - lost <= set(written) <= added

    with capture_logs():
        asyncio.run(live_through())


async def test_a_push_that_is_cut_off_is_looked_for_before_it_is_repeated() -> None:
    world = World()
    world.add(0)
    await world.writer.do_pass(0)
    world.store.gate = asyncio.Event()
    world.add(1)
    async with asyncio.TaskGroup() as tasks:
        cut_off = tasks.create_task(world.writer.do_pass(1))
        await world.store.at_gate.wait()
        cut_off.cancel()
    world.store.carry_out(world.store.producer.epoch, 1, ["1"])
    world.store.gate = None
    world.add(2)
    await world.writer.do_pass(2)
    assert world.rows == ["0", "1", "2"]


async def test_what_can_not_be_written_waits_and_is_an_alert() -> None:
    world = World()
    world.store.broken = TabletNotMounted("not mounted", 1702)
    with capture_logs() as logs:
        for number in range(3):
            world.add(number)
            await world.writer.do_pass(number)
    assert [log["event"] for log in logs] == ["history cannot be written"]
    assert (world.observer.failed, world.observer.waiting) == (3, 3)
    assert world.board.alerts()[FAILED]["inner_errors"][0]["message"] == "not mounted"
    world.store.broken = None
    await world.writer.do_pass(3)
    assert world.rows == ["0", "1", "2"]
    assert world.board.alerts() == {}


async def test_the_oldest_rows_go_when_there_is_no_room_and_that_is_told_until_the_rest_is_written() -> None:
    world = World(max_bytes=6)
    world.store.broken = ClusterUnavailable("away")
    assert [world.add(1), world.add(2), world.add(3), world.add(4)] == [0, 0, 0, 1]
    await world.writer.do_pass(0)
    assert world.observer.dropped == 1
    assert set(world.board.alerts()) == {DROPPED, FAILED}
    world.store.broken = None
    await world.writer.do_pass(1)
    assert world.rows == ["2", "3", "4"]
    assert world.board.alerts() == {}


async def test_whoever_is_replaced_stops_and_does_not_disturb_the_other() -> None:
    producer = Producer()
    old, new = World(producer, "old"), World(producer, "new")
    old.add(1)
    await old.writer.do_pass(0)
    new.add(2)
    await new.writer.do_pass(0)
    with capture_logs():
        for number in range(1, 4):
            old.add(9)
            await old.writer.do_pass(number)
    assert set(old.board.alerts()) == {TAKEN_OVER}
    assert old.observer.dropped == 3
    new.add(3)
    await new.writer.do_pass(1)
    assert producer.rows == ["1", "2", "3"]


async def test_a_session_that_was_removed_is_begun_anew() -> None:
    world = World()
    world.add(1)
    await world.writer.do_pass(0)
    world.store.producer = Producer(epoch=6, rows=world.rows)
    world.add(2)
    with capture_logs():
        await world.writer.do_pass(1)
        world.add(3)
        await world.writer.do_pass(2)
    assert world.rows == ["1", "2", "3"]


async def never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError


async def test_what_was_added_last_is_written_before_the_end() -> None:
    world = World()
    async with world.writer.writing(never):
        world.add(1)
    assert world.rows == ["1"]


async def test_the_end_does_not_wait_for_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_writer, "LAST_WRITE_SECONDS", 0.01)
    world = World()
    world.store.gate = asyncio.Event()
    with capture_logs() as logs:
        async with world.writer.writing(never):
            world.add(1)
    assert [log["event"] for log in logs] == ["history not written to its end"]


async def test_each_pass_of_an_object_is_recorded_once() -> None:
    world = World()
    for pass_index in (1, 1, 2):
        world.publish(pass_index)
        await world.recorder.do_pass(0)
    assert world.writer.wake.is_set()
    await world.writer.do_pass(0)
    assert world.rows == ["1", "2"]


async def test_many_rows_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "ROWS_AT_ONCE", 1)
    world = World()
    world.publish(1)
    world.board.put_alerts("x", {"a": ErrorInfo("a"), "b": ErrorInfo("b")})
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count_turns())
        await world.recorder.do_pass(0)
        counting.cancel()
    assert turns >= 3
    assert world.observer.waiting == 3
