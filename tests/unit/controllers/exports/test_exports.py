"""When tasks of static exports begin, and what becomes of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.exports.exports import ExportManager
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status.board import Board
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.rows import QueueRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from tests.unguarded import unguarded_context
from tests.unit.controllers.agent_world import FakeClock, FakeObserver
from tests.unit.controllers.export_fakes import FakeExports

OPTIONS = {
    "queue_exporter": {
        "enable": True,
        "pass_period": 1,
        "retry_backoff": {"min_backoff": 1, "max_backoff": 2, "backoff_jitter": 0},
    }
}
MOST = 8


class World:
    """Queues with an export each, and those who make them."""

    def __init__(self, rate: float = 1e6) -> None:
        self.rate = rate
        self.clock = FakeClock()
        self.board = Board("agent-1", self.clock)
        self.cluster, self.other = FakeExports(), FakeExports()
        self.outcomes: list[ExportOutcome] = []
        self.context = unguarded_context(
            self.board,
            {},
            self.clock,
            FakeObserver(),
            ControllerConfig.model_validate(OPTIONS),
            export_clusters={"hume": self.cluster, "primary": self.other},
        )
        origins = Origins(Process("agent-1", 481, 7), "Exports:0", random.Random(1))
        self.manager = ExportManager(self.context, origins, self, lambda: self.rate, lambda: 0.0)
        self._rows: dict[CrossClusterRef, QueueRow] = {}

    def export_finished(self, queue: CrossClusterRef, name: str, outcome: ExportOutcome) -> None:
        self.outcomes.append(outcome)

    def exports_kept(self, exports: Any) -> None:
        return

    def put(
        self,
        number: int,
        role: Role = Role.LEADING,
        object_id: str = "1-2-3-4",
        cluster: str = "hume",
        exports: Sequence[str] = ("e",),
    ) -> CrossClusterRef:
        """A queue that is led here, unless something else is said."""
        ref = CrossClusterRef(cluster, f"//tmp/q{number}")
        config = {name: {"export_directory": f"//tmp/d{number}{name}", "export_period": 60_000} for name in exports}
        row = QueueRow(ref, object_type="table", object_id=object_id, static_export_config=config)
        self._rows[ref] = row
        self.board.put_rows(StateRows(list(self._rows.values()), [], []))
        self.board.put_queue(QueueSnapshot(row, role, 1, self.clock.now(), ErrorInfo("not looked at")))
        return ref

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.manager.run(lambda: 1.0))
            try:
                yield
            finally:
                task.cancel()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - conditions over fakes that know no events
            await asyncio.sleep(0.001)


async def passes(world: World, count: int = 5) -> None:
    """Let so many passes go by."""
    observer = world.context.observer
    assert isinstance(observer, FakeObserver)
    wanted = len(observer.passes) + count
    await until(lambda: len(observer.passes) >= wanted)


async def test_every_export_has_a_task_at_every_tick_and_no_more() -> None:
    world = World()
    refs = [world.put(number) for number in range(20)]
    async with world.running():
        await until(lambda: len(world.outcomes) == len(refs))
        await passes(world)
        assert len(world.outcomes) == len(refs)
        world.clock.time += timedelta(minutes=1)
        await until(lambda: len(world.outcomes) == 2 * len(refs))
    assert world.cluster.most <= MOST
    [state] = world.board.find_exports(refs[0]).values()
    assert (state.task_index, state.error, state.queue_id) == (2, None, "1-2-3-4")
    assert state.progress == world.cluster.progress["d-1"]


async def test_only_so_many_tasks_are_under_way_at_once() -> None:
    world = World()
    world.cluster.gate.clear()
    for number in range(MOST + 3):
        world.put(number)
    async with world.running():
        await until(lambda: len(world.cluster.begun) == MOST)
        await passes(world)
        assert len(world.cluster.begun) == MOST
        world.cluster.gate.set()
        await until(lambda: len(world.outcomes) == MOST + 3)


async def test_a_queue_with_many_exports_keeps_no_other_queue_waiting() -> None:
    world = World()
    world.cluster.gate.clear()
    world.put(0, exports=[f"e{index}" for index in range(100)])
    other = world.put(1)
    async with world.running():
        await until(lambda: other.path in world.cluster.begun)
        await passes(world)
        assert sorted(world.cluster.begun) == ["//tmp/q0", "//tmp/q0", other.path]


async def test_queues_take_turns_where_few_tasks_may_begin() -> None:
    world = World(rate=1e-6)
    world.put(0, exports=[f"e{index}" for index in range(100)])
    other = world.put(1)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        world.rate = 1e6
        await until(lambda: len(world.outcomes) >= 2)
    assert world.cluster.begun.index(other.path) == 1


async def test_a_cluster_that_does_not_answer_keeps_no_other_cluster_waiting() -> None:
    world = World()
    world.cluster.gate.clear()
    for number in range(MOST + 3):
        world.put(number)
    world.put(100, cluster="primary")
    async with world.running():
        await until(lambda: len(world.cluster.begun) == MOST)
        await until(lambda: len(world.other.begun) == 1)


async def test_only_so_many_tasks_begin_in_a_second() -> None:
    world = World(rate=1e-6)
    for number in range(3):
        world.put(number)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        await passes(world)
    assert len(world.outcomes) == 1


async def test_a_task_is_given_up_when_its_queue_is_led_elsewhere() -> None:
    world = World()
    world.cluster.gate.clear()
    ref = world.put(0)
    async with world.running():
        await until(lambda: bool(world.cluster.begun))
        world.put(0, Role.FOLLOWING)
        await until(lambda: world.cluster.given_up == 1)
        assert world.board.find_exports(ref) == {}
        world.put(0)
        await until(lambda: len(world.cluster.begun) == 2)
    assert world.cluster.given_up == 2
    assert world.outcomes == []


@pytest.mark.parametrize("failure", [ClusterError("locked", 402), RuntimeError("a bug")])
async def test_what_fails_is_told_and_tried_again_until_it_succeeds(failure: Exception) -> None:
    world = World()
    world.cluster.failure = failure
    ref = world.put(0)

    def retries() -> int:
        return sum(state.retry_index for state in world.board.find_exports(ref).values())

    with capture_logs():  # to print what is behind a bug takes long
        async with world.running():
            await until(lambda: retries() >= 3)
            [state] = world.board.find_exports(ref).values()
            assert str(failure) in str(state.error)
            world.cluster.failure = None
            await until(lambda: retries() == 0)
            [state] = world.board.find_exports(ref).values()
            assert state.error is None


async def test_states_stay_the_same_object_while_nothing_happens() -> None:
    world = World()
    ref = world.put(0)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        await passes(world, 2)
        states = world.board.find_exports(ref)
        await passes(world)
        assert world.board.find_exports(ref) is states


async def test_a_task_of_a_queue_that_was_made_again_is_given_up() -> None:
    world = World()
    world.cluster.gate.clear()
    ref = world.put(0)
    async with world.running():
        await until(lambda: bool(world.cluster.begun))
        world.put(0, object_id="5-6-7-8")
        await until(lambda: world.cluster.given_up == 1)
        await until(lambda: len(world.cluster.begun) == 2)
        assert world.board.find_exports(ref)["e"].task_index <= 1
