"""Local clusters for other people's tests, whatever framework those are written with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yt.wrapper
from yt.wrapper import YtClient

from yt_local.base.clock import Clock
from yt_local.base.faults import Cut, Delay, Drop, Effect, Hang, HttpStatus, Refuse, Scope
from yt_local.base.request_log import LoggedRequest
from yt_local.security.permissions import UNLIMITED
from yt_local.tables.dynamic.tablets import TabletRange
from yt_local.thread import ClusterThread
from yt_wire.error import ErrorCode, YtError

__all__ = [
    "Clock",
    "ErrorCode",
    "FaultSwitch",
    "FaultSwitches",
    "LocalCluster",
    "LocalClusterSet",
    "LoggedRequest",
    "YtError",
    "local_clusters",
]

CLIENT_CONFIG: Final[Mapping[str, Any]] = {
    "proxy": {"retries": {"enable": False}},
    "dynamic_table_retries": {"enable": False},
    "ping_failed_mode": "pass",
}
"""Configuration of ytsaurus-client.

Else it tries again for minutes, and interrupts the main thread, and with it a run of tests, when a transaction that
it pings has run out on a clock that was moved.
"""


class FaultSwitch:
    """One fault that has been turned on; on leaving it as a context it is turned off."""

    def __init__(self, thread: ClusterThread, cluster: str, number: int) -> None:
        self._thread = thread
        self._cluster = cluster
        self._number = number
        self._hits = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.turn_off()

    @property
    def hits(self) -> int:
        """Requests that it befell, up to the moment in which it was turned off."""
        fault = self._thread.ask(lambda cluster: cluster.faults.find(self._number), self._cluster)
        if fault:
            self._hits = fault.hits
        return self._hits

    def turn_off(self) -> None:
        """End the fault; requests that it delays go on. Nothing happens if it has ended before."""
        self._hits = self.hits
        self._thread.ask(lambda cluster: cluster.faults.remove(self._number), self._cluster)


class FaultSwitches:
    """Turns on what can go wrong with requests to one cluster.

    Every method takes the names of the commands that are concerned (none: all), a text that is to be found in a path or
    in a query among their parameters, and to how many requests it is to happen (None: all). Of several faults that
    concern a request, the one that was turned on first befalls it. An unknown command is a YtError.
    """

    def __init__(self, thread: ClusterThread, cluster: str) -> None:
        self._thread = thread
        self._cluster = cluster

    def refuse(
        self, *commands: str, path: str = "", count: int | None = None, error: YtError | None = None
    ) -> FaultSwitch:
        """Answer with an error, by default with code 105 (unavailable); nothing is executed.

        In a batch, the part that is concerned gets the error.
        """
        return self._add(Refuse() if error is None else Refuse(error), commands, path, count)

    def delay(self, *commands: str, seconds: float, path: str = "", count: int | None = None) -> FaultSwitch:
        """Execute the command and answer, but only after a while."""
        return self._add(Delay(seconds), commands, path, count)

    def hang(self, *commands: str, path: str = "", count: int | None = None) -> FaultSwitch:
        """Execute nothing and answer nothing, for as long as the fault is on."""
        return self._add(Hang(), commands, path, count)

    def drop(self, *commands: str, path: str = "", count: int | None = None, executed: bool = False) -> FaultSwitch:
        """Close the connection without an answer, before or after the command is executed."""
        return self._add(Drop(executed), commands, path, count)

    def cut(self, *commands: str, path: str = "", count: int | None = None) -> FaultSwitch:
        """Execute the command, send half of the answer, and close the connection."""
        return self._add(Cut(), commands, path, count)

    def http_status(self, *commands: str, status: int, path: str = "", count: int | None = None) -> FaultSwitch:
        """Answer with a bare status, as something between client and proxy does; nothing is executed."""
        return self._add(HttpStatus(status), commands, path, count)

    def clear(self) -> None:
        """Turn off all faults, and the cluster on."""
        self._thread.ask(lambda cluster: cluster.faults.clear(), self._cluster)

    def _add(self, effect: Effect, commands: Sequence[str], path: str, count: int | None) -> FaultSwitch:
        scope = Scope(frozenset(commands), path)
        number = self._thread.ask(lambda cluster: cluster.faults.add(effect, scope, count).number, self._cluster)
        return FaultSwitch(self._thread, self._cluster, number)


class LocalCluster:
    """One cluster, seen from a test; all methods may be called from any thread.

    Args:
        thread: where it runs.
        name: as the other clusters know it.
        clients: closes the clients in the end.
    """

    def __init__(self, thread: ClusterThread, name: str, clients: ExitStack) -> None:
        self.name = name
        self.faults = FaultSwitches(thread, name)
        self._thread = thread
        self._clients = clients
        self._client: YtClient | None = None

    @property
    def address(self) -> str:
        """`host:port` of the HTTP proxy."""
        return self._thread.address(self.name)

    @property
    def url(self) -> str:
        """The HTTP proxy, with `http://`."""
        return f"http://{self.address}"

    @property
    def rpc_address(self) -> str:
        """`host:port` of the RPC proxy, for clients that are given it; others ask the HTTP proxy for it."""
        return self._thread.rpc_address(self.name)

    @property
    def clock(self) -> Clock:
        """Time of this cluster and of those that know it: `advance(seconds)`, `set(moment)`."""
        return self._thread.clock

    @property
    def client(self) -> YtClient:
        """An unmodified ytsaurus-client that does not try again by itself; always the same."""
        if self._client is None:
            self._client = self.make_client()
        return self._client

    def make_client(self, **config: Any) -> YtClient:
        """Another client; its configuration is laid over that of `client`."""
        client = YtClient(self.address, config={**CLIENT_CONFIG, **config})
        self._clients.callback(_close, client)
        return client

    def requests(self, command: str | None = None, path: str = "") -> list[LoggedRequest]:
        """Requests since the start, or since they were forgotten, in order; the last 10,000 are known.

        Args:
            command: only those for this command; batches count if it is a part of them.
            path: only those with this text in a path or in a query.
        """
        scope = Scope(frozenset({command} if command else ()), path)
        return self._thread.ask(
            lambda cluster: [replace(request) for request in cluster.requests.find(scope)], self.name
        )

    def forget_requests(self) -> None:
        """Begin a new list of requests."""
        self._thread.ask(lambda cluster: cluster.requests.clear(), self.name)

    @contextmanager
    def off(self, seconds: float = math.inf) -> Iterator[None]:
        """Nobody reaches the cluster until the context is left, or until so many seconds are over."""
        self._thread.ask(lambda cluster: cluster.faults.turn_off(seconds), self.name)
        try:
            yield
        finally:
            self._thread.ask(lambda cluster: cluster.faults.turn_on(), self.name)

    def unmount_tablet(self, path: str, tablet_index: int | None = None) -> None:
        """Unmount one tablet of a table, or all, as if it had happened by itself."""
        self._thread.ask(lambda cluster: cluster.tablets.unmount(UNLIMITED, path, _range(tablet_index)), self.name)

    def mount_tablet(self, path: str, tablet_index: int | None = None) -> None:
        """Mount one tablet, or all."""
        self._thread.ask(lambda cluster: cluster.tablets.mount(UNLIMITED, path, _range(tablet_index)), self.name)

    def freeze_tablet(self, path: str, tablet_index: int | None = None) -> None:
        """Let one tablet, or all, serve reads only."""
        self._thread.ask(lambda cluster: cluster.tablets.freeze(UNLIMITED, path, _range(tablet_index)), self.name)

    def unfreeze_tablet(self, path: str, tablet_index: int | None = None) -> None:
        """Let one tablet, or all, serve writes again."""
        self._thread.ask(lambda cluster: cluster.tablets.unfreeze(UNLIMITED, path, _range(tablet_index)), self.name)


class LocalClusterSet(Mapping[str, LocalCluster]):
    """Clusters that know each other, by name."""

    def __init__(self, thread: ClusterThread, clients: ExitStack) -> None:
        self.clock = thread.clock
        self._clusters = {name: LocalCluster(thread, name, clients) for name in thread.names}

    def __getitem__(self, name: str) -> LocalCluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._clusters)

    def __len__(self) -> int:
        return len(self._clusters)


@contextmanager
def local_clusters(
    first: str, *others: str, data_dir: Path | None = None, now: datetime | None = None
) -> Iterator[LocalClusterSet]:
    """Run clusters in a thread of this process.

    Args:
        first: name of the cluster that holds the registrations of all.
        others: names of further ones.
        data_dir: keeps their data for the next ones with the same names; None forgets it.
        now: what time it is at the start.
    """
    clock = Clock()
    if now is not None:
        clock.set(now)
    with ClusterThread((first, *others), data_dir, clock) as thread, ExitStack() as clients:
        yield LocalClusterSet(thread, clients)


def _range(tablet_index: int | None) -> TabletRange:
    return TabletRange(tablet_index, tablet_index)


def _close(client: YtClient) -> None:
    session = yt.wrapper.config.get_option("_requests_session", client)
    if session is not None:
        session.close()
