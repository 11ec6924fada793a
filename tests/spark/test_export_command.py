"""`python -m queue_agent.spark.export` as a process, which is killed at every stage of a batch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from queue_agent.spark.export.__main__ import application
from tests.spark.export_world import World, rows
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import SparkSession


@pytest.fixture
def world(home: LocalCluster, folder: str, tmp_path: Path) -> World:
    return World(home, folder, tmp_path / "target")


def arguments(world: World, command: str, *more: str) -> list[str]:
    return [
        command,
        f"--queue={world.queue}",
        f"--consumer={world.consumer}",
        f"--target={world.target}",
        f"--proxy={world.cluster.address}",
        *more,
    ]


@contextmanager
def exporting(world: World, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """An exporter with a JVM of its own, which goes on until it is stopped; its end is the end of all its processes."""
    command = [sys.executable, "-m", "queue_agent.spark.export"]
    options = ["--mode=continuous", "--interval=0.2", "--max-rows-per-partition=5", "--master=local[1]"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*command, *arguments(world, "parquet", *options)],
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=Path(__file__).parents[2],
            env={
                **os.environ,
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            },
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the driver, its JVM and the workers, without a chance to say anything."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.05)


@pytest.mark.slow
def test_an_exporter_killed_at_every_stage_of_a_batch_leaves_every_row_once(
    spark: SparkSession, world: World, home: LocalCluster, tmp_path: Path
) -> None:
    log = tmp_path / "stderr"
    world.write(0, 1, count=8)

    def documents(kind: str) -> int:
        return len(list(world.path().glob(f"{kind}/*.json")))

    with home.faults.hang("pull_queue", "pull_queue_consumer") as no_rows:
        with exporting(world, log) as process:
            wait_for(lambda: documents("_plan") == 1, process, log)  # planned, nothing written
            # Rows come, but the lock cannot be looked at, which is what happens right before the publication.
            with home.faults.hang("exists"):
                no_rows.turn_off()
                wait_for(lambda: sum(world.exported().values()) == 10, process, log)
                kill(process)
        assert (documents("_manifest"), documents("_plan")) == (0, 1)
        home.clock.advance(60)  # the lock of the dead becomes free
        world.write(0, 1, count=2)
    with home.faults.hang("advance_queue_consumer", "advance_consumer") as no_advance:
        with exporting(world, log) as process:
            wait_for(lambda: no_advance.hits > 0, process, log)  # published, rows not let go
            kill(process)
        assert documents("_manifest") == 1
        home.clock.advance(60)
    assert world.consumed() == {}
    world.exporter(spark).catch_up()
    assert world.exported() == rows((0, 0, 10), (1, 0, 10))
    assert world.consumed() == {0: 10, 1: 10}
    result = run(world, "verify", "--deep")
    assert (result.exit_code, "files have the content that was written" in result.output) == (0, True), result.output


def run(world: World, command: str, *more: str) -> Result:
    return CliRunner().invoke(application, arguments(world, command, *more))


def test_the_command_exports_verifies_and_compacts(spark: SparkSession, world: World, tmp_path: Path) -> None:
    world.write(0, 1)
    textfile = tmp_path / "export.prom"
    result = run(world, "parquet", f"--textfile={textfile}")
    assert result.exit_code == 0, result.output
    summary = json.loads(next(line for line in result.output.splitlines() if line.startswith("{")))
    assert (summary["rows"], summary["succeeded"], summary["remaining_rows"]) == (20, True, 0)
    assert "queue_export_rows" in textfile.read_text()
    assert json.loads(run(world, "verify", "--json").output)["whole"]
    assert json.loads(run(world, "compact").output) == {"merged_files": 0, "new_files": 0, "removed_files": 0}
    refused = run(world, "parquet", "--mode=backfill", '--ranges={"0":[5,8]}')
    assert (refused.exit_code, "overlap" in refused.output) == (7, True)
    next(world.path().rglob("*.parquet")).unlink()
    broken = run(world, "verify")
    assert (broken.exit_code, "FAULT: " in broken.output) == (3, True)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--ranges={}"], "--mode backfill or replace"),
        (["--mode=replace"], "says which rows"),
        (["--read-option=x"], "NAME=VALUE"),
        (["--read-option=no_such=1"], "no_such"),
        (["--read-option=from_time=2026-01-31T07:00Z"], '"from_time" is for the export itself to set'),
        (["--transform=json"], "MODULE:FUNCTION"),
        (["--transform=json:none"], "cannot be found"),
        (["--where=a", "--transform=json:dumps"], "do not go together"),
        (["--target=ftp://host/dir"], "neither a directory nor s3"),
        (["--textfile=/nowhere/export.prom"], "there is no directory /nowhere"),
        (["--compression=lzma"], "lzma"),
        (["--mode=backfill", '--ranges={"0":[5,2]}'], "ends before it begins"),
        (["--mode=backfill", "--ranges=[[5,2]]"], '{"PARTITION": [BEGIN, END]}'),
        (["--mode=backfill", "--from-time=2026-01-31"], "in UTC write 2026-01-31T00:00:00Z"),
    ],
)
def test_wrong_arguments_are_named(world: World, more: list[str], words: str) -> None:
    result = run(world, "parquet", *more)
    assert (result.exit_code, words in result.output) == (2, True), result.output


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--time-column=tetx"], '"tetx" is missing'),
        (["--time-column=text"], '"text" is string, which is no time'),
        (["--where=nubmer > 0"], "nubmer"),
        (["--transform=builtins:len"], "no len()"),
        (["--transform=builtins:type"], "no DataFrame"),
    ],
)
def test_what_does_not_go_with_the_columns_leaves_nothing_behind(
    spark: SparkSession, world: World, more: list[str], words: str
) -> None:
    result = run(world, "parquet", *more)
    assert (result.exit_code, words in result.output) == (2, True), result.output
    assert (world.target.exists(), world.client.exists(world.consumer)) == (False, False)


def test_a_table_that_is_no_consumer_is_not_registered(spark: SparkSession, world: World) -> None:
    world.consumer = world.queue
    result = run(world, "parquet")
    assert (result.exit_code, "is no consumer but a table" in result.output) == (2, True), result.output
    assert list(world.client.list_queue_consumer_registrations(queue_path=world.queue)) == []


def test_a_consumer_of_another_cluster_is_not_made_here(spark: SparkSession, world: World) -> None:
    path, world.consumer = world.consumer, f"<cluster=elsewhere>{world.consumer}"
    result = run(world, "parquet")
    assert (result.exit_code, "is of the cluster elsewhere" in result.output) == (2, True), result.output
    assert not world.client.exists(path)


def test_a_period_is_not_taken_from_some_partitions_alone(world: World) -> None:
    world.write(0, 1)
    world.client.unmount_table(world.queue, first_tablet_index=1, last_tablet_index=1, sync=True)
    result = run(world, "parquet", "--mode=backfill", "--from-time=2020-01-01T00:00Z")
    assert (result.exit_code, "partitions [1] cannot be read now" in result.output) == (7, True), result.output


def test_an_export_is_looked_after_by_its_own_consumer(spark: SparkSession, world: World) -> None:
    world.write(0, 1)
    world.exporter(spark).catch_up()
    own = world.consumer
    world.consumer += "_2"
    for command in ("parquet", "verify", "compact"):
        result = run(world, command)
        assert (result.exit_code, f"belongs to the consumer {own}" in result.output) == (5, True), result.output
    assert not world.client.exists(world.consumer)


@pytest.fixture
def fresh_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like one that is made for the run, which lets interrupts raise KeyboardInterrupt."""

    @contextmanager
    def session(master: str | None, proxy: str | None) -> Iterator[SparkSession]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield spark

    monkeypatch.setattr("queue_agent.spark.export.__main__._session", session)


