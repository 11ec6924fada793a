"""When the pass of a queue may be over with a look at it, and what is published then."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.core.queues.snapshots import QueuePartition, Role
from queue_agent.core.state.rows import Registration, StateRows
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.observed import DESCRIPTION_PASSES, TableDescription, is_refresh_due
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterUnavailable
from queue_agent.ports.cluster import Permit
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, FakeQueue, World

PASS_INDEX = next(index for index in count() if not is_refresh_due(QUEUE, index, DESCRIPTION_PASSES))
DUE_INDEX = next(index for index in count() if is_refresh_due(QUEUE, index, DESCRIPTION_PASSES))


async def do_pass(world: World, queue: QueueController, pass_index: int = PASS_INDEX) -> bool:
    """A pass as in a round; whether it was over with the look."""
    world.clock.time += timedelta(seconds=1)
    watch = queue.find_watch()
    assert watch is not None
    poll = await world.pythia.poll(watch)
    if queue.pass_quietly(pass_index, poll, world.clock.now()):
        return True
    await queue.do_pass(pass_index, poll)
    return False


async def settled_queue(world: World, role: Role = Role.LEADING) -> QueueController:
    """Trimmed as far as may be, and seen so."""
    queue, consumer = world.queue_controller(role), world.consumer
    for pass_index in (PASS_INDEX, PASS_INDEX):
        await queue.do_pass(pass_index)
        await consumer.do_pass(pass_index)
    world.pythia.queues[QUEUE.path].bounds[0] = (42, 100)
    for _ in range(2):
        await do_pass(world, queue)
        await consumer.do_pass(PASS_INDEX)
    await do_pass(world, queue)
    world.pythia.trims.clear()
    return queue


async def read_up_to(offset: int, world: World, queue: QueueController) -> None:
    """A commit, and passes until the consumer is judged by it: by offsets that were read before the queue was."""
    world.hume.offsets[CONSUMER.path, QUEUE][0] = offset
    await world.consumer.do_pass(PASS_INDEX)
    await do_pass(world, queue)
    await world.consumer.do_pass(PASS_INDEX)


async def test_what_a_round_saw_is_as_old_as_its_question() -> None:
    """Though other passes came first."""
    world = World()
    await world.synchronize()
    queue = await settled_queue(world)
    world.pythia.queues[QUEUE.path].bounds[0] = (42, 200)
    before = world.board.next_moment()
    watch = queue.find_watch()
    after = world.board.next_moment()
    assert watch is not None
    poll = await world.pythia.poll(watch)
    assert not queue.pass_quietly(PASS_INDEX, poll, world.clock.time)
    world.clock.time += timedelta(seconds=1)
    await queue.do_pass(PASS_INDEX, poll)
    snapshot = world.board.find_queue(QUEUE)
    assert snapshot is not None
    assert snapshot.view is not None
    assert snapshot.view.asked in range(before, after)


def node(world: World) -> Mapping[str, Any]:
    node = world.board.queue_node(QUEUE)
    assert node is not None
    return node


async def test_a_queue_trimmed_as_far_as_may_be_rests_and_goes_on_being_published(world: World) -> None:
    queue = await settled_queue(world)
    before = node(world)
    assert before["partitions"][0]["trim"]["constraint"]["row_index"] == 42
    assert await do_pass(world, queue)
    after = node(world)
    assert after["pass_index"] == before["pass_index"] + 1
    assert after["pass_instant"] == encode_instant(world.clock.now())
    idle = [one["partitions"][0]["commit_idle_time"] for one in (before, after)]
    assert idle[1] - idle[0] == 1000
    assert after["partitions"][0]["trim"] == before["partitions"][0]["trim"]
    assert not world.pythia.trims


async def test_rows_that_are_written_or_trimmed_or_read_wake_it(world: World) -> None:
    queue = await settled_queue(world)
    for bounds in ((42, 101), (43, 101)):
        world.pythia.queues[QUEUE.path].bounds[0] = bounds
        assert not await do_pass(world, queue)
        partition = node(world)["partitions"][0]
        assert (partition["lower_row_index"], partition["upper_row_index"]) == bounds
    await read_up_to(50, world, queue)
    assert not await do_pass(world, queue)
    assert [target for _, _, target in world.pythia.trims] == [50]


async def test_a_table_that_changed_and_one_not_described_for_long_wake_it(world: World) -> None:
    queue = await settled_queue(world)
    assert not await do_pass(world, queue, DUE_INDEX)
    assert await do_pass(world, queue)
    world.pythia.queues[QUEUE.path].states.append("mounted")
    world.pythia.queues[QUEUE.path].bounds[1] = (0, 5)
    assert not await do_pass(world, queue)
    assert len(node(world)["partitions"]) == 2


async def test_as_long_as_there_is_an_alert_it_does_not_rest(world: World) -> None:
    queue = await settled_queue(world)
    world.board.put_registrations([])
    for _ in range(3):
        assert not await do_pass(world, queue)
        alert = world.trim_alert()
        assert alert is not None
        assert alert["attributes"]["datetime"] == encode_instant(world.clock.now()), "reported again"
    world.board.put_registrations([Registration(QUEUE, CONSUMER, vital=True)])
    assert not await do_pass(world, queue)
    assert world.trim_alert() is None
    assert await do_pass(world, queue)


async def test_with_trimming_turned_off_decisions_go_before_it_rests(world: World) -> None:
    queue = await settled_queue(world)
    world.context.config = ControllerConfig(enable_automatic_trimming=False)
    assert not await do_pass(world, queue)
    assert node(world)["partitions"][0]["trim"] is None
    assert await do_pass(world, queue)
    world.context.config = ControllerConfig(enable_automatic_trimming=True)
    assert not await do_pass(world, queue)
    assert node(world)["partitions"][0]["trim"] is not None


async def test_a_queue_that_does_not_ask_to_be_trimmed_rests_whatever_is_read(world: World) -> None:
    queue = await settled_queue(world)
    put_row(world, auto_trim_config={"enable": False})
    assert not await do_pass(world, queue)
    for offset in (60, 70):
        await read_up_to(offset, world, queue)
        assert await do_pass(world, queue)
    put_row(world, auto_trim_config={"enable": True})
    assert not await do_pass(world, queue)
    assert [target for _, _, target in world.pythia.trims] == [70]


async def test_another_row_wakes_it_and_the_same_one_read_anew_does_not(world: World) -> None:
    queue = await settled_queue(world)
    put_row(world)
    assert await do_pass(world, queue)
    put_row(world, queue_profiling_tag="x")
    assert not await do_pass(world, queue)
    assert node(world)["row"]["queue_profiling_tag"] == "x"


async def test_a_resting_queue_shows_who_is_registered_now(world: World) -> None:
    queue = await settled_queue(world)
    other = CrossClusterRef("hume", "//tmp/other")
    both = [Registration(QUEUE, CONSUMER, vital=True), Registration(QUEUE, other, vital=False)]
    world.board.put_registrations(both)
    await do_pass(world, queue)
    assert [one["consumer"] for one in node(world)["status"]["registrations"]] == [str(CONSUMER), str(other)]


async def test_a_banned_queue_is_not_looked_at(world: World) -> None:
    queue = await settled_queue(world)
    put_row(world, queue_agent_banned=True)
    assert queue.find_watch() is None


async def test_an_error_instead_of_a_look_is_published_without_another_question(world: World) -> None:
    queue = await settled_queue(world)
    await queue.do_pass(PASS_INDEX, ClusterUnavailable("no answer", 105))
    assert world.queue_error() == "no answer"
    assert not await do_pass(world, queue)
    assert node(world)["partitions"][0]["upper_row_index"] == 100


@pytest.mark.parametrize("after_a_quiet_pass", [False, True])
async def test_a_look_that_fails_is_published_whatever_was_before(world: World, after_a_quiet_pass: bool) -> None:
    queue = await settled_queue(world)
    if after_a_quiet_pass:
        assert await do_pass(world, queue)
    queue.pass_finished(PASS_INDEX, 0.1, None)
    queue.pass_finished(PASS_INDEX, 60.0, TimeoutError())
    assert world.queue_error() == "Pass did not end in time"
    assert not await do_pass(world, queue)
    assert node(world)["partitions"][0]["upper_row_index"] == 100


async def test_trimming_that_does_not_end_in_time_is_an_alert_beside_what_was_seen(world: World) -> None:
    queue = await settled_queue(world)
    queue.pass_finished(PASS_INDEX, 0.1, None)
    await read_up_to(50, world, queue)
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(None) as deadline:
            world.pythia.trim_rows = partial(keep_silent, deadline)  # type: ignore[method-assign] # as a tablet may
            await do_pass(world, queue)
    queue.pass_finished(PASS_INDEX, 60.0, caught.value)
    assert node(world)["partitions"][0]["upper_row_index"] == 100
    alert = world.trim_alert()
    assert alert is not None
    assert alert["inner_errors"][0]["message"] == "Pass did not end in time"


async def keep_silent(
    deadline: asyncio.Timeout,
    object_id: str,
    partition_index: int,
    trimmed_row_count: int,
    permit: Permit,
) -> None:
    """Until the deadline, which is as soon as somebody waits for this."""
    deadline.reschedule(asyncio.get_running_loop().time())
    await asyncio.Event().wait()


async def test_a_followed_queue_reports_its_position_error_again(world: World) -> None:
    queue = await settled_queue(world, Role.FOLLOWING)
    assert await do_pass(world, queue)
    snapshot = world.board.find_queue(QUEUE)
    assert snapshot is not None
    assert snapshot.exports.error is not None
    assert snapshot.exports.error.attributes["datetime"] == encode_instant(world.clock.now())


def put_row(world: World, **changes: Any) -> None:
    """As the agent's pass does when it has read the state tables again."""
    row = world.board.find_queue_row(QUEUE)
    consumer = world.board.find_consumer_row(CONSUMER)
    assert row is not None
    assert consumer is not None
    world.board.put_rows(StateRows([replace(row, **changes)], [replace(consumer)], []))


async def test_numbers_of_a_queue_that_is_created_again_are_none_of_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is, between two requests of a pass: what it is, and how many rows it has."""
    world = World()
    await world.synchronize()
    queue = await settled_queue(world)
    get_table = world.pythia.get_table

    async def then_create_again(path: str) -> TableDescription:
        table = await get_table(path)
        world.pythia.queues[path] = FakeQueue(["mounted"], {0: (0, 7)}, "9-9-9-9")
        return table

    monkeypatch.setattr(world.pythia, "get_table", then_create_again)
    await queue.do_pass(DUE_INDEX)
    snapshot = world.board.queues()[QUEUE]
    assert snapshot.error is not None
    assert "No such object 1-2-3-4" in str(snapshot.error)
    monkeypatch.undo()
    await queue.do_pass(PASS_INDEX)
    view = world.board.queues()[QUEUE].view
    assert view is not None
    assert view.object_id == "9-9-9-9"
    [partition] = view.partitions
    assert isinstance(partition, QueuePartition)
    assert partition.upper_row_index == 7
