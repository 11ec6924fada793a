"""Reading a queue in a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = [
    {"name": "data", "type": "string"},
    {"name": "number", "type": "int64"},
    {"name": "$timestamp", "type": "uint64"},
]


@pytest.fixture
def queue(home: LocalCluster, folder: str) -> str:
    """Two partitions of thirty rows each."""
    path = f"{folder}/queue"
    home.client.create("table", path, attributes={"dynamic": True, "schema": SCHEMA, "tablet_count": 2})
    home.client.mount_table(path, sync=True)
    write(home, path, 0, 60)
    return path


def write(cluster: LocalCluster, path: str, first: int, count: int) -> None:
    rows = [
        {"data": f"row {number}", "number": number, "$tablet_index": number % 2}
        for number in range(first, first + count)
    ]
    cluster.client.insert_rows(path, rows)


def load(spark: SparkSession, path: str, **options: Any) -> DataFrame:
    return spark.read.format("yt").options(**options).load(path)


def numbers(frame: DataFrame) -> list[int]:
    return sorted(row.number for row in frame.select("number").collect())


def test_all_rows_of_all_partitions_are_read(spark: SparkSession, queue: str) -> None:
    assert numbers(load(spark, queue)) == list(range(60))


def test_one_partition_is_read_by_several_tasks(spark: SparkSession, queue: str) -> None:
    frame = load(spark, queue, rows_per_task=10)

    assert frame.rdd.getNumPartitions() == 6
    assert numbers(frame) == list(range(60))


def test_service_columns_say_where_a_row_was(spark: SparkSession, queue: str) -> None:
    frame = load(spark, queue, include_service_columns=True, columns="number")

    places = {row.number: (row[0], row[1]) for row in frame.collect()}

    assert places == {number: (number % 2, number // 2) for number in range(60)}
    assert frame.columns == ["__spyt_streaming_src_tablet_index", "__spyt_streaming_src_row_index", "number"]


def test_ranges_choose_rows(spark: SparkSession, queue: str) -> None:
    assert numbers(load(spark, queue, ranges='{"1": [5, 8]}')) == [11, 13, 15]


def test_rows_that_a_short_answer_left_out_are_asked_for(spark: SparkSession, home: LocalCluster, queue: str) -> None:
    home.forget_requests()

    assert numbers(load(spark, queue, pull_bytes=100)) == list(range(60))
    assert len(home.requests("pull_queue")) > 10


def test_trimmed_rows_of_a_range_fail_the_read_unless_they_are_to_be_skipped(
    spark: SparkSession, home: LocalCluster, queue: str
) -> None:
    home.client.trim_rows(queue, 0, 10)

    with pytest.raises(Exception, match=r"rows 0 to 9 of partition 0 .* on_trimmed=skip"):
        load(spark, queue, ranges='{"0": [0, 12]}').collect()
    assert numbers(load(spark, queue, ranges='{"0": [0, 12]}', on_trimmed="skip")) == [20, 22]
    assert numbers(load(spark, queue, ranges='{"0": [0, 5]}', on_trimmed="skip")) == []


def test_an_unmounted_partition_fails_the_read_by_its_number(
    spark: SparkSession, home: LocalCluster, queue: str
) -> None:
    home.unmount_tablet(queue, 1)

    with pytest.raises(Exception, match=r"partitions \[1\] of .* are not mounted"):
        load(spark, queue).collect()


def test_an_unknown_option_is_refused_with_the_one_that_was_meant(spark: SparkSession, queue: str) -> None:
    with pytest.raises(Exception, match='unknown option "rows_per_tasks", did you mean "rows_per_task"'):
        load(spark, queue, rows_per_tasks=1).collect()
