"""A local cluster, an agent, Prometheus and Alertmanager as processes, with queues that are written and read."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import aiohttp

from deploy.incident_tests.alertmanager_server import Mailbox, alertmanager_server
from deploy.tests.prometheus_server import PrometheusServer, prometheus_server
from tests.component.running_agent import User
from tests.e2e.playground import environment, running
from tests.ports import reserved_port

CLUSTER: Final = "hume"
PASS_SECONDS: Final = 1.0
ROWS: Final = 20
"""Written to each queue at each beat."""

BEAT_SECONDS: Final = 0.5
SLOW_ROWS: Final = 2
"""Read at each beat by a reader that has become slow."""

RATHER_SLOW_ROWS: Final = 18
"""The same of one that is only a little slower than its producers."""

PINNED_ROWS: Final = 1000.0
"""Held rows that an alert is about; the rule waits for a million, which would take hours here."""

ACCOUNT: Final = "filling_account"
QUOTA: Final = 2_000_000
"""Bytes that the account may use: enough for hours."""

_UNLIMITED: Final = 1 << 40

WARM_SECONDS: Final = 40.0
"""For agents to learn the pace of readers."""

_ASK_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.25


def queue_of(name: str) -> str:
    return f"//home/{name}/queue"


def reader_of(name: str) -> str:
    return f"//home/{name}/reader"


@dataclass
class Reader:
    """A consumer that reads all there is, until something happens to it."""

    name: str
    path: str
    is_alive: bool = True
    rows_at_a_time: int = ROWS
    offset: int = 0


@dataclass
class Stage:
    """All that runs, and ways to ask it."""

    session: aiohttp.ClientSession
    user: User
    cluster_url: str
    agent_url: str
    agent: asyncio.subprocess.Process
    prometheus: PrometheusServer
    mailbox: Mailbox
    readers: list[Reader]
    unmounted: set[str] = field(default_factory=set)
    """Names of queues that nobody can write to."""

    async def api(self, path: str) -> Any:
        """What the agent answers; None if it does not."""
        try:
            async with self.session.get(self.agent_url + path, timeout=aiohttp.ClientTimeout(_ASK_SECONDS)) as response:
                return await response.json()
        except (aiohttp.ClientError, TimeoutError):
            return None

    async def attribute(self, path: str) -> Any:
        """An attribute that the cluster asks the agent for; the text of the error if there is one."""
        async with self.session.post(f"{self.cluster_url}/api/v4/get", json={"path": path}) as response:
            answer = await response.json(content_type=None)
            return answer["value"] if response.status == 200 else json.dumps(answer)

    async def command(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output of `queue-agent`, asked of the agent."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "queue_agent", *arguments, "--agent", self.agent_url),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(COLUMNS="400"),
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()

    async def keep_busy(self) -> None:
        """Write and read for ever."""
        written: dict[str, int] = dict.fromkeys((reader.name for reader in self.readers), 0)
        while True:
            beat = asyncio.get_running_loop().time() + BEAT_SECONDS
            for name in written:
                if name not in self.unmounted:
                    await self.user.insert(queue_of(name), [{"data": "some bytes"}] * ROWS)
                    written[name] += ROWS
            for reader in self.readers:
                if reader.is_alive and reader.name not in self.unmounted:
                    reader.offset = min(written[reader.name], reader.offset + reader.rows_at_a_time)
                    await self.user.advance(reader.path, queue_of(reader.name), 0, reader.offset)
            await asyncio.sleep(max(0.0, beat - asyncio.get_running_loop().time()))  # the pace of users


async def seconds_until(check: Callable[[], Awaitable[bool]], deadline: float) -> float:
    """When the first check that held was begun; AssertionError if that is later than the deadline.

    A command takes seconds to start on a busy machine: what it tells is what the agent knew when it was asked.
    """
    started = time.monotonic()
    while True:
        begun = time.monotonic() - started
        if await check():
            return begun
        assert begun < deadline, check
        await asyncio.sleep(_POLL_SECONDS)


def since(begun: datetime, instant: datetime) -> float:
    return (instant - begun).total_seconds()


@asynccontextmanager
async def running_stage(folder: Path, names: list[str], others: dict[str, str], filling: str) -> AsyncIterator[Stage]:
    """All processes, and queues whose readers have been reading for some time.

    Args:
        folder: empty; for files.
        names: of queues, each with a vital reader, and trimmed.
        others: consumers that are not vital, by queue.
        filling: the queue whose account has a limit.
    """
    async with AsyncExitStack() as stack:
        for name in ("cluster", "prometheus", "alertmanager"):
            (folder / name).mkdir()
        playground = stack.enter_context(running(folder / "cluster", "--agents=0", clusters=(CLUSTER,)))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        address = playground.clusters[CLUSTER].removeprefix("http://")
        user = User(session, CLUSTER, address)
        # Those that are not vital read first: a queue is trimmed as soon as the vital one has read.
        readers = [Reader(name, path) for name, path in others.items()]
        readers += [Reader(name, reader_of(name)) for name in names]
        await _create_account(user)
        for name in names:
            paid = {"account": ACCOUNT, "dynamic_store_auto_flush_period": 1} if name == filling else {}
            await user.create_queue(queue_of(name), auto_trim_config={"enable": True}, **paid)
        for reader in readers:
            await user.create_consumer(reader.path, queue_of(reader.name), vital=reader.path not in others.values())
        agent, url = await _start_agent(stack, folder, user, address)
        mailbox = await stack.enter_async_context(alertmanager_server(folder / "alertmanager"))
        prometheus = await stack.enter_async_context(
            prometheus_server(
                session,
                folder / "prometheus",
                url.removeprefix("http://"),
                mailbox.address,
                {"QueueRetentionPinned": PINNED_ROWS},
            )
        )
        one = Stage(session, user, playground.clusters[CLUSTER], url, agent, prometheus, mailbox, readers)
        async with asyncio.TaskGroup() as group:
            traffic = group.create_task(one.keep_busy())
            await asyncio.sleep(WARM_SECONDS)  # readers get a pace, and nothing may fire meanwhile
            try:
                yield one
            finally:
                traffic.cancel()


async def _create_account(user: User) -> None:
    limits = {
        **dict.fromkeys(("node_count", "chunk_count", "tablet_count"), _UNLIMITED),
        "disk_space_per_medium": {"default": QUOTA},
    }
    await user.run("create", type="account", attributes={"name": ACCOUNT, "resource_limits": limits})


async def _start_agent(
    stack: AsyncExitStack, folder: Path, user: User, proxy: str
) -> tuple[asyncio.subprocess.Process, str]:
    rpc_port, http_port = reserved_port(), reserved_port()
    period = {"pass_period": int(PASS_SECONDS * 1000)}
    config = {
        "stage": "production",
        "clusters": {CLUSTER: {"proxy": f"http://{proxy}", "discover_proxies": False}},
        "state": {"cluster": CLUSTER},
        "rpc": {"host": "127.0.0.1", "port": rpc_port, "advertised_host": "127.0.0.1"},
        "http": {"host": "127.0.0.1", "port": http_port},
        "cypress_synchronizer": {"policy": "watching", **period},
        "queue_agent": {**period, "controller": {**period, "enable_automatic_trimming": True, "trimming_grace": 0}},
        "metrics": {"period": 1000},
    }
    (folder / "agent.yaml").write_text(json.dumps(config))
    stages = {"production": {"addresses": [f"127.0.0.1:{rpc_port}"]}}
    await user.set(f"//sys/clusters/{CLUSTER}/queue_agent/stages", stages)
    log = stack.enter_context((folder / "agent.log").open("wb"))
    agent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "queue_agent", "run", "--config", str(folder / "agent.yaml")),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=environment(),
    )
    stack.push_async_callback(_kill, agent)
    return agent, f"http://127.0.0.1:{http_port}"


async def _kill(agent: asyncio.subprocess.Process) -> None:
    if agent.returncode is None:
        agent.kill()
    await agent.wait()
