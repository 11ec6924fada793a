"""What becomes of a plan: who may carry it out, and what is reported."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from queue_agent.core.group.lease import Hold
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from queue_agent.errors import ActionRefused, ClusterError, OutcomeUnknown
from queue_agent.ports.cluster import Permit
from tests.unguarded import NoOtherAgents
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, FakeQueue, World, look


class SomebodyElseLeads(NoOtherAgents):
    """`ports.LeadershipGuard` of an agent that has to wait."""

    def find_hold(self, refs: Collection[CrossClusterRef]) -> Hold | None:  # type: ignore[override] # it has to wait
        return Hold("another agent leads it, or none")


class Journal:
    """`ports.TrimJournal` that remembers."""

    def __init__(self) -> None:
        self.records: list[TrimRecord] = []

    async def announce(self, records: Collection[TrimRecord]) -> None:
        self.records += records

    def take_back(self, record: TrimRecord) -> None:
        self.records.remove(record)


@pytest.fixture
async def world() -> World:
    """The queue has two partitions, of which the consumer has read 42 and 43 rows."""
    world = World()
    world.pythia.queues[QUEUE.path] = FakeQueue(["mounted", "mounted"], {0: (0, 100), 1: (0, 100)})
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 42, 1: 43}
    await world.synchronize()
    await world.look()
    return world


def kinds(world: World) -> list[ConstraintKind]:
    snapshot = world.board.find_queue(QUEUE)
    assert snapshot is not None
    assert snapshot.trims is not None
    return [trim.constraint.kind for trim in snapshot.trims.values()]


async def test_who_does_not_lead_a_queue_asks_nothing_more_and_trims_nothing(world: World) -> None:
    world.context.leadership = SomebodyElseLeads()
    await world.queue_controller().do_pass(1)
    assert world.pythia.trims == []
    assert kinds(world) == [ConstraintKind.HAND_OVER, ConstraintKind.HAND_OVER]
    assert world.trim_alert() is None


async def test_what_would_be_trimmed_is_shown_by_whoever_only_observes(world: World) -> None:
    world.context.trimming = "observe"
    world.context.leadership = SomebodyElseLeads()
    controller = world.queue_controller()
    with capture_logs() as logs:
        await controller.do_pass(1)
        await controller.do_pass(2)
    assert world.pythia.trims == []
    told = [(line["partition_index"], line["target"], line["constraint"]["kind"]) for line in logs]
    assert told == [(0, 42, "vital_consumer"), (1, 43, "vital_consumer")]
    assert {line["event"] for line in logs} == {"trimming observed"}
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 0, 1: 43}
    await world.consumer.do_pass(1)
    with capture_logs() as logs:
        await controller.do_pass(3)
    assert [(line["partition_index"], line["constraint"]["kind"]) for line in logs] == [(0, "nothing_read")]


async def test_a_tablet_that_refuses_does_not_keep_the_others_and_is_told_of_once(world: World) -> None:
    refusal: ClusterError | None = ClusterError("Tablet is busy", 7)
    trim_rows = world.pythia.trim_rows

    async def trim(object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
        if partition_index == 0 and refusal is not None:
            raise refusal
        await trim_rows(object_id, partition_index, trimmed_row_count, permit)

    world.pythia.trim_rows = trim  # type: ignore[method-assign] # it refuses for a while
    controller = world.queue_controller()
    with capture_logs() as logs:
        await controller.do_pass(1)
    assert [line["partition_index"] for line in logs if line["event"] == "partition not trimmed"] == [0]
    with capture_logs() as logs:
        await controller.do_pass(2)
    assert [line for line in logs if line["event"] == "partition not trimmed"] == []
    assert world.pythia.trims == [("1-2-3-4", 1, 43), ("1-2-3-4", 1, 43)]
    assert "Tablet is busy" in str(world.trim_alert())
    refusal = None
    with capture_logs() as logs:
        await controller.do_pass(3)
        await controller.do_pass(4)
    assert [line["partition_index"] for line in logs if line["event"] == "partition trimmed again"] == [0]
    refusal = ActionRefused("this agent is being stopped")
    await controller.do_pass(5)
    assert world.pythia.trims[-1] == ("1-2-3-4", 1, 43)
    assert world.trim_alert() is None


@pytest.mark.parametrize("is_kept", [True, False])
async def test_the_journal_has_what_was_trimmed_if_it_is_to_be_kept(world: World, is_kept: bool) -> None:
    journal = world.context.journal = Journal()
    world.context.config = world.context.config.model_copy(update={"trim_journal": is_kept})
    await world.queue_controller().do_pass(1)
    noted = [(one.partition_index, one.lower_row_index, one.trimmed_row_count) for one in journal.records]
    assert noted == ([(0, 0, 42), (1, 0, 43)] if is_kept else [])


@pytest.mark.parametrize(
    ("failure", "noted"),
    [
        (ActionRefused("this agent is being stopped"), [1]),
        (ClusterError("Tablet is busy", 7), [1]),
        (OutcomeUnknown("no answer", 105), [0, 1]),
    ],
)
async def test_the_journal_has_what_was_or_may_have_been_trimmed_beside_a_failure(
    world: World, failure: ClusterError, noted: list[int]
) -> None:
    trim_rows = world.pythia.trim_rows

    async def trim(object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
        if partition_index == 0:
            raise failure
        await trim_rows(object_id, partition_index, trimmed_row_count, permit)

    world.pythia.trim_rows = trim  # type: ignore[method-assign] # one of two tablets
    journal = world.context.journal = Journal()
    await world.queue_controller().do_pass(1)
    assert [one.partition_index for one in journal.records] == noted
    assert [one.losers for one in journal.records] == [[] for one in noted]


async def test_what_was_decided_is_kept_as_long_as_nothing_changes(world: World) -> None:
    world.hume.offsets[CONSUMER.path, QUEUE] = {}
    controller = world.queue_controller()
    await look(controller, world.consumer)
    await controller.do_pass(1)
    first = world.board.find_queue(QUEUE)
    await controller.do_pass(2)
    second = world.board.find_queue(QUEUE)
    assert first is not None
    assert second is not None
    assert second is not first
    assert second.trims is first.trims


async def test_a_queue_that_was_not_read_has_no_rest(world: World) -> None:
    controller = world.queue_controller()
    snapshot = world.board.find_queue(QUEUE)
    assert snapshot is not None
    unread = replace(snapshot, content=world.origins.make(world.clock.now()).error("not read"))
    assert not controller._trimmer.rests(unread)
