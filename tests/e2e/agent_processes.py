"""A cluster in this process, and agents as processes of their own that share its queues."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from tests.component.running_agent import User, eventually
from tests.e2e.cut_wire import CutWire
from tests.e2e.playground import environment
from tests.ports import reserved_port
from tests.waiting import LIMIT_SECONDS
from yt_local.base.request_log import LoggedRequest
from yt_local.runner import LocalClusters

CLUSTER: Final = "pythia"
LEASE: Final = 6.0
CONSUMER: Final = "//tmp/consumer"
PASS_MILLISECONDS: Final = 2000
"""The period of all queues' passes; what agents ask in them is most of what such tests cost."""

_ASK_SECONDS: Final = 3.0
_ASK_PERIOD: Final = 1.0
_POLL_SECONDS: Final = 0.2
_ASKED_AT_ONCE: Final = 80
"""More than a dead agent has led: those who wait for it keep nobody else from asking."""


class AgentProcess:
    """One agent, under a user of its own; it keeps its address from one life to the next.

    Args:
        number: in its names.
        directory: for its files.
        wire: to the cluster.
        token: of its user.
        lease: in seconds.
        sections: of its configuration, in place of those it has by default.
    """

    def __init__(
        self, number: int, directory: Path, wire: CutWire, token: str, lease: float, **sections: Mapping[str, Any]
    ) -> None:
        self.user = f"agent-{number}"
        self.wire = wire
        rpc_port, http_port = reserved_port(), reserved_port()
        self.address = f"127.0.0.1:{rpc_port}"
        self.url = f"http://127.0.0.1:{http_port}"
        token_file = directory / f"{self.user}.token"
        token_file.write_text(token)
        self._log = directory / f"{self.user}.log"
        self._config = directory / f"{self.user}.yaml"
        self._config.write_text(
            json.dumps(
                {
                    "stage": "production",
                    "clusters": {
                        CLUSTER: {
                            "proxy": f"http://{wire.address}",
                            "token_file": str(token_file),
                            "discover_proxies": False,
                            "request_timeout": 3000,
                        }
                    },
                    "state": {"cluster": CLUSTER},
                    "membership": {"lease": int(lease * 1000)},
                    "rpc": {"host": "127.0.0.1", "port": rpc_port, "advertised_host": "127.0.0.1"},
                    "http": {"host": "127.0.0.1", "port": http_port},
                    "cypress_synchronizer": {"policy": "watching"},
                    "queue_agent": {
                        "controller": {"pass_period": PASS_MILLISECONDS, "enable_automatic_trimming": True}
                    },
                    "logging": {"format": "console"},
                    **sections,
                }
            )
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "queue_agent", "run", "--config", str(self._config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
            )

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    async def ended(self) -> int:
        """Exit code; AssertionError if it does not end in time."""
        assert self.process is not None
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"{self.user} does not end"
            await asyncio.sleep(_POLL_SECONDS)
        return self.process.returncode

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    @property
    def token_file(self) -> Path:
        return self._config.with_name(f"{self.user}.token")

    def log(self) -> str:
        return self._log.read_text()


class Stage:
    """Queues, a vital consumer of all of them, and agents."""

    def __init__(self, session: aiohttp.ClientSession, clusters: LocalClusters, queues: list[str]) -> None:
        self.session = session
        self.clusters = clusters
        self.cluster = clusters.cluster(CLUSTER)
        self.user = User(session, CLUSTER, clusters.addresses[CLUSTER])
        self.queues = queues
        self.agents: list[AgentProcess] = []
        self.written = dict.fromkeys(queues, 0)
        self.read: dict[str, list[tuple[float, int]]] = {queue: [] for queue in queues}
        """How far the consumer has read, each time since the moment before it said so (`time.monotonic`)."""

        self.trims: dict[int, LoggedRequest] = {}

    async def status(self, agent: AgentProcess, queue: str) -> Any:
        """`@queue_status`, as one agent answers; None if it does not."""
        key = quote(f"{CLUSTER}:{queue}", safe="")
        url = URL(f"{agent.url}/orchid/queue_agent/queues/{key}", encoded=True)
        try:
            async with self.session.get(url, timeout=aiohttp.ClientTimeout(_ASK_SECONDS)) as response:
                return await response.json() if response.status == 200 else None
        except (aiohttp.ClientError, TimeoutError):
            return None

    async def all_served(self, agent: AgentProcess, after: str = "start") -> None:
        """Wait until an agent answers well for every queue."""
        deadline = time.monotonic() + LIMIT_SECONDS
        missing = list(self.queues)
        while missing:
            answers = await _all_of([self.status(agent, queue) for queue in missing])
            missing = [
                queue
                for queue, answer in zip(missing, answers, strict=True)
                if answer is None or "partition_count" not in answer["status"]
            ]
            assert time.monotonic() < deadline, f"after {after}: {agent.user} misses {missing[:5]}"
            if missing:
                await asyncio.sleep(_ASK_PERIOD)

    async def led_by(self, agent: AgentProcess) -> set[str]:
        """Paths of what an agent leads."""
        names: set[str] = set()
        for kind in ("queues", "consumers"):
            async with self.session.get(f"{agent.url}/orchid/queue_agent/owned_{kind}") as response:
                names.update(await response.json())
        return {name.removeprefix(f"{CLUSTER}:") for name in names}

    async def members(self) -> Any:
        """Locks of the agents, once there is anything to be locked."""
        path = "//sys/queue_agents/members/production"
        if not _value(await self.user.run("exists", path=path)):
            return []
        return _value(await self.user.run("get", path=f"{path}/@locks"))

    def note_trims(self) -> None:
        """Keep what the cluster's log has about trims; the log forgets."""
        for request in self.cluster.requests.find():
            if request.command == "trim_rows":
                self.trims[id(request)] = request

    async def work(self, queues: list[str], stop: asyncio.Event, period: float) -> None:
        """Write rows and read them, queue after queue."""
        while not stop.is_set():
            for queue in queues:
                if stop.is_set():
                    return
                await self.user.insert(queue, [{"data": "x", "$tablet_index": 0}] * 3)
                self.written[queue] += 3
                read = self.written[queue] - 1
                self.read[queue].append((time.monotonic(), read))
                await self.user.advance(CONSUMER, queue, 0, read)
                await asyncio.sleep(period)
            self.note_trims()


async def _all_of(questions: list[Any]) -> list[Any]:
    slots = asyncio.Semaphore(_ASKED_AT_ONCE)

    async def ask(question: Any) -> Any:
        async with slots:
            return await question

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(question)) for question in questions]
    return [task.result() for task in tasks]


