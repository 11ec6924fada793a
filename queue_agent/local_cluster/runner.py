"""Local clusters of one process: started, introduced to each other, served and stopped together."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from queue_agent.local_cluster.bootstrap import Connection, publish_connection
from queue_agent.local_cluster.clock import Clock
from queue_agent.local_cluster.cluster import Cluster
from queue_agent.local_cluster.commands import COMMANDS
from queue_agent.local_cluster.directory import ClusterDirectory
from queue_agent.local_cluster.orchid_gateway import OrchidGateway
from queue_agent.local_cluster.server import HttpProxy

LOOPBACK: Final = "127.0.0.1"


class LocalClusters:
    """Any number of clusters, serving while entered.

    Args:
        ports: HTTP port by cluster name, in order; the first is home to shared tables. 0 chooses a free port, and in
            place of a port a socket may be given that listens already; it is closed at the end.
        agents: RPC addresses of the queue agents that answer for statuses.
        data_dir: where states are kept, a file a cluster; None for memory.
        clock: time of all of them.
        tokens: user by token, for users that are there from the start, such as `root`.
        require_token: refuse requests without a valid token; else they are root's.
    """

    def __init__(
        self,
        ports: Mapping[str, int | socket.socket],
        agents: Sequence[str] = (),
        data_dir: Path | None = None,
        clock: Clock | None = None,
        *,
        tokens: Mapping[str, str] | None = None,
        require_token: bool = False,
    ) -> None:
        self._ports = ports
        self._agents = agents
        self._data_dir = data_dir
        self._clock = clock or Clock()
        self._tokens = tokens or {}
        self._require_token = require_token
        self._directory = ClusterDirectory()
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            gateway = await stack.enter_async_context(OrchidGateway())
            proxies = {name: HttpProxy(stack.enter_context(_listener(port))) for name, port in self._ports.items()}
            for name, proxy in proxies.items():
                cluster = Cluster(
                    name,
                    proxy.address,
                    self._file(name),
                    COMMANDS,
                    self._directory,
                    gateway,
                    self._clock,
                    require_token=self._require_token,
                )
                stack.callback(cluster.close)
                for token, user in self._tokens.items():
                    cluster.tokens.add(user, token)
            connection = Connection({name: proxy.address for name, proxy in proxies.items()}, self._agents)
            for cluster in self._directory:
                publish_connection(cluster.state, cluster.cypress, cluster.name, connection)
                stack.push_async_callback(proxies[cluster.name].stop)
                await proxies[cluster.name].serve(cluster)
            self._exit = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._exit.__aexit__(kind, error, traceback)

    @property
    def addresses(self) -> Mapping[str, str]:
        """`host:port` of each cluster's HTTP proxy."""
        return {cluster.name: cluster.http_address for cluster in self._directory}

    def cluster(self, name: str) -> Cluster:
        """One of the clusters; KeyError if there is none of this name."""
        cluster = self._directory.find(name)
        if cluster is None:
            raise KeyError(name)
        return cluster

    def _file(self, name: str) -> Path | None:
        return self._data_dir / f"{name}.sqlite" if self._data_dir else None


def _listener(port: int | socket.socket) -> socket.socket:
    return socket.create_server((LOOPBACK, port)) if isinstance(port, int) else port
