"""Freshness objectives of a consumer on a local cluster: read, counted, kept over restarts, and refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

import aiohttp
import pytest

from tests.component.running_agent import eventually
from tests.component.test_ledger import CONSUMER, World, verdict
from tests.component.test_ledger import _rows as read_rows
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire import yson

OBJECTIVE: Final = f"{CONSUMER}/@queue_agent_objective"
KEYS: Final = ("good_seconds", "bad_seconds", "unknown_seconds")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
        world = World(await stack.enter_async_context(aiohttp.ClientSession()), clusters)
        await world.user.create_queue("//tmp/q")
        await world.user.create_consumer(CONSUMER, "//tmp/q", vital=False)
        yield world


def put(world: World, value: bytes) -> None:
    world.clusters.cluster("hume").cypress.set(UNLIMITED, OBJECTIVE, yson.loads(value))


def total(objective: Any) -> float:
    return float(sum(objective[key] for key in KEYS))


async def test_seconds_go_on_after_a_restart_from_where_they_were_published(world: World) -> None:
    put(world, b"{max_lag_seconds=300;target=0.99;max_gap=90000}")
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await eventually(lambda: verdict(agent), lambda found: (found.get("pace") or {}).get("patience") == 90)
        assert found["objective"]["max_lag_seconds"] == 300
        await eventually(lambda: read_rows(world), lambda rows: len(rows) > 1)
    [kept] = [one for one in world.rows() if one["partition_index"] == -1]
    before = kept["state"][b"objective"]
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await eventually(lambda: verdict(agent), lambda found: "good_seconds" in (found.get("objective") or {}))
        assert found["objective"]["good_seconds"] >= before[b"good"]
        assert total(found["objective"]) >= sum(before[name] for name in (b"good", b"bad", b"unknown"))


async def test_a_value_that_makes_no_sense_is_an_error_of_the_registration_and_never_a_default(world: World) -> None:
    put(world, b"{max_lag_seconds=300;target=%true}")
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        found = await eventually(lambda: verdict(agent), lambda found: "error" in (found.get("objective") or {}))
        # The agent still judges the consumer.
        await eventually(lambda: verdict(agent), lambda found: found["verdict"] in {"ok", "idle"})
        [inner] = found["objective"]["error"]["inner_errors"]
        assert inner["message"] == 'Error reading "target": expected a share above 0 and below 1, got True'
        queue = await eventually(
            lambda: agent.find_queue("hume", "//tmp/q"),
            lambda found: "error" in found["status"]["registrations"][0],
        )
        assert queue["status"]["registrations"][0]["error"]["message"] == (
            'Error parsing attribute "queue_agent_objective"'
        )
        put(world, b"{max_lag_seconds=300;target=0.9}")
        await eventually(lambda: verdict(agent), lambda found: (found.get("objective") or {}).get("target") == 0.9)
        world.clusters.cluster("hume").cypress.remove(UNLIMITED, OBJECTIVE)
        await eventually(lambda: verdict(agent), lambda found: found["objective"] is None)
