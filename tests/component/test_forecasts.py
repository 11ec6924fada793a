"""Forecasts of loss on a local cluster: what they say comes true, to the second where rates are constant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.status.board import AGENT
from queue_agent.core.state.rows import Registration
from queue_agent.core.verdicts.values import Forecast
from tests.component.change_world import CONSUMERS, NAME, QUEUES, FakeClock, Requests, World
from tests.component.test_verdicts import Life
from yt_local.base.clock import Clock as ClusterClock
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire import yson

QUEUE: Final = QUEUES[0]
READER, OTHER = CONSUMERS


class Race(Life):
    """A reader, and another consumer of the same partition, which is vital; the agent trims.

    Args:
        world: the cluster, and the controllers.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.other_offset = 0

    async def begin(self, *, is_vital: bool, **config: Any) -> None:
        """Register both, and let the agent trim if there is a configuration."""
        world = self.world
        world.registrations = {Registration(QUEUE, READER, vital=is_vital), Registration(QUEUE, OTHER, vital=True)}
        if config:
            policy = {"enable": True, **config}
            world.cluster.cypress.set(UNLIMITED, f"{QUEUE.path}/@auto_trim_config", policy)
            stage = world.cluster.cypress.get(UNLIMITED, f"{QUEUE.path}/@queue_agent_stage")
            row = replace(world.queue_rows[QUEUE], auto_trim_config=policy, queue_agent_stage=stage)
            world.queue_rows[QUEUE] = row
        # The grace is counted by the clock of the machine, and these forecasts by the clock of the test.
        world.context.config = ControllerConfig(enable_automatic_trimming=True, trimming_grace=timedelta(0))
        world.put_rows()

    def read_as_other(self, rows: int) -> None:
        self.other_offset = min(self.bounds[1], self.other_offset + rows)
        self.world.write_offset(OTHER, QUEUE, 0, offset=yson.Uint64(self.other_offset))

    async def poll(self) -> None:
        self.world.board.finish_pass(AGENT, 1, self.world.clock.now(), None)
        await self.world.do_pass(self.world.consumers[OTHER], None)
        await super().poll()

    @property
    def forecast(self) -> Forecast:
        return self.verdict.whole.time_to_loss

    async def seconds_until_loss(self, written: int, read: int, read_by_other: int, limit: int) -> int:
        """How long it takes until the next row to read is gone, at constant rates."""
        for second in range(limit):
            if self.bounds[0] > self.offset:
                return second
            self.world.clock.time += timedelta(seconds=1)
            self.act(written, read, read_by_other)
            await self.poll()
        raise AssertionError(f"nothing was lost, forecast: {self.forecast}")

    def act(self, written: int, read: int, read_by_other: int) -> None:
        if written:
            self.write(written)
        if read:
            self.read(read)
        if read_by_other:
            self.read_as_other(read_by_other)


@pytest.fixture
async def race() -> AsyncIterator[Race]:
    clock = FakeClock()
    time = ClusterClock(lambda: clock.now().timestamp())
    async with LocalClusters({NAME: 0}, clock=time) as clusters:
        config = ClusterConfig(proxy=clusters.addresses[NAME], discover_proxies=False)
        async with YtCluster(NAME, config, Requests()) as adapter:
            yield Race(World(clusters, adapter, Requests(), clock))


def _with_ttl(race: Race, seconds: int) -> None:
    for name, value in (
        ("min_data_versions", 0),
        ("max_data_ttl", 1000 * seconds),
        ("dynamic_store_auto_flush_period", 1000),
    ):
        race.world.cluster.cypress.set(UNLIMITED, f"{QUEUE.path}/@{name}", value)


def _is_true(foretold: float | None, taken: int) -> bool:
    """Within 1 % and two seconds; the cluster flushes and looks once a second each."""
    return foretold is not None and abs(taken - foretold) <= 0.01 * foretold + 4


@pytest.mark.slow
@pytest.mark.parametrize("is_vital", [True, False])
async def test_a_dead_reader_loses_rows_by_ttl_when_it_was_foretold(race: Race, is_vital: bool) -> None:
    await race.begin(is_vital=is_vital)
    await race.run(20, lambda _: race.act(10, 100, 0))
    _with_ttl(race, 400)
    await race.run(150, lambda _: race.act(10, 0, 0))
    assert race.verdict.verdict.value == "stopped"
    forecast = race.forecast
    assert (forecast.cause, forecast.subject) == ("ttl", None)
    assert _is_true(forecast.value, await race.seconds_until_loss(10, 0, 0, 300))


@pytest.mark.slow
async def test_a_slow_reader_loses_rows_by_ttl_when_it_was_foretold(race: Race) -> None:
    await race.begin(is_vital=True)
    _with_ttl(race, 300)
    await race.run(320, lambda _: race.act(20, 10, 0))
    forecast = race.forecast
    assert forecast.cause == "ttl"
    assert _is_true(forecast.value, await race.seconds_until_loss(20, 10, 0, 400))


@pytest.mark.slow
async def test_a_slow_reader_falls_behind_what_is_retained_when_it_was_foretold(race: Race) -> None:
    await race.begin(is_vital=False, retained_rows=2500)
    await race.run(320, lambda _: race.act(10, 5, 10))
    forecast = race.forecast
    assert forecast.cause == "retained_rows"
    assert _is_true(forecast.value, await race.seconds_until_loss(10, 5, 10, 300))


@pytest.mark.slow
async def test_a_vital_consumer_that_comes_near_takes_rows_when_it_was_foretold(race: Race) -> None:
    await race.begin(is_vital=False, retained_rows=10)
    race.act(3000, 0, 0)
    await race.run(10, lambda _: race.act(0, 200, 0))
    await race.run(320, lambda _: race.act(1, 0, 4))
    forecast = race.forecast
    assert (forecast.cause, forecast.subject) == ("vital_trimming", str(OTHER))
    assert _is_true(forecast.value, await race.seconds_until_loss(1, 0, 4, 300))


@pytest.mark.slow
async def test_a_reader_behind_a_dead_vital_consumer_loses_nothing(race: Race) -> None:
    await race.begin(is_vital=False, retained_rows=10)
    await race.run(320, lambda _: race.act(10, 5, 0))
    assert race.forecast == Forecast(None, "none")
    assert race.bounds[0] == 0
