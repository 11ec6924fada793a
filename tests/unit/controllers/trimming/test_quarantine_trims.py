"""What is trimmed of a queue with a consumer in quarantine, and what keeps rows at the last moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.trimming.preview import TrimPreviewer
from queue_agent.controllers.trimming.trimmer import Trimmer
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.quarantines import Commit, Quarantine, QuarantineTerms
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.trimming.ages import RowFound
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from queue_agent.core.verdicts.price import Price
from queue_agent.errors import ClusterError
from tests.unguarded import KeepNoJournal
from tests.unit.controllers.agent_world import (
    CONSUMER,
    CONSUMER_ATTRIBUTES,
    QUEUE,
    QUEUE_ATTRIBUTES,
    FakeQueue,
    World,
    look,
)
from tests.unit.controllers.trimming.test_quarantine_warden import LIVE, PRICE, Leads, Store
from tests.unit.core.trimming.plans import ORIGIN

OFFSETS = CONSUMER.path, QUEUE


class Journal(KeepNoJournal):
    """`ports.TrimJournal` that remembers."""

    def __init__(self) -> None:
        self.records: list[TrimRecord] = []

    async def announce(self, records: Collection[TrimRecord]) -> None:
        self.records += records


class Released:
    """A queue of 100 rows; a consumer in quarantine has read 42 of them, and the other vital one all."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.leads = Leads()
        self.store = Store()
        self.journal = Journal()
        context = world.context
        context.quarantine = QuarantineTerms(timedelta(days=7), timedelta(seconds=90), 600)
        context.quarantines = self.store
        context.leadership = self.leads
        context.journal = self.journal
        context.config = context.config.model_copy(update={"trimming_grace": timedelta(0)})
        now = world.clock.now()
        waited = timedelta(seconds=90)
        self.store.rows[CONSUMER] = Quarantine(
            CONSUMER, "1-2-3-4", {0: Commit(42, 0)}, now, now, waited, waited, is_started=True
        )
        self.controller = world.queue_controller()
        self.passes = 0

    def put_price(self, price: Price | None = PRICE) -> None:
        snapshot = self.world.board.all_consumers[CONSUMER]
        verdict = replace(snapshot.verdicts[QUEUE], price=price)
        self.world.board.put_consumer(replace(snapshot, verdicts={QUEUE: verdict}))

    async def do_pass(self, seconds: float = 1.0) -> int:
        """A pass of the queue; how many rows it has trimmed, all in all."""
        self.leads.pass_seconds(seconds)
        self.passes += 1
        await self.controller.do_pass(self.passes)
        trimmed = max((count for _, _, count in self.world.pythia.trims), default=0)
        bounds = self.world.pythia.queues[QUEUE.path].bounds
        bounds[0] = (max(trimmed, bounds[0][0]), 100)
        return trimmed

    @property
    def queue(self) -> QueueSnapshot:
        snapshot = self.world.board.find_queue(QUEUE)
        assert snapshot is not None
        return snapshot


@pytest.fixture
async def released() -> Released:
    world = World()
    world.store.registrations.append(Registration(QUEUE, LIVE, vital=True))
    world.pythia.attributes[QUEUE.path] = {**QUEUE_ATTRIBUTES, "queue_agent_quarantine": {"enable": True}}
    world.hume.attributes[LIVE.path] = CONSUMER_ATTRIBUTES
    world.hume.revisions = replace(world.hume.revisions, consumers={CONSUMER.path: 6, LIVE.path: 6})
    world.hume.offsets[LIVE.path, QUEUE] = {0: 100}
    await world.synchronize()
    await world.look()
    released = Released(world)
    world.context.trimming = "never"
    live = ConsumerController(LIVE, Role.LEADING, world.context, world.origins)
    await look(world.queue_controller(), live)
    await world.consumer.do_pass(2)
    world.context.trimming = "allowed"
    world.pythia.trims.clear()
    released.put_price()
    return released


