"""An agent on replicated queues and consumers of local clusters: whom it asks, what it writes down, what it trims."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.cli.references import parse_table
from queue_agent.cli.trim_plan import fetch_plan
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.trimming.replica_alignment import CopyOfQueue, confirm_alignment
from queue_agent.core.queues.snapshots import QueuePartition
from queue_agent.core.trimming.bounds import read_by
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.error_info import Origin
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.runner import LocalClusters

QUEUE = "//tmp/q"
CONSUMER = "//tmp/c"
NEAR, FAR = CrossClusterRef("hume", QUEUE), CrossClusterRef("pythia", QUEUE)
CONSUMER_REF = CrossClusterRef("meta", CONSUMER)
START = datetime(2025, 1, 23, tzinfo=UTC)
ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, START)
SCHEMA = [
    {"name": "data", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]
MODES = {"hume": "sync", "pythia": "async"}
HANDLED = {"handle_replicated_objects": True, "controller": {"enable_automatic_trimming": True}}


@dataclass
class World:
    """A meta-cluster, two clusters with replicas, and a replicated queue with a vital consumer."""

    clusters: LocalClusters
    users: Mapping[str, User]
    session: aiohttp.ClientSession
    stack: AsyncExitStack
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def meta(self) -> User:
        return self.users["meta"]

    async def start(self) -> RunningAgent:
        agent = running_agent(
            self.session,
            self.clusters.addresses,
            queue_agent=HANDLED,
            cypress_synchronizer={"write_replicated_table_mapping": True},
        )
        return await self.stack.enter_async_context(agent)

    async def replicate(self, path: str, schema: Any, **attributes: Any) -> None:
        """Make a replicated table and its replicas, at the same path on each cluster."""
        whole = {"dynamic": True, "schema": schema, **attributes}
        await self.meta.run("create", type="replicated_table", path=path, attributes=whole)
        for name, mode in MODES.items():
            replica = {"table_path": path, "cluster_name": name, "replica_path": path, "mode": mode, "enabled": True}
            answer = await self.meta.run("create", type="table_replica", attributes=replica)
            self.ids[f"{name}:{path}"] = answer["object_id"]
            copy = {"dynamic": True, "schema": schema, "upstream_replica_id": answer["object_id"]}
            await self.users[name].run("create", type="table", path=path, attributes=copy)
            await self.users[name].run("mount_table", path=path)
        await self.meta.run("mount_table", path=path)

    async def write(self, *row_counts: int) -> None:
        """Transactions of so many rows."""
        for row_count in row_counts:
            await self.meta.insert(QUEUE, [{"data": "x"}] * row_count)

    async def make_anew(self, name: str) -> None:
        """A replica that has none of the rows that it had; it is disabled before and afterwards."""
        await self.alter(name, enabled=False)
        await self.users[name].run("remove", path=QUEUE)
        await self.users[name].create_queue(QUEUE, upstream_replica_id=self.ids[f"{name}:{QUEUE}"])

    async def lose(self, row_count: int) -> None:
        """Recreated replicas, of which the synchronous one has so many rows that the other lacks."""
        if row_count == 0:
            return
        for name in MODES:
            await self.make_anew(name)
        for name in MODES:
            await self.alter(name, enabled=True)
        await self.write(*[1] * row_count)
        await self.has_rows("pythia", 0, row_count)
        await self.make_anew("pythia")
        await self.alter("pythia", enabled=True)

    async def alter(self, name: str, path: str = QUEUE, **changes: Any) -> None:
        await self.meta.run("alter_table_replica", replica_id=self.ids[f"{name}:{path}"], **changes)

    async def row_counts(self, name: str) -> tuple[int, int]:
        """Trimmed and total, of the replica of the queue on a cluster."""
        infos = await self.users[name].run("get_tablet_infos", path=QUEUE, tablet_indexes=[0])
        [info] = infos["tablets"]
        return info["trimmed_row_count"], info["total_row_count"]

    async def has_rows(self, name: str, trimmed: int, total: int) -> None:
        await eventually(lambda: self.row_counts(name), lambda counts: counts == (trimmed, total))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with (
        LocalClusters({"meta": 0, "hume": 0, "pythia": 0}) as clusters,
        aiohttp.ClientSession() as session,
        AsyncExitStack() as stack,
    ):
        users = {name: User(session, name, address) for name, address in clusters.addresses.items()}
        world = World(clusters, users, session, stack)
        await world.replicate(QUEUE, SCHEMA)
        await world.meta.run("create", type="queue_consumer", path="//tmp/model")
        [schema] = [(await world.meta.run("get", path="//tmp/model/@schema"))["value"]]
        await world.replicate(CONSUMER, schema, treat_as_queue_consumer=True)
        await world.meta.run("register_queue_consumer", queue_path=QUEUE, consumer_path=CONSUMER, vital=True)
        await world.write(*[1] * 10)
        yield world


async def upper_row_index(agent: RunningAgent) -> Any:
    """What the agent tells of the queue's partition; the error of its status if there is none."""
    document = await agent.find_queue("meta", QUEUE)
    if not document:
        return None
    return [part.get("upper_row_index") for part in document["partitions"]] or document["status"].get("error")


