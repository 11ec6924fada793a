"""The playground: local clusters in this process, and agents as processes of their own.

Modules that take long to import are imported in functions: most of the start is Python importing, and the agents do
theirs on another core meanwhile (1.5 s from the command to the ready line, against 3 s one after the other).
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from queue_agent.errors import QueueAgentError

if TYPE_CHECKING:
    import aiohttp

LOOPBACK: Final = "127.0.0.1"

_STOP_SECONDS: Final = 5
_READY_SECONDS: Final = 30
_POLL_SECONDS: Final = 0.05
_PR_SET_PDEATHSIG: Final = 1


class LocalError(QueueAgentError):
    """The playground could not be set up."""


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What to start."""

    clusters: Mapping[str, int]
    """HTTP port by name; the first cluster holds the agents' state. 0 chooses a free port."""

    agent_count: int
    """One agent, or none."""

    data_dir: Path | None
    """Where everything is kept; None forgets it at the end."""

    rpc_port: int
    """Of the agent."""

    http_port: int
    """Of the agent."""

    test_controls: bool = False
    """Whether the clusters serve `/test/...`."""


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


def agent_config(agent: LocalAgent, proxies: Mapping[str, str]) -> dict[str, Any]:
    """Configuration of an agent that serves all local clusters and, their data being a playground, trims."""
    return {
        "stage": "production",
        "clusters": {name: {"proxy": f"http://{address}"} for name, address in proxies.items()},
        "state": {"cluster": next(iter(proxies))},
        "rpc": {"host": LOOPBACK, "port": agent.rpc_port},
        "http": {"host": LOOPBACK, "port": agent.http_port},
        "cypress_synchronizer": {"policy": "watching"},
        "queue_agent": {"controller": {"enable_automatic_trimming": True}},
        "logging": {"level": "warning", "format": "console"},
    }


def ready_line(proxies: Mapping[str, str], agents: Sequence[LocalAgent]) -> str:
    """The line that tells people and programs where everything is."""
    parts = [f"{name} http://{address}" for name, address in proxies.items()]
    parts += [f"agent {agent.url} (rpc {agent.rpc_address})" for agent in agents]
    return f"ready: {', '.join(parts)}"


async def run_local(options: LocalOptions, announce: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Run until SIGINT or SIGTERM, then stop everything that was started.

    Args:
        options: what to run.
        announce: is given the `ready` line once clusters and agents answer.
        warn: is given a line about what did not stop the playground, but is not as it should be.

    Raises:
        LocalError: a port is taken, the data can not be used, or an agent does not come up.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    agents = [
        LocalAgent(number, options.rpc_port + number, options.http_port + number)
        for number in range(options.agent_count)
    ]
    async with AsyncExitStack() as stack:
        listeners = {
            name: stack.enter_context(_listen(port, f"cluster {name}")) for name, port in options.clusters.items()
        }
        _check_ports(agents)
        proxies = {name: f"{LOOPBACK}:{listener.getsockname()[1]}" for name, listener in listeners.items()}
        processes: list[Process] = []
        try:
            with tempfile.TemporaryDirectory(prefix="queue-agent-") as directory:
                for agent in agents:
                    processes.append(await _start(agent, proxies, Path(directory)))  # noqa: PERF401 - those that run are stopped if the next does not start
                await _serve_clusters(stack, listeners, agents, options)
                ready = await _all_ready(agents, processes, stop)
            if ready:
                announce(ready_line(proxies, agents))
                await _watch(agents, processes, stop, warn)
        finally:
            await _stop(processes)


async def _serve_clusters(
    stack: AsyncExitStack, listeners: Mapping[str, socket.socket], agents: Sequence[LocalAgent], options: LocalOptions
) -> None:
    from queue_agent.adapters.logs import configure_logging
    from queue_agent.local_cluster.runner import LocalClusters
    from queue_agent.local_cluster.storage import StorageError

    configure_logging("warning", "console")
    try:
        if options.data_dir is not None:
            _make_directory(options.data_dir)
        clusters = LocalClusters(
            listeners,
            [agent.rpc_address for agent in agents],
            options.data_dir,
            test_controls=options.test_controls,
        )
        await stack.enter_async_context(clusters)
    except (OSError, StorageError) as error:
        raise LocalError(f"cannot start the clusters: {error}") from error
    if agents:
        # Their first questions are queries; what answers those may as well be imported before they are asked.
        import queue_agent.local_cluster.query.plan  # noqa: F401 - imported for the time it takes


def _make_directory(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)


def _listen(port: int, whose: str) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise LocalError(f"cannot listen on {LOOPBACK}:{port} for {whose}: {os.strerror(error.errno or 0)}") from error


def _check_ports(agents: Sequence[LocalAgent]) -> None:
    # Whoever has an agent's port might be taken for that agent.
    with ExitStack() as stack:
        for agent in agents:
            stack.enter_context(_listen(agent.rpc_port, "RPC of the agent"))
            stack.enter_context(_listen(agent.http_port, "HTTP of the agent"))


async def _start(agent: LocalAgent, proxies: Mapping[str, str], directory: Path) -> Process:
    config = directory / f"agent-{agent.number}.yaml"
    config.write_text(json.dumps(agent_config(agent, proxies)))  # JSON is YAML too
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "queue_agent", "run", "--config", str(config)),
        # Ctrl-C in a terminal goes to every process of the group; the agents are stopped from here.
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


async def _all_ready(agents: Sequence[LocalAgent], processes: Sequence[Process], stop: asyncio.Event) -> bool:
    """Wait until every agent has done a pass; False if it is time to stop before that."""
    import aiohttp

    async with aiohttp.ClientSession() as session:
        try:
            async with asyncio.timeout(_READY_SECONDS):
                for agent, process in zip(agents, processes, strict=True):
                    while not await _is_ready(session, agent):
                        if process.returncode is not None:
                            raise LocalError(f"agent {agent.number} ended with code {process.returncode}")
                        if stop.is_set():
                            return False
                        await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError as error:
            raise LocalError(f"the agents were not ready within {_READY_SECONDS} s") from error
    return True


async def _is_ready(session: aiohttp.ClientSession, agent: LocalAgent) -> bool:
    import aiohttp

    try:
        async with session.get(f"{agent.url}/health/ready") as response:
            return response.status == 200
    except aiohttp.ClientConnectionError:
        return False


async def _watch(
    agents: Sequence[LocalAgent], processes: Sequence[Process], stop: asyncio.Event, warn: Callable[[str], None]
) -> None:
    """Wait for the signal; an agent may end before it, the clusters go on."""

    async def report(agent: LocalAgent, process: Process) -> None:
        code = await process.wait()
        if not stop.is_set():
            warn(f"agent {agent.url} ended with code {code}; the clusters go on without it")

    async with asyncio.TaskGroup() as group:
        reports = [group.create_task(report(agent, process)) for agent, process in zip(agents, processes, strict=True)]
        await stop.wait()
        for task in reports:
            task.cancel()


async def _stop(processes: Sequence[Process]) -> None:
    for process in processes:
        if process.returncode is None:
            process.terminate()
    for process in processes:
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
