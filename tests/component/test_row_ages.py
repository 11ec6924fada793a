"""How old rows are, asked of a real cluster whose timestamps do not grow with the row index."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.trimming.row_ages import RowAgesReader
from queue_agent.core.queues.snapshots import QueuePartition
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.trimming import ages as trim_ages
from queue_agent.core.trimming.ages import RowFound
from queue_agent.core.trimming.bounds import read_by
from queue_agent.core.trimming.errors import find_trim_error
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import timestamp_of
from queue_agent.core.values.trim_constraints import ConstraintKind
from tests.unguarded import AlwaysPermitted
from yt_local.base.clock import Clock
from yt_local.cluster import Cluster
from yt_local.runner import LocalClusters
from yt_local.schema.rows import encode_values
from yt_local.security.permissions import UNCHECKED, UNLIMITED
from yt_local.store.storage import OrderedRow

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, NOW)
QUEUE = CrossClusterRef("hume", "//tmp/q")
ALICE = CrossClusterRef("hume", "//tmp/alice")
LIFETIME = timedelta(seconds=10)
SCHEMA = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]


@dataclass(frozen=True)
class World:
    """A queue of two partitions."""

    local: Cluster
    cluster: YtCluster
    object_id: str

    def write(self, partition_index: int, seconds_old: Sequence[int]) -> None:
        """Append a row for each age; ages as of `NOW`."""
        state = self.local.state
        tablet = self.local.tables.writable_tablet(self.local.tables.open(QUEUE.path, UNCHECKED), partition_index)
        ages = enumerate(seconds_old, start=tablet.total_row_count)
        with state.change():
            state.storage.append_rows(
                tablet.number,
                [
                    OrderedRow(row_index, timestamp_of(NOW - timedelta(seconds=age)), 0, encode_values((b"x",)))
                    for row_index, age in ages
                ],
            )
            state.tablets.put(replace(tablet, total_row_count=tablet.total_row_count + len(seconds_old)))

    async def find(self, partition_index: int, rows: range, seconds_old: int) -> RowFound | None:
        limit = timestamp_of(NOW - timedelta(seconds=seconds_old))
        return await self.cluster.find_young_row(self.object_id, partition_index, rows, limit)

    async def plan(self, lower: int, upper: int, lifetime: timedelta = LIFETIME, tablet_id: str = "t") -> TrimPlan:
        """What would be trimmed of partition 0, all of which has been read, if it were not for its age."""
        partition = QueuePartition(tablet_id, "mounted", None, None, lower, upper, NOW, Counters())
        config = AutoTrimConfig(enable=True, retained_lifetime_duration=lifetime)
        return TrimPlan(QUEUE, config, {0: PartitionPlan(partition, [read_by(ALICE, upper, upper)])})


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = Clock(NOW.timestamp)
    async with LocalClusters({"hume": 0}, clock=clock) as clusters:
        local = clusters.cluster("hume")
        attributes = {"dynamic": True, "schema": SCHEMA, "tablet_count": 2}
        with local.state.change():
            local.cypress.create(UNLIMITED, QUEUE.path, "table", attributes)
            local.tablets.mount(UNLIMITED, QUEUE.path)
        async with YtCluster("hume", ClusterConfig(proxy=clusters.addresses["hume"])) as cluster:
            yield World(local, cluster, local.resolver.node(QUEUE.path).id)


async def test_the_first_young_row_is_found_wherever_it_is(world: World) -> None:
    world.write(0, [99, 98, 5, 97, 4, 96])
    world.write(1, [99])
    assert await world.find(0, range(6), 10) == RowFound(2, timestamp_of(NOW - timedelta(seconds=5)))
    assert await world.find(0, range(3, 6), 10) == RowFound(4, timestamp_of(NOW - timedelta(seconds=4)))
    assert await world.find(0, range(6), 5) == RowFound(2, timestamp_of(NOW - timedelta(seconds=5)))


async def test_the_last_row_stands_for_all_before_it_if_it_is_there(world: World) -> None:
    world.write(0, [99, 98, 97])
    assert await world.find(0, range(3), 10) == RowFound(2, timestamp_of(NOW - timedelta(seconds=97)))
    assert await world.find(0, range(4), 10) is None


async def test_the_cluster_tells_the_time(world: World) -> None:
    generated = await world.cluster.generate_timestamp()
    assert generated >> 30 == int(NOW.timestamp())


async def test_no_young_row_goes_whatever_the_order_of_timestamps(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trim_ages, "CHUNK_ROW_COUNT", 3)
    randomness = random.Random(7)
    reader = RowAgesReader(chunk_count=2)
    ages: list[int] = []
    lower = 0
    for _ in range(25):
        more = [randomness.choice([3, 9, 10, 11, 50, 50, 50]) for _ in range(randomness.randrange(4))]
        world.write(0, more)
        ages += more
        seconds = randomness.choice([2, 10, 10, 10, 60])
        plan = await world.plan(lower, len(ages), timedelta(seconds=seconds))
        plan = await reader.hold_back(world.cluster, world.object_id, plan, ORIGIN)
        assert find_trim_error(plan, {}, ORIGIN) is None
        target = plan.trims[0].target
        if target is not None:
            # A row exactly at the limit counts as young.
            assert all(age > seconds for age in ages[lower:target])
            await world.cluster.trim_rows(world.object_id, 0, target, AlwaysPermitted())
            lower = target
    assert lower > 0


async def test_many_old_rows_go_piece_by_piece_over_several_passes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trim_ages, "CHUNK_ROW_COUNT", 2)
    world.write(0, [50] * 7)
    reader = RowAgesReader(chunk_count=2)
    reached = []
    for _ in range(3):
        plan = await reader.hold_back(world.cluster, world.object_id, await world.plan(0, 7), ORIGIN)
        reached.append((plan.trims[0].target, plan.trims[0].constraint.kind))
    assert reached == [
        (4, ConstraintKind.RETAINED_LIFETIME_DURATION),
        (7, ConstraintKind.END_OF_PARTITION),
        (7, ConstraintKind.END_OF_PARTITION),
    ]


async def test_a_cluster_that_does_not_tell_the_time_stops_the_iteration(world: World) -> None:
    async with YtCluster("hume", ClusterConfig(proxy="127.0.0.1:1", retry_count=0)) as gone:
        plan = await RowAgesReader().hold_back(gone, world.object_id, await world.plan(0, 7), ORIGIN)
    assert plan.error is not None
    assert plan.error.message == 'Cannot generate timestamp for cluster "hume", trimming iteration skipped'
    assert (plan.trims[0].target, plan.trims[0].constraint.kind) == (None, ConstraintKind.ERROR)


async def test_a_partition_whose_rows_can_not_be_read_is_an_error(world: World) -> None:
    plan = await RowAgesReader().hold_back(world.cluster, "1-2-3-4", await world.plan(0, 7), ORIGIN)
    error = find_trim_error(plan, {}, ORIGIN)
    assert isinstance(error, ErrorInfo)
    [partition_error] = error.inner_errors[0].inner_errors
    limit = timestamp_of(NOW - LIFETIME)
    assert partition_error.message == (
        f"Error getting safe trim row count by timestamp {limit}, not trimming partition 0"
    )
    assert plan.trims[0].target is None


async def test_without_a_lifetime_nothing_is_asked(world: World) -> None:
    plan = await world.plan(0, 7)
    plan = replace(plan, config=AutoTrimConfig(enable=True))
    async with YtCluster("hume", ClusterConfig(proxy="127.0.0.1:1", retry_count=0)) as gone:
        assert await RowAgesReader().hold_back(gone, world.object_id, plan, ORIGIN) == plan