async def unread(agent: RunningAgent) -> Any:
    document = await agent.find_consumer("meta", CONSUMER)
    partitions = document and document["partitions"]
    return partitions and [part.get("unread_row_count") for part in partitions[f"meta:{QUEUE}"]]


async def test_queue_and_consumer_are_looked_at_and_the_mapping_is_written(world: World) -> None:
    agent = await world.start()
    await eventually(lambda: upper_row_index(agent), lambda found: found == [10])
    await eventually(lambda: unread(agent), lambda found: found == [10])
    await world.meta.advance(CONSUMER, QUEUE, 0, 4)
    await eventually(lambda: unread(agent), lambda found: found == [6])
    node = await agent.orchid("queue_agent", "queues", f"meta:{QUEUE}")
    row = node["replicated_table_mapping_row"]
    assert row["object"] == f"meta:{QUEUE}"
    replicas = row["meta"]["replicated_table_meta"]["replicas"]
    assert {replica["cluster_name"]: replica["mode"] for replica in replicas.values()} == MODES
    assert set(replicas) == {world.ids[f"{name}:{QUEUE}"] for name in MODES}


async def test_another_synchronous_replica_is_asked_after_a_switch(world: World) -> None:
    agent = await world.start()
    await eventually(lambda: upper_row_index(agent), lambda found: found == [10])
    await world.alter("pythia", mode="sync")
    await world.alter("hume", mode="async", enabled=False)
    await world.meta.insert(QUEUE, [{"data": "y"}] * 2)
    assert await world.row_counts("hume") == (0, 10)
    await eventually(lambda: upper_row_index(agent), lambda found: found == [12])


async def test_the_tracker_and_the_agent_get_over_a_cluster_that_is_gone(world: World) -> None:
    agent = await world.start()
    await eventually(lambda: upper_row_index(agent), lambda found: found == [10])
    for path in (QUEUE, CONSUMER):
        await world.meta.set(f"{path}/@replicated_table_options/enable_replicated_table_tracker", True)
    world.clusters.cluster("hume").faults.turn_off()
    replica = f"#{world.ids[f'pythia:{QUEUE}']}/@mode"
    await eventually(lambda: world.meta.run("get", path=replica), lambda answer: answer["value"] == "sync")
    await world.meta.insert(QUEUE, [{"data": "y"}] * 2)
    await eventually(lambda: upper_row_index(agent), lambda found: found == [12])
    world.clusters.cluster("hume").faults.turn_on()
    await eventually(lambda: world.row_counts("hume"), lambda counts: counts == (0, 12))


async def test_without_a_synchronous_replica_the_queue_is_in_error(world: World) -> None:
    agent = await world.start()
    await world.alter("hume", mode="async")
    words = f'Cannot get sync client for "meta:{QUEUE}" since there are no known sync replicas'
    await eventually(
        lambda: upper_row_index(agent), lambda found: isinstance(found, dict) and found["message"] == words
    )
    await world.alter("hume", mode="sync")
    await eventually(lambda: upper_row_index(agent), lambda found: found == [10])


async def test_what_is_read_goes_from_all_replicas_as_far_as_they_have_it(world: World) -> None:
    await world.has_rows("pythia", 0, 10)
    await world.alter("pythia", enabled=False)
    await world.write(*[1] * 5)
    await world.meta.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.meta.advance(CONSUMER, QUEUE, 0, 4)
    agent = await world.start()
    await world.has_rows("hume", 4, 15)
    await world.has_rows("pythia", 4, 10)
    await world.meta.advance(CONSUMER, QUEUE, 0, 12)
    await world.has_rows("hume", 12, 15)
    await world.alter("pythia", enabled=True)
    await world.has_rows("pythia", 12, 15)
    document = await agent.find_queue("meta", QUEUE)
    assert document["partitions"][0]["trim"]["constraint"]["subject"] == f"meta:{CONSUMER}"
    await eventually(
        lambda: fetch_plan(agent.origin, parse_table(f"meta:{QUEUE}", "QUEUE"), {"enable": True, "retained_rows": 1}),
        lambda plan: plan["error"] is None and plan["partitions"][0]["lower_row_index"] == 12,
    )


