"""Trimming replicas: by permission alone, and only what still is a replica of a queue that is led here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from queue_agent.config.passes import CypressSynchronizerConfig, Trimming
from queue_agent.controllers.group.leadership import Leadership, boot_seconds
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.core.group.lease import Hold
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.observed import ColumnDescription, ObjectRevisions, TableDescription
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim
from queue_agent.errors import ActionRefused
from queue_agent.ports.cluster import Permit
from tests.unguarded import NoOtherAgents
from tests.unit.controllers.agent_world import (
    CONSUMER,
    QUEUE,
    QUEUE_ATTRIBUTES,
    FakeCluster,
    FakeQueue,
    World,
    leadership,
)

NEAR = CrossClusterRef("hume", "//tmp/near")
FAR = CrossClusterRef("pythia", "//tmp/far")
REPLICAS = {
    "1-1-1-1": {"cluster_name": "pythia", "replica_path": FAR.path, "state": "enabled", "mode": "async"},
    "2-2-2-2": {"cluster_name": "hume", "replica_path": NEAR.path, "state": "enabled", "mode": "sync"},
}
SWITCHED = {key: {**replica, "mode": "sync"} for key, replica in REPLICAS.items()}
IDS = {NEAR: "2-0-0-0", FAR: "1-0-0-0"}


class FakeCopies(FakeCluster):
    """A cluster with a replica whose every row is a transaction."""

    async def select_row_values(
        self, path: str, columns: Any, rows: Collection[tuple[int, int]]
    ) -> Mapping[str, Mapping[tuple[int, int], int]]:
        return {column: {(index, row): row + 1 for index, row in rows if row < 100} for column in columns}

    async def trim_rows(self, object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
        permit.check()
        await super().trim_rows(object_id, partition_index, trimmed_row_count, permit)


class ReplicatedWorld(World):
    """A replicated queue on pythia with two replicas, of which 42 rows have been read."""

    def __init__(self, partition_count: int = 1) -> None:
        super().__init__()
        bounds = dict.fromkeys(range(partition_count), (0, 100))
        self.pythia = FakeCopies(
            "pythia",
            attributes={
                QUEUE.path: {**QUEUE_ATTRIBUTES, "type": "replicated_table", "replicas": REPLICAS},
                FAR.path: {**QUEUE_ATTRIBUTES, "id": IDS[FAR], "auto_trim_config": None},
            },
            revisions=ObjectRevisions({QUEUE.path: 5, FAR.path: 5}, {}),
            queues={FAR.path: FakeQueue(["mounted"] * partition_count, bounds)},
        )
        self.hume = FakeCopies(
            "hume",
            attributes={
                **self.hume.attributes,
                NEAR.path: {**QUEUE_ATTRIBUTES, "id": IDS[NEAR], "auto_trim_config": None},
            },
            revisions=ObjectRevisions({NEAR.path: 5}, {CONSUMER.path: 6}),
            queues={NEAR.path: FakeQueue(["mounted"] * partition_count, bounds)},
            offsets={(CONSUMER.path, QUEUE): dict.fromkeys(range(partition_count), 42)},
        )
        self.clusters |= {"pythia": self.pythia, "hume": self.hume}
        self.synchronizer.configure(CypressSynchronizerConfig(policy="watching", write_replicated_table_mapping=True))

    async def look(self) -> None:
        """Passes of everybody before anything is trimmed."""
        await self.synchronize()
        queues = dict.fromkeys((QUEUE, NEAR, FAR), Role.LEADING)
        self.board.put_assignment(Assignment(queues, {CONSUMER: Role.LEADING}))
        for ref in (NEAR, FAR):
            await QueueController(ref, Role.LEADING, self.context, self.origins).do_pass(0)
        await super().look()

    async def trims(self) -> set[tuple[str, int]]:
        """Of a pass of the queue: what was trimmed, and up to where."""
        await self.queue_controller().do_pass(1)
        return {(object_id, target) for object_id, _, target in (*self.pythia.trims, *self.hume.trims)}

    def shown(self) -> Collection[PartitionTrim]:
        """What is shown of the queue's partitions."""
        snapshot = self.board.find_queue(QUEUE)
        assert snapshot is not None
        assert snapshot.trims is not None
        return snapshot.trims.values()

    def set_attributes(self, **attributes: Any) -> None:
        self.pythia.attributes[QUEUE.path] = {**self.pythia.attributes[QUEUE.path], **attributes}

    def while_offsets_are_read(self, change: Callable[[], None]) -> None:
        read_next_row_indexes = self.hume.read_next_row_indexes

        async def read(*arguments: Any, **options: Any) -> Any:
            change()
            return await read_next_row_indexes(*arguments, **options)

        self.hume.read_next_row_indexes = read  # type: ignore[method-assign] # the world changes under the question