async def test_so_many_rows_go_as_may_go_in_the_time(released: Released) -> None:
    assert await released.do_pass() == 42, "a new leader begins without an allowance"
    [trim] = (released.queue.trims or {}).values()
    assert (trim.constraint.kind, trim.constraint.subject) == (ConstraintKind.QUARANTINE, str(CONSUMER))
    assert await released.do_pass(60.0) == 51, "600 an hour, less a minute's worth, for a minute"
    assert await released.do_pass(1e6) == 61
    assert await released.do_pass(0.0) == 61
    losers = [loser for record in released.journal.records for loser in record.losers or ()]
    assert {(loser.consumer, loser.offset, loser.is_quarantined) for loser in losers} == {(CONSUMER, 42, True)}
    assert [one.state for one in released.queue.quarantines] == ["started"]
    assert "queue_agent_quarantine" in released.queue.alerts
    assert await released.do_pass(1e6) == 71, "it is attended to though nothing has changed"


async def test_a_partition_that_is_held_anyway_takes_nothing_from_the_others(released: Released) -> None:
    """The ages of rows are known before the allowance is shared out, most of it to the fuller partition 0."""
    world, pythia = released.world, released.world.pythia
    pythia.queues[QUEUE.path] = FakeQueue(["mounted", "mounted"], {0: (0, 100), 1: (0, 100)})
    pythia.attributes[QUEUE.path] = {
        **pythia.attributes[QUEUE.path],
        "auto_trim_config": {"enable": True, "retained_lifetime_duration": 1000},
        "attribute_revision": 6,
    }
    pythia.revisions = replace(pythia.revisions, queues={QUEUE.path: 6})
    world.hume.offsets[OFFSETS], world.hume.offsets[LIVE.path, QUEUE] = {0: 10, 1: 42}, {0: 100, 1: 100}
    released.store.rows[CONSUMER] = replace(released.store.rows[CONSUMER], commits={0: Commit(10, 0), 1: Commit(42, 0)})

    async def find_young_row(object_id: str, partition_index: int, rows: range, limit: int) -> RowFound:
        return RowFound(rows[0], 1 << 61) if partition_index == 0 else RowFound(rows[-1], 1)

    pythia.find_young_row = find_young_row  # type: ignore[method-assign] # all rows of partition 0 are young
    world.context.trimming = "never"
    await world.synchronize()
    await look(world.queue_controller(), ConsumerController(LIVE, Role.LEADING, world.context, world.origins))
    await world.consumer.do_pass(3)
    world.context.trimming = "allowed"
    released.put_price()
    released.controller = world.queue_controller()
    await released.do_pass()
    await released.do_pass(1e6)
    assert {index: count for _, index, count in pythia.trims} == {1: 52}


@pytest.mark.parametrize("trimming", ["never", "observe"])
async def test_nothing_goes_while_nothing_is_trimmed(released: Released, trimming: Any) -> None:
    released.world.context.trimming = trimming
    await released.do_pass(60.0)
    assert await released.do_pass(60.0) == 0


async def test_who_does_not_trim_any_more_shows_no_quarantines(released: Released) -> None:
    await released.do_pass()
    released.world.context.trimming = "never"
    await released.do_pass()
    assert (list(released.queue.quarantines), released.queue.alerts) == ([], {})


async def test_an_iteration_that_had_nothing_to_trim_is_repeated_for_a_dead_consumer(released: Released) -> None:
    released.store.rows.clear()
    released.put_price(None)
    await released.do_pass()
    trimmer = Trimmer(QUEUE, released.world.context)
    await released.do_pass()
    outcome = await trimmer.do_iteration(released.queue, TrimmingMode.TRIM, ORIGIN)
    snapshot = replace(released.queue, trims=outcome.trims)
    assert trimmer.rests(snapshot)
    released.put_price()
    assert not trimmer.rests(snapshot)
    outcome = await trimmer.do_iteration(snapshot, TrimmingMode.TRIM, ORIGIN)
    assert [one.state for one in outcome.quarantines] == ["announced"]
    released.world.hume.broken = ClusterError("down")
    outcome = await trimmer.do_iteration(snapshot, TrimmingMode.TRIM, ORIGIN)
    assert outcome.quarantine_error is not None