async def test_a_replica_that_can_not_be_reached_is_the_only_one_not_trimmed(world: World) -> None:
    agent = await world.start()
    await world.has_rows("pythia", 0, 10)
    await eventually(lambda: unread(agent), lambda found: found == [10])
    await world.users["pythia"].run("unmount_table", path=QUEUE)
    await world.meta.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.meta.advance(CONSUMER, QUEUE, 0, 6)
    await world.has_rows("hume", 6, 10)
    await world.users["pythia"].run("mount_table", path=QUEUE)
    await world.has_rows("pythia", 6, 10)


async def test_a_table_that_is_no_replica_any_more_keeps_its_rows(world: World) -> None:
    agent = await world.start()
    await eventually(lambda: unread(agent), lambda found: found == [10])
    await world.has_rows("pythia", 0, 10)
    await world.meta.run("remove", path=f"#{world.ids[f'pythia:{QUEUE}']}")
    await world.meta.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.meta.advance(CONSUMER, QUEUE, 0, 6)
    await world.has_rows("hume", 6, 10)
    await world.meta.advance(CONSUMER, QUEUE, 0, 8)
    await world.has_rows("hume", 8, 10)
    assert await world.row_counts("pythia") == (0, 10)


async def test_a_replica_whose_rows_have_other_indexes_keeps_them(world: World) -> None:
    await world.has_rows("pythia", 0, 10)
    await world.make_anew("pythia")
    await world.alter("pythia", enabled=True)
    await world.write(3)
    await world.has_rows("pythia", 0, 3)
    await world.meta.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.meta.advance(CONSUMER, QUEUE, 0, 2)
    agent = await world.start()
    await world.has_rows("hume", 2, 13)
    # Row 0 or row 2: the other replica may have been trimmed before they were compared.
    await eventually(lambda: alerts(agent), lambda found: "is not the one of queue" in found)
    assert await world.row_counts("pythia") == (0, 3)


async def test_a_replica_that_lacks_fewer_rows_than_the_last_batch_has_keeps_unread_rows(world: World) -> None:
    await world.has_rows("pythia", 0, 10)
    await world.lose(3)
    await world.write(10)
    await world.has_rows("pythia", 0, 10)
    await world.meta.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.meta.advance(CONSUMER, QUEUE, 0, 4)
    agent = await world.start()
    await world.has_rows("hume", 4, 13)
    await world.write(1)  # without rows of a later transaction, the two cannot be compared once the first rows are gone
    await eventually(lambda: alerts(agent), lambda found: "The replica lacks rows" in found)
    await world.meta.advance(CONSUMER, QUEUE, 0, 5)
    await world.has_rows("hume", 5, 14)
    assert await world.row_counts("pythia") == (0, 11)


@pytest.mark.parametrize("lost", [0, 2])
async def test_a_write_of_as_many_rows_as_are_missing_makes_no_replica_aligned(world: World, lost: int) -> None:
    await world.has_rows("pythia", 0, 10)
    await world.lose(lost)
    await world.write(*[1] * 10)
    copies, adapters = {}, {}
    for ref in (NEAR, FAR):
        cluster = YtCluster(ref.cluster, ClusterConfig(proxy=world.clusters.addresses[ref.cluster]))
        adapter = adapters[ref.cluster] = await world.stack.enter_async_context(cluster)
        copies[ref] = CopyOfQueue(ref, str(await adapter.get(f"{QUEUE}/@id")))
    _, total = await world.row_counts("hume")
    await world.has_rows("pythia", 0, total - lost)
    select_row_values = adapters["pythia"].select_row_values

    async def write_before(path: str, columns: Sequence[str], rows: Collection[tuple[int, int]]) -> Any:
        await world.write(*[1] * lost)
        await world.has_rows("pythia", 0, total)
        return await select_row_values(path, columns, rows)

    adapters["pythia"].select_row_values = write_before  # type: ignore[method-assign] # between two answers
    partition = QueuePartition("1-2-3-4", "mounted", None, None, 0, total - lost, START, Counters())
    plan = TrimPlan(NEAR, partitions={0: PartitionPlan(partition, [read_by(CONSUMER_REF, 5, total)])}, replica=FAR)
    plan = await confirm_alignment(adapters, plan, copies[FAR], copies[NEAR], ORIGIN)
    assert plan.trims[0].target == (None if lost else 5)


async def alerts(agent: RunningAgent) -> Any:
    document = await agent.find_queue("meta", QUEUE)
    return document and str(document["status"].get("alerts"))
