"""Static exports as they are seen from outside: tables, progress, status."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs
from yt.wrapper.format import YsonFormat

from queue_agent.cli.export_plan import fetch_export_plan
from queue_agent.cli.references import parse_table
from tests.component.export_world import (
    DESTINATION,
    DIRECTORY,
    EXPORTING,
    PERIOD,
    PROGRESS,
    QUEUE,
    ExportWorld,
    export_world,
)
from tests.component.running_agent import eventually


@pytest.fixture
async def world() -> AsyncIterator[ExportWorld]:
    async with export_world() as world:
        yield world


async def test_rows_become_tables_by_the_minute(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    first = world.to_next_tick()
    await world.write("a", "b")
    await world.write("c")
    second = world.to_next_tick()
    await world.write("d")
    await world.start()
    await world.exported(["a", "b", "c"])
    third = world.to_next_tick()
    tables = await world.exported(["a", "b", "c"], ["d"])
    assert list(tables) == [f"{first}-{PERIOD}", f"{second}-{PERIOD}"]
    progress = await world.get(PROGRESS)
    assert progress["last_export_unix_ts"] == third
    chunks = await world.get(f"{QUEUE}/@chunk_ids")
    assert progress["tablets"]["0"]["last_chunk"] == chunks[-1]
    assert (progress["tablets"]["0"]["row_count"], progress["tablets"]["0"]["chunk_count"]) == (4, 3)
    assert progress["queue_object_id"] == await world.get(f"{QUEUE}/@id")
    path = f"{DIRECTORY}/{first}-{PERIOD}"
    assert await world.get(f"{path}/@schema") == await world.get(f"{QUEUE}/@schema")
    assert await world.get(f"{path}/@schema_mode") == "strong"


async def test_what_a_cpp_agent_has_begun_goes_on_where_it_was(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    first = world.to_next_tick()
    await world.write("a", "b")
    await world.write("c")
    (of_first, of_second) = await world.get(f"{QUEUE}/@chunk_ids")
    second = world.to_next_tick()
    await world.user.set(
        PROGRESS,
        {
            "last_successful_export_task_instant": "2024-11-21T10:00:00.000000Z",
            "last_successful_export_iteration_instant": "2024-11-21T10:00:00.000000Z",
            "last_export_task_instant": "2024-11-21T10:00:00.000000Z",
            "last_exported_fragment_unix_ts": second,
            "tablets": {"0": {"last_chunk": of_first, "max_timestamp": 1, "row_count": 2, "chunk_count": 7}},
            "queue_object_id": await world.get(f"{QUEUE}/@id"),
        },
    )
    await world.start()
    third = world.to_next_tick()
    tables = await world.exported(["c"])
    # Its own table is made already, so what came late goes into the next.
    assert list(tables) == [f"{second}-{PERIOD}"]
    progress = await world.task_done(third)
    assert progress["last_export_unix_ts"] == third
    assert "last_exported_fragment_unix_ts" not in progress
    tablet = progress["tablets"]["0"]
    assert (tablet["last_chunk"], tablet["row_count"], tablet["chunk_count"]) == (of_second, 3, 8)
    assert first < second


async def test_a_directory_that_does_not_want_the_queue_is_an_alert_until_it_does(world: ExportWorld) -> None:
    await world.user.run("create", type="map_node", path=DIRECTORY)
    await world.configure()
    world.to_next_tick()
    await world.write("a")
    world.to_next_tick()
    agent = await world.start()

    async def alerts() -> Any:
        document = await agent.find_queue("hume", QUEUE)
        return document and document["status"].get("alerts")

    category = "queue_agent_queue_controller_static_export_failed"
    found = await eventually(alerts, lambda found: category in found)
    assert found[category]["code"] == 3035
    [inner] = found[category]["inner_errors"]
    assert inner["attributes"]["export_name"] == "minutely"
    assert "queue_static_export_destination" in inner["message"]
    await world.user.set(DESTINATION, {"originating_queue_id": "1-2-3-4"})

    def is_another(found: Any) -> bool:
        return category in found and "configured id 1-2-3-4 does not match" in str(found[category])

    await eventually(alerts, is_another)
    await world.make_directory()
    await world.exported(["a"])
    await eventually(alerts, lambda found: found == {})


async def test_a_name_that_is_taken_stops_the_export_and_keeps_what_was_made_before(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure(output_table_name_pattern="at-%H:%M", use_upper_bound_for_table_names=True)
    world.to_next_tick()
    await world.write("a")
    second = world.to_next_tick()
    await world.write("b")
    third = world.to_next_tick()
    taken = f"{DIRECTORY}/{datetime.fromtimestamp(third, UTC).strftime('at-%H:%M')}"
    await world.user.run("create", type="table", path=taken)
    agent = await world.start()
    progress = await world.task_done(third)
    assert progress["last_export_unix_ts"] == second
    assert progress["last_successful_export_task_instant"] < progress["last_export_task_instant"]
    await world.exported(["a"], [])
    status, document = await agent.get("/api/v1/queues/hume/" + quote(QUEUE, safe=""))
    assert status == 200
    assert "uniqueness invariant violated" in str(document["status"]["alerts"])
    await world.user.run("remove", path=taken)
    await world.exported(["a"], ["b"])


async def test_a_backlog_is_made_up_for_a_few_tables_at_a_time(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure(export_ttl=3_600_000)
    values = ["a", "b", "c"]
    ticks = []
    for value in values:
        ticks.append(world.to_next_tick())
        await world.write(value)
    world.to_next_tick()
    exporter = {**EXPORTING["controller"]["queue_exporter"], "max_exported_table_count_per_task": 2}
    agent = await world.start(queue_agent={**EXPORTING, "controller": {"queue_exporter": exporter}})
    tables = await world.exported(["a"], ["b"])
    name = next(iter(tables))
    expires = datetime.fromisoformat(await world.get(f"{DIRECTORY}/{name}/@expiration_time"))
    assert ticks[-1] + PERIOD + 3600 <= expires.timestamp() <= world.now() + 3600  # both tables are late
    plan = await fetch_export_plan(agent.origin, parse_table(f"hume:{QUEUE}", "QUEUE"))
    assert [table["export_unix_ts"] for table in plan["exports"]["minutely"]["tables"]] == [ticks[2] + PERIOD]
    world.to_next_tick()
    await world.exported(["a"], ["b"], ["c"])


async def test_a_queue_that_is_banned_or_made_anew_is_not_exported(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    await world.user.set(f"{QUEUE}/@queue_agent_banned", True)
    world.to_next_tick()
    await world.write("a")
    world.to_next_tick()
    agent = await world.start()

    async def exports() -> Any:
        document = await agent.find_queue("hume", QUEUE)
        return document and document["status"].get("exports")

    await eventually(exports, lambda found: "this queue is banned" in str(found))
    assert await world.tables() == {}
    await world.user.run("remove", path=QUEUE)
    await world.user.create_queue(QUEUE)
    await world.configure()
    await world.write("new")
    world.to_next_tick()

    async def alerts() -> Any:
        document = await agent.find_queue("hume", QUEUE)
        return document and document["status"].get("alerts")

    await eventually(alerts, lambda found: "does not match queue id" in str(found))
    await world.make_directory()
    await world.exported(["new"])


async def test_where_one_agent_stops_another_goes_on(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    world.to_next_tick()
    await world.write("a")
    world.to_next_tick()
    membership = {"lease": 1000}  # so long waits who begins to lead
    async with world.running("agent-1", membership=membership):
        await world.exported(["a"])
    await world.write("b")
    world.to_next_tick()
    async with world.running("agent-2", membership=membership):
        await world.exported(["a"], ["b"])
    progress = await world.get(PROGRESS)
    assert progress["tablets"]["0"]["chunk_count"] == 2


async def test_metrics_tell_of_exports(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    world.to_next_tick()
    await world.write("a", "b")
    tick = world.to_next_tick()
    agent = await world.start()
    await world.exported(["a", "b"])
    labels = f'queue_cluster="hume",queue_path="{QUEUE}",queue_tag="none",export_name="minutely"'

    async def page() -> str:
        async with world.session.get(f"{agent.origin}/solomon/all") as response:
            return await response.text()

    lines = {
        f"queue_agent_queue_exported_rows_total{{{labels}}} 2",
        f"queue_agent_queue_exported_tables_total{{{labels}}} 1",
        f"yt_queue_agent_queue_static_export_exported_chunks{{{labels}}} 1",
        f"yt_queue_agent_queue_static_export_time_lag{{{labels}}} 0",
        f"queue_agent_queue_export_last_table_timestamp_seconds{{{labels}}} {tick}",
    }
    await eventually(page, lambda text: lines <= set(text.splitlines()))


WIDE_SCHEMA = [
    {"name": "string", "type": "string"},
    {"name": "required", "type": "utf8", "required": True},
    {"name": "unsigned", "type": "uint64"},
    {"name": "double", "type": "double"},
    {"name": "boolean", "type": "boolean"},
    {"name": "any", "type": "any"},
    {"name": "list", "type_v3": {"type_name": "optional", "item": {"type_name": "list", "item": "int64"}}},
    {"name": "$timestamp", "type": "uint64"},
]


async def test_values_of_all_types_come_through_unchanged(world: ExportWorld) -> None:
    queue, directory = "//tmp/wide", "//tmp/wide_tables"
    await world.user.create_queue(queue, schema=WIDE_SCHEMA, tablet_count=2)
    rows: list[dict[str, Any]] = [
        {
            "string": b"\xff\x00 no text",
            "required": "text",
            "unsigned": 2**64 - 1,
            "double": 0.1,
            "boolean": True,
            "any": {"a": [1, None, {"b": -1.5}]},
            "list": [1, 2],
            "$tablet_index": 1,
        },
        {"required": "", "any": None, "$tablet_index": 0},
    ]
    await world.ask(lambda client: client.insert_rows(queue, rows))
    await world.flush(queue)
    await world.make_directory(directory, queue)
    one = {"export_directory": directory, "export_cron_schedule": "0 * * * * *"}
    await world.user.set(f"{queue}/@static_export_config", {"by_cron": one})
    world.to_next_tick()
    await world.start()

    async def list_tables() -> Any:
        return await world.ask(lambda client: client.list(directory))

    [name] = await eventually(list_tables, lambda names: len(names) == 1)
    exported = await world.ask(
        lambda client: list(client.read_table(f"{directory}/{name}", format=YsonFormat(encoding=None)))
    )
    stored = await world.ask(lambda client: list(client.read_table(queue, format=YsonFormat(encoding=None))))
    assert exported == stored
    assert len(exported) == len(rows)
    assert [type(value) for row in exported for value in row.values()] == [
        type(value) for row in stored for value in row.values()
    ]


async def test_who_only_observes_says_what_is_due_and_makes_nothing(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    world.to_next_tick()
    await world.write("a")
    world.to_next_tick()
    with capture_logs() as logs:
        agent = await world.start(enable=False, static_exports="observe")
        await eventually(lambda: _found(logs, "export observed"), bool)
    assert await world.tables() == {}
    plan = await fetch_export_plan(agent.origin, parse_table(f"hume:{QUEUE}", "QUEUE"))
    assert plan["static_exports"] == "observe"


async def test_a_document_turns_exports_on_where_the_file_allows_them(world: ExportWorld) -> None:
    await world.make_directory()
    await world.configure()
    world.to_next_tick()
    await world.write("a")
    world.to_next_tick()
    agent = await world.start(enable=False, static_exports="allowed")
    path = ("queue_agent", "queues", f"hume:{QUEUE}", "exporters")
    await eventually(lambda: agent.orchid(*path), lambda found: "minutely" in found)
    assert await world.tables() == {}
    controller = {"queue_exporter": {"enable": True, "pass_period": 50}}
    await world.user.run(
        "create", type="document", path="//sys/queue_agents/config", attributes={"value": {}}, ignore_existing=True
    )
    await world.user.set("//sys/queue_agents/config", {"queue_agent": {"controller": controller}})
    # Though the tick is over that it has looked at.
    await world.exported(["a"])
    node = await agent.orchid(*path)
    assert node["minutely"]["export_task_invocation_index"] == 1
    assert node["minutely"]["export_config"]["export_directory"] == DIRECTORY


async def _found(logs: list[Any], event: str) -> bool:
    return any(one["event"] == event for one in logs)