@pytest.fixture
async def world() -> ReplicatedWorld:
    world = ReplicatedWorld()
    await world.look()
    return world


@dataclass
class LedElsewhere(NoOtherAgents):
    """`ports.LeadershipGuard` of an agent that does not lead some tables, or loses them as soon as it acts."""

    tables: Collection[CrossClusterRef]
    only_while_acting: bool = False

    def find_hold(self, refs: Collection[CrossClusterRef]) -> Hold | None:  # type: ignore[override] # more than nothing
        if self.only_while_acting or not set(refs) & set(self.tables):
            return None
        return Hold("another agent leads it")

    @contextmanager
    def acting(self, refs: Collection[CrossClusterRef]) -> Iterator[Permit]:
        yield Refusing(bool(set(refs) & set(self.tables)))


@dataclass(frozen=True)
class Refusing:
    """`ports.Permit`."""

    refuses: bool
    seconds: float = 1.0

    def check(self) -> None:
        if self.refuses:
            raise ActionRefused("another agent leads it")


async def test_both_replicas_are_trimmed_when_all_is_well(world: ReplicatedWorld) -> None:
    assert await world.trims() == {(IDS[NEAR], 42), (IDS[FAR], 42)}
    assert world.trim_alert() is None


@pytest.mark.parametrize("only_while_acting", [False, True])
async def test_a_replica_that_another_agent_leads_is_left_to_it(
    world: ReplicatedWorld, only_while_acting: bool
) -> None:
    world.context.leadership = LedElsewhere([FAR], only_while_acting)
    assert await world.trims() == {(IDS[NEAR], 42)}


@pytest.mark.parametrize("only_while_acting", [False, True])
async def test_no_replica_of_a_queue_that_another_agent_leads_is_trimmed(
    world: ReplicatedWorld, only_while_acting: bool
) -> None:
    world.context.leadership = LedElsewhere([QUEUE], only_while_acting)
    assert await world.trims() == set()


async def test_an_agent_does_not_retire_before_its_trims_have_ended(world: ReplicatedWorld) -> None:
    leads = alone(QUEUE, NEAR, FAR)
    world.context.leadership = leads
    begun, go_on = asyncio.Event(), asyncio.Event()
    trim_rows = world.hume.trim_rows

    async def trim_slowly(*arguments: Any) -> None:
        begun.set()
        await go_on.wait()
        await trim_rows(*arguments)

    world.hume.trim_rows = trim_slowly  # type: ignore[method-assign,assignment] # a request that takes its time
    async with asyncio.TaskGroup() as group:
        trimming = group.create_task(world.trims())
        await begun.wait()
        retiring = group.create_task(leads.retire())
        await asyncio.sleep(0)
        assert not retiring.done()
        go_on.set()
    assert trimming.done()


async def test_a_trim_is_not_sent_once_the_queue_is_led_elsewhere(world: ReplicatedWorld) -> None:
    leads = alone(QUEUE, NEAR, FAR)
    world.context.leadership = leads
    world.while_offsets_are_read(lambda: leads.observe(boot_seconds(), {NEAR: 1, FAR: 1}))
    assert await world.trims() == set()


async def test_a_table_that_has_just_become_no_replica_keeps_its_rows(world: ReplicatedWorld) -> None:
    world.while_offsets_are_read(lambda: world.set_attributes(replicas={"2-2-2-2": REPLICAS["2-2-2-2"]}))
    assert await world.trims() == {(IDS[NEAR], 42)}
    assert f'"{FAR}" is no replica of queue "{QUEUE}" any more' in str(world.trim_alert())


async def test_a_replica_that_has_just_become_synchronous_is_to_be_compared_with_first(world: ReplicatedWorld) -> None:
    world.while_offsets_are_read(lambda: world.set_attributes(replicas=SWITCHED))
    assert await world.trims() == {(IDS[FAR], 42)}
    assert f'replica "{NEAR}" was not compared with "{FAR}"' in str(world.trim_alert())


async def test_a_replica_that_was_made_anew_meanwhile_keeps_its_rows(world: ReplicatedWorld) -> None:
    attributes = world.pythia.attributes
    world.while_offsets_are_read(lambda: attributes.update({FAR.path: {**attributes[FAR.path], "id": "9-9-9-9"}}))
    assert await world.trims() == {(IDS[NEAR], 42)}
    assert f"the table at {FAR} is 9-9-9-9, and not {IDS[FAR]}" in str(world.trim_alert())


