"""`queue-agent webhdfs`: serves the files of one cluster until a signal."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ConfigError
from queue_agent.webhdfs.files import CypressFiles
from queue_agent.webhdfs.secret import new_secret, secret_of
from queue_agent.webhdfs.server import WebHdfsServer
from yt_wire.address import is_loopback, reachable_address
from yt_wire.http_guard import host_name

CLUSTER_NAME: Final = "cluster"
"""How messages call a cluster whose name nobody has told."""


@dataclass(frozen=True, slots=True)
class WebHdfsOptions:
    """What to serve."""

    cluster: ClusterConfig
    root: str
    """Cypress path of the root."""

    host: str
    port: int
    secret_file: Path | None
    """Holds the first part of all paths; made if it is not there. None: a secret for this run alone."""

    allowed_hosts: Sequence[str]
    """Names by which clients call this machine, besides `localhost` and its addresses."""


def find_secret(options: WebHdfsOptions) -> str:
    """The secret in the file, or a new one; ConfigError if it can be guessed, or would not reach other machines."""
    if options.secret_file is not None:
        return secret_of(options.secret_file)
    if not is_loopback(options.host):
        raise ConfigError(f"WebHDFS listens on {options.host}, beyond this machine, only with --secret-file")
    return new_secret()


@asynccontextmanager
async def serve_clusters(
    clusters: Mapping[str, tuple[ClusterConfig, str]],
    listener: socket.socket,
    *,
    secret: str,
    hosts: Collection[str],
) -> AsyncIterator[None]:
    """Serve files while the context is open.

    Args:
        clusters: by name, as in `WebHdfsServer`, how to reach them and the Cypress path of their root.
        listener, secret, hosts: see `WebHdfsServer`.

    Raises:
        ConfigError: see `YtHttp`.
    """
    async with AsyncExitStack() as stack:
        mounts: dict[str, CypressFiles] = {}
        for name, (config, root) in clusters.items():
            http = await stack.enter_async_context(YtHttp(CLUSTER_NAME, config))
            mounts[name] = CypressFiles(http, root)
        await stack.enter_async_context(WebHdfsServer(mounts, listener, secret=secret, hosts=hosts))
        yield


async def run_webhdfs(options: WebHdfsOptions, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        options: what to serve.
        announce: is given the `ready` line, with the secret if that is in no file.

    Raises:
        ConfigError: the options cannot be used, or the port is taken.
    """
    secret = find_secret(options)
    try:
        hosts = [host_name(name) for name in options.allowed_hosts]
    except ValueError as error:
        raise ConfigError(f"--allowed-host: {error}") from error
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listener = socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise ConfigError(f"cannot listen on {options.host}:{options.port}: {error}") from error
    with listener:
        clusters = {"": (options.cluster, options.root)}
        async with serve_clusters(clusters, listener, secret=secret, hosts=hosts):
            address = reachable_address(listener)
            file = options.secret_file
            announce(
                f"ready: webhdfs {address}/{secret}"
                if file is None
                else f"ready: webhdfs {address}, webhdfs secret {file}"
            )
            await stop.wait()
