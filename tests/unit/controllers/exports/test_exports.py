"""When tasks of static exports begin, and what becomes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from queue_agent.core.exports.schedule import ByCron, EveryPeriod
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.encoding import encode_instant
from queue_agent.errors import ClusterError
from tests.unguarded import RememberEvents
from tests.unit.controllers.exports.managed_exports import MOST, Cursed, World, fill, only_state, passes, settled
from tests.waiting import until


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
    noted = world.context.events
    assert isinstance(noted, RememberEvents)
    assert [(event.kind, event.queue) for event in noted.noted] == [("export_failed", ref), ("export_recovered", ref)]


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
