"""The playground: local clusters in this process, and agents as processes of their own.

Modules that take long to import are imported in functions: most of the start is Python importing, and the agents do
theirs on another core meanwhile (1.5 s from the command to the ready line, against 3 s one after the other).
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import secrets
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

from queue_agent.errors import ConfigError, QueueAgentError
from queue_agent.webhdfs.address import is_loopback
from queue_agent.webhdfs.secret import secret_of, write_new
from yt_wire.address import reachable_address
from yt_wire.http_guard import host_name, origin_name

if TYPE_CHECKING:
    import aiohttp

    from yt_local.proxy.http.browsers import AllowedBrowsers

LOOPBACK: Final = "127.0.0.1"
AGENT_USER: Final = "queue_agent"

_LEASE_MILLISECONDS: Final = 6000
"""After a kill nobody should have to wait for long until a playground on the same data is as it was."""

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

    cluster_rpc_ports: Mapping[str, int]
    """RPC port of the proxy by name of the cluster; others get a free one."""

    agent_count: int
    """Agents that share the work; or none."""

    data_dir: Path | None
    """Where everything is kept; None forgets it at the end."""

    rpc_port: int
    """Of the first agent; those of the others follow."""

    http_port: int
    """Of the first agent; those of the others follow."""

    webhdfs_port: int
    """Where the files of all clusters are served to Hadoop's clients; 0 chooses a free port."""

    test_controls: bool = False
    """Whether the clusters serve `/test/...`."""

    host: str = LOOPBACK
    """Address the clusters listen at; agents always stay on this machine."""

    demo: bool = False
    """Whether the first cluster is to have a queue with rows."""

    allowed_hosts: Sequence[str] = ()
    """Names by which clients call this machine, besides `localhost` and addresses."""

    allowed_origins: Sequence[str] = ()
    """Pages of other servers that may use the clusters from a browser."""

    require_token: bool = False
    """Whether clusters refuse requests without a valid token; agents get one."""


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


@dataclass(frozen=True, slots=True)
class TokenFiles:
    """Where the tokens are by which clusters know root and the agents."""

    root: Path
    agent: Path

    @classmethod
    def in_directory(cls, directory: Path) -> TokenFiles:
        """Files of this directory; those that are not there yet are made, with new tokens."""
        files = cls(directory / "root.token", directory / f"{AGENT_USER}.token")
        for file in (files.root, files.agent):
            write_new(file, secrets.token_hex(16))
        return files

    def users(self) -> dict[str, str]:
        """Users by token."""
        return {self.agent.read_text().strip(): AGENT_USER, self.root.read_text().strip(): "root"}


def agent_config(agent: LocalAgent, proxies: Mapping[str, str], token_file: Path | None) -> dict[str, Any]:
    """Configuration of an agent that serves all local clusters; their data being a playground, it trims and exports."""
    token = {} if token_file is None else {"token_file": str(token_file)}
    return {
        "stage": "production",
        "clusters": {name: {"proxy": f"http://{address}", **token} for name, address in proxies.items()},
        "state": {"cluster": next(iter(proxies))},
        "rpc": {"host": LOOPBACK, "port": agent.rpc_port, "advertised_host": LOOPBACK},
        "http": {"host": LOOPBACK, "port": agent.http_port},
        "membership": {"lease": _LEASE_MILLISECONDS},
        "cypress_synchronizer": {"policy": "watching"},
        "queue_agent": {"controller": {"enable_automatic_trimming": True, "queue_exporter": {"enable": True}}},
        "logging": {"level": "warning", "format": "console"},
    }


def ready_line(
    proxies: Mapping[str, str],
    rpc_proxies: Mapping[str, str],
    agents: Sequence[LocalAgent],
    webhdfs: str,
    webhdfs_secret: Path,
    tokens: TokenFiles | None = None,
) -> str:
    """The line that tells people and programs where everything is, secrets included: in which files."""
    parts = [f"{name} http://{address} (rpc {rpc_proxies[name]})" for name, address in proxies.items()]
    parts += [f"agent {agent.url} (rpc {agent.rpc_address})" for agent in agents]
    parts += [f"webhdfs {webhdfs}", f"webhdfs secret {webhdfs_secret}"]
    if tokens is not None:
        parts.append(f"token {tokens.root}")
    return f"ready: {', '.join(parts)}"


