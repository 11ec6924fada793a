"""Passes that ask only where something has changed publish what passes that ask everything would have published."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count
from typing import Final

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.rounds.round_member import Controller
from queue_agent.core.values.observed import DESCRIPTION_PASSES, OFFSETS_PASSES, is_refresh_due
from tests.component.change_steps import Steps
from tests.component.change_world import CONSUMERS, NAME, QUEUES, START, Requests, World
from yt_local.base.clock import Clock as ClusterClock
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire import yson

STEPS: Final = 150


@pytest.fixture
async def world() -> AsyncIterator[World]:
    seconds = iter(range(10**9))
    time = ClusterClock(lambda: START.timestamp() + next(seconds) / 50)
    requests = Requests()
    async with LocalClusters({NAME: 0}, clock=time) as clusters:
        config = ClusterConfig(proxy=clusters.addresses[NAME], discover_proxies=False)
        async with YtCluster(NAME, config, requests) as adapter:
            yield World(clusters, adapter, requests)


@pytest.mark.parametrize(
    ("seed", "step_count"),
    [(0, STEPS // 4), *(pytest.param(seed, STEPS, marks=pytest.mark.slow) for seed in (1, 2, 3))],
)
async def test_the_change_driven_pass_publishes_what_a_full_pass_would(
    world: World, seed: int, step_count: int
) -> None:
    steps = Steps(world, seed)
    await world.do_passes()
    for _ in range(step_count):
        world.clock.time += timedelta(seconds=1, milliseconds=steps.random.randrange(500))
        steps.do_step()
        try:
            await world.do_passes()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, after {'; '.join(steps.done)}: {error}") from error
    assert world.quiet_passes > step_count / 2, "of five passes a step"


async def test_an_idle_pass_asks_cheap_questions_only(world: World) -> None:
    for queue in QUEUES:
        world.cluster.writer.insert_rows(UNLIMITED, queue.path, [{b"$tablet_index": 1, b"data": b"x"}] * 3)
        for consumer in CONSUMERS:
            world.write_offset(consumer, queue, 1, offset=yson.Uint64(2))
    controllers: list[Controller] = [*world.queues.values(), *world.consumers.values()]
    # Once in so many passes everything is asked; when that is depends on hashes, which differ from process to process.
    last = next(index for index in count(3) if not _asks_everything(index))
    for index in range(last - 3, last):
        for controller in controllers:
            await controller.do_pass(index)
    world.requests.commands.clear()
    for controller in controllers:
        await controller.do_pass(last)
    assert set(world.requests.commands) == {"execute_batch"}


def _asks_everything(pass_index: int) -> bool:
    return any(is_refresh_due(ref, pass_index, DESCRIPTION_PASSES) for ref in QUEUES) or any(
        is_refresh_due(ref, pass_index, OFFSETS_PASSES) for ref in CONSUMERS
    )
