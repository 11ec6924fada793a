"""`queue-agent webhdfs`: serves the files of one cluster until a signal."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from queue_agent.adapters.yt_http import YtHttp
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ConfigError
from queue_agent.local_cluster.address import reachable_address
from queue_agent.webhdfs.address import is_loopback
from queue_agent.webhdfs.files import CypressFiles
from queue_agent.webhdfs.server import WebHdfsServer

CLUSTER_NAME: Final = "cluster"
"""How messages call a cluster whose name nobody has told."""

_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{16,}")


@dataclass(frozen=True, slots=True)
class WebHdfsOptions:
    """What to serve."""

    cluster: ClusterConfig
    root: str
    """Cypress path of the root."""

    host: str
    port: int
    secret_file: Path | None
    """Holds the first part of all paths; needed where others than this machine can connect."""


def read_secret(options: WebHdfsOptions) -> str:
    """The secret, or the empty string where none is asked for; ConfigError if one is missing or can be guessed."""
    if options.secret_file is None:
        if not is_loopback(options.host):
            raise ConfigError(f"WebHDFS listens on {options.host}, beyond this machine, only with --secret-file")
        return ""
    try:
        secret = options.secret_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the secret can not be read: {error}") from error
    if not _SECRET.fullmatch(secret):
        raise ConfigError(f"the secret in {options.secret_file} must be 16 or more of A-Z, a-z, 0-9, - and _")
    return secret


@asynccontextmanager
async def serve_clusters(
    clusters: Mapping[str, tuple[ClusterConfig, str]], listener: socket.socket
) -> AsyncIterator[None]:
    """Serve files while the context is open.

    Args:
        clusters: by the first part of their paths, how to reach them and the Cypress path of their root.
        listener: the socket to listen on.

    Raises:
        ConfigError: see `YtHttp`.
    """
    async with AsyncExitStack() as stack:
        mounts: dict[str, CypressFiles] = {}
        for prefix, (config, root) in clusters.items():
            http = await stack.enter_async_context(YtHttp(CLUSTER_NAME, config))
            mounts[prefix] = CypressFiles(http, root)
        await stack.enter_async_context(WebHdfsServer(mounts, listener))
        yield


async def run_webhdfs(options: WebHdfsOptions, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        options: what to serve.
        announce: is given the `ready` line, without the secret.

    Raises:
        ConfigError: the options can not be used, or the port is taken.
    """
    secret = read_secret(options)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listener = socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise ConfigError(f"cannot listen on {options.host}:{options.port}: {error}") from error
    with listener:
        async with serve_clusters({secret: (options.cluster, options.root)}, listener):
            announce(f"ready: webhdfs {reachable_address(listener)}{'/SECRET' if secret else ''}")
            await stop.wait()
