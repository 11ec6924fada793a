"""Commands beside an agent, in its container: they know where it serves without being told."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from queue_agent.adapters.process.presence import HEADER, VARIABLE
from tests.e2e.playground import environment
from tests.waiting import LIMIT_SECONDS

CONFIG: Final = """
stage: production
clusters:
  nowhere: {proxy: "127.0.0.1:1"}
state: {cluster: nowhere}
rpc: {host: 127.0.0.1, port: 0}
http: {host: 127.0.0.1, port: 0}
"""
"""Of a cluster that is away: the agent still serves."""

AGENT: Final = (sys.executable, "-m", "queue_agent")


class Container:
    """What processes of one container share."""

    def __init__(self, directory: Path) -> None:
        self.config = directory / "agent.yaml"
        self.config.write_text(CONFIG)
        self.file = directory / "presence"
        self.environment = os.environ | environment() | {VARIABLE: str(self.file)}

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            *AGENT, "run", "--config", str(self.config), env=self.environment, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                while not self.file.exists():  # noqa: ASYNC110 - a file tells nobody that it is there
                    await asyncio.sleep(0.05)
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def run(self, *command: str) -> tuple[int | None, str]:
        """Exit code and words of a command."""
        process = await asyncio.create_subprocess_exec(
            *command, env=self.environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        words, _ = await process.communicate()
        return process.returncode, words.decode()


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


@pytest.mark.slow
async def test_commands_find_the_agent_of_their_container(container: Container) -> None:
    async with container.agent() as process:
        assert await container.run(*AGENT, "health") == (0, '{"status": "ok"}\n')
        code, words = await container.run(*AGENT, "status", "--json")
        assert (code, set(json.loads(words))) == (0, {"agents", "queues", "consumers", "missing"})
        code, words = await container.run(*AGENT, "doctor", "--json")
        assert code == 1
        assert any("nowhere" in json.dumps(finding) for finding in json.loads(words))
        process.terminate()
        assert await process.wait() == 0
    assert not container.file.exists()
    code, words = await container.run(*AGENT, "doctor")
    assert (code, words) == (2, "say which configuration: --config FILE\n")


async def test_an_agent_that_was_killed_is_not_healthy(container: Container) -> None:
    async with container.agent() as process:
        process.kill()
        await process.wait()
        code, words = await container.run(*AGENT, "health")
        assert code == 1
        assert "does not answer" in words


@pytest.mark.parametrize("head", ["", f"{HEADER}: {'0' * 16}\r\n"])
async def test_an_answer_of_another_agent_does_not_count(container: Container, head: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\n{head}Content-Length: 2\r\n\r\n{{}}".encode())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        container.file.write_text(json.dumps({"url": url, "config": "/agent.yaml", "process": "1" * 16}))
        code, words = await container.run(*AGENT, "health")
    assert code == 1
    assert "is answered by another process" in words


async def test_the_health_check_imports_next_to_nothing(container: Container) -> None:
    """What it costs is what it imports: typer and all that it needs take three times as long as the rest."""
    async with container.agent():
        asked = "import sys; from queue_agent.cli.probe import probe; code = probe()"
        told = "print(code, sorted({'typer', 'asyncio', 'pydantic', 'aiohttp', 'http.client'} & set(sys.modules)))"
        code, words = await container.run(sys.executable, "-S", "-c", f"{asked}; {told}")
    assert code == 0, words
    assert words.splitlines()[-1] == "0 []"
