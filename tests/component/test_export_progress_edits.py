"""Exports whose progress, tablets or period are changed by others: no row is lost, and no copy is made in silence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from queue_agent.core.queues.exports import EXPORT_FAILED, EXPORT_RECOUNTED
from tests.component.export_world import DIRECTORY, PROGRESS, QUEUE, ExportWorld, export_world
from tests.component.running_agent import RunningAgent, eventually
from tests.component.test_export_hazards import TRIMMING, alerts, exported_rows, reshard


@pytest.fixture
async def world() -> AsyncIterator[ExportWorld]:
    async with export_world(tablet_count=2) as world:
        await world.make_directory()
        await world.configure()
        world.to_next_tick()
        await world.write("a", "b")
        await world.write("c", tablet_index=1)
        world.to_next_tick()
        yield world


async def start(world: ExportWorld) -> RunningAgent:
    agent = await world.start()
    await world.exported(["a", "b", "c"])
    return agent


async def test_rows_of_a_merged_tablet_are_exported_again_with_an_alert(world: ExportWorld) -> None:
    agent = await start(world)
    await reshard(world, 1)
    await world.write("d")
    world.to_next_tick()
    await eventually(lambda: exported_rows(world), lambda rows: rows == list("abccd"))
    found = await eventually(lambda: alerts(agent), lambda found: EXPORT_RECOUNTED in found)
    assert "partitions 0, 1" in str(found)


async def test_a_last_chunk_that_is_edited_makes_copies_with_an_alert(world: ExportWorld) -> None:
    agent = await start(world)
    await world.user.set(f"{PROGRESS}/tablets/0/last_chunk", "1-2-3-4")
    world.to_next_tick()
    await eventually(lambda: exported_rows(world), lambda rows: rows == list("abcab"))
    found = await eventually(lambda: alerts(agent), lambda found: EXPORT_RECOUNTED in found)
    assert "partitions 0" in str(found)


async def test_rows_stay_while_chunks_contradict_the_progress(world: ExportWorld) -> None:
    await world.write("d", "e", "f")
    agent = await world.start(queue_agent=TRIMMING)
    await world.exported(["a", "b", "c"])
    await world.user.set(f"{PROGRESS}/tablets/0/row_count", 5)
    world.to_next_tick()
    await eventually(lambda: alerts(agent), lambda found: EXPORT_FAILED in found)
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await eventually(lambda: world.get(f"{QUEUE}/@tablets/1/trimmed_row_count"), lambda count: count == 1)
    assert await world.get(f"{QUEUE}/@tablets/0/trimmed_row_count") == 0


async def test_who_does_not_export_tells_of_no_copies(world: ExportWorld) -> None:
    await world.user.set(
        PROGRESS, {"last_export_unix_ts": 60, "tablets": {"0": {"last_chunk": "1-2-3-4", "row_count": 2}}}
    )
    agent = await world.start(enable=False)

    async def has_looked() -> Any:
        document = await agent.find_queue("hume", QUEUE)
        return document and document["status"]["exports"]["progress"]["minutely"]

    found = await eventually(has_looked, lambda found: found["last_export_unix_ts"] == 60)
    assert found["tablets"] == {}
    assert await alerts(agent) == {}


async def test_tables_of_an_agent_whose_clock_is_behind_do_not_expire_at_once(world: ExportWorld) -> None:
    await world.configure(export_ttl=3_600_000)
    world.cluster_clock.advance(timedelta(days=1))
    await world.start()
    [name] = await world.exported(["a", "b", "c"])
    expires = datetime.fromisoformat(await world.get(f"{DIRECTORY}/{name}/@expiration_time"))
    assert expires >= world.clock.now() + timedelta(days=1)
