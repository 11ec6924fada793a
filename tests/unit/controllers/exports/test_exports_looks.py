"""Looks at exports that make nothing: of agents that do not export, and previews."""

from __future__ import annotations

from datetime import timedelta

from structlog.testing import capture_logs

from queue_agent.core.exports.preview import ExportingMode
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from tests.unit.controllers.exports.managed_exports import World, fill, only_state, settled
from tests.waiting import until


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
    world = World(min_backoff=3_600_000)
    fill(world.cluster)
    world.cluster.stored = {"tablets": {"0": {"last_chunk": "x", "row_count": 9, "tablet_id": "gone"}}}
    ref = world.put(0)
    async with world.running():
        await until(lambda: len(world.outcomes) == 1)
        await settled(world)
        assert only_state(world, ref).recounted == [0]
        world.context.static_exports = "never"
        world.clock.time += timedelta(minutes=1)
        await until(lambda: only_state(world, ref).recounted == ())


async def test_an_error_of_an_export_is_over_when_exports_are_turned_off() -> None:
    world = World()
    world.cluster.failure = ClusterError("locked", 402)
    ref = world.put(0)
    async with world.running():
        await until(lambda: bool(world.outcomes) and only_state(world, ref).error is not None)
        world.context.static_exports = "never"
        world.cluster.failure = None
        await until(lambda: only_state(world, ref).error is None)
