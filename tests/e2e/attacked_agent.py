"""An agent under attack on both of its ports, and what it is like for those who only ask: `make attack-ports`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from tests.e2e.hostile_peers import LOOPBACK, Orders, command, split
from tests.e2e.playground import SOURCES, environment, eventually, running
from tests.ports import reserved_port
from tests.waiting import LIMIT_SECONDS
from yt_local.queues.orchid_gateway import OrchidGateway
from yt_wire import orchid

CLUSTER: Final = "pythia"
QUEUE: Final = "//home/demo/queue"
USUAL_FILES: Final = 1024
"""A process may open on most systems unless it asks for more."""

_PAUSE_SECONDS: Final = 0.1
_READ_SIZE: Final = 1 << 16
_MEGABYTE: Final = 1 << 20


class AttackedAgent:
    """`queue-agent run` as a process."""

    def __init__(self, process: subprocess.Popen[bytes], http_port: int, bus_port: int, log: Path) -> None:
        self.process = process
        self.http_port = http_port
        self.bus_port = bus_port
        self._log = log

    @property
    def bus_address(self) -> str:
        return f"{LOOPBACK}:{self.bus_port}"

    def limit_files(self, count: int) -> None:
        """Allow the process so many files from now on, whatever it has asked for."""
        _, most = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (count, most))

    def allowed_files(self) -> tuple[int, int]:
        """How many it may open, and how many it may allow itself."""
        return resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)

    def processor_seconds(self) -> float:
        """What it has used since its start."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def memory(self, kind: str = "VmRSS") -> int:
        """Bytes now, or the most there ever were with `VmHWM`."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith(f"{kind}:")]
        return int(line.split()[1]) * 1024

    def log(self) -> list[str]:
        """Lines so far."""
        return self._log.read_text().splitlines()


@contextmanager
def agent_to_attack(directory: Path, **options: Any) -> Iterator[AttackedAgent]:
    """A cluster with a queue, and an agent that serves it; options are sections of its configuration."""
    with running(directory, "--agents=0", "--demo", clusters=(CLUSTER,)) as playground:
        bus_port, http_port = reserved_port(), reserved_port()
        config, log = directory / "agent.yaml", directory / "agent.log"
        config.write_text(
            json.dumps(
                {
                    "stage": "production",
                    "clusters": {CLUSTER: {"proxy": playground.clusters[CLUSTER], "discover_proxies": False}},
                    "state": {"cluster": CLUSTER},
                    "cypress_synchronizer": {"policy": "watching"},
                    "rpc": {"host": LOOPBACK, "port": bus_port, "advertised_host": LOOPBACK},
                    "http": {"host": LOOPBACK, "port": http_port},
                    **options,
                }
            )
        )
        start = [sys.executable, "-m", "queue_agent", "run"]
        with log.open("wb") as lines:
            process = subprocess.Popen(
                ["sh", "-c", f'ulimit -S -n {USUAL_FILES}; exec "$@"', "sh", *start, "--config", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=lines,
                stderr=lines,
                env=environment(),
            )
        try:
            agent = AttackedAgent(process, http_port, bus_port, log)
            eventually(lambda: asyncio.run(serves(agent)), LIMIT_SECONDS)
            yield agent
            process.terminate()
            assert process.wait(LIMIT_SECONDS) == 0, agent.log()[-20:]
        finally:
            process.kill()
            process.wait()


async def serves(agent: AttackedAgent) -> None:
    """AssertionError unless it knows the queue's status."""
    try:
        assert b"partition_count" in await get(agent.http_port, status_path(), LOOPBACK)
    except OSError as error:
        raise AssertionError from error


def status_path() -> str:
    """Where `@queue_status` is over HTTP."""
    return f"/orchid/queue_agent/queues/{quote(f'{CLUSTER}:{QUEUE}', safe='')}/status"


