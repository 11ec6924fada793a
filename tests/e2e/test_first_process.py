"""The first process of a container: signals that nobody handles are dropped there."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.waiting import LIMIT_SECONDS

CONFIG: Final = """
stage: production
clusters:
  nowhere: {proxy: "127.0.0.1:1"}
state: {cluster: nowhere}
http: {port: 0}
"""
"""Of a cluster that is away: the agent runs, and goes on trying."""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare, for a namespace of processes"
)


def read(number: int, name: str) -> str:
    """What the kernel tells of a process."""
    return Path(f"/proc/{number}/{name}").read_text()


@asynccontextmanager
async def first_process(config: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """An agent that is the first process of a namespace: who waits for it, and its number here."""
    command = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-m", "queue_agent", "run"]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    process = await asyncio.create_subprocess_exec(*command, "--config", str(config), env=environment)
    try:
        yield process, await find_child(process.pid)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def find_child(number: int) -> int:
    """Number of the only child, once it is there."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            if found := read(number, f"task/{number}/children").split():
                return int(found[0])
            await asyncio.sleep(0.001)


async def handles_sigterm(number: int) -> None:
    """Until the interpreter has begun with the command."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            caught = next(line for line in read(number, "status").splitlines() if line.startswith("SigCgt:"))
            if int(caught.split()[1], 16) & (1 << (signal.SIGTERM - 1)):
                return
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.6, 1.2, 2.5])
async def test_sigterm_ends_it_whenever_it_comes(tmp_path: Path, delay: float) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(CONFIG)
    async with first_process(config) as (process, number):
        await handles_sigterm(number)
        await asyncio.sleep(delay)  # nothing tells how far the start is, and any moment will do
        os.kill(number, signal.SIGTERM)
        async with asyncio.timeout(LIMIT_SECONDS):
            code = await process.wait()
        assert code in (0, 128 + signal.SIGTERM)


async def test_it_handles_sigterm_before_it_imports_anything_large(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(CONFIG)
    async with first_process(config) as (_, number):
        await handles_sigterm(number)
        libraries = read(number, "maps")
        assert "aiohttp" not in libraries
        assert "yson" not in libraries
