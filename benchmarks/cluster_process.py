"""A local cluster in a process of its own, so that its processor time is not counted as a client's."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from yt_local.runner import LocalClusters

NAME: Final = "bench"
"""Of the cluster."""


class ClusterProcess:
    """A running cluster, asked for its figures over a pipe."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._read_line()
        """`host:port` of the HTTP proxy."""

    def processor_seconds(self) -> float:
        """What the cluster's process has used since its start."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._read_line())

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the cluster's process ended with code {self._process.wait()}")
        return line.strip()


@contextmanager
def cluster_process(data_dir: Path | None = None) -> Iterator[ClusterProcess]:
    """Start a cluster, in memory without a directory, and stop it at the end."""
    command = [sys.executable, "-m", __name__, *([str(data_dir)] if data_dir else [])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield ClusterProcess(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()  # the process ends with it


async def _serve(data_dir: Path | None) -> None:
    async with LocalClusters({NAME: 0}, data_dir=data_dir) as clusters:
        print(clusters.addresses[NAME], flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(time.process_time(), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
