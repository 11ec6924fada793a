"""An account that fills up, as a whole agent with its clock set sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Final

import aiohttp
import pytest

from queue_agent.app import tasks
from queue_agent.controllers.queues import account_watch
from tests.component.running_agent import MovableClock, RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters

QUEUE: Final = "//tmp/q"
SLOW: Final = "//tmp/slow"
ACCOUNT: Final = "logs@home"
"""Special characters of paths are allowed in names of accounts."""

PLENTY: Final = 1 << 40
ROWS: Final[list[Mapping[str, Any]]] = [{"data": "x" * 100, "$tablet_index": 0}] * 100


class World:
    """A queue whose vital consumer has read one row, an account that pays for it, and an agent."""

    def __init__(self, user: User, agent: RunningAgent, clock: MovableClock) -> None:
        self.user = user
        self.agent = agent
        self.clock = clock

    async def quota(self) -> Any:
        document = await self.agent.find_queue("hume", QUEUE)
        return ((document or {}).get("status") or {}).get("time_to_quota")

    async def trim(self) -> Any:
        """What trimming has decided about the queue's partition; None: nothing yet."""
        document = await self.agent.find_queue("hume", QUEUE)
        partitions = (document or {}).get("partitions")
        return partitions[0].get("trim") if partitions else None

    async def alerts(self) -> list[Any]:
        _, answer = await self.agent.get("/api/v1/alerts")
        return [one for one in answer["alerts"] if one["kind"] == "account"]

    async def grow(self, minutes: int, is_known: Callable[[Any], bool]) -> Any:
        """Write for some minutes of the agent's clock, each time until the account pays for it; the forecast then."""
        for _ in range(minutes):
            before = (await self.quota())["used"]
            await self.user.insert(QUEUE, ROWS)
            self.clock.offset += timedelta(minutes=1)
            await eventually(self.quota, lambda found: found["used"] > before)  # noqa: B023 - awaited here
        return await eventually(self.quota, is_known)


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(tasks, "ACCOUNTS_PERIOD", timedelta(milliseconds=50))
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        user = User(session, "hume", clusters.addresses["hume"])
        limits = {
            **dict.fromkeys(("node_count", "chunk_count", "tablet_count"), PLENTY),
            "disk_space_per_medium": {"default": 2_000_000},
        }
        await user.run("create", type="account", attributes={"name": ACCOUNT, "resource_limits": limits})
        await user.create_queue(
            QUEUE, account=ACCOUNT, dynamic_store_auto_flush_period=1, auto_trim_config={"enable": True}
        )
        await user.create_consumer(SLOW, QUEUE)
        await user.insert(QUEUE, ROWS)
        await user.advance(SLOW, QUEUE, 0, 1)
        clock = MovableClock()
        agent = await stack.enter_async_context(
            running_agent(
                session,
                clusters.addresses,
                clock=clock,
                queue_agent={"controller": {"enable_automatic_trimming": True}},
            )
        )
        yield World(user, agent, clock)


@pytest.mark.slow
async def test_the_time_to_full_quota_follows_growth_and_names_who_holds_the_rows(world: World) -> None:
    first = await eventually(world.quota, lambda found: found["used"] > 0)
    await eventually(world.trim, lambda found: found["constraint"]["held_row_count"] == 99)
    assert (first["account"], first["value"], first["cause"]) == (ACCOUNT, None, "unknown")
    assert await world.alerts() == []
    quota = await world.grow(7, lambda found: found["subject"] is not None)
    assert (quota["resource"], quota["medium"], quota["limit"]) == ("disk_space", "default", 2_000_000)
    assert quota["subject"] == f"hume:{SLOW}"
    assert quota["held_share"] > 0.6
    growth = (quota["used"] - first["used"]) / 420
    assert quota["growth_per_second"] == pytest.approx(growth, rel=0.2)
    assert quota["value"] == pytest.approx((2_000_000 - quota["used"]) / quota["growth_per_second"])
    [alert] = await world.alerts()
    assert (alert["category"], alert["queue"]) == ("queue_agent_account_full_soon", f"hume:{QUEUE}")
    assert f"hume:{SLOW} holds rows of hume:{QUEUE}" in alert["reason"]
    # It has read everything: the rows go, and nothing grows any more.
    await world.user.advance(SLOW, QUEUE, 0, 800)
    await eventually(world.quota, lambda found: found["used"] < quota["used"] / 10)
    world.clock.offset += timedelta(minutes=15)
    assert await eventually(world.alerts, lambda found: found == []) == []


async def test_a_queue_that_another_account_pays_for_is_found_to_be_in_that_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_watch, "_REFRESH_PASSES", 1)
    await eventually(world.quota, lambda found: found["account"] == ACCOUNT)
    await world.user.set(f"{QUEUE}/@account", "tmp")
    assert (await eventually(world.quota, lambda found: found["account"] == "tmp"))["value"] is None
