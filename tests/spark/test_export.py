"""Exports of queues to Parquet files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.documents import Range
from queue_agent.spark.export.errors import TargetTaken
from queue_agent.spark.export.parquet_writer import FileSettings
from queue_agent.spark.export.reading import in_period, read_export, with_commit_time
from queue_agent.spark.export.storage import storage_of
from queue_agent.spark.export.verification import Verdict, verify
from tests.spark.export_world import SCHEMA, World, rows
from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def world(home: LocalCluster, folder: str, tmp_path: Path) -> World:
    return World(home, folder, tmp_path)


def verdict(world: World) -> Verdict:
    archive = Archive(storage_of(str(world.path())))
    return verify(archive, "v1", consumed=world.consumed(), deep=True)


def test_every_row_is_exported_once_and_the_consumer_follows(spark: SparkSession, world: World) -> None:
    world.write(0, 1)
    world.exporter(spark).catch_up()
    assert world.exported() == rows((0, 0, 10), (1, 0, 10))
    assert world.consumed() == {0: 10, 1: 10}
    [registration] = world.client.list_queue_consumer_registrations(queue_path=world.queue)
    assert registration["vital"]
    world.write(1, count=5)
    exporter = world.exporter(spark, rows=3, rows_per_task=2)
    exporter.catch_up()
    assert (exporter.summary.batches, exporter.summary.rows, exporter.summary.files) == (2, 5, 3)
    assert world.exported() == rows((0, 0, 10), (1, 0, 15))
    assert world.consumed() == {0: 10, 1: 15}
    assert (verdict(world).faults, verdict(world).notes) == ([], [])
    names = [name.rpartition("/")[2] for name in world.files() if name.startswith("dt=")]
    assert "00001-00000000000000000010-00000000000000000012.parquet" in names
    like_a_pattern = world.target.with_name(f"{world.target.name} [1] {{of}} 50%")
    like_a_pattern.symlink_to(world.target)
    frame = read_export(spark, str(like_a_pattern), str(world.path().relative_to(world.target)))
    assert sorted(row.number for row in frame.collect()) == list(range(25))
    assert {"__spyt_streaming_src_tablet_index", "__spyt_streaming_src_row_index", "$timestamp"} <= set(frame.columns)
    [row] = with_commit_time(frame.where("number = 0")).collect()
    moment = datetime.fromtimestamp(row["$timestamp"] >> 30, UTC)
    assert row.committed_at.timestamp() == moment.timestamp()
    assert in_period(frame, moment, moment + timedelta(minutes=10)).count() == 25
    assert in_period(frame, moment - timedelta(minutes=10), moment).count() == 0
    assert {"dt", "hour"} <= set(spark.read.parquet(str(world.path())).columns)


def test_an_export_goes_on_when_a_task_fails_and_when_the_cluster_does(
    spark: SparkSession, world: World, home: LocalCluster
) -> None:
    world.write(0, 1)
    with home.faults.refuse("pull_queue", "pull_queue_consumer", count=1) as fault:
        world.exporter(spark, read_options={"retries": "1"}).catch_up()
        assert fault.hits == 1
    world.write(0, 1)
    with home.faults.drop("advance_queue_consumer", "advance_consumer", executed=True), pytest.raises(OSError):
        world.exporter(spark, read_options={"retries": "1"}).catch_up()
    world.exporter(spark).catch_up()
    assert world.exported() == rows((0, 0, 20), (1, 0, 20))
    assert world.consumed() == {0: 20, 1: 20}
    assert (verdict(world).faults, verdict(world).notes) == ([], [])


def test_times_select_the_rows_of_a_backfill(spark: SparkSession, world: World, home: LocalCluster) -> None:
    world.write(0, count=5)
    home.clock.advance(10)
    since = home.clock.now()
    world.write(0, count=5)
    home.clock.advance(10)
    until = home.clock.now()
    world.write(0, count=5)
    ranges = world.source(consumer=None).ranges(None, since.isoformat(), until.isoformat())
    assert ranges == [Range(0, 5, 10)]


def test_of_two_exporters_one_exports_and_a_lost_lock_is_noticed(spark: SparkSession, world: World) -> None:
    world.write(0)
    other = world.source()
    other.ensure_consumer()
    with (
        other.exclusively(timedelta(seconds=30), timedelta(0)),
        pytest.raises(TargetTaken, match="another exporter"),
    ):
        world.exporter(spark, lock_wait=timedelta(0)).catch_up()

    def lose_lock(frame: DataFrame) -> DataFrame:
        for transaction in world.client.list("//sys/transactions", attributes=["title"]):
            if "Spark export" in str(transaction.attributes.get("title")):
                world.client.abort_transaction(str(transaction))
        return frame

    with pytest.raises(TargetTaken, match="run out"):
        world.exporter(spark, transform=lose_lock).catch_up()
    assert not list(world.path().glob("_manifest/*.json"))
    assert world.consumed() == {}


def test_rows_are_left_out_on_the_way_and_directories_are_of_event_time(spark: SparkSession, world: World) -> None:
    moment = int(datetime(2025, 12, 24, 23, tzinfo=UTC).timestamp() * 1_000_000)
    world.client.remove(world.queue)
    world.create_queue(2, [*SCHEMA[:2], {"name": "at", "type": "timestamp"}, *SCHEMA[2:]])
    for hour in (0, 1, 0, 1):
        world.write(0, count=4, at=moment + hour * 3_600_000_000)
    exporter = world.exporter(
        spark,
        transform=lambda frame: frame.where("number % 2 = 0"),
        files=FileSettings("day", "at", "snappy"),
        read_options={"retries": "2"},
    )
    exporter.catch_up()
    days = [name.partition("/")[0] for name in world.files() if name.startswith("dt=")]
    assert days == ["dt=2025-12-24", "dt=2025-12-25"]
    assert (exporter.summary.rows, sum(world.exported().values())) == (16, 8)
    assert world.consumed() == {0: 16}
    assert verdict(world).faults == []
