"""Rows that are not exported yet are not trimmed, whatever becomes of progress and directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from queue_agent.cli.export_plan import fetch_export_plan, render_export_plan
from queue_agent.cli.references import parse_table
from queue_agent.core.trimming.errors import TRIM_FAILED
from tests.component.export_world import (
    DIRECTORY,
    EXPORTING,
    PERIOD,
    PROGRESS,
    QUEUE,
    ExportWorld,
    export_world,
)
from tests.component.running_agent import RunningAgent, eventually


@pytest.fixture
async def world() -> AsyncIterator[ExportWorld]:
    async with export_world() as world:
        yield world


async def test_a_config_that_makes_no_sense_is_an_alert_and_stops_trimming(world: ExportWorld) -> None:
    await world.user.create_consumer("//tmp/c", QUEUE)
    await world.user.advance("//tmp/c", QUEUE, 0, 0)
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.configure(export_cron_schedule="0 0 * * *")
    await world.write("a", "b")
    await world.user.advance("//tmp/c", QUEUE, 0, 1)
    controller = {**EXPORTING["controller"], "enable_automatic_trimming": True}
    agent = await world.start(queue_agent={**EXPORTING, "controller": controller})

    async def status() -> Any:
        document = await agent.find_queue("hume", QUEUE)
        return document and document["status"]

    category = "queue_agent_queue_controller_static_export_misconfiguration"
    found = await eventually(status, lambda found: set(found.get("alerts", ())) >= {category, TRIM_FAILED})
    assert found["alerts"][category]["code"] == 3037
    assert found["exports"]["error"]["message"] == "Incorrect queue exports"
    assert (await world.get(f"{QUEUE}/@tablets/0/trimmed_row_count")) == 0
    await world.user.run("remove", path=f"{QUEUE}/@static_export_config")
    await eventually(status, lambda found: found["alerts"] == {} and found["exports"] == {"progress": {}})


async def test_rows_stay_until_they_are_exported(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    world.to_next_tick()
    await world.write("a", "b")
    await world.user.insert(QUEUE, [{"data": "in no chunk yet"}])
    controller = {**EXPORTING["controller"], "enable_automatic_trimming": True}
    agent = await world.start(queue_agent={**EXPORTING, "controller": controller})

    async def trim() -> Any:
        document = await agent.find_queue("hume", QUEUE)
        return document["partitions"][0].get("trim") if document and document["partitions"] else None

    held = await eventually(trim, lambda trim: trim["constraint"]["kind"] == "export")
    assert (held["constraint"]["subject"], held["constraint"]["row_index"]) == ("minutely", 0)
    world.to_next_tick()
    await world.exported(["a", "b"])
    held = await eventually(trim, lambda trim: trim["constraint"]["row_index"] == 2)
    assert held["constraint"]["subject"] == "minutely"
    await eventually(lambda: world.get(f"{QUEUE}/@tablets/0/trimmed_row_count"), lambda count: count == 2)


@dataclass
class TrimmedByExports:
    """Two rows in two tables, which an agent knows to be exported; nothing is trimmed before it is asked for."""

    world: ExportWorld
    agent: RunningAgent
    after_one: dict[str, Any]
    """Progress after the first table."""

    @classmethod
    async def make(cls, world: ExportWorld) -> TrimmedByExports:
        await world.make_directory()
        await world.configure()
        world.to_next_tick()
        await world.write("a")
        world.to_next_tick()
        controller = {**EXPORTING["controller"], "enable_automatic_trimming": True}
        agent = await world.start(queue_agent={**EXPORTING, "controller": controller})
        await world.exported(["a"])
        after_one = await world.get(PROGRESS)
        await world.write("b")
        world.to_next_tick()
        await world.exported(["a"], ["b"])
        self = cls(world, agent, after_one)
        await eventually(self.known, lambda tablets: tablets["0"]["row_count"] == 2)
        return self

    async def known(self) -> Any:
        """The progress of tablets that the agent remembers."""
        node = await self.agent.orchid("queue_agent", "queues", f"hume:{QUEUE}", "status", "exports", "progress")
        return node["minutely"]["tablets"]

    async def trimmed_row_count(self) -> Any:
        return await self.world.get(f"{QUEUE}/@tablets/0/trimmed_row_count")

    async def alert(self) -> str:
        document = await self.agent.find_queue("hume", QUEUE)
        return str(document and document["status"].get("alerts"))


async def test_progress_that_is_set_back_holds_rows_at_once(world: ExportWorld) -> None:
    queue = await TrimmedByExports.make(world)
    [_, last] = await world.tables()
    await world.user.run("remove", path=f"{DIRECTORY}/{last}")
    await world.user.set(PROGRESS, queue.after_one)
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await eventually(queue.trimmed_row_count, lambda count: count > 0)
    assert await queue.trimmed_row_count() == 1
    world.to_next_tick()
    await world.exported(["a"], ["b"])
    await eventually(queue.trimmed_row_count, lambda count: count == 2)


async def test_a_directory_made_anew_holds_rows_until_it_was_exported_to(world: ExportWorld) -> None:
    queue = await TrimmedByExports.make(world)
    progress = await world.get(PROGRESS)
    await world.user.run("remove", path=DIRECTORY, recursive=True)
    await world.make_directory()
    await world.user.set(PROGRESS, progress)
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await eventually(queue.alert, lambda found: "tables that were exported may be gone" in found)
    assert await queue.trimmed_row_count() == 0
    await world.user.run("remove", path=DIRECTORY, recursive=True)
    await eventually(queue.alert, lambda found: "Progress of static export" in found and "Error resolving" in found)
    assert await queue.trimmed_row_count() == 0
    await world.make_directory()
    world.to_next_tick()
    await world.exported(["a"], ["b"])
    await eventually(queue.trimmed_row_count, lambda count: count == 2)


async def test_an_agent_that_does_not_export_says_what_it_would_and_trims_what_others_have(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    tick = world.to_next_tick()
    await world.write("a", "b")
    await world.write("c")
    world.to_next_tick()
    (of_first, _) = await world.get(f"{QUEUE}/@chunk_ids")
    tablets = {"0": {"last_chunk": of_first, "row_count": 2}}
    await world.user.set(PROGRESS, {"tablets": tablets})
    agent = await world.start(enable=False, queue_agent={"controller": {"enable_automatic_trimming": True}})
    await eventually(lambda: world.get(f"{QUEUE}/@tablets/0/trimmed_row_count"), lambda count: count == 2)
    assert await world.tables() == {}
    assert (await world.get(PROGRESS)) == {"tablets": tablets}
    plan = await fetch_export_plan(agent.origin, parse_table(f"hume:{QUEUE}", "QUEUE"))
    assert plan["static_exports"] == "off"
    [table] = plan["exports"]["minutely"]["tables"]
    assert table == {
        "path": f"{DIRECTORY}/{tick}-{PERIOD}",
        "export_unix_ts": tick + PERIOD,
        "chunk_count": 1,
        "row_count": 1,
        "data_weight": table["data_weight"],
        "expiration_time": None,
    }
    text = render_export_plan(plan)
    assert "this agent does not export" in text
    assert f"{tick}-{PERIOD}" in text


async def test_no_row_of_a_queue_made_anew_goes_by_the_exports_of_the_old_one(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    world.to_next_tick()
    await world.write("a", "b")
    world.to_next_tick()
    controller = {**EXPORTING["controller"], "enable_automatic_trimming": True}
    agent = await world.start(queue_agent={**EXPORTING, "controller": controller})
    await eventually(lambda: world.get(f"{QUEUE}/@tablets/0/trimmed_row_count"), lambda count: count == 2)
    await world.user.run("remove", path=QUEUE)
    await world.user.create_queue(QUEUE, auto_trim_config={"enable": True})
    await world.configure()
    await world.write("new", "newer", "newest")
    queue_id = await world.get(f"{QUEUE}/@id")

    async def constraint() -> Any:
        row = await agent.orchid("queue_agent", "queues", f"hume:{QUEUE}", "row")
        document = await agent.find_queue("hume", QUEUE)
        if row.get("object_id") != queue_id or not document or not document["partitions"]:
            return None
        return (document["partitions"][0].get("trim") or {}).get("constraint")

    found = await eventually(constraint, lambda found: found["kind"] == "export")
    assert (found["subject"], found["row_index"]) == ("minutely", 0)
    await world.make_directory()
    world.to_next_tick()
    await world.exported(["a", "b"], ["new", "newer", "newest"])
    await eventually(lambda: world.get(f"{QUEUE}/@tablets/0/trimmed_row_count"), lambda count: count == 3)


async def _found(logs: list[Any], event: str) -> bool:
    return any(one["event"] == event for one in logs)
