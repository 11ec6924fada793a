"""The playground: local clusters in this process, and agents as processes of their own.

Modules that take long to import are imported in functions: most of the start is Python importing, and the agents do
theirs on another core meanwhile (1.5 s from the command to the ready line, against 3 s one after the other).
"""

from __future__ import annotations

import asyncio
import signal
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from queue_agent.errors import ConfigError
from queue_agent.playground.agents import USER, AgentProcesses, LocalAgent, LocalError
from queue_agent.webhdfs.secret import secret_of
from yt_local.service import ClusterService, ServiceError, ServiceOptions, TokenFile, listen, ready_parts
from yt_wire.address import reachable_address


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What to start."""

    clusters: ServiceOptions
    """The first cluster holds the agents' state."""

    agent_count: int
    """Agents that share the work; or none."""

    rpc_port: int
    """Of the first agent; those of the others follow."""

    http_port: int
    """Of the first agent; those of the others follow."""

    webhdfs_port: int
    """Where the files of all clusters are served to Hadoop's clients; 0 chooses a free port."""

    demo: bool = False
    """Whether the first cluster is to have a queue with rows and, if there are agents, applications at work."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """By which tokens the clusters know those who are there from the start, if they ask for any."""

    root: TokenFile
    agent: TokenFile


async def run_local(options: LocalOptions, announce: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Run until SIGINT or SIGTERM, then stop everything that was started.

    Args:
        options: what to run.
        announce: is given the `ready` line once clusters and agents answer.
        warn: is given a line about what did not stop the playground, but is not as it should be.

    Raises:
        LocalError: a port is taken, the data cannot be used, or an agent does not come up; or strangers could reach
            clusters that ask nobody for a token.
    """
    try:
        await _run(options, announce, warn)
    except ServiceError as error:
        raise LocalError(str(error)) from error


async def _run(options: LocalOptions, announce: Callable[[str], None], warn: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    agents = [
        LocalAgent(number, options.rpc_port + number, options.http_port + number)
        for number in range(options.agent_count)
    ]
    processes = AgentProcesses(agents, warn)
    async with AsyncExitStack() as stack:
        clusters = ClusterService(options.clusters, stack)
        webhdfs = stack.enter_context(listen(options.webhdfs_port, "WebHDFS"))
        processes.check_ports()
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="queue-agent-")))
        secrets = _secrets_directory(options, temporary)
        tokens = None
        if options.clusters.require_token:
            tokens = Tokens(TokenFile.in_directory(secrets, "root"), TokenFile.in_directory(secrets, USER))
        proxies = clusters.addresses
        try:
            await processes.start(proxies, temporary, tokens.agent.path.absolute() if tokens else None)
            await _serve_clusters(stack, clusters, agents, tokens)
            await _serve_files(stack, proxies, webhdfs, secrets / "webhdfs.secret", tokens)
            if options.demo:
                await _fill(next(iter(proxies.values())), tokens)
            if await processes.all_ready(stop):
                parts = [f"agent {agent.url} (rpc {agent.rpc_address})" for agent in agents]
                parts += [f"console {agents[0].url}/"] if agents else []
                parts += [f"webhdfs {reachable_address(webhdfs)}", f"webhdfs secret {secrets / 'webhdfs.secret'}"]
                if tokens is not None:
                    parts.append(f"token {tokens.root.path}")
                announce(f"ready: {', '.join([*ready_parts(clusters), *parts])}")
                if options.demo and agents:
                    await processes.start_traffic(next(iter(proxies.values())), tokens.root.path if tokens else None)
                await processes.watch(stop)
        finally:
            await processes.stop()


def _secrets_directory(options: LocalOptions, temporary: Path) -> Path:
    """Where tokens and secrets are; those in a data directory stay what they are."""
    directory = options.clusters.data_dir
    if directory is None:
        return temporary
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalError(f"cannot keep data in {directory}: {error}") from error
    return directory


async def _serve_clusters(
    stack: AsyncExitStack, clusters: ClusterService, agents: Sequence[LocalAgent], tokens: Tokens | None
) -> None:
    from queue_agent.adapters.process.logs import configure_logging

    configure_logging("warning", "console")
    known = [] if tokens is None else [tokens.root, tokens.agent]
    await stack.enter_async_context(clusters.serving([agent.rpc_address for agent in agents], known))
    if agents:
        # Their first questions are queries; what answers those may as well be imported before they are asked.
        import yt_local.query.plan  # noqa: F401 - imported for the time it takes


async def _serve_files(
    stack: AsyncExitStack,
    proxies: Mapping[str, str],
    listener: socket.socket,
    secret_file: Path,
    tokens: Tokens | None,
) -> None:
    """Serve the files of every cluster below a secret and its name."""
    from queue_agent.config.clusters import ClusterConfig
    from queue_agent.webhdfs.command import serve_clusters

    token_file = tokens.root.path if tokens else None
    roots = {
        name: (ClusterConfig(proxy=f"http://{address}", token_file=token_file), "/")
        for name, address in proxies.items()
    }
    try:
        secret = secret_of(secret_file)
    except ConfigError as error:
        raise LocalError(f"cannot serve WebHDFS: {error}") from error
    await stack.enter_async_context(serve_clusters(roots, listener, secret=secret, hosts=()))


async def _fill(address: str, tokens: Tokens | None) -> None:
    from queue_agent.config.clusters import ClusterConfig
    from queue_agent.playground.demo import create_demo_queue

    await create_demo_queue(ClusterConfig(proxy=f"http://{address}", token_file=tokens.root.path if tokens else None))
