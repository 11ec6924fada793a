"""When tasks of static exports begin, and what becomes of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from queue_agent.config.exports import StaticExports
from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.exports.exports import ExportManager
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status.board import Board
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.preview import ExportingMode
from queue_agent.core.exports.queue_exports import ExportState
from queue_agent.core.exports.schedule import ByCron, EveryPeriod
from queue_agent.core.exports.source import ChunkFacts, TabletChunks
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.rows import QueueRow, StateRows
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import COUNTER_BITS
from queue_agent.errors import ClusterError
from tests.unguarded import unguarded_context
from tests.unit.controllers.agent_world import FakeClock, FakeObserver
from tests.unit.controllers.export_fakes import FakeExports

OPTIONS: dict[str, Any] = {
    "queue_exporter": {
        "enable": True,
        "pass_period": 1,
        "retry_backoff": {"min_backoff": 1, "max_backoff": 2, "backoff_jitter": 0},
    }
}
MOST = 8


class World:
    """Queues with an export each, and those who make them."""

    def __init__(
        self,
        rate: float = 1e6,
        static_exports: StaticExports = "allowed",
        min_backoff: int = 1,
        pass_period: int = 1,
    ) -> None:
        self.rate = rate
        self.clock = FakeClock()
        self.board = Board("agent-1", self.clock)
        self.cluster, self.other = FakeExports(), FakeExports()
        self.outcomes: list[ExportOutcome] = []
        self.kept: list[dict[CrossClusterRef, list[str]]] = []
        options = deepcopy(OPTIONS)
        options["queue_exporter"]["pass_period"] = pass_period
        options["queue_exporter"]["retry_backoff"] |= {"min_backoff": min_backoff, "max_backoff": 2 * min_backoff}
        self.context = unguarded_context(
            self.board,
            {},
            self.clock,
            FakeObserver(),
            ControllerConfig.model_validate(options),
            static_exports=static_exports,
            export_clusters={"hume": self.cluster, "primary": self.other},
        )
        origins = Origins(Process("agent-1", 481, 7), "Exports:0", random.Random(1))
        self.manager = ExportManager(self.context, origins, self, lambda: self.rate, lambda: 0.0)
        self._rows: dict[CrossClusterRef, QueueRow] = {}

    def export_finished(self, queue: CrossClusterRef, name: str, outcome: ExportOutcome) -> None:
        self.outcomes.append(outcome)

    def exports_kept(self, exports: Mapping[CrossClusterRef, Collection[str]]) -> None:
        self.kept.append({ref: sorted(names) for ref, names in exports.items()})

    def put(
        self,
        number: int,
        role: Role = Role.LEADING,
        object_id: str = "1-2-3-4",
        cluster: str = "hume",
        exports: Sequence[str] = ("e",),
        **changes: Any,
    ) -> CrossClusterRef:
        """A queue that is led here, unless something else is said."""
        ref = CrossClusterRef(cluster, f"//tmp/q{number}")
        config = {name: {"export_directory": f"//tmp/d{number}{name}", "export_period": 60_000} for name in exports}
        fields = {"object_type": "table", "object_id": object_id, "static_export_config": config, **changes}
        row = QueueRow(ref, **fields)
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


def fill(cluster: FakeExports) -> None:
    """One tablet of two chunks, due at two ticks; rows 0 to 7."""
    cluster.tablets, cluster.ends, cluster.tablet_ids = [[TabletChunks("list", ["a", "b"])]], [7], [["t0"]]
    cluster.chunks = {"a": ChunkFacts(5, 60 << COUNTER_BITS, 50), "b": ChunkFacts(2, 130 << COUNTER_BITS, 20)}


class Cursed(dict[str, Any]):
    """An export that nobody can read, for a reason nobody thought of."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("a bug of reading")


async def settled(world: World) -> None:
    """Let passes go by until nothing is under way any more."""
    await passes(world)
    await until(lambda: world.cluster.under_way == world.other.under_way == 0)
    await passes(world)


def only_state(world: World, ref: CrossClusterRef) -> ExportState:
    [state] = world.board.find_exports(ref).values()
    return state


