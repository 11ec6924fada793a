"""A stream from a queue: where it begins, when the consumer moves, and what happens when the queue changes."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.queues import create_consumer, create_queue, offsets, rows_of
from tests.spark.streams import drain
from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

SPYT_CHECKPOINT = Path(__file__).with_name("spyt_checkpoint")
"""By SPYT 2.11.2 on Spark 4.2.1, killed when its second batch was planned: rows 4-6, 3-4, 0-2 of three partitions."""

TRACED = ("get_tablet_infos", "select_rows", "pull_queue_consumer", "insert_rows", "execute_batch")


class World:
    """A queue of two partitions, its consumer, a table to write to, and a checkpoint."""

    def __init__(self, spark: SparkSession, home: LocalCluster, folder: str, directory: Path) -> None:
        self.spark = spark
        self.home = home
        self.queue = f"{folder}/queue"
        self.consumer = f"{folder}/consumer"
        self.result = f"{folder}/result"
        self.checkpoint = directory / "checkpoint"
        create_queue(home, self.queue, tablets=2)
        create_consumer(home, self.consumer, self.queue)
        create_queue(home, self.result)
        self._numbers = itertools.count()

    def write(self, count: int, tablet: int = 0) -> list[str]:
        values = [f"row {next(self._numbers)}" for _ in range(count)]
        self.home.client.insert_rows(self.queue, [{"data": value, "$tablet_index": tablet} for value in values])
        return values

    def stream(self, **options: Any) -> DataStreamWriter:
        frame = (
            self.spark.readStream.format("yt")
            .options(**{"consumer_path": self.consumer, "retries": 2, **options})
            .load(self.queue)
        )
        return (
            frame.writeStream.format("yt")
            .option("checkpointLocation", self.checkpoint.as_uri())
            .option("path", self.result)
        )

    @property
    def written(self) -> list[str]:
        return [row["data"] for row in rows_of(self.home, self.result)]

    @property
    def offsets(self) -> dict[int, int]:
        return offsets(self.home, self.consumer)

    def trace(self) -> list[str]:
        """Commands of the connector in order; the same several times in a row counts once."""
        commands = [request.command for request in self.home.requests() if request.command in TRACED]
        return [command for command, _ in itertools.groupby(commands)]

    def offset_log(self, batch: int) -> dict[str, Any]:
        """What Spark has kept of the end of a batch."""
        *_, last = (self.checkpoint / "offsets" / str(batch)).read_text().splitlines()
        offset: dict[str, Any] = json.loads(last)
        return offset

    def forget_end_of(self, batch: int) -> None:
        """As if Spark had been killed after the sink was done, before it wrote so down."""
        commits = self.checkpoint / "commits"
        for name in (str(batch), f".{batch}.crc"):
            (commits / name).unlink(missing_ok=True)


@pytest.fixture
def world(spark: SparkSession, home: LocalCluster, folder: str, tmp_path: Path) -> World:
    return World(spark, home, folder, tmp_path)


def test_batches_are_read_written_and_then_committed_when_the_next_one_is_planned(world: World) -> None:
    values = world.write(20)
    world.home.forget_requests()

    drain(world.stream(max_rows_per_partition=10))

    one_batch = ["pull_queue_consumer", "insert_rows"]
    look_and_commit = ["get_tablet_infos", "select_rows", "execute_batch"]  # that advances the consumer
    beginning = ["get_tablet_infos", "select_rows", "get_tablet_infos", "select_rows"]
    assert world.trace() == [*beginning, *one_batch, *look_and_commit, *one_batch, "get_tablet_infos"]
    assert world.written == values
    assert world.offsets == {0: 10}, "one batch behind"
    offset = world.offset_log(1)
    assert {**offset, "object_id": None} == {
        "cluster": "home",
        "path": world.queue,
        "partitions": {"0": 19, "1": -1},
        "object_id": None,
    }


def test_a_restart_repeats_what_was_cut_off_goes_on_and_commits_what_was_left(world: World) -> None:
    first = world.write(5)
    drain(world.stream())
    assert world.offsets == {}
    world.forget_end_of(0)
    second = world.write(5)

    drain(world.stream())

    assert world.written == first + first + second
    assert world.offsets == {0: 5}


def test_a_checkpoint_that_spyt_wrote_goes_on_with_the_batch_that_spyt_had_planned(world: World) -> None:
    world.queue = "//tmp/from-spyt/queue"  # of which the checkpoint tells
    world.home.client.create("map_node", "//tmp/from-spyt")
    create_queue(world.home, world.queue, tablets=3)
    world.home.client.register_queue_consumer(world.queue, world.consumer, vital=True)
    world.write(4)
    world.write(3, tablet=1)
    planned = world.write(3) + world.write(2, tablet=1) + world.write(3, tablet=2)
    later = world.write(2) + world.write(1, tablet=2)
    shutil.copytree(SPYT_CHECKPOINT, world.checkpoint)

    drain(world.stream())

    assert sorted(world.written) == sorted(planned + later)
    assert world.offset_log(1)["partitions"] == {"0": 6, "1": 4, "2": 2}
    assert world.offset_log(2)["partitions"] == {"0": 8, "1": 4, "2": 3}
    assert world.offsets == {0: 7, 1: 5, 2: 3}


def test_commit_on_idle_leaves_the_consumer_at_the_end(world: World) -> None:
    world.write(5)
    world.write(3, tablet=1)

    drain(world.stream(commit_on_idle=True))

    assert world.offsets == {0: 5, 1: 3}


def test_nothing_is_read_of_an_empty_queue(world: World) -> None:
    world.home.forget_requests()

    drain(world.stream())

    assert set(world.trace()) == {"get_tablet_infos", "select_rows"}


def test_a_queue_of_another_cluster_is_read_by_a_consumer_of_this_one(
    world: World, remote: LocalCluster, folder: str
) -> None:
    path = f"<cluster=remote>{folder}/far"
    create_queue(remote, f"{folder}/far")
    remote.client.insert_rows(f"{folder}/far", [{"data": "far"}])
    world.home.client.register_queue_consumer(path, world.consumer, vital=True)
    world.queue = path

    drain(world.stream(queue_proxy=remote.address, commit_on_idle=True))

    assert world.written == ["far"]
    assert [(row["queue_cluster"], row["offset"]) for row in rows_of(world.home, world.consumer)] == [("remote", 1)]


def test_requests_that_fail_are_sent_again(world: World) -> None:
    values = world.write(20)
    world.home.faults.http_status("pull_queue_consumer", status=503, count=1)
    world.home.faults.cut("pull_queue_consumer", count=1)
    world.home.faults.refuse("get_tablet_infos", count=1)

    drain(world.stream(retries=4))

    assert world.written == values


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"max_row_per_partition": 5}, 'unknown option "max_row_per_partition", did you mean "max_rows_per_partition"'),
        ({"consumer_path": ""}, 'option "consumer_path" is missing'),
        ({"consumer_path": "<cluster=elsewhere>//tmp/consumer"}, "is of the cluster elsewhere"),
    ],
)
def test_a_stream_with_wrong_options_says_so_last(world: World, option: dict[str, Any], words: str) -> None:
    """PySpark itself goes on to fail where a reader cannot be made, and tells of that instead."""
    with pytest.raises(Exception, match=words) as found:
        drain(world.stream(**option))
    assert "UnboundLocalError" not in str(found.value)