@pytest.mark.usefixtures("fresh_session")
def test_an_interrupt_lets_a_run_finish_its_table(
    world: World, home: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write(0, 1)
    home.clock.advance(10)

    @cache
    def press_ctrl_c() -> None:
        """Once: a second time would end everything."""
        os.kill(os.getpid(), signal.SIGINT)

    def now() -> datetime:
        """Asked for when a run has begun."""
        press_ctrl_c()
        return home.clock.now()

    monkeypatch.setattr("queue_agent.spark.export.__main__._now", now)
    directory = f"{world.queue}.part-exports"
    result = CliRunner().invoke(
        application,
        [
            "tables",
            f"--queue={world.queue}",
            f"--consumer={world.consumer}",
            f"--directory={directory}",
            f"--proxy={home.address}",
            "--period=1",
            "--delay=0",
        ],
    )
    assert "stopping after the present batch" in result.output
    assert result.exit_code == 0, result.output
    [table] = world.client.list(directory)
    assert world.client.get(f"{directory}/{table}/@row_count") == 20


@pytest.mark.usefixtures("fresh_session")
def test_an_interrupt_ends_a_run_after_its_batch(world: World) -> None:
    def interrupt() -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not list(world.path().glob("_manifest/*.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    world.write(0, 1)
    thread = Thread(target=interrupt)
    thread.start()
    result = run(world, "parquet", "--mode=continuous", "--interval=60")
    thread.join()
    summary = json.loads(next(line for line in result.output.splitlines() if line.startswith("{")))
    assert (result.exit_code, summary["stopped"], summary["rows"]) == (0, True, 20)