async def test_a_task_is_told_with_its_instant_and_its_outcome() -> None:
    world = World()
    fill(world.cluster)
    world.cluster.stored = {"tablets": {"0": {"last_chunk": "x", "row_count": 9, "tablet_id": "gone"}}}
    ref = world.put(0)
    with capture_logs() as logs:
        async with world.running():
            await until(lambda: len(world.outcomes) == 1)
            await settled(world)
    state = only_state(world, ref)
    assert (state.task_instant, state.recounted, state.directory_id) == (encode_instant(world.clock.now()), [0], "d-1")
    assert [line["export_unix_ts"] for line in logs if line["event"] == "table exported"] == [120, 180]


async def test_tables_that_are_not_published_are_not_told_of() -> None:
    world = World(min_backoff=3_600_000)
    fill(world.cluster)
    world.cluster.commit_failure = ClusterError("conflict", 402)
    world.put(0)
    with capture_logs() as logs:
        async with world.running():
            await until(lambda: len(world.outcomes) == 1)
    assert [line["event"] for line in logs] == ["export failed"]


async def test_a_failure_waits_for_its_time() -> None:
    world = World(min_backoff=3_600_000)
    world.cluster.failure = ClusterError("locked", 402)
    ref = world.put(0)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        await settled(world)
        state = only_state(world, ref)
        assert (len(world.cluster.begun), state.retry_index, state.retry_backoff) == (1, 1, 3_600_000)


async def test_nothing_is_left_of_failures_after_a_success() -> None:
    world = World()
    world.cluster.failure = ClusterError("locked", 402)
    ref = world.put(0)
    async with world.running():
        await until(lambda: only_state(world, ref).retry_index == 1 if world.board.find_exports(ref) else False)
        world.cluster.failure = None
        await until(lambda: only_state(world, ref).retry_index == 0)
        state = only_state(world, ref)
        assert (state.retry_backoff, state.error) == (0, None)


async def test_a_cluster_nobody_knows_is_an_error_of_the_export() -> None:
    world = World(min_backoff=3_600_000)
    ref = world.put(0, cluster="nowhere")
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
    assert only_state(world, ref).error == world.outcomes[0].error
    assert 'Cluster "nowhere" is not known' in str(world.outcomes[0].error)


async def test_as_many_tasks_begin_as_before_once_others_have_ended() -> None:
    world = World()
    for number in range(3):
        world.put(number)
    async with world.running():
        await until(lambda: len(world.outcomes) == 3)
        world.cluster.gate.clear()
        for number in range(10, 10 + MOST + 3):
            world.put(number)
        await until(lambda: len(world.cluster.begun) == 3 + MOST)
        await passes(world)
        assert len(world.cluster.begun) == 3 + MOST


async def test_as_many_may_begin_at_once_as_in_a_second() -> None:
    world = World(rate=2.0)
    world.cluster.gate.clear()
    for number in range(3):
        world.put(number)
    async with world.running():
        await until(lambda: bool(world.cluster.begun))
        await passes(world, 1)
        assert len(world.cluster.begun) >= 2


async def test_a_tick_comes_at_its_very_second() -> None:
    world = World()
    world.clock.time = datetime(2025, 1, 23, 12, 30, tzinfo=UTC)
    world.put(0)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        world.clock.time += timedelta(seconds=59)
        await settled(world)
        assert len(world.outcomes) == 1
        world.clock.time += timedelta(seconds=1)
        await until(lambda: len(world.outcomes) == 2)


async def test_a_new_schedule_counts_at_once_and_keeps_what_is_known() -> None:
    world = World()
    world.clock.time = datetime(2025, 1, 23, 12, 30, tzinfo=UTC)
    ref = world.put(0)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        await settled(world)
        hourly = {"e": {"export_directory": "//tmp/d0e", "export_period": 3_600_000}}
        world.put(0, static_export_config=hourly)
        await until(lambda: len(world.outcomes) == 2)
        await settled(world)
    state = only_state(world, ref)
    assert (state.task_index, state.config.schedule) == (2, EveryPeriod(3600))
    assert state.last_successful_tick == int(datetime(2025, 1, 23, 12, tzinfo=UTC).timestamp())


async def test_an_export_to_another_directory_begins_again() -> None:
    world = World()
    ref = world.put(0, exports=("e", "f"))
    async with world.running():
        await until(lambda: len(world.outcomes) == 2)
        await settled(world)
        moved = {"e": {"export_directory": "//tmp/other", "export_period": 60_000}}
        world.put(0, static_export_config=moved)
        await until(lambda: len(world.outcomes) == 3)
        await settled(world)
    assert (only_state(world, ref).task_index, only_state(world, ref).config.directory) == (1, "//tmp/other")
    assert world.kept == [{ref: ["e", "f"]}, {ref: ["e"]}]


