"""What is known of a consumer outlives its agent: a restart, a hand-over, and a table that was not there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Final

import aiohttp
import pytest

from queue_agent.app import tasks
from queue_agent.controllers.consumers import ledger_keeper
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED

LEDGER: Final = "//sys/queue_agents/consumer_ledger"
QUEUE: Final = "//tmp/q"
CONSUMER: Final = "//tmp/c"


class World:
    """A queue and a consumer that is not vital, and agents that come and go."""

    def __init__(self, session: aiohttp.ClientSession, clusters: LocalClusters) -> None:
        self.session = session
        self.clusters = clusters
        self.user = User(session, "hume", clusters.addresses["hume"])

    async def start(self, stack: AsyncExitStack) -> RunningAgent:
        agent = running_agent(
            self.session,
            self.clusters.addresses,
            rpc={"host": "127.0.0.1", "port": 0, "advertised_host": "127.0.0.1"},
            membership={"lease": 2000},
            queue_agent_sharding_manager={"pass_period": 100},
        )
        return await stack.enter_async_context(agent)

    async def write(self, count: int) -> None:
        await self.user.insert(QUEUE, [{"data": "x", "$tablet_index": 0} for _ in range(count)])

    async def trim(self, to: int) -> None:
        await self.user.run("trim_rows", path=QUEUE, tablet_index=0, trimmed_row_count=to)

    def rows(self) -> list[Any]:
        return list(self.clusters.cluster("hume").tables.select_rows(UNLIMITED, f"* from [{LEDGER}]"))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        world = World(await stack.enter_async_context(aiohttp.ClientSession()), clusters)
        await world.user.create_queue(QUEUE)
        await world.user.create_consumer(CONSUMER, QUEUE, vital=False)
        yield world


async def verdict(agent: RunningAgent) -> Any:
    document = await agent.find_consumer("hume", CONSUMER)
    queues = ((document or {}).get("status") or {}).get("queues") or {}
    return queues.get(f"hume:{QUEUE}") or {}


async def lose(world: World, agent: RunningAgent) -> dict[str, Any]:
    """Rows are trimmed before they are read; the verdict after it."""
    await world.write(100)
    for target in (10, 20, 30):
        await world.user.advance(CONSUMER, QUEUE, 0, target)
        await eventually(lambda: verdict(agent), lambda found: found.get("drainable_row_count") == 100 - target)  # noqa: B023 - awaited here
    await world.trim(90)
    found = await eventually(
        lambda: verdict(agent), lambda found: found.get("lost_row_count", 0) > 0 and found["verdict"] == "losing"
    )
    return dict(found)


async def kept(world: World) -> None:
    """Until the table tells of the loss."""
    await eventually(lambda: _rows(world), lambda rows: any(row["verdict"] == b"losing" for row in rows))


def totals(found: dict[str, Any]) -> tuple[int, int, int]:
    return found["lost_row_count"], found["possibly_lost_row_count"], found["really_read_row_count"]


async def test_a_restart_takes_nothing_back_and_counts_nothing_twice(world: World) -> None:
    async with AsyncExitStack() as stack:
        before = await lose(world, await world.start(stack))
        assert before["persisted"] is True
        await kept(world)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await eventually(lambda: verdict(agent), lambda found: found.get("verdict", "unknown") != "unknown")
        assert totals(found) == totals(before)
        assert found["loss"]["since"] == before["loss"]["since"]
        assert (found["verdict"], found["verdict_since"]) == (before["verdict"], before["verdict_since"])


@pytest.mark.slow
async def test_rows_that_go_while_no_agent_runs_are_counted(world: World) -> None:
    async with AsyncExitStack() as stack:
        before = await lose(world, await world.start(stack))
        await kept(world)
    await world.write(100)
    await world.trim(190)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await eventually(
            lambda: verdict(agent), lambda found: found.get("lost_row_count", 0) > before["lost_row_count"]
        )
        assert sum(totals(found)[:2]) == sum(totals(before)[:2]) + 100


async def test_whoever_takes_over_goes_on_counting(world: World) -> None:
    async with AsyncExitStack() as survivors:
        async with AsyncExitStack() as dying:
            first = await world.start(dying)
            before = await lose(world, first)
            await kept(world)
            second = await world.start(survivors)
            await eventually(lambda: verdict(second), lambda found: found.get("lost_row_count") is not None)
        found = await eventually(lambda: verdict(second), lambda found: found.get("persisted") is True)
        assert totals(found) == totals(before)


async def waiting(world: World, agent: RunningAgent) -> int | None:
    """Pairs whose changes are due and not written, by the metrics; None: not told yet."""
    async with world.session.get(f"{agent.origin}/metrics") as response:
        lines = (await response.text()).splitlines()
    name = "queue_agent_consumer_ledger_waiting "
    return next((int(float(line.removeprefix(name))) for line in lines if line.startswith(name)), None)


@pytest.mark.slow
async def test_beyond_its_limit_the_ledger_waits_in_memory_says_so_and_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_keeper, "MAX_ROWS", 1)
    monkeypatch.setattr(tasks, "LEDGER_PERIOD", timedelta(milliseconds=500))
    others = [f"//tmp/c{number}" for number in range(6)]
    for other in others:
        await world.user.create_consumer(other, QUEUE, vital=False)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await eventually(lambda: waiting(world, agent), lambda count: count >= 3)
        before = await lose(world, agent)
        await eventually(lambda: waiting(world, agent), lambda count: count == 0)
        names = {path.encode() for path in (CONSUMER, *others)}
        assert {row["consumer_path"] for row in await _rows(world)} == names
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await eventually(lambda: verdict(agent), lambda found: found.get("verdict", "unknown") != "unknown")
        assert totals(found) == totals(before)


async def test_without_the_table_everything_works_in_memory_and_says_so(world: World) -> None:
    await world.user.run("remove", path=LEDGER)
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await lose(world, agent)
        assert found["persisted"] is False
        alerts = await eventually(agent.alerts, lambda alerts: "queue_agent_consumer_ledger_failed" in alerts)
        assert "starts without their history" in alerts["queue_agent_consumer_ledger_failed"]["message"]


async def test_a_row_that_somebody_has_edited_stops_nobody(world: World) -> None:
    async with AsyncExitStack() as stack:
        await lose(world, await world.start(stack))
        await kept(world)
    key = {"queue_cluster": "hume", "queue_path": QUEUE, "consumer_cluster": "hume", "consumer_path": CONSUMER}
    await world.user.insert(
        LEDGER,
        [{**key, "consumer_name": "", "partition_index": index, "state": ["nonsense"]} for index in (-1, 0, 7)],
    )
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await eventually(lambda: verdict(agent), lambda found: found.get("lost_row_count") is not None)
        assert (found["lost_row_count"], found["persisted"]) == (0, True)


async def _rows(world: World) -> list[Any]:
    return world.rows()
