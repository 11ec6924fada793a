"""A queue with a static export, the cluster it is on, and agents that make its tables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import aiohttp
from yt.wrapper import YtClient

from tests.component.faulty_proxy import FaultyProxy
from tests.component.running_agent import MovableClock, RunningAgent, User, eventually, running_agent
from yt_local.base.clock import Clock
from yt_local.runner import LocalClusters
from yt_local.testing import CLIENT_CONFIG

QUEUE: Final = "//tmp/q"
DIRECTORY: Final = "//tmp/exported"
PROGRESS: Final = f"{DIRECTORY}/@queue_static_export_progress"
DESTINATION: Final = f"{DIRECTORY}/@queue_static_export_destination"
PERIOD: Final = 60
EXPORTING: Final[Mapping[str, Any]] = {
    "controller": {
        "queue_exporter": {"enable": True, "pass_period": 50, "retry_backoff": {"min_backoff": 50, "max_backoff": 100}}
    },
    "queue_export_manager": {"export_rate_limit": 1000},
}

LEASE: Final = 3_600_000

T = TypeVar("T")


@dataclass
class ExportWorld:
    """Rows are written and flushed by a user, at the time both clocks show."""

    user: User
    proxy: FaultyProxy
    client: YtClient
    cluster_clock: Clock
    clock: MovableClock
    session: aiohttp.ClientSession
    stack: AsyncExitStack
    options: dict[str, Any] = field(default_factory=dict)

    async def ask(self, question: Callable[[YtClient], T]) -> T:
        """Of the cluster, by the real client."""
        return await asyncio.to_thread(question, self.client)

    async def get(self, path: str) -> Any:
        return await self.ask(lambda client: client.get(path))

    async def configure(self, **changes: Any) -> None:
        """Ask for an export, by the minute unless something else is said."""
        one = {"export_directory": DIRECTORY, "export_period": PERIOD * 1000, **changes}
        await self.user.set(f"{QUEUE}/@static_export_config", {"minutely": one})

    async def make_directory(self, path: str = DIRECTORY, queue: str = QUEUE) -> None:
        await self.user.run("create", type="map_node", path=path, ignore_existing=True)
        queue_id = await self.get(f"{queue}/@id")
        await self.user.set(f"{path}/@queue_static_export_destination", {"originating_queue_id": queue_id})

    async def write(self, *values: str, tablet_index: int = 0, queue: str = QUEUE) -> None:
        """Rows that are a chunk of their own at once."""
        await self.user.insert(queue, [{"data": value, "$tablet_index": tablet_index} for value in values])
        await self.flush(queue)

    async def flush(self, queue: str = QUEUE) -> None:
        await self.user.run("freeze_table", path=queue)
        await self.user.run("unfreeze_table", path=queue)

    def advance(self, seconds: float) -> None:
        """Let time go by, for cluster and agents."""
        self.cluster_clock.advance(timedelta(seconds=seconds))
        self.clock.offset += timedelta(seconds=seconds)

    def now(self) -> int:
        return int(self.clock.now().timestamp())

    def to_next_tick(self, period: int = PERIOD) -> int:
        """Go to the beginning of the next period, a moment behind its tick; gives the tick."""
        tick = self.now() // period * period + period
        self.advance(tick + 0.5 - self.clock.now().timestamp())
        return tick

    async def start(self, *, enable: bool = True, **options: Any) -> RunningAgent:
        """An agent that exports."""
        options = {"queue_agent": EXPORTING if enable else {}, **options}
        return await self.stack.enter_async_context(self.running("agent-1", **options))

    def running(self, host: str, **options: Any) -> AbstractAsyncContextManager[RunningAgent]:
        """An agent that stays a member while time is moved."""
        options = {"queue_agent": EXPORTING, "membership": {"lease": LEASE}, **options}
        return running_agent(self.session, {"hume": self.proxy.address}, clock=self.clock, host=host, **options)

    async def tables(self, directory: str = DIRECTORY) -> dict[str, list[str]]:
        """The values in each table there is."""

        def read(client: YtClient) -> dict[str, list[str]]:
            return {
                str(name): [row["data"] for row in client.read_table(f"{directory}/{name}")]
                for name in sorted(client.list(directory))
            }

        return await self.ask(read)

    async def exported(self, *tables: list[str], directory: str = DIRECTORY) -> dict[str, list[str]]:
        """The tables, once they hold just these values."""
        found = await eventually(lambda: self.tables(directory), lambda found: list(found.values()) == list(tables))
        assert isinstance(found, dict)
        return found

    async def task_done(self, tick: int) -> dict[str, Any]:
        """The progress, once a task has been done with no earlier than a tick."""
        moment = datetime.fromtimestamp(tick, UTC).strftime("%Y-%m-%dT%H:%M:%S")

        async def find() -> Any:
            return await self.ask(lambda client: client.get_attribute(DIRECTORY, "queue_static_export_progress", {}))

        found = await eventually(find, lambda found: found.get("last_export_task_instant", "") >= moment)
        assert isinstance(found, dict)
        return found


@asynccontextmanager
async def export_world(tablet_count: int = 1, **attributes: Any) -> AsyncIterator[ExportWorld]:
    cluster_clock, clock = Clock(), MovableClock()
    async with (
        LocalClusters({"hume": 0}, clock=cluster_clock) as clusters,
        FaultyProxy(clusters.addresses["hume"]) as proxy,
        aiohttp.ClientSession() as session,
        AsyncExitStack() as stack,
    ):
        address = clusters.addresses["hume"]
        user = User(session, "hume", address)
        only_proxy = {**CLIENT_CONFIG["proxy"], "enable_proxy_discovery": False}
        client = YtClient(address, config={**CLIENT_CONFIG, "proxy": only_proxy, "read_retries": {"enable": False}})
        world = ExportWorld(user, proxy, client, cluster_clock, clock, session, stack)
        await user.create_queue(QUEUE, tablet_count=tablet_count, **attributes)
        yield world
