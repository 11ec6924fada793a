"""Local clusters with objects in them, and a whole agent in this process that looks after them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from queue_agent.app.agent import Addresses, run_agent
from queue_agent.config.agent import AgentConfig
from queue_agent.ports.passes import Clock
from tests.waiting import LIMIT_SECONDS

PERIOD_MILLISECONDS: Final = 100
"""Of all passes of an agent, unless a test says something else."""

_POLL_SECONDS: Final = 0.05
_QUEUE_SCHEMA: Final = [
    {"name": "data", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]


class User:
    """Somebody who works with a cluster by commands.

    Args:
        address: `host:port` of the cluster's proxy.
    """

    def __init__(self, session: aiohttp.ClientSession, name: str, address: str) -> None:
        self._session = session
        self._origin = f"http://{address}/api/v4/"
        self._name = name

    async def run(self, command: str, **parameters: Any) -> Any:
        async with self._session.post(self._origin + command, json=parameters) as response:
            assert response.status == 200, await response.text()
            return await response.json(content_type=None)

    async def put(self, command: str, path: str, body: str) -> None:
        """Run a command that takes JSON as its body."""
        headers = {
            "X-YT-Parameters": json.dumps({"path": path}),
            "X-YT-Header-Format": "json",
            "X-YT-Input-Format": '"json"',
        }
        async with self._session.put(self._origin + command, headers=headers, data=body) as response:
            assert response.status == 200, await response.text()

    async def set(self, path: str, value: Any) -> None:
        await self.put("set", path, json.dumps(value))

    async def insert(self, path: str, rows: list[Mapping[str, Any]]) -> None:
        # YTsaurus's JSON writes a leading dollar twice.
        escaped = [{"$" * name.startswith("$") + name: value for name, value in row.items()} for row in rows]
        await self.put("insert_rows", path, "\n".join(map(json.dumps, escaped)))

    async def create_queue(self, path: str, **attributes: Any) -> None:
        whole = {"dynamic": True, "schema": _QUEUE_SCHEMA, **attributes}
        await self.run("create", type="table", path=path, attributes=whole, recursive=True)
        await self.run("mount_table", path=path)

    async def create_consumer(self, path: str, *queues: str, vital: bool = True) -> None:
        """A consumer registered with queues, given as rich paths or as paths on the same cluster."""
        await self.run("create", type="queue_consumer", path=path, recursive=True)
        await self.run("mount_table", path=path)
        for queue in queues:
            await self.run("register_queue_consumer", queue_path=queue, consumer_path=path, vital=vital)

    async def advance(self, consumer: str, queue: str, partition_index: int, offset: int) -> None:
        await self.run(
            "advance_queue_consumer",
            consumer_path=consumer,
            queue_path=queue,
            partition_index=partition_index,
            old_offset=None,
            new_offset=offset,
        )


class MovableClock:
    """The machine's clock, moved by hand; `ports.Clock`."""

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset  # noqa: TID251 - this is the clock the others are given


class RunningAgent:
    """What can be seen of an agent over HTTP."""

    def __init__(self, session: aiohttp.ClientSession, addresses: Addresses) -> None:
        self._session = session
        self.origin = f"http://{addresses.http}"
        self.rpc_address = addresses.rpc

    async def get(self, path: str) -> tuple[int, Any]:
        async with self._session.get(URL(self.origin + path, encoded=True)) as response:
            return response.status, await response.json()

    async def orchid(self, *keys: str) -> Any:
        """The value at a path of the tree; the error as a map if there is none."""
        return (await self.get("/orchid/" + "/".join(quote(key, safe="") for key in keys)))[1]

    async def find_queue(self, cluster: str, path: str) -> Any:
        """Status, partitions and pass of a queue; None if it is not served (yet)."""
        status, document = await self.get(f"/api/v1/queues/{cluster}/{quote(path, safe='')}")
        return document if status == 200 else None

    async def find_consumer(self, cluster: str, path: str) -> Any:
        status, document = await self.get(f"/api/v1/consumers/{cluster}/{quote(path, safe='')}")
        return document if status == 200 else None

    async def alerts(self) -> Any:
        return await self.orchid("alerts")


async def eventually(find: Callable[[], Awaitable[Any]], good: Callable[[Any], bool]) -> Any:
    """What is found, once it is good; AssertionError with the last thing found if that takes too long."""
    found: Any = None
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                found = await find()
                if found is not None and good(found):
                    return found
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise AssertionError(f"never as it should be, at last: {found}") from None


@asynccontextmanager
async def running_agent(
    session: aiohttp.ClientSession,
    proxies: Mapping[str, str],
    *,
    clock: Clock | None = None,
    period_milliseconds: int = PERIOD_MILLISECONDS,
    request_timeout_milliseconds: int = 5000,
    **options: Any,
) -> AsyncIterator[RunningAgent]:
    """An agent whose state is on the first cluster.

    Args:
        proxies: `host:port` by cluster name.
        clock: the machine's by default.
        period_milliseconds: of all passes.
        request_timeout_milliseconds: of the agent's requests to the clusters.
        options: sections of the configuration; those of passes are laid over the periods, and over the lack of a grace
            for slow consumers.
    """
    period = {"pass_period": period_milliseconds}
    queue_agent = dict(options.pop("queue_agent", {}))
    controller = {**period, "trimming_grace": 0, **queue_agent.pop("controller", {})}
    config = AgentConfig.model_validate(
        {
            "stage": "production",
            "host": "agent-1",
            "clusters": {
                name: {"proxy": proxy, "discover_proxies": False, "request_timeout": request_timeout_milliseconds}
                for name, proxy in proxies.items()
            },
            "state": options.pop("state", {"cluster": next(iter(proxies))}),
            "rpc": {"host": "127.0.0.1", "port": 0},
            "http": {"host": "127.0.0.1", "port": 0},
            "cypress_synchronizer": {"policy": "watching", **period, **options.pop("cypress_synchronizer", {})},
            "queue_agent": {**period, **queue_agent, "controller": controller},
            "dynamic_config_manager": {
                "update_period": period_milliseconds,
                **options.pop("dynamic_config_manager", {}),
            },
            **options,
        }
    )
    addresses: asyncio.Future[Addresses] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_agent(config, addresses.set_result, clock))
        try:
            yield RunningAgent(session, await addresses)
        finally:
            task.cancel()