async def get(port: int, path: str, source: str) -> bytes:
    """Ask on a connection made for it; OSError if there is no answer."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port, local_addr=(source, 0))
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n".encode())
        answer = bytearray()
        while data := await reader.read(_READ_SIZE):
            answer += data
        if not answer:
            raise ConnectionResetError("no answer")
        return bytes(answer)
    finally:
        writer.transport.abort()


@dataclass
class Figures:
    """What it was like during an attack."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    """How long answers took, by what was asked."""

    failures: Counter[str] = field(default_factory=Counter)
    memory_before: int = 0
    memory_most: int = 0
    log_lines: int = 0
    open_files: int = 0
    attackers: Counter[str] = field(default_factory=Counter)

    def worst(self, question: str) -> float:
        """Seconds."""
        return max(self.seconds[question])


async def measure(agent: AttackedAgent, orders: Orders, processes: int) -> Figures:
    """Attack, and ask meanwhile."""
    figures = Figures(memory_before=agent.memory())
    lines_before = len(agent.log())
    async with OrchidGateway() as kept:  # connections of masters
        path = orchid.join_path(["queue_agent", "queues", f"{CLUSTER}:{QUEUE}", "status"])
        await kept.get([agent.bus_address], path)

        async def ask_as_new_master() -> None:
            async with OrchidGateway() as fresh:
                await fresh.get([agent.bus_address], path)

        async def ask_as_master() -> None:
            await kept.get([agent.bus_address], path)

        questions: Mapping[str, Callable[[], Awaitable[Any]]] = {
            "liveness, another address": partial(get, agent.http_port, "/health/live", LOOPBACK),
            "liveness, an attacker's address": partial(get, agent.http_port, "/health/live", orders.source(0)),
            "status over HTTP": partial(get, agent.http_port, status_path(), LOOPBACK),
            "status for a master": ask_as_master,
            "status for a new master": ask_as_new_master,
            "metrics": partial(get, agent.http_port, "/metrics", LOOPBACK),
        }
        async with asyncio.TaskGroup() as group, _attackers(orders, processes) as attackers:
            ended = asyncio.Event()
            for question, ask in questions.items():
                group.create_task(_keep_asking(figures, question, ask, ended))
            group.create_task(_watch(agent, figures, ended))
            for attacker in attackers:
                figures.attackers.update(json.loads((await attacker.communicate())[0]))
            ended.set()
    figures.memory_most = agent.memory("VmHWM")
    figures.log_lines = len(agent.log()) - lines_before
    return figures


async def _keep_asking(
    figures: Figures, question: str, ask: Callable[[], Awaitable[Any]], ended: asyncio.Event
) -> None:
    while not ended.is_set():
        started = time.monotonic()
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                await ask()
        except Exception as error:  # noqa: BLE001 - counted, with what it was
            figures.failures[f"{question}: {error!r:.200}"] += 1
        figures.seconds.setdefault(question, []).append(time.monotonic() - started)
        await asyncio.sleep(_PAUSE_SECONDS)


async def _watch(agent: AttackedAgent, figures: Figures, ended: asyncio.Event) -> None:
    while not ended.is_set():
        figures.open_files = max(figures.open_files, agent.open_files())
        await asyncio.sleep(_PAUSE_SECONDS)


@asynccontextmanager
async def _attackers(orders: Orders, processes: int) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    started: list[asyncio.subprocess.Process] = []
    try:
        for part in split(orders, processes):
            started.append(  # noqa: PERF401 - those that were started are killed if the next one cannot be
                await asyncio.create_subprocess_exec(
                    *command(part), stdout=asyncio.subprocess.PIPE, cwd=SOURCES, env=environment()
                )
            )
        yield started
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
                await process.wait()


def main() -> None:
    """Print the figures of one attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=10_000, help="to each port")
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--addresses", type=int, default=16, help="of each process of attackers")
    parser.add_argument("--processes", type=int, default=4)
    arguments = parser.parse_args()
    with TemporaryDirectory() as directory, agent_to_attack(Path(directory)) as agent:
        orders = Orders(
            agent.http_port,
            agent.bus_port,
            f"{CLUSTER}:{QUEUE}",
            arguments.connections,
            arguments.seconds,
            arguments.addresses,
            0,
        )
        figures = asyncio.run(measure(agent, orders, arguments.processes))
        print(f"attackers: {dict(figures.attackers)}")
        for question, seconds in figures.seconds.items():
            median, worst = statistics.median(seconds), max(seconds)
            print(f"{question}: median {median:.3f} s, worst {worst:.3f} s, {len(seconds)} times")
        for failure, count in figures.failures.items():
            print(f"FAILED {count} times: {failure}")
        print(f"memory: {figures.memory_before // _MEGABYTE} MiB, at most {figures.memory_most // _MEGABYTE} MiB")
        print(f"open files: at most {figures.open_files}; log lines: {figures.log_lines}")


if __name__ == "__main__":
    main()
