"""Executors with working directories of their own, as clusters have them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.export_world import World, rows
from yt_local.testing import LocalCluster


@pytest.fixture
def world(home: LocalCluster, folder: str, tmp_path: Path) -> World:
    return World(home, folder, tmp_path / "relative")


@pytest.mark.skipif("REMOTE_EXECUTORS" not in os.environ, reason="takes 20 s: make check-spark")
def test_a_target_means_the_same_to_driver_and_executors_or_is_refused(world: World, tmp_path: Path) -> None:
    world.write(0, 1)
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-m", "tests.spark.remote_driver", world.queue, world.consumer, world.cluster.address],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    refused, done = json.loads(run.stdout.splitlines()[-1])
    assert "executors do not share the target" in refused
    assert done == "done"
    assert world.exported() == rows((0, 0, 10), (1, 0, 10))
    assert world.consumed() == {0: 10, 1: 10}