async def run_local(options: LocalOptions, announce: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Run until SIGINT or SIGTERM, then stop everything that was started.

    Args:
        options: what to run.
        announce: is given the `ready` line once clusters and agents answer.
        warn: is given a line about what did not stop the playground, but is not as it should be.

    Raises:
        LocalError: a port is taken, the data can not be used, or an agent does not come up; or strangers could reach
            clusters that ask nobody for a token.
    """
    if not options.require_token and not is_loopback(options.host):
        raise LocalError(f"clusters listen on {options.host}, beyond this machine, only with --require-token")
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
            name: stack.enter_context(_listen(port, f"cluster {name}", options.host))
            for name, port in options.clusters.items()
        }
        rpc_listeners = {
            name: stack.enter_context(
                _listen(options.cluster_rpc_ports.get(name, 0), f"RPC of cluster {name}", options.host)
            )
            for name in options.clusters
        }
        webhdfs = stack.enter_context(_listen(options.webhdfs_port, "WebHDFS"))
        _check_ports(agents)
        proxies = {name: reachable_address(listener) for name, listener in listeners.items()}
        rpc_proxies = {name: reachable_address(listener) for name, listener in rpc_listeners.items()}
        processes: list[Process] = []
        with tempfile.TemporaryDirectory(prefix="queue-agent-") as directory:
            try:
                secrets_directory = _secrets_directory(options, Path(directory))
                tokens = _token_files(secrets_directory) if options.require_token else None
                webhdfs_secret = secrets_directory / "webhdfs.secret"
                for agent in agents:
                    processes.append(await _start(agent, proxies, Path(directory), tokens))  # noqa: PERF401 - those that run are stopped if the next does not start
                await _serve_clusters(stack, listeners, rpc_listeners, agents, options, tokens)
                await _serve_files(stack, proxies, webhdfs, webhdfs_secret, tokens)
                if options.demo:
                    await _fill(next(iter(proxies.values())), tokens)
                if await _all_ready(agents, processes, stop):
                    announce(
                        ready_line(proxies, rpc_proxies, agents, reachable_address(webhdfs), webhdfs_secret, tokens)
                    )
                    await _watch(agents, processes, stop, warn)
            finally:
                await _stop(processes)


def _secrets_directory(options: LocalOptions, temporary: Path) -> Path:
    """Where tokens and secrets are; those in a data directory stay what they are."""
    if options.data_dir is None:
        return temporary
    try:
        _make_directory(options.data_dir)
    except OSError as error:
        raise LocalError(f"cannot keep data in {options.data_dir}: {error}") from error
    return options.data_dir


def _token_files(directory: Path) -> TokenFiles:
    try:
        return TokenFiles.in_directory(directory)
    except OSError as error:
        raise LocalError(f"cannot keep tokens: {error}") from error


async def _serve_clusters(
    stack: AsyncExitStack,
    listeners: Mapping[str, socket.socket],
    rpc_listeners: Mapping[str, socket.socket],
    agents: Sequence[LocalAgent],
    options: LocalOptions,
    tokens: TokenFiles | None,
) -> None:
    from queue_agent.adapters.process.logs import configure_logging
    from yt_local.runner import LocalClusters
    from yt_local.store.database import StorageError

    configure_logging("warning", "console")
    try:
        if options.data_dir is not None:
            _make_directory(options.data_dir)
        clusters = LocalClusters(
            listeners,
            [agent.rpc_address for agent in agents],
            options.data_dir,
            rpc_ports=rpc_listeners,
            test_controls=options.test_controls,
            tokens=tokens.users() if tokens else None,
            require_token=tokens is not None,
            browsers=_browsers(options),
        )
        await stack.enter_async_context(clusters)
    except (OSError, StorageError) as error:
        raise LocalError(f"cannot start the clusters: {error}") from error
    if agents:
        # Their first questions are queries; what answers those may as well be imported before they are asked.
        import yt_local.tables.query.plan  # noqa: F401 - imported for the time it takes


def _browsers(options: LocalOptions) -> AllowedBrowsers:
    """The address they listen at is a name they have, too."""
    from yt_local.proxy.http.browsers import AllowedBrowsers

    try:
        hosts = [host_name(name) for name in options.allowed_hosts]
        if ":" not in options.host:
            hosts.append(host_name(options.host))
        origins = [origin_name(page) for page in options.allowed_origins]
    except ValueError as error:
        raise LocalError(str(error)) from error
    return AllowedBrowsers(hosts, origins)


async def _serve_files(
    stack: AsyncExitStack,
    proxies: Mapping[str, str],
    listener: socket.socket,
    secret_file: Path,
    tokens: TokenFiles | None,
) -> None:
    """Serve the files of every cluster below a secret and its name."""
    from queue_agent.config.clusters import ClusterConfig
    from queue_agent.webhdfs.command import serve_clusters

    token_file = tokens.root if tokens else None
    roots = {
        name: (ClusterConfig(proxy=f"http://{address}", token_file=token_file), "/")
        for name, address in proxies.items()
    }
    try:
        secret = secret_of(secret_file)
    except ConfigError as error:
        raise LocalError(f"cannot serve WebHDFS: {error}") from error
    await stack.enter_async_context(serve_clusters(roots, listener, secret=secret, hosts=()))


async def _fill(address: str, tokens: TokenFiles | None) -> None:
    from queue_agent.config.clusters import ClusterConfig
    from queue_agent.playground.demo import create_demo_queue

    await create_demo_queue(ClusterConfig(proxy=f"http://{address}", token_file=tokens.root if tokens else None))


def _make_directory(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)


def _listen(port: int, whose: str, host: str = LOOPBACK) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        # A name that nobody knows has a message of its own, not a number of the system's.
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise LocalError(f"cannot listen on {host}:{port} for {whose}: {reason}") from error


def _check_ports(agents: Sequence[LocalAgent]) -> None:
    # Whoever has an agent's port might be taken for that agent.
    with ExitStack() as stack:
        for agent in agents:
            stack.enter_context(_listen(agent.rpc_port, "RPC of the agent"))
            stack.enter_context(_listen(agent.http_port, "HTTP of the agent"))


async def _start(agent: LocalAgent, proxies: Mapping[str, str], directory: Path, tokens: TokenFiles | None) -> Process:
    config = directory / f"agent-{agent.number}.yaml"
    config.write_text(
        json.dumps(agent_config(agent, proxies, tokens.agent.absolute() if tokens else None))
    )  # JSON is YAML too
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
