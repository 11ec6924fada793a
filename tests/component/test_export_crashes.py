"""Whatever becomes of those who export, every row gets into the tables once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.exports import yt_exports
from queue_agent.adapters.exports.yt_exports import YtExports
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.exports.task import ExportTask, run_export_task
from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ActionRefused
from queue_agent.ports.cluster import Permit
from tests.component.export_world import PERIOD, ExportWorld, export_world
from tests.component.faulty_proxy import FaultyProxy, Kind
from tests.component.running_agent import eventually
from tests.unguarded import AlwaysPermitted
from yt_wire.error import ErrorCode, YtError

ORIGIN = Origin("agent-1", 481, 7, "Exports:0", 8, "1-2-3-4", 9, datetime(2025, 1, 23, tzinfo=UTC))
LEASE = 61
"""Seconds after which a transaction is over that nobody pings."""


@dataclass
class Exporters:
    """Runs tasks by a proxy that may die."""

    world: ExportWorld
    cluster: YtCluster

    async def export(self, number: int, permit: Permit) -> ExportOutcome:
        task = ExportTask(
            CrossClusterRef("hume", queue_of(number)),
            "minutely",
            ExportConfig(EveryPeriod(PERIOD), directory_of(number)),
            self.world.clock.now(),
            max_table_count=10,
            check_row_counts=True,
            origin=ORIGIN,
        )
        return await run_export_task(task, YtExports(self.cluster), permit)

    async def make(self, number: int) -> int:
        """A queue with rows for two tables, and a directory for it; gives the tick of the second."""
        queue = queue_of(number)
        await self.world.user.create_queue(queue, tablet_count=2)
        await self.world.make_directory(directory_of(number), queue)
        for values in (("a", "b"), ("c", "d")):
            tick = self.world.to_next_tick()
            await self.world.user.insert(
                queue, [{"data": value, "$tablet_index": index} for index, value in enumerate(values)]
            )
            await self.world.flush(queue)
        self.world.to_next_tick()
        return tick

    async def tables(self, number: int) -> list[list[str]]:
        return list((await self.world.tables(directory_of(number))).values())


def queue_of(number: int) -> str:
    return f"//tmp/q{number}"


def directory_of(number: int) -> str:
    return f"//tmp/exported{number}"


@pytest.fixture
async def exporters() -> AsyncIterator[Exporters]:
    async with export_world() as world:
        config = ClusterConfig(proxy=world.proxy.address, discover_proxies=False, retry_count=0)
        async with YtCluster("hume", config) as cluster:
            yield Exporters(world, cluster)


ALL = [["a", "b"], ["c", "d"]]


@pytest.mark.slow
async def test_who_is_killed_leaves_nothing_undone_and_nothing_done_twice(exporters: Exporters) -> None:
    world = exporters.world
    died_at_least_once = False
    for number in range(1, 60):
        await exporters.make(number)
        async with world.proxy.dying(number):
            first = await exporters.export(number, AlwaysPermitted())
            survived = not world.proxy.is_dead
        assert survived == (first.error is None)
        assert await exporters.tables(number) in ([], ALL)
        if survived:
            break
        died_at_least_once = True
        world.advance(LEASE)
        again = await once_unlocked(exporters, number)
        assert again.error is None
        assert await exporters.tables(number) == ALL
    assert survived
    assert died_at_least_once


async def once_unlocked(exporters: Exporters, number: int) -> ExportOutcome:
    """The outcome of the first task that is not kept away by what the one before has locked."""

    async def find() -> ExportOutcome:
        return await exporters.export(number, AlwaysPermitted())

    outcome = await eventually(find, lambda outcome: outcome.error is None)
    assert isinstance(outcome, ExportOutcome)
    return outcome


async def test_of_two_at_once_one_exports(exporters: Exporters) -> None:
    await exporters.make(0)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(exporters.export(0, AlwaysPermitted())) for _ in range(2)]
    outcomes = [task.result() for task in tasks]
    assert await exporters.tables(0) == ALL
    assert sum(len(outcome.made) for outcome in outcomes if outcome.after is not None) == len(ALL)
    errors = [outcome.error.to_map() for outcome in outcomes if outcome.error is not None]
    assert all(YtError.from_map(error).find(ErrorCode.CYPRESS_LOCK_CONFLICT) for error in errors)


class NoPermit:
    """Of an agent that does not lead the queue any more."""

    seconds = 1.0

    def check(self) -> None:
        raise ActionRefused("another agent leads it")


async def test_who_does_not_lead_any_more_makes_nothing(exporters: Exporters) -> None:
    await exporters.make(0)
    with pytest.raises(ActionRefused, match="another agent leads it"):
        await exporters.export(0, NoPermit())
    assert await exporters.tables(0) == []
    assert (await exporters.export(0, AlwaysPermitted())).error is None
    assert await exporters.tables(0) == ALL


async def test_a_table_may_take_longer_than_a_transaction_lives_without_a_ping(
    exporters: Exporters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yt_exports, "_PING_SECONDS", 0.05)
    world, proxy = exporters.world, exporters.world.proxy
    await exporters.make(0)
    async with asyncio.TaskGroup() as group, proxy.fault(Kind.HELD, command="write_table"):
        task = group.create_task(exporters.export(0, AlwaysPermitted()))
        await reached(proxy, 1)
        async with proxy.fault(Kind.SLOW, about="ping_transaction"):
            for _ in range(9):  # in steps, for several transactions may be pinged, and the last ping be on its way
                world.cluster_clock.advance(timedelta(seconds=LEASE / 6))
                await reached(proxy, proxy.hits + 2)
    outcome = task.result()
    assert outcome.error is None
    assert await exporters.tables(0) == ALL


async def reached(proxy: FaultyProxy, hits: int) -> None:
    """Wait until faults have befallen so many requests."""

    async def find() -> int:
        return proxy.hits

    await eventually(find, lambda found: found >= hits)
