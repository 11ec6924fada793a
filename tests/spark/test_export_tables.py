"""Exports of queues to static tables."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner
from yt.wrapper.errors import YtError as ClientError

from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.__main__ import application
from queue_agent.spark.export.errors import ExportError, SourceChanged, TargetTaken
from tests.spark.export_world import World
from yt_local.testing import LocalCluster, YtError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SERVICE = ("__spyt_streaming_src_tablet_index", "__spyt_streaming_src_row_index")
HOUR = timedelta(hours=1)


@pytest.fixture
def world(home: LocalCluster, folder: str, tmp_path: Path) -> World:
    """The exporter goes by the cluster's time, where an hour has just begun: all rows of a test are of that hour."""
    home.clock.advance(HOUR.total_seconds() - home.clock.seconds() % HOUR.total_seconds())
    world = World(home, folder, tmp_path)
    world.now = home.clock.now()
    return world


def tables(world: World) -> list[str]:
    directory = f"{world.queue}.part-exports"
    return sorted(map(str, world.client.list(directory))) if world.client.exists(directory) else []


def read(world: World, name: str) -> list[dict[str, Any]]:
    return list(world.client.read_table(f"{world.queue}.part-exports/{name}"))


def keys(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row[SERVICE[0]], row[SERVICE[1]]) for row in rows]


def test_periods_that_are_over_become_a_table_and_the_consumer_follows(
    spark: SparkSession, world: World, home: LocalCluster
) -> None:
    world.write(0, 1, count=5)
    assert world.table_exporter(spark).run() is None
    assert tables(world) == []
    world.now += HOUR + timedelta(minutes=1)
    path = world.table_exporter(spark, rows_per_task=2).run()
    [name] = tables(world)
    assert path == f"{world.queue}.part-exports/{name}"
    tick = int(world.now.timestamp()) // 3600 * 3600
    assert name == f"{tick}-3600"
    rows = read(world, name)
    assert keys(rows) == [(0, row) for row in range(5)] + [(1, row) for row in range(5)]
    assert [row["number"] for row in rows] == list(range(10))
    assert world.consumed() == {0: 5, 1: 5}
    written = {row["$timestamp"] for row in world.client.pull_queue(world.queue, 0, 0)}
    assert {row["$timestamp"] for row in rows[:5]} == written
    assert world.client.get(f"{path}/@spark_export/ranges") == [
        {"partition": 0, "begin": 0, "end": 5},
        {"partition": 1, "begin": 0, "end": 5},
    ]
    # A second run in the same period has nothing to do.
    assert world.table_exporter(spark).run() is None
    world.client.remove(world.queue)
    world.create_queue(1)
    with pytest.raises(SourceChanged, match="re-created"):
        world.table_exporter(spark).run()


def test_nothing_is_seen_of_a_run_that_failed_and_the_next_does_it_all(
    spark: SparkSession, world: World, home: LocalCluster
) -> None:
    world.write(0, 1, count=5)
    world.now += HOUR + timedelta(minutes=1)
    once = {"read_options": {"retries": "1"}}
    broken = YtError("Broken")  # which clients do not try again
    with home.faults.refuse("concatenate", error=broken), pytest.raises(ClientError, match="Broken"):
        world.table_exporter(spark, **once).run()
    assert tables(world) == []
    assert world.consumed() == {}
    # A task fails once and is done again; the answer to the commit gets lost, or the consumer cannot be moved.
    with (
        home.faults.drop("advance_queue_consumer", "advance_consumer"),
        home.faults.refuse("write_table", count=1, error=broken),
        pytest.raises((ClientError, OSError)),
    ):
        world.table_exporter(spark, **once).run()
    [name] = tables(world)
    assert keys(read(world, name)) == [(0, row) for row in range(5)] + [(1, row) for row in range(5)]
    assert world.consumed() == {}
    world.table_exporter(spark).run()
    assert world.consumed() == {0: 5, 1: 5}
    assert tables(world) == [name]


