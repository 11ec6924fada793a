"""A local cluster, an agent, Prometheus and Alertmanager as processes, with queues that are written and read."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
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
from tests.waiting import LIMIT_SECONDS

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

WAITS: Final = {"QueueRebuilt": 75.0}
"""Seconds that alerts wait: before a consumer is `ahead`, it takes a minute of the agent, which lasts one here too."""

_UNLIMITED: Final = 1 << 40

WARM_SECONDS: Final = 70.0
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
    beats: int = 1
    """From one read to the next."""

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
    written: dict[str, int]
    """Rows of each queue's first partition, by name."""

    paused: set[str] = field(default_factory=set)
    """Names of queues that nobody writes or reads."""

    beat: int = 0
    """How often all queues have been written and read."""

    async def api(self, path: str) -> Any:
        """What the agent answers; None if it does not, or with an error."""
        try:
            async with self.session.get(self.agent_url + path, timeout=aiohttp.ClientTimeout(_ASK_SECONDS)) as response:
                return await response.json() if response.status == 200 else None
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
        while True:
            next_beat = asyncio.get_running_loop().time() + BEAT_SECONDS
            active = self.written.keys() - self.paused
            for name in active:
                await self.user.insert(queue_of(name), [{"data": "some bytes", "$tablet_index": 0}] * ROWS)
                self.written[name] += ROWS
            for reader in self.readers:
                if reader.is_alive and reader.name in active and self.beat % reader.beats == 0:
                    await self._read(reader)
            self.beat += 1
            await asyncio.sleep(max(0.0, next_beat - asyncio.get_running_loop().time()))  # the pace of users

    async def _read(self, reader: Reader) -> None:
        written = self.written[reader.name]
        if reader.offset < written:
            reader.offset = min(written, reader.offset + reader.beats * reader.rows_at_a_time)
            await self.user.advance(reader.path, queue_of(reader.name), 0, reader.offset)

    def find_reader(self, path: str) -> Reader:
        return next(one for one in self.readers if one.path == path)

    async def next_beat(self) -> None:
        """Until what is being written and read has been, and what has changed holds."""
        done = self.beat + 2

        async def is_done() -> bool:
            return self.beat >= done

        await seconds_until(is_done, "queues are written and read")

    async def pause(self, name: str) -> None:
        """Nobody writes or reads a queue any more."""
        self.paused.add(name)
        await self.next_beat()


async def seconds_until(check: Callable[[], Awaitable[bool]], what: str) -> float:
    """Wait for a condition, which `what` names; returns the seconds until the first check that held was begun.

    A command takes seconds to start on a busy machine: what it tells is what the agent knew when it was asked.
    """
    started = time.monotonic()
    while True:
        begun = time.monotonic() - started
        if await check():
            return begun
        assert begun < LIMIT_SECONDS, what
        await asyncio.sleep(_POLL_SECONDS)


def since(begun: datetime, instant: datetime) -> float:
    return (instant - begun).total_seconds()


@asynccontextmanager
async def running_stage(
    folder: Path, names: list[str], others: Mapping[str, str], filling: str, beats: Mapping[str, int]
) -> AsyncIterator[Stage]:
    """All processes, and queues whose readers have been reading for some time.

    Args:
        folder: empty; for files.
        names: of queues, each with a vital reader, and trimmed.
        others: consumers that are not vital, by queue.
        filling: the queue whose account has a limit.
        beats: from one read to the next, of queues that are read rarely.
    """
    async with AsyncExitStack() as stack:
        for name in ("cluster", "prometheus", "alertmanager"):
            (folder / name).mkdir()
        playground = stack.enter_context(running(folder / "cluster", "--agents=0", clusters=(CLUSTER,)))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        address = playground.clusters[CLUSTER].removeprefix("http://")
        user = User(session, CLUSTER, address)
        # Those that are not vital read first: a queue is trimmed as soon as the vital one has read.
        readers = [Reader(name, path, beats=beats.get(name, 1)) for name, path in others.items()]
        readers += [Reader(name, reader_of(name), beats=beats.get(name, 1)) for name in names]
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
                WAITS,
            )
        )
        written = dict.fromkeys(names, 0)
        one = Stage(session, user, playground.clusters[CLUSTER], url, agent, prometheus, mailbox, readers, written)
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
