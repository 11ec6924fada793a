"""Exports, frames and streams on a standalone cluster of Spark, whose processes share nothing but the network.

Executors, machines and drivers are killed at moments that a test chooses: requests hang until it has done so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.spark.export_world import World, rows
from tests.spark.queues import DATA, create_consumer, create_queue, create_sorted, rows_of
from tests.spark.standalone import Standalone, kill, standalone, wait_for, wait_for_end
from tests.spark.test_driver_killed import KEYS, counted, each_once
from yt_local.testing import FaultSwitch, LocalCluster

pytestmark = [
    pytest.mark.skipif("REMOTE_EXECUTORS" not in os.environ, reason="takes minutes: make check-spark"),
]

PROGRAMS = Path(__file__).with_name("remote_driver.py")

# An attempt that is slower than others gets a rival, and executors come and go.
RESTLESS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.1",
}


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory, spark_home: Path) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("standalone"), spark_home, 2) as cluster:
        yield cluster


@pytest.fixture
def world(home: LocalCluster, folder: str, tmp_path: Path) -> World:
    return World(home, folder, tmp_path / "archive")


class Exports:
    """The command, with the arguments of one export."""

    def __init__(self, spark_cluster: Standalone, world: World) -> None:
        [found] = spark_cluster.driver.bin.parent.glob("lib/python*/site-packages/queue_agent/spark/export/__main__.py")
        self.program = found
        self.of_queue = ["--queue", world.queue, "--proxy", world.cluster.address]
        self.all = [*self.of_queue, "--target", str(world.target), "--consumer", world.consumer]
        self._driver = spark_cluster.driver

    def verified(self) -> dict[str, Any]:
        """What a thorough look says."""
        python = str(self._driver.bin / "python3")
        command = [python, "-m", "queue_agent.spark.export", "verify", *self.all, "--deep", "--json"]
        done = self._driver.run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        verdict: dict[str, Any] = json.loads(done.stdout)
        return verdict


def test_nothing_on_the_cluster_knows_the_checkout(spark_cluster: Standalone) -> None:
    for machine in (spark_cluster.driver, *(worker.machine for worker in spark_cluster.workers)):
        done = machine.run(
            "python3", "-c", "import queue_agent, yt_wire; print(queue_agent.__file__, yt_wire.__file__)"
        )
        assert done.stdout.count(str(machine.bin.parent)) == 2, done.stdout + done.stderr


def test_a_target_means_the_same_to_driver_and_executors_or_is_refused(
    spark_cluster: Standalone, world: World, tmp_path: Path
) -> None:
    world.write(0, 1)
    log = tmp_path / "driver.log"
    arguments = ["export_twice", world.queue, world.consumer, world.cluster.address]
    with spark_cluster.submitted(log, PROGRAMS, *arguments) as driver:
        wait_for_end(driver, log)
    refused, done = json.loads(next(line for line in log.read_text().splitlines() if line.startswith("[")))
    assert "executors do not share the target" in refused
    assert done == "done"
    world.target = spark_cluster.driver.folder / "relative"
    assert world.exported() == rows((0, 0, 10), (1, 0, 10))
    assert world.consumed() == {0: 10, 1: 10}


def test_an_export_outlives_executors_and_a_machine(spark_cluster: Standalone, world: World, tmp_path: Path) -> None:
    world.write(0, 1, count=20)
    exports = Exports(spark_cluster, world)
    log = tmp_path / "driver.log"
    limits = ["--max-rows-per-partition", "10", "--rows-per-task", "5"]
    before = [worker.began_tasks() for worker in spark_cluster.workers]
    pulled = world.cluster.faults.hang("pull_queue_consumer", "pull_queue", path=world.queue)
    with spark_cluster.submitted(log, exports.program, "parquet", *exports.all, *limits, settings=RESTLESS) as driver:
        wait_for(lambda: pulled.hits >= 2, driver, log)
        assert [worker.kill_executors() for worker in spark_cluster.workers] == [1, 1]
        world.cluster.faults.clear()
        wait_for(lambda: bool(list(world.path().glob("_manifest/*0.json"))), driver, log)
        pulled = world.cluster.faults.hang("pull_queue_consumer", "pull_queue", path=world.queue)
        wait_for(lambda: pulled.hits >= 1, driver, log)
        lost = spark_cluster.workers[0]
        spark_cluster.lose_worker(lost)
        world.cluster.faults.clear()
        wait_for_end(driver, log)
    assert lost.began_tasks() > before[0], "both machines had their part"
    assert spark_cluster.workers[0].began_tasks() > before[1]
    spark_cluster.add_worker()
    assert world.exported() == rows((0, 0, 20), (1, 0, 20))
    assert world.consumed() == {0: 20, 1: 20}
    assert exports.verified()["rows"] == 40


def test_an_export_outlives_its_drivers(spark_cluster: Standalone, world: World, tmp_path: Path) -> None:
    world.write(0, 1, count=20)
    exports = Exports(spark_cluster, world)
    limits = ["--max-rows-per-partition", "10", "--rows-per-task", "5", "--lock-timeout", "3"]
    hangs = {
        "while tasks read": ("pull_queue_consumer", "pull_queue"),
        "once a batch is published": ("advance_consumer", "execute_batch"),
    }
    for number, (moment, commands) in enumerate(hangs.items()):
        log = tmp_path / f"killed-{number}.log"
        with spark_cluster.submitted(log, exports.program, "parquet", *exports.all, *limits) as driver:
            wait_for(lambda: world.cluster.client.exists(world.consumer), driver, log)
            fault = world.cluster.faults.hang(*commands)
            wait_for(partial(is_hit, fault), driver, log)
            kill(driver)
        assert len(list(world.path().glob("_manifest/*"))) == number, moment
        assert world.consumed() == {}, moment
        world.cluster.faults.clear()
        world.cluster.clock.advance(60)  # the lock of the dead ends
    log = tmp_path / "last.log"
    with spark_cluster.submitted(log, exports.program, "parquet", *exports.all, *limits) as driver:
        wait_for_end(driver, log)
    assert world.exported() == rows((0, 0, 20), (1, 0, 20))
    assert world.consumed() == {0: 20, 1: 20}
    assert exports.verified()["rows"] == 40


def test_a_frame_is_written_once_although_executors_die(
    spark_cluster: Standalone, home: LocalCluster, folder: str, tmp_path: Path
) -> None:
    queue, table = f"{folder}/queue", f"{folder}/table"
    create_queue(home, queue, tablets=2)
    write(home, queue, 10)
    log = tmp_path / "driver.log"
    joined = home.faults.hang("write_table", path=f"{table}.parts")
    with spark_cluster.submitted(log, PROGRAMS, "copy", home.address, queue, table, settings=RESTLESS) as driver:
        wait_for(lambda: joined.hits >= 2, driver, log)
        assert [worker.kill_executors() for worker in spark_cluster.workers] == [1, 1]
        home.faults.clear()
        wait_for_end(driver, log)
    assert counted(home.client.read_table(table)) == each_once(10)


def test_streams_write_once_although_executors_and_drivers_die(
    spark_cluster: Standalone, home: LocalCluster, folder: str, checkpoint_settings: dict[str, str], tmp_path: Path
) -> None:
    keyed, ledger = f"{folder}/keyed", f"{folder}/ledger"
    streams = [stream(home, keyed, {"spark.yt.write.dynBatchSize": "3"}), stream(home, ledger, transaction(ledger))]
    create_sorted(home, f"{keyed}/result", KEYS, DATA)
    create_queue(home, f"{ledger}/result", [*KEYS, *DATA])

    def is_written(count: int) -> bool:
        tables = [rows_of(home, f"{path}/result") for path in (keyed, ledger)]
        return all(len(counted(table)) == 2 * count for table in tables)

    def add(count: int) -> None:
        for path in (keyed, ledger):
            write(home, f"{path}/queue", count)

    add(2)
    log = tmp_path / "first.log"
    with spark_cluster.submitted(
        log, PROGRAMS, "stream", home.address, json.dumps(streams), settings=checkpoint_settings
    ) as driver:
        wait_for(lambda: is_written(2), driver, log)
        held = hold(home, keyed, ledger)
        add(3)
        wait_for(lambda: all(fault.hits for fault in held), driver, log)
        assert sum(worker.kill_executors() for worker in spark_cluster.workers) == 2
        home.faults.clear()
        wait_for(lambda: is_written(5), driver, log)
        held = hold(home, keyed, ledger)
        add(3)
        wait_for(lambda: all(fault.hits for fault in held), driver, log)
        kill(driver)
    home.faults.clear()
    home.clock.advance(60)  # what transactions of the dead have locked becomes free
    log = tmp_path / "second.log"
    with spark_cluster.submitted(
        log, PROGRAMS, "stream", home.address, json.dumps(streams), settings=checkpoint_settings
    ) as driver:
        wait_for(lambda: is_written(8), driver, log)
    for path in (keyed, ledger):
        assert counted(rows_of(home, f"{path}/result")) == each_once(8), path


def is_hit(fault: FaultSwitch) -> bool:
    return fault.hits > 0


def hold(home: LocalCluster, keyed: str, ledger: str) -> list[FaultSwitch]:
    """Let the next batch of each get as far as its first request, which is carried out where rows have keys."""
    home.faults.drop("insert_rows", path=f"{keyed}/result", count=1, executed=True)
    return [
        home.faults.hang("insert_rows", path=f"{keyed}/result"),
        home.faults.hang("pull_queue_consumer", path=f"{ledger}/consumer"),
    ]


def stream(home: LocalCluster, path: str, writing: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Options of reading and writing; the queue and its consumer are created."""
    home.client.create("map_node", path)
    create_queue(home, f"{path}/queue", tablets=2)
    create_consumer(home, f"{path}/consumer", f"{path}/queue")
    checkpoint = {"path": f"{path}/result", "checkpointLocation": f"yt://{path[1:]}/checkpoint"}
    return {"path": f"{path}/queue", "consumer_path": f"{path}/consumer"}, {**checkpoint, **writing}


def transaction(path: str) -> dict[str, str]:
    own = {"consumer_path": f"{path}/consumer", "queue_path": f"{path}/queue"}
    return {"write_mode": "transaction", "ledger_path": f"{path}/ledger", **own}


def write(home: LocalCluster, queue: str, count: int) -> None:
    """Add so many rows to each of the two partitions of a queue."""
    rows: list[dict[str, Any]] = [{"data": str(number), "$tablet_index": number % 2} for number in range(2 * count)]
    home.client.insert_rows(queue, rows)
