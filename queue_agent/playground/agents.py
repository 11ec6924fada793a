"""Agents of the playground: processes of their own, which end with the playground whatever becomes of it."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from queue_agent.core.access.acts import ActKind
from queue_agent.errors import QueueAgentError
from yt_local.service import LOOPBACK, listen

if TYPE_CHECKING:
    import aiohttp

USER: Final = "queue_agent"

_LEASE_MILLISECONDS: Final = 6000
"""After a kill nobody should have to wait for long until a playground on the same data is as it was."""

_STOP_SECONDS: Final = 5
_READY_SECONDS: Final = 30
_POLL_SECONDS: Final = 0.05
_PR_SET_PDEATHSIG: Final = 1


class LocalError(QueueAgentError):
    """The playground could not be set up."""


@dataclass(frozen=True, slots=True)
class LocalAgent:
    """One agent to run."""

    number: int
    rpc_port: int
    http_port: int

    @property
    def rpc_address(self) -> str:
        return f"{LOOPBACK}:{self.rpc_port}"

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.http_port}"


class AgentProcesses:
    """The agents, from their start to their end.

    Args:
        agents: which to run.
        warn: is given a line about an agent that ended unasked.
    """

    def __init__(self, agents: Sequence[LocalAgent], warn: Callable[[str], None]) -> None:
        self._agents = agents
        self._warn = warn
        self._processes: list[Process] = []
        self._others: list[Process] = []

    def check_ports(self) -> None:
        """ServiceError if somebody has an agent's port, who might be taken for that agent."""
        with ExitStack() as stack:
            for agent in self._agents:
                stack.enter_context(listen(agent.rpc_port, "RPC of the agent"))
                stack.enter_context(listen(agent.http_port, "HTTP of the agent"))

    async def start(self, proxies: Mapping[str, str], directory: Path, token_file: Path | None) -> None:
        """Start all.

        Args:
            proxies: `host:port` of HTTP proxies by cluster; the first holds the state.
            directory: for their configurations.
            token_file: with the token by which clusters know them.
        """
        for agent in self._agents:
            config = directory / f"agent-{agent.number}.yaml"
            config.write_text(json.dumps(agent_config(agent, proxies, token_file)))  # JSON is YAML too
            self._processes.append(await _start("queue_agent", "run", "--config", str(config)))

    async def start_traffic(self, address: str, token_file: Path | None) -> None:
        """Start the applications of the demonstration.

        Args:
            address: `host:port` of the HTTP proxy of their cluster.
            token_file: with the token of root.
        """
        token = () if token_file is None else ("--token-file", str(token_file))
        self._others.append(await _start("queue_agent.playground.traffic", "--proxy", address, *token))

    async def all_ready(self, stop: asyncio.Event) -> bool:
        """Wait until every agent has done a pass; False if it is time to stop before that, LocalError if one ends."""
        import aiohttp

        async with aiohttp.ClientSession() as session:
            try:
                async with asyncio.timeout(_READY_SECONDS):
                    for agent, process in zip(self._agents, self._processes, strict=True):
                        while not await _is_ready(session, agent):
                            if process.returncode is not None:
                                raise LocalError(f"agent {agent.number} ended with code {process.returncode}")
                            if stop.is_set():
                                return False
                            await asyncio.sleep(_POLL_SECONDS)
            except TimeoutError as error:
                raise LocalError(f"the agents were not ready within {_READY_SECONDS} s") from error
        return True

    async def watch(self, stop: asyncio.Event) -> None:
        """Wait for the signal; an agent may end before it, the clusters go on."""

        async def report(agent: LocalAgent, process: Process) -> None:
            code = await process.wait()
            if not stop.is_set():
                self._warn(f"agent {agent.url} ended with code {code}; the clusters go on without it")

        async with asyncio.TaskGroup() as group:
            reports = [
                group.create_task(report(agent, process))
                for agent, process in zip(self._agents, self._processes, strict=True)
            ]
            await stop.wait()
            for task in reports:
                task.cancel()

    async def stop(self) -> None:
        """End all that were started."""
        started = [*self._others, *self._processes]
        for process in started:
            if process.returncode is None:
                process.terminate()
        for process in started:
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


def agent_config(agent: LocalAgent, proxies: Mapping[str, str], token_file: Path | None) -> dict[str, Any]:
    """Configuration of an agent that serves all local clusters; their data being a playground, it trims and exports."""
    token = {} if token_file is None else {"token_file": str(token_file)}
    return {
        "stage": "production",
        "clusters": {name: {"proxy": f"http://{address}", **token} for name, address in proxies.items()},
        "state": {"cluster": next(iter(proxies))},
        "rpc": {"host": LOOPBACK, "port": agent.rpc_port, "advertised_host": LOOPBACK},
        "http": {"host": LOOPBACK, "port": agent.http_port},
        # Anybody may do anything on these clusters, and nobody but this machine reaches them. Those that ask for tokens
        # do so here as well.
        "console": {
            "login": "token",
            "trust_clusters_without_tokens": token_file is None,
            "rows": True,
            "acts": [act.value for act in ActKind],
        },
        "membership": {"lease": _LEASE_MILLISECONDS},
        "cypress_synchronizer": {"policy": "watching"},
        "queue_agent": {
            # Whoever tries things out waits for nothing.
            "controller": {"enable_automatic_trimming": True, "trimming_grace": 0, "queue_exporter": {"enable": True}}
        },
        "logging": {"level": "warning", "format": "console"},
    }


async def _start(module: str, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        # Ctrl-C in a terminal goes to every process of the group; the children are stopped from here.
        start_new_session=True,
        preexec_fn=_die_with_parent(os.getpid()) if sys.platform == "linux" else None,
    )


def _die_with_parent(parent: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None)

    def arrange() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before the arrangement was made
            os.kill(os.getpid(), signal.SIGTERM)

    return arrange


async def _is_ready(session: aiohttp.ClientSession, agent: LocalAgent) -> bool:
    import aiohttp

    try:
        async with session.get(f"{agent.url}/health/ready") as response:
            return response.status == 200
    except aiohttp.ClientConnectionError:
        return False