async def test_the_observer_hears_of_queues_that_are_led_no_more() -> None:
    world = World()
    ref = world.put(0)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        world.put(0, Role.FOLLOWING)
        await until(lambda: world.kept == [{ref: ["e"]}, {}])


async def test_a_config_that_makes_no_sense_has_no_exports_and_is_no_bug() -> None:
    world = World()
    ref = world.put(0, static_export_config={"e": {"export_period": 5}})
    with capture_logs() as logs:
        async with world.running():
            await passes(world)
    assert (world.board.find_exports(ref), world.kept, logs) == ({}, [{ref: []}], [])


async def test_a_config_that_nobody_can_read_stops_only_its_own_queue() -> None:
    world = World()
    before, after = world.put(0), world.put(2)
    cursed = world.put(1, static_export_config={"e": Cursed()})
    with capture_logs():
        async with world.running():
            await until(lambda: len(world.outcomes) == 2)
            assert world.board.find_exports(cursed) == {}
            world.put(0, static_export_config={"e": Cursed()})
            await until(lambda: world.board.find_exports(before) == {})
            assert only_state(world, after).error is None
            world.put(0)
            await until(lambda: len(world.outcomes) == 3)


async def test_a_schedule_that_nobody_can_ask_stops_only_its_own_export(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug of schedules")

    monkeypatch.setattr(ByCron, "range_at", fail)
    world = World(min_backoff=3_600_000, pass_period=3_600_000)  # both in the one and only pass
    config = {"e": {"export_directory": "//tmp/d0e", "export_cron_schedule": "@hourly"}}
    cursed, other = world.put(0, static_export_config=config), world.put(1)
    with capture_logs():
        async with world.running():
            await until(lambda: len(world.outcomes) == 1)
    assert only_state(world, other).error is None
    error = only_state(world, cursed).error
    assert error is not None
    assert "a bug of schedules" in str(error)
    assert str(cursed) in str(error)


async def test_an_agent_that_exports_nothing_looks_how_far_others_are_once_a_tick() -> None:
    world = World(static_exports="never")
    fill(world.cluster)
    world.cluster.stored = {"tablets": {"0": {"last_chunk": "a", "row_count": 5, "tablet_id": "t0"}}}
    ref = world.put(0)
    async with world.running():
        await until(lambda: bool(world.board.find_exports(ref)) and only_state(world, ref).queue_id is not None)
        await settled(world)
        assert (world.cluster.look_count, world.outcomes, world.cluster.begun) == (1, [], [])
        state = only_state(world, ref)
        assert ({index: one.row_count for index, one in state.progress.tablets.items()}, state.directory_id) == (
            {0: 5},
            "d-1",
        )
        assert (state.error, state.recounted, state.task_index, state.retry_index) == (None, (), 0, 0)
        world.clock.time += timedelta(minutes=1)
        await until(lambda: world.cluster.look_count == 2)


async def test_an_agent_that_observes_says_what_it_would_export() -> None:
    world = World(static_exports="observe")
    fill(world.cluster)
    world.put(0)
    world.put(1)
    with capture_logs() as logs:
        async with world.running():
            await until(lambda: sum(line["event"] == "export observed" for line in logs) == 2)
            await settled(world)
    observed = [line for line in logs if line["event"] == "export observed"]
    assert [(line["ticks"], line["waiting_rows"]) for line in observed] == [([120, 180], 0)] * 2
    assert (world.cluster.made, world.cluster.progress) == ({}, {})


async def test_a_look_that_fails_is_repeated_and_complained_of_once() -> None:
    world = World(static_exports="never")
    fill(world.cluster)
    world.cluster.failure = ClusterError("no such queue", 500)
    ref = world.put(0)
    with capture_logs() as logs:
        async with world.running():
            await until(lambda: world.cluster.look_count >= 3)
            world.cluster.failure = ClusterError("no access", 901)
            await until(lambda: len(logs) == 2)
            world.cluster.failure = None
            await until(lambda: only_state(world, ref).queue_id is not None)
            assert (only_state(world, ref).retry_index, only_state(world, ref).error) == (0, None)
            world.cluster.failure = ClusterError("no access", 901)
            world.clock.time += timedelta(minutes=1)
            await until(lambda: len(logs) == 3)
    assert [line["event"] for line in logs] == ["export could not be made"] * 3
    assert ["no such queue" in logs[0]["error"], "no access" in logs[1]["error"]] == [True, True]


async def test_a_look_at_a_cluster_nobody_knows_fails_in_words() -> None:
    world = World(static_exports="never", min_backoff=3_600_000)
    world.put(0, cluster="nowhere")
    with capture_logs() as logs:
        async with world.running():
            await until(lambda: bool(logs))
    assert logs[0]["error"] == 'Cluster "nowhere" is not known to this queue agent'


async def test_a_preview_tells_what_would_be_made_and_makes_nothing() -> None:
    world = World(static_exports="observe")
    fill(world.cluster)
    ref = world.put(0, exports=("e", "f"))
    world.cluster.stored = {"last_export_unix_ts": 60, "tablets": {}}
    preview = await world.manager.preview(ref)
    assert preview is not None
    assert (preview.ref, preview.mode, preview.error, sorted(preview.exports)) == (
        ref,
        ExportingMode.OBSERVE,
        None,
        ["e", "f"],
    )
    one = preview.exports["f"]
    assert (one.config.directory, one.now, one.last_export_unix_ts) == ("//tmp/d0f", world.clock.now(), 60)
    assert ([part.tick for part in one.tables], one.waiting_row_count, one.error) == ([120, 180], 0, None)
    assert (world.cluster.made, world.cluster.begun, world.cluster.progress) == ({}, [], {})


async def test_a_preview_tells_what_is_in_the_way_of_one_export() -> None:
    world = World()
    fill(world.cluster)
    ref, lost = world.put(0), world.put(1, cluster="nowhere")
    world.cluster.stored = {"tablets": {"0": {"last_chunk": "a", "row_count": 4, "tablet_id": "t0"}}}
    preview = await world.manager.preview(ref)
    assert preview is not None
    one = preview.exports["e"]
    assert ("RowCount: 4" in str(one.error), [part.tick for part in one.tables]) == (True, [180])
    world.cluster.failure = ClusterError("no access", 901)
    preview = await world.manager.preview(ref)
    assert preview is not None
    assert "no access" in str(preview.exports["e"].error)
    preview = await world.manager.preview(lost)
    assert preview is not None
    one = preview.exports["e"]
    assert ('Cluster "nowhere" is not known' in str(one.error), one.now) == (True, world.clock.now())


async def test_a_preview_of_what_can_not_be_exported_says_why() -> None:
    world = World()
    wrong, banned = world.put(0, static_export_config={"e": 5}), world.put(1, queue_agent_banned=True)
    preview = await world.manager.preview(wrong)
    assert preview is not None
    assert (preview.ref, preview.mode, preview.exports) == (wrong, ExportingMode.EXPORT, {})
    assert "Static export config check failed" in str(preview.error)
    preview = await world.manager.preview(banned)
    assert preview is not None
    snapshot = world.board.find_queue(banned)
    assert snapshot is not None
    assert (preview.ref, preview.error, preview.exports) == (banned, snapshot.exports.error, {})


async def test_only_who_leads_a_queue_has_a_preview_of_its_exports() -> None:
    world = World()
    assert await world.manager.preview(CrossClusterRef("hume", "//tmp/nothing")) is None
    assert await world.manager.preview(world.put(0, Role.FOLLOWING)) is None


async def test_what_was_said_of_an_export_is_over_when_exports_are_turned_off() -> None:
    world = World()
    fill(world.cluster)
    world.cluster.stored = {"tablets": {"0": {"last_chunk": "x", "row_count": 9, "tablet_id": "gone"}}}
    ref = world.put(0)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        await settled(world)
        assert only_state(world, ref).recounted == [0]
        world.cluster.failure = ClusterError("locked", 402)
        world.clock.time += timedelta(minutes=1)
        await until(lambda: only_state(world, ref).error is not None)
        world.context.static_exports = "never"
        world.cluster.failure = None
        await until(lambda: only_state(world, ref).error is None)
        assert only_state(world, ref).recounted == ()
