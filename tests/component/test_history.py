"""The history of a whole agent: rows get into the queue once, whatever happens."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from queue_agent.cli.init_state import HistoryLocation, init_history
from queue_agent.cli.reach import Reach
from queue_agent.config.clusters import ClusterConfig, HistoryTables
from queue_agent.errors import ClusterError
from tests.component.faulty_proxy import FaultyProxy, Kind
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from tests.ports import reserved_port
from yt_local.runner import LocalClusters

ROOT = "//sys/queue_agents"
TABLES = HistoryTables.below("hume", ROOT)
HISTORY = TABLES.queue.path
QUEUE = "//tmp/q"
CONSUMER = "//tmp/c"
KEY = ("agent_instance", "ts", "pass_index", "kind", "queue", "consumer", "partition", "alert")


@dataclass(frozen=True)
class World:
    """A queue of five rows, a consumer that has read two, and where the history of an agent can be written."""

    user: User
    proxy: FaultyProxy
    session: aiohttp.ClientSession
    rpc_port: int

    async def history(self) -> list[dict[str, Any]]:
        url = f"http://{self.proxy.address}/api/v4/select_rows"
        parameters = json.dumps({"query": f"* from [{HISTORY}]", "output_format": "json"})
        async with self.session.get(url, headers={"X-YT-Parameters": parameters}) as response:
            return [json.loads(line) for line in (await response.text()).splitlines()]

    async def row_count(self) -> int:
        infos = await self.user.run("get_tablet_infos", path=HISTORY, tablet_indexes=[0])
        return int(infos["tablets"][0]["total_row_count"])

    async def grows(self, row_count: int = 20) -> None:
        """Wait until more rows have been written."""
        wanted = await self.row_count() + row_count
        await eventually(self.row_count, lambda count: count >= wanted)

    def agent(self) -> Any:
        """An agent at the same address each time; a context manager."""
        return running_agent(
            self.session,
            {"hume": self.proxy.address},
            request_timeout_milliseconds=2000,
            rpc={"host": "127.0.0.1", "port": self.rpc_port},
            history={"period": 50},
        )


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        address = clusters.addresses["hume"]
        proxy = await stack.enter_async_context(FaultyProxy(address))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        user = User(session, "hume", address)
        await user.create_queue(QUEUE)
        await user.insert(QUEUE, [{"data": "x"}] * 5)
        await user.create_consumer(CONSUMER, QUEUE)
        await user.advance(CONSUMER, QUEUE, 0, 2)
        location = HistoryLocation(Reach(ClusterConfig(proxy=address, discover_proxies=False)), TABLES)
        await init_history(location, False, lambda line: None)
        yield World(user, proxy, session, reserved_port())


async def test_rows_get_there_once_through_lost_answers_an_unmounted_queue_and_a_restart(world: World) -> None:
    with capture_logs():
        async with world.agent() as agent:
            await world.grows()
            async with world.proxy.fault(Kind.HALF, command="push_queue_producer"):
                hits = world.proxy.hits
                await eventually(_value(lambda: world.proxy.hits), lambda count: count > hits + 2)
            await world.grows()
            await world.user.run("unmount_table", path=HISTORY)
            await _alert(agent, "queue_agent_history_failed", raised=True)
            await world.user.run("mount_table", path=HISTORY)
            await _alert(agent, "queue_agent_history_failed", raised=False)
        count = await world.row_count()
        async with world.agent():
            await world.grows()
    rows = await world.history()
    keys = Counter(tuple(row[column] for column in KEY) for row in rows)
    assert [key for key, times in keys.items() if times > 1] == []
    assert len({row["agent_instance"] for row in rows}) == 2
    assert len({row["agent_instance"] for row in rows[:count]}) == 1
    for kind in ("queue", "consumer"):
        passes = [row["pass_index"] for row in rows[:count] if (row["queue"], row["kind"]) == (QUEUE, kind)]
        assert passes == sorted(passes), "in order, and none was lost"
    last = [row for row in rows if row["kind"] == "consumer"][-1]
    assert (last["lower"], last["upper"], last["offset"], last["lag_rows"]) == (0, 5, 2, 3)
    assert (last["consumer"], last["vital"], last["disposition"]) == (f"hume:{CONSUMER}", True, "pending_consumption")


async def test_errors_are_told_once_and_then_by_their_code(world: World) -> None:
    async with world.agent():
        await world.user.run("unmount_table", path=QUEUE)

        async def failures() -> list[dict[str, Any]]:
            return [
                row
                for row in await world.history()
                if row["queue"] == QUEUE and row["kind"] == "queue" and row["error_code"] is not None
            ]

        rows = await eventually(failures, lambda rows: len(rows) >= 5)
    assert rows[0]["error"]
    assert len({row["error"] for row in rows}) < len(rows)


async def test_the_command_makes_both_tables_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    async with LocalClusters({"hume": 0}) as clusters, aiohttp.ClientSession() as session:
        address = clusters.addresses["hume"]
        user = User(session, "hume", address)
        location = HistoryLocation(Reach(ClusterConfig(proxy=address, discover_proxies=False)), TABLES)
        told: list[str] = []
        await init_history(location, True, told.append)
        assert told[-1] == "nothing of this was done"
        assert (await user.run("exists", path=HISTORY))["value"] is False
        await init_history(location, False, told.append)
        for path in (HISTORY, TABLES.producer.path):
            assert (await user.run("get", path=f"{path}/@tablet_state"))["value"] == "mounted"
        policy = (await user.run("get", path=f"{HISTORY}/@auto_trim_config"))["value"]
        assert policy == {"enable": False, "retained_lifetime_duration": 3 * 24 * 3600 * 1000}
        told.clear()
        await init_history(location, False, told.append)
        assert told == [f"nothing to do: the history can be written to {HISTORY}"]
        await user.run("remove", path=HISTORY)
        await user.create_queue(HISTORY)
        with pytest.raises(ClusterError, match="no queue for the history: it has no columns ts"):
            await init_history(location, False, told.append)


@pytest.mark.slow
async def test_a_history_is_made_when_it_is_asked_for_or_configured(tmp_path: Path) -> None:
    async with LocalClusters({"hume": 0}) as clusters, aiohttp.ClientSession() as session:
        address = clusters.addresses["hume"]
        user = User(session, "hume", address)
        config = tmp_path / "agent.yaml"
        head = f"{{stage: production, clusters: {{hume: {{proxy: '{address}'}}}}, state: {{cluster: hume}}"

        async def run(text: str, *options: str) -> list[str]:
            config.write_text(text)
            arguments = ["init-state", "--config", str(config), *options]
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "queue_agent", *arguments, stdout=asyncio.subprocess.PIPE
            )
            output, _ = await process.communicate()
            assert process.returncode == 0
            return output.decode().splitlines()

        assert "history" not in (await run(head + "}"))[-1]
        assert (await run(head + "}", "--history"))[-1] == f"mount {TABLES.producer.path}"
        assert (await run(head + ", history: {queue: //home/history}}"))[-2:] == [
            "create history queue //home/history",
            "mount //home/history",
        ]
        assert (await user.run("get", path="//home/history/@tablet_state"))["value"] == "mounted"


def _value(find: Any) -> Any:
    async def value() -> Any:
        return find()

    return value


async def _alert(agent: RunningAgent, category: str, *, raised: bool) -> None:
    await eventually(agent.alerts, lambda alerts: (category in alerts) is raised)
