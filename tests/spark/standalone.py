"""A standalone cluster of Spark: a master and workers as processes that share nothing with the tests but the network.

Each process has its own working directory and its own Python environment, into which this project is installed: no
path leads to the checkout. Other people's packages are those of this environment.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.waiting import LIMIT_SECONDS

ROOT: Final = Path(__file__).parents[2]

_SMALL_JVM: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Machine:
    """What a machine of its own would have: a directory to work in, and an environment.

    Args:
        folder: for both.
        wheels: what is installed into the environment.
        spark_home: with Spark's programs.
    """

    def __init__(self, folder: Path, wheels: Sequence[Path], spark_home: Path) -> None:
        self.folder = folder / "home"
        self.folder.mkdir(parents=True)
        self.bin = folder / "environment" / "bin"
        self._spark_home = spark_home
        venv.create(self.bin.parent, with_pip=False, symlinks=True)
        [packages] = self.bin.parent.glob("lib/python*/site-packages")
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(packages)
        # Of a directory that is only named here, Python does not read the links that lead to the checkout.
        (packages / "other_packages.pth").write_text(f"{sysconfig.get_path('purelib')}\n")

    @contextmanager
    def running(self, log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        """A process that is killed in the end, with all that it started."""
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self._variables(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            kill(process)

    def spark_program(self, name: str) -> str:
        return str(self._spark_home / "bin" / name)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A short program, to its end."""
        return subprocess.run(
            command, cwd=self.folder, env=self._variables(), capture_output=True, text=True, check=False
        )

    def _variables(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "VIRTUAL"))
        }
        return {
            **kept,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            # Executors look for it in their own PATH, so each finds its own.
            "PYSPARK_PYTHON": "python3",
            "SPARK_HOME": str(self._spark_home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": _SMALL_JVM,
            "SPARK_DAEMON_MEMORY": "256m",
        }


@dataclass
class Worker:
    """One that registered with the master; its executors are its children."""

    machine: Machine
    process: subprocess.Popen[bytes]

    def executors(self) -> list[int]:
        """Their process ids."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        threads = children.parents[1].glob("*/children")
        pids = [int(pid) for thread in threads for pid in thread.read_text().split()]
        return [pid for pid in pids if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def began_tasks(self) -> int:
        """How many tasks its executors began, those that are dead too."""
        logs = self.machine.folder.glob("work/*/*/stderr")
        return sum(log.read_text(errors="replace").count("Running task ") for log in logs)

    def kill_executors(self) -> int:
        """End them without a chance to say anything; how many there were."""
        pids = self.executors()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return len(pids)


@dataclass
class Standalone:
    """Master, workers, and a machine for drivers."""

    driver: Machine
    folder: Path
    master: str = ""
    workers: list[Worker] = field(default_factory=list)
    _wheels: Sequence[Path] = ()
    _spark_home: Path = Path()
    _processes: ExitStack = field(default_factory=ExitStack)

    def add_worker(self) -> Worker:
        """One with a core; it is known to the master when this returns."""
        number = len(list(self.folder.glob("worker-*.log")))
        machine = Machine(self.folder / f"worker-{number}", self._wheels, self._spark_home)
        log = self.folder / f"worker-{number}.log"
        command = [machine.spark_program("spark-class"), "org.apache.spark.deploy.worker.Worker"]
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        process = self._processes.enter_context(machine.running(log, *command, *options, "-d", "work", self.master))
        wait_for(lambda: "Successfully registered with master" in log.read_text(), process, log)
        worker = Worker(machine, process)
        self.workers.append(worker)
        return worker

    def lose_worker(self, worker: Worker) -> None:
        """As if its machine had lost power."""
        self.workers.remove(worker)
        executors = worker.executors()
        kill(worker.process)
        for pid in executors:  # of its process group, so they are dead already; unless Java gave them one of their own
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)

    @contextmanager
    def submitted(
        self, log: Path, program: Path, *arguments: str, settings: Mapping[str, str] = MappingProxyType({})
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A driver of its own process, by `spark-submit`.

        Args:
            log: gets what it says.
            program: in Python; one beside the tests is copied to where the driver runs.
            arguments: of the program.
            settings: of Spark.
        """
        conf = {**_SETTINGS, **settings}
        if program.is_relative_to(ROOT):
            copy = self.driver.folder / program.name
            copy.write_bytes(program.read_bytes())
            program = copy
        options = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
        command = [
            self.driver.spark_program("spark-submit"),
            "--master",
            self.master,
            *options,
            str(program),
            *arguments,
        ]
        with self.driver.running(log, *command) as process:
            yield process


_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.driver.extraJavaOptions": _SMALL_JVM,
    "spark.executor.extraJavaOptions": _SMALL_JVM,
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "8",
}


@contextmanager
def standalone(folder: Path, spark_home: Path, worker_count: int) -> Iterator[Standalone]:
    """Start a cluster; all its processes are dead in the end."""
    wheels = build_wheels(folder / "wheels")
    driver = Machine(folder / "driver", wheels, spark_home)
    with ExitStack() as processes:
        cluster = Standalone(driver, folder, _wheels=wheels, _spark_home=spark_home, _processes=processes)
        machine = Machine(folder / "master", wheels, spark_home)
        log = folder / "master.log"
        command = [machine.spark_program("spark-class"), "org.apache.spark.deploy.master.Master"]
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        process = processes.enter_context(machine.running(log, *command, *options))
        wait_for(lambda: "I have been elected leader" in log.read_text(), process, log)
        found = re.search(r"Starting Spark master at (spark://\S+)", log.read_text())
        assert found is not None
        cluster.master = found[1]
        for _ in range(worker_count):
            cluster.add_worker()
        yield cluster


def build_wheels(folder: Path) -> list[Path]:
    """Of this project."""
    for project in (ROOT, ROOT / "packaging" / "yt-local-cluster"):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
            cwd=project,
            check=True,
            capture_output=True,
        )
    return sorted(folder.glob("*.whl"))


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a condition holds, as long as a process lives."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert process.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.1)


def wait_for_end(process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a process has done what it had to do."""
    assert process.wait(LIMIT_SECONDS) == 0, log.read_text()[-4000:]


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started, without a chance to say anything; again does no harm."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
