"""A period of time is found in a queue without reading it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.spark.data_source import YtDataSource
from queue_agent.spark.errors import OptionError
from queue_agent.spark.pulling import RowRange
from tests.spark.queues import DATA, create_queue
from yt_local.testing import LocalCluster, LocalClusterSet

START = datetime(2026, 1, 31, 7, tzinfo=UTC)


def ranges(cluster: LocalCluster, path: str, **options: str) -> list[RowRange]:
    """What tasks of a read would read."""
    source = YtDataSource({"path": path, "proxy": cluster.address, **options})
    planned: list[RowRange] = [
        rows for partition in source.reader(source.schema()).partitions() for rows in partition.value
    ]
    assert {rows.object_id for rows in planned} <= {cluster.client.get(f"{path}/@id")}
    return [replace(rows, object_id=None) for rows in planned]


@pytest.fixture
def cluster(yt_clusters: Callable[..., LocalClusterSet]) -> LocalCluster:
    """One whose clock can be set: a row an hour, and in the second partition nothing after the first hour."""
    cluster = yt_clusters("local", now=START)["local"]
    create_queue(cluster, "//tmp/queue", [*DATA, {"name": "$timestamp", "type": "uint64"}], tablets=2)
    for hour in range(5):
        cluster.clock.set(START + timedelta(hours=hour, minutes=30))
        tablets = (0, 1) if hour == 0 else (0,)
        rows = [{"data": str(hour), "$tablet_index": tablet} for tablet in tablets]
        cluster.client.insert_rows("//tmp/queue", rows)
    return cluster


def at(hour: int) -> str:
    return (START + timedelta(hours=hour)).isoformat()


def test_rows_of_a_period_are_read(cluster: LocalCluster) -> None:
    assert ranges(cluster, "//tmp/queue", from_time=at(1), to_time=at(3)) == [RowRange(0, 1, 3)]
    assert ranges(cluster, "//tmp/queue", to_time=at(1)) == [RowRange(0, 0, 1), RowRange(1, 0, 1)]
    assert ranges(cluster, "//tmp/queue", from_time=at(9)) == []


def test_a_period_cuts_ranges(cluster: LocalCluster) -> None:
    assert ranges(cluster, "//tmp/queue", from_time=at(1), ranges='{"0": [null, 3]}') == [RowRange(0, 1, 3)]


def test_rows_that_are_trimmed_are_not_looked_at(cluster: LocalCluster) -> None:
    cluster.client.trim_rows("//tmp/queue", 0, 2)

    assert ranges(cluster, "//tmp/queue", from_time=at(0), to_time=at(4)) == [RowRange(0, 2, 4), RowRange(1, 0, 1)]


def test_a_queue_without_times_is_refused(cluster: LocalCluster) -> None:
    create_queue(cluster, "//tmp/timeless")

    with pytest.raises(OptionError, match=r'need the column "\$timestamp", which //tmp/timeless has not; use ranges'):
        ranges(cluster, "//tmp/timeless", from_time=at(0))
