"""An agent whose cluster was away: its connections lead to somebody else for as long as they are kept."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.e2e.playground import environment, running
from tests.ports import reserved_port
from tests.waiting import LIMIT_SECONDS

STRANGER: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
CONFUSED_ANSWERS: Final = 3
"""After so many the agent has had to do with the stranger for a while."""


class Service:
    """Decides for each connection when it is made who gets all of it, as a service of Kubernetes does."""

    def __init__(self) -> None:
        self.backend: tuple[str, int] | None = None
        """None: a stranger, who knows nothing of the cluster."""

        self.confused = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            if self.backend is None:
                await self._confuse(reader, writer)
            else:
                there, onward = await asyncio.open_connection(*self.backend)
                async with asyncio.TaskGroup() as group:
                    group.create_task(_pump(reader, onward))
                    group.create_task(_pump(there, writer))
        writer.close()

    async def _confuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = head.partition("content-length: ")[2].partition("\r\n")[0]
            await reader.readexactly(int(length or 0))
            self.confused += 1
            writer.write(STRANGER)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def agent(directory: Path, proxy: str) -> AsyncIterator[str]:
    """URL of an agent that asks a proxy."""
    rpc_port, http_port = reserved_port(), reserved_port()
    config = directory / "agent.yaml"
    config.write_text(
        json.dumps(
            {
                "stage": "production",
                "clusters": {"pythia": {"proxy": proxy}},
                "state": {"cluster": "pythia"},
                "rpc": {"host": "127.0.0.1", "port": rpc_port, "advertised_host": "127.0.0.1"},
                "http": {"host": "127.0.0.1", "port": http_port},
            }
        )
    )
    command = [sys.executable, "-m", "queue_agent", "run", "--config", str(config)]
    with (directory / "agent.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, env=environment(), stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{http_port}"
    finally:
        process.kill()
        await process.wait()


async def is_ready(url: str) -> bool:
    def ask() -> bool:
        try:
            with urlopen(f"{url}/health/ready", timeout=LIMIT_SECONDS) as response:
                return bool(response.status == 200)
        except URLError:
            return False

    return await asyncio.to_thread(ask)


@pytest.mark.slow
async def test_an_agent_finds_its_cluster_again(tmp_path: Path) -> None:
    service = Service()
    home = tmp_path / "playground"
    home.mkdir()
    with running(home, "--agents=0", clusters=("pythia",)) as playground:
        parts = urlsplit(playground.clusters["pythia"])
        server = await asyncio.start_server(service.connected, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        initialise = [sys.executable, "-m", "queue_agent", "init-state", "--proxy", playground.clusters["pythia"]]
        made = await asyncio.create_subprocess_exec(*initialise, env=os.environ | environment())
        assert await made.wait() == 0
        async with asyncio.timeout(LIMIT_SECONDS), agent(tmp_path, f"http://{host}:{port}") as url:
            while service.confused < CONFUSED_ANSWERS:  # noqa: ASYNC110 - the agent tells nobody
                await asyncio.sleep(0.05)
            assert not await is_ready(url)
            service.backend = str(parts.hostname), int(parts.port or 80)
            while not await is_ready(url):  # noqa: ASYNC110 - nor does it tell this
                await asyncio.sleep(0.1)
        server.close()