Change = Callable[[Released], None]


def commit(released: Released) -> None:
    released.world.hume.offsets[OFFSETS] = {0: 43}


def step_back(released: Released) -> None:
    released.world.hume.offsets[OFFSETS] = {0: 30}


def protect(released: Released) -> None:
    protected = {**CONSUMER_ATTRIBUTES, "queue_agent_protected": {str(QUEUE): "2026-05-01T00:00:00Z"}}
    released.world.hume.attributes[CONSUMER.path] = protected


def forbid(released: Released) -> None:
    released.world.pythia.attributes[QUEUE.path] = QUEUE_ATTRIBUTES


def unregister_the_other(released: Released) -> None:
    released.world.store.registrations = [Registration(QUEUE, CONSUMER, vital=True)]


@pytest.mark.parametrize(
    ("change", "most"), [(commit, 43), (step_back, 30), (protect, 42), (forbid, 42), (unregister_the_other, 42)]
)
async def test_what_changes_at_the_last_moment_keeps_the_rows(released: Released, change: Change, most: int) -> None:
    """After the plan was made, and before it is carried out."""
    assert await released.do_pass() == 42
    read, world = released.world.context.registrations.read, released.world

    async def change_and_read() -> Mapping[CrossClusterRef, Any]:
        change(released)
        return await read()

    world.pythia.trims.clear()
    world.context.registrations.read = change_and_read  # type: ignore[method-assign] # the first thing asked again
    assert await released.do_pass(1e6) <= most


@pytest.mark.parametrize("offsets", [{0: 43}, None])
async def test_a_commit_after_the_last_look_at_quarantines_keeps_the_rows(
    released: Released, offsets: dict[int, int] | None
) -> None:
    """The offsets of losers are read after it; None: they cannot be."""
    assert await released.do_pass() == 42
    released.world.pythia.trims.clear()
    hume = released.world.hume
    read = hume.read_next_row_indexes

    async def answer(
        consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        if consumer_path != CONSUMER.path:
            return await read(consumer_path, queue, partition_count, name=name)
        if offsets is None:
            raise ClusterError("down")
        return offsets

    hume.read_next_row_indexes = answer  # type: ignore[method-assign] # the witness asks by this
    assert await released.do_pass(1e6) == 0
    assert released.queue.alerts.keys() == {"queue_agent_quarantine"}, "nothing is wrong with the queue"


@pytest.mark.parametrize("cluster", ["pythia", "hume"])
async def test_what_cannot_be_read_at_the_last_moment_keeps_the_rows(released: Released, cluster: str) -> None:
    assert await released.do_pass() == 42
    released.world.pythia.trims.clear()
    broken = released.world.clusters[cluster]

    def fail(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        asked = 0

        async def answer(*arguments: Any, **others: Any) -> Any:
            nonlocal asked
            asked += 1
            if asked > 1:
                raise ClusterError("down")
            return await ask(*arguments, **others)

        return answer

    broken.get_attributes = fail(broken.get_attributes)  # type: ignore[method-assign, assignment] # it fails the second time
    assert await released.do_pass(1e6) == 0


async def test_a_plan_shows_what_a_minute_would_take(released: Released) -> None:
    await released.do_pass()
    context = released.world.context
    preview = await TrimPreviewer(context, released.world.origins).preview(QUEUE, None)
    assert preview is not None
    [partition] = preview.partitions
    assert (partition.trim.target, partition.trim.constraint.kind) == (52, ConstraintKind.QUARANTINE)
