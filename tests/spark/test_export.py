"""Exports of queues to Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queue_agent.testing import LocalCluster
from tests.spark.export_world import World, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def world(home: LocalCluster, folder: str, tmp_path: Path) -> World:
    return World(home, folder, tmp_path)


def test_every_row_is_exported_once_and_the_consumer_follows(spark: SparkSession, world: World) -> None:
    world.write(0, 1)
    exporter = world.exporter(spark)
    exporter.catch_up()
    print(world.files(), exporter.summary.to_json())
    assert world.exported() == rows((0, 0, 10), (1, 0, 10))
    assert world.consumed() == {0: 10, 1: 10}
    world.write(1, count=5)
    exporter = world.exporter(spark, rows=3)
    exporter.catch_up()
    assert exporter.summary.batches == 2
    assert world.exported() == rows((0, 0, 10), (1, 0, 15))
    assert world.consumed() == {0: 10, 1: 15}
    print(world.files())
