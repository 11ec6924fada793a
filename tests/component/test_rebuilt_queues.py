"""A queue that is resharded or re-created: every surface says so until its consumers show that they know."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest

from tests.component.rebuilt_world import CONSUMER, LEDGER, QUEUE, World, alerts, says, verdict
from tests.component.running_agent import RunningAgent, eventually
from yt_local.runner import LocalClusters


@pytest.fixture
async def world(clusters: LocalClusters) -> AsyncIterator[World]:
    async with aiohttp.ClientSession() as session:
        yield await World.begun(session, clusters)


async def problems(agent: RunningAgent) -> list[str]:
    """Verdicts in `/api/v1/alerts`."""
    _, found = await agent.get("/api/v1/alerts")
    return [one["verdict"] for one in found["alerts"] if "verdict" in one]


async def partitions(agent: RunningAgent) -> list[tuple[Any, Any]]:
    """First row, and what trimming waits for."""
    document = await agent.find_queue("pythia", QUEUE) or {"partitions": ()}
    return [
        (one.get("lower_row_index"), (one.get("trim") or {}).get("constraint", {}).get("kind"))
        for one in document["partitions"]
    ]


@pytest.mark.slow
async def test_a_reshard_is_told_until_each_partition_with_rows_was_read(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await eventually(lambda: verdict(agent), says("ok"))
        await world.reshard(3)
        await world.write(5, 2)
        found = await eventually(lambda: verdict(agent), says("resharded"))
        assert found["reason"].endswith("; 5 unread rows")
        assert found["worst_partition_index"] == 2
        told = await eventually(lambda: alerts(agent), lambda found: "queue_agent_queue_resharded" in found)
        assert told["queue_agent_queue_resharded"]["attributes"]["consumers"] == [f"pythia:{CONSUMER}"]
        assert await problems(agent) == ["resharded"]
        await eventually(world.kept, lambda verdicts: b"resharded" in verdicts)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        assert (await eventually(lambda: verdict(agent), says("resharded")))["reason"] == found["reason"]
        await world.user.advance(CONSUMER, QUEUE, 2, 5)
        await world.user.advance(CONSUMER, QUEUE, 0, 10)
        await eventually(lambda: verdict(agent), says("ok"))


async def test_a_re_created_queue_is_told_until_the_consumer_steps_back(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await eventually(lambda: verdict(agent), says("ok"))
        await world.recreate()
        await world.write(25)
        found = await eventually(lambda: verdict(agent), says("recreated"))
        assert "offset 10 is of the old one" in found["reason"]
        assert found["action"] == f"queue-agent consumer reset pythia:{QUEUE} pythia:{CONSUMER} --to earliest"
        await eventually(lambda: alerts(agent), lambda found: "queue_agent_queue_recreated" in found)
        await world.user.advance(CONSUMER, QUEUE, 0, 0)
        await eventually(lambda: alerts(agent), lambda found: not found)
        assert (await verdict(agent))["verdict"] not in ("recreated", "ahead")


async def test_a_queue_is_known_as_a_new_one_before_its_row_in_the_state_is(world: World) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack, cypress_synchronizer={"pass_period": 3_600_000})
        await world.write(5)
        await eventually(lambda: verdict(agent), lambda found: found.get("drainable_row_count") == 5)
        await world.recreate()
        await world.write(15)
        found = await eventually(lambda: verdict(agent), lambda found: found.get("lost_row_count") == 5)
        assert (found["verdict"], found["loss"]["cause"]) == ("losing", "recreation")
        assert found["rebuild"]["kind"] == "recreation"


async def test_an_agent_that_has_not_seen_the_old_queue_itself_says_that_more_rows_may_be_lost(world: World) -> None:
    await world.write(5)
    async with AsyncExitStack() as stack:
        await world.start(stack)
        await eventually(world.kept_offsets, lambda found: found.get(0) == 10)
    await world.write(3)
    await world.recreate()
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await eventually(lambda: verdict(agent), lambda found: found.get("lost_row_count") == 5)
        assert found["unwatched_recreation_count"] == 1
        assert found["reason"].startswith("Lost at least 5 rows when the queue was re-created")


@pytest.mark.parametrize("is_seen", [False, True], ids=["at once", "unmounted for a while"])
async def test_rows_of_a_partition_that_a_reshard_took_away_and_gave_back_wait_for_a_commit(
    world: World, is_seen: bool
) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.reshard(2)
    await world.write(20, 1)
    await world.user.advance(CONSUMER, QUEUE, 1, 20)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack, queue_agent={"controller": {"enable_automatic_trimming": True}})
        # What nobody has judged before a reshard, nobody can tell from what is there after it.
        await eventually(lambda: verdict(agent), lambda found: found.get("partitions_by_verdict") == {"ok": 2})
        await eventually(lambda: partitions(agent), lambda found: [row for row, _ in found] == [10, 20])
        await world.reshard(1, agent if is_seen else None)
        await eventually(lambda: verdict(agent), lambda found: found.get("partitions_by_verdict") == {"ok": 1})
        await world.reshard(2, agent if is_seen else None)
        await world.write(25, 1)
        found = await eventually(lambda: verdict(agent), says("recreated"))
        assert "; offset 20 in partition 1 is of the old partition" in found["reason"]
        assert found["action"].endswith(" --to earliest --partition 1")
        await eventually(lambda: partitions(agent), lambda found: found[1:] == [(0, "stale_offset")])
        await world.user.advance(CONSUMER, QUEUE, 1, 5)
        await eventually(lambda: partitions(agent), lambda found: found[1:] == [(5, "vital_consumer")])
        assert (await verdict(agent))["verdict"] != "recreated"


async def test_rows_wait_for_a_commit_after_reshards_that_nobody_has_seen(world: World) -> None:
    """The new partition has more rows than the old one: it looks like one that has kept them."""
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.reshard(2)
    await world.write(20, 1)
    await world.user.advance(CONSUMER, QUEUE, 1, 20)
    async with AsyncExitStack() as stack:
        await world.start(stack)
        await eventually(world.kept_offsets, lambda found: found.get(1) == 20)
    await world.reshard(1)
    await world.reshard(2)
    await world.write(25, 1)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack, queue_agent={"controller": {"enable_automatic_trimming": True}})
        # What is committed before an agent has looked may have been committed before the reshards.
        await eventually(lambda: verdict(agent), says("resharded"))
        await eventually(lambda: partitions(agent), lambda found: found[1:] == [(0, "unproved_offset")])
        await world.user.advance(CONSUMER, QUEUE, 1, 5)
        await eventually(lambda: partitions(agent), lambda found: found[1:] == [(5, "vital_consumer")])


async def test_an_agent_that_starts_trims_nothing_until_it_can_read_ledgers_that_are_there(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.user.run("unmount_table", path=LEDGER)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack, queue_agent={"controller": {"enable_automatic_trimming": True}})
        await eventually(lambda: verdict(agent), says("ok"))
        await eventually(lambda: partitions(agent), lambda found: found == [(0, "unproved_offset")])
        told = await eventually(agent.alerts, lambda alerts: "queue_agent_consumer_ledger_failed" in alerts)
        assert "trims no queue with a vital consumer" in told["queue_agent_consumer_ledger_failed"]["message"]
        await world.user.run("mount_table", path=LEDGER)
        await eventually(lambda: partitions(agent), lambda found: found == [(10, "end_of_partition")])
        await eventually(agent.alerts, lambda alerts: "queue_agent_consumer_ledger_failed" not in alerts)