async def test_what_has_become_of_the_synchronous_replica_is_shown_as_that_of_the_queue(world: ReplicatedWorld) -> None:
    def change() -> None:
        world.set_attributes(replicas={"2-2-2-2": REPLICAS["2-2-2-2"]})
        world.hume.offsets[CONSUMER.path, QUEUE] = {0: 7}

    world.while_offsets_are_read(change)
    assert await world.trims() == {(IDS[NEAR], 7)}
    assert [trim.target for trim in world.shown()] == [7]


async def test_why_no_replica_at_all_can_be_trimmed_is_shown_of_the_queue(world: ReplicatedWorld) -> None:
    world.board.put_assignment(Assignment(dict.fromkeys((QUEUE, NEAR), Role.LEADING), {CONSUMER: Role.LEADING}))
    assert await world.trims() == set()
    assert [trim.constraint.kind for trim in world.shown()] == [ConstraintKind.ERROR]


async def test_a_replica_on_a_cluster_nobody_knows_does_not_keep_the_others_nor_hide_what_is_wrong_with_them(
    world: ReplicatedWorld,
) -> None:
    gone = CrossClusterRef("gone", "//tmp/copy")
    replica = {**REPLICAS["1-1-1-1"], "cluster_name": gone.cluster, "replica_path": gone.path}
    world.set_attributes(replicas={"0-0-0-1": replica, **REPLICAS})
    await world.look()
    far = world.board.find_queue(FAR)
    assert far is not None
    world.store.queues[gone] = replace(far.row, queue=gone)
    world.board.put_rows(await world.store.read())
    world.board.put_queue(replace(far, row=world.store.queues[gone]))
    attributes = world.pythia.attributes
    world.while_offsets_are_read(lambda: attributes.update({FAR.path: {**attributes[FAR.path], "id": "9-9-9-9"}}))
    assert await world.trims() == {(IDS[NEAR], 42)}
    alert = str(world.trim_alert())
    assert f"'replica': '{gone}'" in alert
    assert f"'replica': '{FAR}'" in alert


@pytest.mark.parametrize(("mode", "told"), [("observe", [42]), ("allowed", [])])
async def test_what_would_be_trimmed_of_a_replicated_queue_is_told_by_whoever_only_observes(
    world: ReplicatedWorld, mode: Trimming, told: list[int]
) -> None:
    world.context.trimming = mode
    with capture_logs() as logs:
        await world.trims()
    assert [line["target"] for line in logs if line["event"] == "trimming observed"] == told


async def test_a_replicated_queue_is_not_asked_for_tablets(
    world: ReplicatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_attributes = world.pythia.get_attributes
    asked: dict[str, bool] = {}

    async def get(path: str, names: Collection[str]) -> Mapping[str, Any]:
        asked[path] = "tablets" in names
        return await get_attributes(path, names)

    monkeypatch.setattr(world.pythia, "get_attributes", get)
    await world.trims()
    assert asked == {QUEUE.path: False, FAR.path: True}


@pytest.mark.parametrize("attributes", [{}, {"preserve_tablet_index": False}, {"mount_config": {}}])
async def test_replicas_that_get_rows_in_other_partitions_keep_them(attributes: Mapping[str, Any]) -> None:
    world = ReplicatedWorld(partition_count=2)
    world.set_attributes(**attributes)
    await world.look()
    assert await world.trims() == {(IDS[NEAR], 42)}
    assert "Set its attribute preserve_tablet_index" in str(world.trim_alert())


@pytest.mark.parametrize(
    "attributes", [{"preserve_tablet_index": True}, {"mount_config": {"preserve_tablet_index": True}}]
)
async def test_replicas_that_keep_the_partitions_of_rows_are_trimmed(attributes: Mapping[str, Any]) -> None:
    world = ReplicatedWorld(partition_count=2)
    world.set_attributes(**attributes)
    await world.look()
    assert await world.trims() == {(IDS[NEAR], 42), (IDS[FAR], 42)}


async def test_a_replica_without_timestamps_keeps_its_rows() -> None:
    world = ReplicatedWorld()
    get_table = world.pythia.get_table

    async def get_without_timestamps(path: str) -> TableDescription:
        return replace(await get_table(path), columns=[ColumnDescription("data", "string")])

    world.pythia.get_table = get_without_timestamps  # type: ignore[method-assign] # another schema
    await world.look()
    assert await world.trims() == {(IDS[NEAR], 42)}
    assert 'has no column "$timestamp"' in str(world.trim_alert())


def alone(*led: CrossClusterRef) -> Leadership:
    """The only agent there is, which leads these tables."""
    leads = leadership()
    now = boot_seconds()
    leads.begin()
    leads.prolong(now)
    leads.observe(now, dict.fromkeys(led, 1))
    leads.saw_alone(boot_seconds() + 1)
    return leads
