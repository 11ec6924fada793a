"""What could lose rows of static exports in silence, or put tables where nobody asked for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.exports.yt_exports import YtExports
from queue_agent.cli.export_plan import fetch_export_plan
from queue_agent.cli.references import parse_table
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.exports.task import ExportTask, run_export_task
from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.queues.exports import EXPORT_FAILED, EXPORT_MISCONFIGURED, EXPORT_RECOUNTED
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ActionRefused
from tests.component.export_world import DIRECTORY, EXPORTING, PERIOD, PROGRESS, QUEUE, ExportWorld, export_world
from tests.component.running_agent import RunningAgent, eventually
from tests.unguarded import AlwaysPermitted

TRIMMING: dict[str, Any] = {
    **EXPORTING,
    "controller": {**EXPORTING["controller"], "enable_automatic_trimming": True},
}


@pytest.fixture
async def world() -> AsyncIterator[ExportWorld]:
    async with export_world(tablet_count=2) as world:
        await world.make_directory()
        await world.configure()
        world.to_next_tick()
        yield world


async def reshard(world: ExportWorld, *tablet_counts: int) -> None:
    await world.user.run("unmount_table", path=QUEUE)
    for count in tablet_counts:
        await world.user.run("reshard_table", path=QUEUE, tablet_count=count)
    await world.user.run("mount_table", path=QUEUE)


async def alerts(agent: RunningAgent) -> Any:
    document = await agent.find_queue("hume", QUEUE)
    return document and document["status"].get("alerts")


async def exported_rows(world: ExportWorld) -> list[str]:
    return [value for table in (await world.tables()).values() for value in table]


@pytest.mark.slow
async def test_progress_of_a_tablet_does_not_count_for_the_next_one_with_its_index(world: ExportWorld) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.write("a", "b", "c", tablet_index=1)
    world.to_next_tick()
    agent = await world.start(queue_agent=TRIMMING)
    await eventually(lambda: world.get(f"{QUEUE}/@tablets/1/trimmed_row_count"), lambda count: count == 3)
    await reshard(world, 1, 2)
    await world.write("d", "e", "f", "g", tablet_index=1)

    async def held() -> Any:
        document = await agent.find_queue("hume", QUEUE)
        trims = [one.get("trim") for one in document["partitions"]] if document else []
        return trims[1]["constraint"] if len(trims) == 2 and trims[1] else {}

    # Three rows of the tablet before were exported, and there are four now.
    found = await eventually(held, lambda held: "not known to be of this tablet" in str(held.get("message")))
    assert (found["kind"], found["held_row_count"]) == ("export", 4)
    assert await world.get(f"{QUEUE}/@tablets/1/trimmed_row_count") == 0
    world.to_next_tick()
    await eventually(lambda: world.get(f"{QUEUE}/@tablets/1/trimmed_row_count"), lambda count: count == 4)
    assert await exported_rows(world) == list("abcdefg")
    await eventually(lambda: alerts(agent), lambda found: EXPORT_RECOUNTED in found)


async def test_a_tablet_that_only_got_another_id_goes_on_where_it_was(world: ExportWorld) -> None:
    await world.write("a", "b")
    await world.write("c", tablet_index=1)
    world.to_next_tick()
    await world.start()
    await world.exported(["a", "b", "c"])
    # What the C++ agent writes does not tell tablets, and tablets of real clusters have new ids after every reshard.
    progress = await world.get(PROGRESS)
    for tablet in progress["tablets"].values():
        tablet["tablet_id"] = "1-2-3-4"
    await world.user.set(PROGRESS, progress)
    await world.write("d")
    await reshard(world, 3)
    world.to_next_tick()
    await world.exported(["a", "b", "c"], ["d"])
    ids = await world.get(f"{QUEUE}/@tablets")
    progress = await world.get(PROGRESS)
    assert progress["tablets"]["0"]["tablet_id"] == ids[0]["tablet_id"]


async def test_rows_that_a_reshard_puts_behind_others_are_not_left_out(world: ExportWorld) -> None:
    await world.write("a", "b")
    await world.write("c", tablet_index=1)
    world.to_next_tick()
    agent = await world.start()
    await world.exported(["a", "b", "c"])
    await world.write("d")
    await world.write("e", tablet_index=1)
    await reshard(world, 1)
    await world.write("f")
    world.to_next_tick()
    await eventually(lambda: exported_rows(world), lambda rows: "f" in rows)
    # Chunk "c" is one of tablet 0 now, behind a chunk that was not exported.
    assert await exported_rows(world) == ["a", "b", "c", "d", "c", "e", "f"]
    found = await eventually(lambda: alerts(agent), lambda found: EXPORT_RECOUNTED in found)
    assert "partitions 0" in str(found)


async def test_a_reshard_of_some_tablets_moves_the_progress_of_the_others(world: ExportWorld) -> None:
    await world.write("a")
    await world.write("b", tablet_index=1)
    world.to_next_tick()
    agent = await world.start()
    await world.exported(["a", "b"])
    await world.user.run("unmount_table", path=QUEUE)
    some = {"first_tablet_index": 0, "last_tablet_index": 0}
    await world.user.run("reshard_table", path=QUEUE, tablet_count=3, **some)
    await world.user.run("mount_table", path=QUEUE)
    await world.write("c", tablet_index=1)
    await world.write("d", tablet_index=3)
    world.to_next_tick()
    await world.exported(["a", "b"], ["c", "d"])
    assert await alerts(agent) == {}


async def test_progress_without_tablets_is_taken_over_where_its_rows_are_trimmed(world: ExportWorld) -> None:
    await world.write("a", "b")
    tick = world.to_next_tick()
    [chunk] = await world.get(f"{QUEUE}/@chunk_ids")
    tablets = {"0": {"last_chunk": chunk, "row_count": 2, "chunk_count": 5}}
    await world.user.set(PROGRESS, {"tablets": tablets, "last_export_unix_ts": tick})
    await world.user.run("trim_rows", path=QUEUE, tablet_index=0, trimmed_row_count=2)
    await world.write("c")
    world.to_next_tick()
    agent = await world.start()
    await world.exported(["c"])
    assert (await world.get(PROGRESS))["tablets"]["0"]["chunk_count"] == 6
    await eventually(lambda: alerts(agent), lambda found: found == {})


async def test_a_longer_period_is_no_wrong_clock(world: ExportWorld) -> None:
    await world.write("a")
    tick = world.to_next_tick()
    agent = await world.start()
    await world.exported(["a"])
    await world.configure(export_period=10 * 3_600_000)
    exporter = ("queue_agent", "queues", f"hume:{QUEUE}", "exporters")

    async def done_with() -> Any:
        return (await agent.orchid(*exporter))["minutely"]["last_successful_export_unix_ts"]

    await eventually(done_with, lambda last: last == tick // 36000 * 36000)
    assert await alerts(agent) == {}


async def test_ticks_that_chunks_do_not_have_are_an_error_of_the_export_alone(world: ExportWorld) -> None:
    year = world.clock.now().year
    await world.write("a")
    cron = {"export_directory": DIRECTORY, "export_cron_schedule": f"0 0 0 1 1 * {year + 5}-2199"}
    await world.user.set(f"{QUEUE}/@static_export_config", {"yearly": cron})
    world.advance(7 * 366 * 86400)
    agent = await world.start()
    found = await eventually(lambda: alerts(agent), lambda found: EXPORT_FAILED in found)
    assert "'Requested date does not exist'" in str(found)
    plan = await fetch_export_plan(agent.origin, parse_table(f"hume:{QUEUE}", "QUEUE"))
    assert plan["exports"]["yearly"]["error"]["message"] == "Requested date does not exist"


async def test_a_clock_that_is_behind_makes_no_tables_that_have_expired(world: ExportWorld) -> None:
    await world.configure(export_ttl=PERIOD * 1000)
    await world.write("a")
    world.advance(86400)
    world.to_next_tick()
    world.clock.offset -= timedelta(hours=2)
    await world.start()
    await world.exported(["a"])
    world.cluster_clock.advance(timedelta(seconds=PERIOD + 1))
    await eventually(world.tables, lambda tables: tables == {})


async def test_a_clock_that_was_ahead_stops_nothing_once_it_is_right(world: ExportWorld) -> None:
    await world.write("a")
    world.to_next_tick()
    world.clock.offset += timedelta(days=1)
    await world.start()
    await world.exported(["a"])
    world.clock.offset -= timedelta(days=1)
    await world.write("b")
    world.to_next_tick()
    await world.exported(["a"], ["b"])
    progress = await world.get(PROGRESS)
    now = world.clock.now().strftime("%Y-%m-%dT%H:%M:%S")
    assert progress["last_successful_export_task_instant"] <= now + "Z"


async def test_a_last_table_of_the_future_is_told(world: ExportWorld) -> None:
    await world.write("a")
    tick = world.to_next_tick()
    await world.user.set(PROGRESS, {"last_export_unix_ts": tick + 86400})
    agent = await world.start()
    found = await eventually(lambda: alerts(agent), lambda found: EXPORT_FAILED in found)
    assert f"in the future: the last tick was {tick}" in str(found)
    await world.user.set(PROGRESS, {"last_export_unix_ts": tick - PERIOD})
    await world.exported(["a"])


async def test_a_backlog_is_not_exported_into_tables_that_have_expired(world: ExportWorld) -> None:
    await world.configure(export_ttl=PERIOD * 1000)
    await world.write("a")
    world.advance(100 * PERIOD)
    world.to_next_tick()
    await world.start()
    await world.exported(["a"])
    world.advance(PERIOD + 1)
    await eventually(world.tables, lambda tables: tables == {})


async def test_a_name_leads_nowhere_else(world: ExportWorld) -> None:
    await world.user.run("create", type="map_node", path="//sys/precious")
    await world.user.run("link", target_path="//sys/precious", link_path=f"{DIRECTORY}/l")
    await world.configure(output_table_name_pattern="l/x-%UNIX_TS")
    await world.write("a")
    world.to_next_tick()
    agent = await world.start()
    found = await eventually(lambda: alerts(agent), lambda found: EXPORT_MISCONFIGURED in found)
    assert "output_table_name_pattern" in str(found)
    assert await world.get("//sys/precious/@count") == 0


async def test_a_link_that_has_the_name_of_the_next_table_leads_nowhere(world: ExportWorld) -> None:
    await world.user.run("create", type="map_node", path="//sys/precious")
    tick = world.to_next_tick()
    await world.user.run("link", target_path="//sys/precious/x", link_path=f"{DIRECTORY}/{tick}-{PERIOD}", force=True)
    await world.write("a")
    world.to_next_tick()
    agent = await world.start()
    await eventually(lambda: alerts(agent), lambda found: "uniqueness invariant violated" in str(found))
    assert await world.get("//sys/precious/@count") == 0
    await world.user.run("remove", path=f"{DIRECTORY}/{tick}-{PERIOD}&")
    await world.exported(["a"])


@pytest.fixture
async def cluster(world: ExportWorld) -> AsyncIterator[YtCluster]:
    async with YtCluster("hume", ClusterConfig(proxy=world.proxy.address)) as cluster:
        yield cluster


async def export(world: ExportWorld, cluster: YtCluster, directory: str = DIRECTORY) -> ExportOutcome:
    now = world.clock.now()
    origin = Origin("agent-1", 481, 7, "Exports:0", 8, "1-2-3-4", 9, now)
    config = ExportConfig(EveryPeriod(PERIOD), directory)
    task = ExportTask(CrossClusterRef("hume", QUEUE), "minutely", config, now, 10, True, origin)
    return await run_export_task(task, YtExports(cluster), AlwaysPermitted())


async def test_a_link_is_no_directory_but_leads_to_one_that_wants_the_queue(
    world: ExportWorld, cluster: YtCluster
) -> None:
    await world.user.run("link", target_path=DIRECTORY, link_path="//tmp/l")
    await world.write("a")
    world.to_next_tick()
    await world.user.set(f"{QUEUE}/@static_export_config/minutely/export_directory", "//tmp/l&")
    outcome = await export(world, cluster, "//tmp/l&")
    assert "is a link" in str(outcome.error)
    assert (await export(world, cluster, "//tmp/l")).error is None
    await world.exported(["a"])


async def test_an_export_that_its_owner_has_just_removed_does_not_fail(world: ExportWorld, cluster: YtCluster) -> None:
    await world.write("a")
    world.to_next_tick()
    await world.user.run("remove", path=f"{DIRECTORY}/@queue_static_export_destination")
    assert "is missing" in str((await export(world, cluster)).error)
    await world.user.run("remove", path=f"{QUEUE}/@static_export_config/minutely")
    with pytest.raises(ActionRefused):
        await export(world, cluster)
    assert await world.tables() == {}


async def test_nothing_is_exported_while_another_exporter_has_the_lock(world: ExportWorld, cluster: YtCluster) -> None:
    await world.write("a")
    world.to_next_tick()

    def lock(client: Any) -> Any:
        transaction = client.start_transaction(timeout=60_000)
        with client.Transaction(transaction_id=transaction):
            client.lock(DIRECTORY, mode="shared", attribute_key="queue_static_exporter")
        return transaction

    transaction = await world.ask(lock)
    outcome = await export(world, cluster)
    assert outcome.error is not None
    assert outcome.error.code == 402
    assert await world.tables() == {}
    await world.ask(lambda client: client.abort_transaction(transaction))
    assert (await export(world, cluster)).error is None
    await world.exported(["a"])


@pytest.mark.parametrize("times", [0, 2])
async def test_a_table_that_does_not_have_its_rows_once_is_not_made(
    world: ExportWorld, cluster: YtCluster, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    await world.write("a", "b")
    world.to_next_tick()
    write = cluster.write_table_bytes

    async def write_wrongly(*arguments: Any) -> None:
        for _ in range(times):
            await write(*arguments)

    monkeypatch.setattr(cluster, "write_table_bytes", write_wrongly)
    outcome = await export(world, cluster)
    assert f"{2 * times} rows were copied" in str(outcome.error)
    assert (outcome.made, await world.tables()) == ([], {})
    monkeypatch.undo()
    assert (await export(world, cluster)).error is None
    await world.exported(["a", "b"])


async def test_rows_that_were_trimmed_meanwhile_may_be_missing_but_no_others(
    world: ExportWorld, cluster: YtCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.write("a", "b", "c")
    await world.user.run("trim_rows", path=QUEUE, tablet_index=0, trimmed_row_count=2)
    world.to_next_tick()

    async def write_nothing(*arguments: Any) -> None:
        return

    monkeypatch.setattr(cluster, "write_table_bytes", write_nothing)
    assert "0 rows were copied" in str((await export(world, cluster)).error)
    monkeypatch.undo()
    assert (await export(world, cluster)).error is None
    assert (await exported_rows(world))[-1] == "c"