def test_a_piece_that_is_there_twice_since_its_answers_were_lost_is_not_published(
    spark: SparkSession, world: World, home: LocalCluster
) -> None:
    world.write(0, count=5)
    world.now += HOUR + timedelta(minutes=1)
    retries = 2
    # The first commit of a run is that of what a task has written.
    with (
        home.faults.drop("commit_transaction", count=retries, executed=True) as lost,
        pytest.raises(ExportError, match="has 10 rows where tasks have written 5; nothing is published"),
    ):
        world.table_exporter(spark, read_options={"retries": str(retries)}).run()
    assert lost.hits == retries
    assert tables(world) == []
    assert world.consumed() == {}
    assert world.table_exporter(spark).run() is not None
    [name] = tables(world)
    assert keys(read(world, name)) == [(0, row) for row in range(5)]


def test_rows_may_be_changed_on_the_way(spark: SparkSession, world: World) -> None:
    world.write(0, count=6)
    world.now += HOUR + timedelta(minutes=1)
    with pytest.raises(OptionError, match="nubmer"):
        world.table_exporter(spark, transform=lambda frame: frame.where("nubmer > 2")).run()
    assert not world.client.exists(world.consumer), "which would keep rows in the queue"
    exporter = world.table_exporter(
        spark,
        ttl=timedelta(days=7),
        service_columns=False,
        transform=lambda frame: frame.where("number > 2").selectExpr(*SERVICE, "number", "upper(text) as text"),
    )
    path = exporter.run()
    assert path is not None
    assert list(world.client.read_table(path)) == [{"number": number, "text": f"ROW {number}"} for number in (3, 4, 5)]
    assert world.client.exists(f"{path}/@expiration_time")
    assert world.consumed() == {0: 6}
    with pytest.raises(OptionError, match=r"begun with transformation changed, not none, .* another directory"):
        world.table_exporter(spark, service_columns=False).run()
    with pytest.raises(OptionError, match="transform and transformation go together"):
        world.table_exporter(spark, transformation="changed").run()


def test_directories_of_native_exports_and_unmounted_partitions_are_refused(spark: SparkSession, world: World) -> None:
    world.write(0, count=1)
    world.now += HOUR + timedelta(minutes=1)
    world.client.create("map_node", f"{world.queue}.part-exports")
    world.client.set(
        f"{world.queue}.part-exports/@queue_static_export_destination", {"originating_queue_id": "0-0-0-0"}
    )
    with pytest.raises(OptionError, match="native export"):
        world.table_exporter(spark).run()
    world.client.remove(f"{world.queue}.part-exports")
    world.client.unmount_table(world.queue, sync=True)
    with pytest.raises(ExportError, match=r"partitions \[0, 1\]"):
        world.table_exporter(spark).run()


def test_a_directory_is_for_one_queue_and_one_consumer(spark: SparkSession, world: World, home: LocalCluster) -> None:
    world.write(0, 1, count=5)
    exporter = world.table_exporter(spark)
    assert (exporter.run(), exporter.summary.remaining_rows) == (None, 10)  # too early
    world.now += HOUR + timedelta(minutes=1)
    exporter = world.table_exporter(spark)
    assert exporter.run() is not None
    assert (exporter.summary.rows, exporter.summary.remaining_rows, exporter.summary.bytes > 0) == (10, 0, True)
    directory = f"{world.queue}.part-exports"
    command = ["verify-tables", f"--queue={world.queue}", f"--directory={directory}", f"--proxy={home.address}"]
    whole = CliRunner().invoke(application, [*command, f"--consumer={world.consumer}"])
    assert (whole.exit_code, "10 rows, 1 tables" in whole.output) == (0, True), whole.output
    own, world.consumer = world.consumer, f"{world.consumer}_2"
    with pytest.raises(TargetTaken, match="belongs to the consumer"):
        world.table_exporter(spark).run()
    assert not world.client.exists(world.consumer)
    world.queue, world.consumer = f"{world.queue}_2", own
    world.create_queue(1)
    with pytest.raises(TargetTaken, match="has the export of"):
        world.table_exporter(spark, directory=directory).run()
    for path, code in ((f"{directory}/none", 6), (directory, 5)):
        refused = CliRunner().invoke(application, [*command, f"--directory={path}", f"--queue={world.queue}"])
        assert refused.exit_code == code, refused.output


def test_a_clock_that_was_wrong_once_does_not_stop_an_export_silently(spark: SparkSession, world: World) -> None:
    world.write(0, 1, count=5)
    now, world.now = world.now, world.now + timedelta(days=365)
    assert world.table_exporter(spark).run() is not None
    world.now = now + 2 * HOUR
    with pytest.raises(ExportError, match="one of the clocks was wrong"):
        world.table_exporter(spark).run()
