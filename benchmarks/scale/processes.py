"""The other processes: the stand-in cluster, and the agent as it is run in earnest."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.scale.world import CLUSTER, STAGE, Load, Size

ROOT: Final = Path(__file__).parents[2]

_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


class StandInProcess:
    """A running stand-in, spoken to over pipes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._read_line()
        """`host:port` of its HTTP proxy."""

    def requests(self) -> dict[str, int]:
        """How many there were so far, by command; `light` counts what was inside of batches."""
        return self._ask("")

    def move(self, load: Load) -> None:
        """Let those partitions move from now on."""
        self._ask(str(load))

    def _ask(self, line: str) -> dict[str, int]:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer: dict[str, int] = json.loads(self._read_line())
        return answer

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the stand-in ended with code {self._process.wait()}")
        return line.strip()


@contextmanager
def stand_in_process(size: Size) -> Iterator[StandInProcess]:
    """Start a stand-in, and stop it at the end."""
    numbers = [str(number) for number in (size.queues, size.partitions, size.consumers)]
    command = [sys.executable, "-m", "benchmarks.scale.stand_in", *numbers]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield StandInProcess(process)
        finally:
            process.kill()


class AgentProcess:
    """A running agent, looked at through `/proc`."""

    def __init__(self, process: subprocess.Popen[bytes], rpc_address: str, http_address: str) -> None:
        self._process = process
        self.rpc_address = rpc_address
        self.http_address = http_address

    def processor_seconds(self) -> float:
        """What it has used since its start."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND

    def resident_megabytes(self) -> float:
        """What it has in memory now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) / 1024


@contextmanager
def agent_process(proxy: str, checkout: Path = ROOT) -> Iterator[AgentProcess]:
    """Start the agent of a checkout, which looks at the cluster behind a proxy, and stop it at the end."""
    rpc_port, http_port = _free_port(), _free_port()
    config = {
        "stage": STAGE,
        "clusters": {CLUSTER: {"proxy": proxy, "discover_proxies": False}},
        "state": {"cluster": CLUSTER},
        "cypress_synchronizer": {"policy": "watching"},
        "rpc": {"host": "127.0.0.1", "port": rpc_port, "advertised_host": "127.0.0.1"},
        "http": {"host": "127.0.0.1", "port": http_port},
        "logging": {"level": "warning"},
    }
    with TemporaryDirectory() as directory:
        file = Path(directory, "agent.yaml")
        file.write_text(json.dumps(config))  # JSON is YAML
        # Python looks for modules where it is started first.
        command = [sys.executable, "-m", "queue_agent", "run", "--config", str(file)]
        with subprocess.Popen(command, cwd=checkout) as process:
            try:
                yield AgentProcess(process, f"127.0.0.1:{rpc_port}", f"127.0.0.1:{http_port}")
            finally:
                process.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
