"""Local clusters of one process: started, introduced to each other, served and stopped together."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from yt_local.base.clock import Clock
from yt_local.bootstrap import Connection, publish_connection
from yt_local.cluster import Cluster
from yt_local.commands import COMMANDS
from yt_local.proxy.http.browsers import AllowedBrowsers
from yt_local.proxy.http.server import HttpProxy
from yt_local.proxy.rpc.proxy import RpcProxy
from yt_local.queues.orchid_gateway import OrchidGateway
from yt_local.tables.replication.directory import ClusterDirectory

LOOPBACK: Final = "127.0.0.1"

_OWN_BROWSERS: Final = AllowedBrowsers()
"""No pages but those of the cluster itself, called `localhost` or by its address."""

_OTHER_FILES: Final = 100
"""Files, listeners and connections to agents, generously."""

_MANY_CONNECTIONS: Final = 10_000

_RPC_SHARE: Final = 4
"""One of so many connections is one of the RPC proxy: clients that speak RPC keep few."""


class LocalClusters:
    """Any number of clusters, serving while entered.

    Args:
        ports: HTTP port by cluster name, in order; the first is home to shared tables. 0 chooses a free port, and in
            place of a port a socket may be given that listens already; it is closed at the end.
        agents: RPC addresses of the queue agents that answer for statuses.
        data_dir: where states are kept, a file a cluster; None for memory.
        clock: time of all of them.
        rpc_ports: likewise the RPC ports of clusters; others get a free one.
        tokens: user by token, for users that are there from the start, such as `root`.
        require_token: refuse requests without a valid token; else they are root's.
        test_controls: whether requests are logged and `/test/...` is served; see `control_api`.
        browsers: names of this machine and pages of other servers that are served too.
    """

    def __init__(
        self,
        ports: Mapping[str, int | socket.socket],
        agents: Sequence[str] = (),
        data_dir: Path | None = None,
        clock: Clock | None = None,
        *,
        rpc_ports: Mapping[str, int | socket.socket] | None = None,
        tokens: Mapping[str, str] | None = None,
        require_token: bool = False,
        test_controls: bool = False,
        browsers: AllowedBrowsers = _OWN_BROWSERS,
    ) -> None:
        self._ports = ports
        self._rpc_ports = rpc_ports or {}
        self._agents = agents
        self._data_dir = data_dir
        self._clock = clock or Clock()
        self._tokens = tokens or {}
        self._require_token = require_token
        self._test_controls = test_controls
        # A page that had a name resolved to this address has no token.
        self._browsers = replace(browsers, hosts=None) if require_token else browsers
        self._directory = ClusterDirectory()
        self._clusters: dict[str, Cluster] = {}
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            gateway = await stack.enter_async_context(OrchidGateway())
            max_connections = _max_connections(len(self._ports))
            max_rpc_connections = max(max_connections // _RPC_SHARE, 1)
            proxies = {
                name: HttpProxy(stack.enter_context(_listener(port)), max(max_connections - max_rpc_connections, 1))
                for name, port in self._ports.items()
            }
            rpc_proxies = {
                name: RpcProxy(stack.enter_context(_listener(self._rpc_ports.get(name, 0))), max_rpc_connections)
                for name in self._ports
            }
            for name, proxy in proxies.items():
                cluster = Cluster(
                    name,
                    proxy.address,
                    rpc_proxies[name].address,
                    self._file(name),
                    COMMANDS,
                    self._directory,
                    gateway,
                    self._clock,
                    require_token=self._require_token,
                )
                self._clusters[name] = cluster
                stack.callback(cluster.close)
                for token, user in self._tokens.items():
                    cluster.tokens.add(user, token)
            stack.push_async_callback(await self._keep_house())
            connection = Connection(
                {name: proxy.address for name, proxy in proxies.items()},
                {name: proxy.address for name, proxy in rpc_proxies.items()},
                self._agents,
            )
            for cluster in self._clusters.values():
                if self._test_controls:
                    cluster.requests.start()
                publish_connection(cluster.state, cluster.cypress, cluster.name, connection)
                stack.push_async_callback(rpc_proxies[cluster.name].stop)
                await rpc_proxies[cluster.name].serve(cluster)
                stack.push_async_callback(proxies[cluster.name].stop)
                await proxies[cluster.name].serve(cluster, self._browsers, test_controls=self._test_controls)
            self._exit = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._exit.__aexit__(kind, error, traceback)

    @property
    def rpc_addresses(self) -> Mapping[str, str]:
        """`host:port` of each cluster's RPC proxy."""
        return {cluster.name: cluster.rpc_address for cluster in self._clusters.values()}

    @property
    def addresses(self) -> Mapping[str, str]:
        """`host:port` of each cluster's HTTP proxy."""
        return {cluster.name: cluster.http_address for cluster in self._clusters.values()}

    def cluster(self, name: str) -> Cluster:
        """One of the clusters; KeyError if there is none of this name."""
        return self._clusters[name]

    async def _keep_house(self) -> Callable[[], Awaitable[None]]:
        """Let every cluster look after itself; returns what ends that."""
        group = asyncio.TaskGroup()
        await group.__aenter__()
        tasks = [
            group.create_task(run())
            for cluster in self._clusters.values()
            for run in (cluster.housekeeping.run, cluster.replicator.run)
        ]

        async def stop() -> None:
            for task in tasks:
                task.cancel()
            await group.__aexit__(None, None, None)

        return stop

    def _file(self, name: str) -> Path | None:
        return self._data_dir / f"{name}.sqlite" if self._data_dir else None


def _listener(port: int | socket.socket) -> socket.socket:
    return socket.create_server((LOOPBACK, port)) if isinstance(port, int) else port


def _max_connections(cluster_count: int) -> int:
    """How many each of so many clusters may have, so that the process always has a file descriptor left."""
    open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if open_files == resource.RLIM_INFINITY:
        return _MANY_CONNECTIONS
    return min(max(open_files - _OTHER_FILES, cluster_count) // cluster_count, _MANY_CONNECTIONS)
