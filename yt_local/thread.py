"""Local clusters in a thread of their own, for callers that block or have an event loop of another kind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from yt_local.base.clock import Clock
from yt_local.cluster import Cluster
from yt_local.runner import LocalClusters

T = TypeVar("T")


class ClusterThread:
    """Clusters that know each other, serving on free ports of the loopback address while entered.

    Args:
        names: of the clusters; the first is home to shared tables.
        data_dir: where states are kept; None for memory.
        clock: time of all of them.
        tokens: user by token.
        require_token: refuse requests without a valid token.
    """

    def __init__(
        self,
        names: Sequence[str],
        data_dir: Path | None = None,
        clock: Clock | None = None,
        *,
        tokens: Mapping[str, str] | None = None,
        require_token: bool = False,
    ) -> None:
        self.names = tuple(names)
        self.clock = clock or Clock()
        self._clusters = LocalClusters(
            dict.fromkeys(names, 0),
            [],
            data_dir,
            self.clock,
            tokens=tokens,
            require_token=require_token,
            test_controls=True,
        )
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="local clusters", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def address(self, name: str) -> str:
        """`host:port` of a cluster's HTTP proxy."""
        return self._clusters.addresses[name]

    def rpc_address(self, name: str) -> str:
        """`host:port` of a cluster's RPC proxy."""
        return self._clusters.rpc_addresses[name]

    def ask(self, look: Callable[[Cluster], T], name: str | None = None) -> T:
        """Run a function on the thread that owns the clusters and give back what it returns, or raise what it raises.

        Args:
            look: is given a cluster.
            name: of that cluster; the first by default.
        """

        async def run() -> T:
            return look(self._clusters.cluster(name or self.names[0]))

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        try:
            async with self._clusters:
                self._started.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)