@asynccontextmanager
async def running_stage(
    directory: Path, agent_count: int, queue_count: int, lease: float = LEASE, **sections: Mapping[str, Any]
) -> AsyncIterator[Stage]:
    """Agents that have been started, and lead all queues between them; `sections` as for `AgentProcess`."""
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({CLUSTER: 0}, test_controls=True))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        stage = Stage(session, clusters, [f"//tmp/queue-{number}" for number in range(queue_count)])
        await stage.user.run("create", type="queue_consumer", path=CONSUMER)
        for queue in stage.queues:
            await stage.user.create_queue(queue, auto_trim_config={"enable": True})
            await stage.user.run("register_queue_consumer", queue_path=queue, consumer_path=CONSUMER, vital=True)
        for number in range(agent_count):
            user = f"agent-{number}"
            await stage.user.run("create", type="user", attributes={"name": user})
            await stage.user.run("add_member", member=user, group="superusers")
            token = await stage.user.run("issue_token", user=user)
            wire = await stack.enter_async_context(CutWire(clusters.addresses[CLUSTER]))
            agent = AgentProcess(number, directory, wire, str(_value(token)), lease, **sections)
            stack.callback(agent.kill)
            stage.agents.append(agent)
        addresses = [agent.address for agent in stage.agents]
        await stage.user.set(f"//sys/clusters/{CLUSTER}/queue_agent/stages", {"production": {"addresses": addresses}})
        for agent in stage.agents:
            agent.start()
        await eventually(stage.members, lambda members: len(members) == agent_count)
        for agent in stage.agents:
            await stage.all_served(agent)
        yield stage


def _value(answer: Any) -> Any:
    return answer["value"] if isinstance(answer, Mapping) and "value" in answer else answer
