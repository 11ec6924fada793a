"""Local clusters as a service of this machine: at ports that people know, with tokens in files, for browsers by name.

Modules that take long to import are imported in functions: whoever starts other processes too does that meanwhile.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from yt_wire.address import is_loopback, reachable_address
from yt_wire.http_guard import host_name, origin_name
from yt_wire.private_files import write_new

if TYPE_CHECKING:
    from yt_local.proxy.http.browsers import AllowedBrowsers

LOOPBACK: Final = "127.0.0.1"
DEFAULT_CLUSTERS: Final = ("pythia=8001", "hume=8002")

_CLUSTER: Final = re.compile(r"([A-Za-z0-9_-]+)=([0-9]{1,5})(?::([0-9]{1,5}))?")


class ServiceError(Exception):
    """The clusters cannot be served; the message is for people."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """What to serve."""

    clusters: Mapping[str, int]
    """HTTP port by name; the first cluster is home to shared tables. 0 chooses a free port."""

    rpc_ports: Mapping[str, int]
    """RPC port by name of the cluster; others get a free one."""

    data_dir: Path | None
    """Where everything is kept; None forgets it at the end."""

    host: str = LOOPBACK
    """Address to listen at."""

    require_token: bool = False
    """Whether requests without a valid token are refused."""

    test_controls: bool = False
    """Whether `/test/...` is served."""

    allowed_hosts: Sequence[str] = ()
    """Names by which clients call this machine, besides `localhost` and addresses."""

    allowed_origins: Sequence[str] = ()
    """Pages of other servers that may use the clusters from a browser."""


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A user, and the file with the token by which clusters know that user."""

    user: str
    path: Path

    @classmethod
    def in_directory(cls, directory: Path, user: str) -> Self:
        """The file of a user, made with a new token if it is not there yet; ServiceError if it cannot be."""
        path = directory / f"{user}.token"
        try:
            write_new(path, secrets.token_hex(16))
        except OSError as error:
            raise ServiceError(f"cannot keep tokens: {error}") from error
        return cls(user, path)

    @property
    def token(self) -> str:
        return self.path.read_text().strip()


class ClusterService:
    """Clusters of this machine: connections wait from the beginning, and are served while `serving` is entered.

    Args:
        options: what to serve.
        stack: closes what listens and was never served.

    Raises:
        ServiceError: a port is taken; or strangers could reach clusters that ask nobody for a token.
    """

    def __init__(self, options: ServiceOptions, stack: ExitStack | AsyncExitStack) -> None:
        if not options.require_token and not is_loopback(options.host):
            raise ServiceError(f"clusters listen on {options.host}, beyond this machine, only with --require-token")
        self._options = options
        self._http = {
            name: stack.enter_context(listen(port, f"cluster {name}", options.host))
            for name, port in options.clusters.items()
        }
        self._rpc = {
            name: stack.enter_context(listen(options.rpc_ports.get(name, 0), f"RPC of cluster {name}", options.host))
            for name in options.clusters
        }

    @property
    def addresses(self) -> Mapping[str, str]:
        """`host:port` of each cluster's HTTP proxy."""
        return {name: reachable_address(listener) for name, listener in self._http.items()}

    @property
    def rpc_addresses(self) -> Mapping[str, str]:
        """`host:port` of each cluster's RPC proxy."""
        return {name: reachable_address(listener) for name, listener in self._rpc.items()}

    @asynccontextmanager
    async def serving(self, agents: Sequence[str], tokens: Sequence[TokenFile]) -> AsyncIterator[None]:
        """Serve.

        Args:
            agents: RPC addresses of the queue agents that answer for statuses.
            tokens: of users that are there from the start.

        Raises:
            ServiceError: the data cannot be used, or a name is none.
        """
        from yt_local.runner import LocalClusters
        from yt_local.store.database import StorageError

        options = self._options
        try:
            if options.data_dir is not None:
                options.data_dir.mkdir(parents=True, exist_ok=True)
            clusters = LocalClusters(
                self._http,
                agents,
                options.data_dir,
                rpc_ports=self._rpc,
                test_controls=options.test_controls,
                tokens={file.token: file.user for file in tokens},
                require_token=options.require_token,
                browsers=_browsers(options),
            )
            await clusters.__aenter__()
        except (OSError, StorageError) as error:
            raise ServiceError(f"cannot start the clusters: {error}") from error
        try:
            yield
        finally:
            await clusters.__aexit__(None, None, None)


def ready_parts(clusters: ClusterService) -> Sequence[str]:
    """What a line that tells where everything is says of each cluster."""
    return [
        f"{name} http://{address} (rpc {clusters.rpc_addresses[name]})" for name, address in clusters.addresses.items()
    ]


def parse_clusters(texts: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """HTTP ports, and RPC ports where they are named, by cluster name.

    Args:
        texts: `NAME=HTTP_PORT` or `NAME=HTTP_PORT:RPC_PORT`.

    Raises:
        ServiceError: a text is neither, or a name is there twice.
    """
    http_ports: dict[str, int] = {}
    rpc_ports: dict[str, int] = {}
    for text in texts:
        match = _CLUSTER.fullmatch(text)
        if match is None or any(int(port) > 65535 for port in match.groups(default="0")[1:]):
            raise ServiceError(
                "--cluster takes NAME=HTTP_PORT or NAME=HTTP_PORT:RPC_PORT, a name of letters, digits, - and _, and"
                f" ports; got {text!r}"
            )
        name, http_port, rpc_port = match.groups()
        if name in http_ports:
            raise ServiceError(f"--cluster names {name!r} twice")
        http_ports[name] = int(http_port)
        if rpc_port is not None:
            rpc_ports[name] = int(rpc_port)
    return http_ports, rpc_ports


def listen(port: int, whose: str, host: str = LOOPBACK) -> socket.socket:
    """A socket that listens; ServiceError, naming whose port it is, if it cannot."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        # A name that nobody knows has a message of its own, not a number of the system's.
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise ServiceError(f"cannot listen on {host}:{port} for {whose}: {reason}") from error


def _browsers(options: ServiceOptions) -> AllowedBrowsers:
    """The address they listen at is a name they have, too."""
    from yt_local.proxy.http.browsers import AllowedBrowsers

    try:
        hosts = [host_name(name) for name in options.allowed_hosts]
        if ":" not in options.host:
            hosts.append(host_name(options.host))
        origins = [origin_name(page) for page in options.allowed_origins]
    except ValueError as error:
        raise ServiceError(str(error)) from error
    return AllowedBrowsers(hosts, origins)
