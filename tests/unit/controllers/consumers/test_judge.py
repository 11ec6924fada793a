"""Rows that went: whether the journal of trims is waited for, and how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_journal import Loser, TrimRecord
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.core.verdicts.ledger import Ledger
from queue_agent.core.verdicts.objective_config import UNREAD_OBJECTIVES
from queue_agent.core.verdicts.objectives import ObjectiveSeconds
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.values import Verdict
from tests.unguarded import KeepNoLedger
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, FakeQueue, World


class Story:
    """The consumer has read 42 rows; the 60 first ones go, and only 18 of these were unread."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.queue = world.queue_controller()
        self.consumer: ConsumerController = world.consumer_controller()

    async def poll(self, seconds: float = 1.0) -> None:
        self.world.clock.time += timedelta(seconds=seconds)
        await self.queue.do_pass(1)
        await self.consumer.do_pass(1)

    def trim(self) -> None:
        self.world.pythia.queues[QUEUE.path] = FakeQueue(["mounted"], {0: (60, 100)})

    def unread(self) -> int:
        """Rows that went unread, as they are counted."""
        snapshot = self.world.board.all_consumers[CONSUMER]
        counts = snapshot.verdicts[QUEUE].whole.counts
        return counts.lost + counts.possibly_lost

    async def jump(self) -> None:
        """The consumer commits, and is polled before the queue is."""
        self.world.hume.offsets[CONSUMER.path, QUEUE] = {0: 90}
        self.world.clock.time += timedelta(seconds=1)
        await self.consumer.do_pass(1)

    def ledger(self) -> Ledger:
        return self.consumer._judge._kept[QUEUE].state.positions[0].ledger

    def verdict(self) -> Verdict:
        return self.world.board.all_consumers[CONSUMER].verdicts[QUEUE].verdict


def told(at: datetime, losers: Sequence[Loser]) -> TrimRecord:
    constraint = TrimConstraint(ConstraintKind.END_OF_PARTITION)
    return TrimRecord(at, "other:1", QUEUE, "1-2-3-4", 0, 0, 60, constraint, losers)


@pytest.fixture
async def story() -> Story:
    return await begun(World())


@pytest.fixture
async def other() -> Story:
    """Of a consumer that is not vital."""
    world = World()
    world.store.registrations = [Registration(QUEUE, CONSUMER, vital=False)]
    return await begun(world)


async def begun(world: World) -> Story:
    await world.synchronize()
    story = Story(world)
    await story.poll()
    await story.poll()
    assert story.verdict() is not Verdict.UNREADABLE
    return story


async def test_what_nobody_tells_of_counts_as_done_by_others_after_five_seconds(story: Story) -> None:
    story.trim()
    for _ in range(5):
        await story.poll()
        assert story.unread() == 0
    await story.poll()
    assert story.unread() == 18


async def test_what_the_journal_tells_counts_as_soon_as_it_is_read(story: Story) -> None:
    story.trim()
    await story.poll()
    story.world.context.trims.note(QUEUE, "1-2-3-4", told(story.world.clock.time, [Loser(CONSUMER, 45)]))
    await story.poll()
    assert story.unread() == 15, "three of them were read right before"


async def test_a_commit_that_is_seen_before_the_trim_it_jumped_over_is_no_reading(other: Story) -> None:
    """The consumer is polled, the queue is not yet: 18 rows that it has passed were gone. The record is late."""
    await other.jump()
    assert other.unread() == 0
    other.trim()
    await other.poll()
    assert other.unread() == 0
    other.world.context.trims.note(QUEUE, "1-2-3-4", told(other.world.clock.time, [Loser(CONSUMER, 42)]))
    await other.poll()
    assert other.unread() == 18


async def test_the_journal_is_asked_now_and_then_while_a_record_may_tell_of_a_jump(other: Story) -> None:
    asked: list[float] = []
    other.world.context.trims.want = lambda *wanted: asked.append(wanted[-1].timestamp())  # type: ignore[method-assign] # to hear of it
    await other.jump()
    jumped = other.world.clock.time.timestamp()
    other.trim()
    for _ in range(20):
        await other.poll()
    assert asked == [jumped] * 2
    assert other.ledger().claim is None


async def test_a_vital_consumer_has_read_what_it_has_committed(story: Story) -> None:
    await story.jump()
    assert story.ledger().claim is None


async def test_what_was_there_after_it_was_committed_has_been_read_whoever_trims_it(other: Story) -> None:
    await other.jump()
    assert other.ledger().claim is not None, "as far as is known, the queue was looked at before the commit"
    await other.poll()
    assert (other.ledger().confirmed, other.ledger().claim) == (90, None)
    other.trim()
    other.world.context.trims.note(QUEUE, "1-2-3-4", told(other.world.clock.time, [Loser(CONSUMER, 42)]))
    await other.poll()
    assert other.unread() == 0


async def test_without_a_journal_nobody_waits(story: Story) -> None:
    story.world.context.config = story.world.context.config.model_copy(update={"trim_journal": False})
    story.trim()
    await story.poll()
    assert story.unread() == 18


async def test_a_ledger_that_waits_is_no_verdict_that_is_missing(story: Story) -> None:
    """After a restart the first poll may have to wait for what the agent before has trimmed."""
    old = story.consumer._judge._kept[QUEUE].state  # as the table of ledgers would give it
    kept = QueueState(old.pair, old.positions, old.pace, old.last_poll, is_kept=True)

    class Kept(KeepNoLedger):
        async def open(self, pair: Pair) -> QueueState | None:  # type: ignore[override] # it has one
            return kept

        def note(self, state: QueueState, *, urgent: bool) -> None:
            return

    story.world.context.ledger = Kept()
    story.trim()
    restarted = Story(story.world)
    await restarted.poll()
    assert restarted.verdict() is Verdict.UNKNOWN
    restarted.world.context.trims.note(QUEUE, "1-2-3-4", told(story.world.clock.time, [Loser(CONSUMER, 42)]))
    await restarted.poll()
    assert restarted.verdict() is not Verdict.UNKNOWN
    assert restarted.unread() == 18


class Written(KeepNoLedger):
    """`ports.LedgerBook` that writes when it is told to."""

    is_missing = False

    def __init__(self, opened: QueueState | None) -> None:
        self.opened = opened
        self.noted: QueueState | None = None
        self.written: QueueState | None = None

    async def open(self, pair: Pair) -> QueueState | None:  # type: ignore[override] # it has one
        return self.opened

    def note(self, state: QueueState, *, urgent: bool) -> None:
        self.noted = state

    def find_written(self, pair: Pair) -> QueueState | None:  # type: ignore[override] # it has one
        return self.written


def published(story: Story) -> ObjectiveSeconds | None:
    status = story.world.board.all_consumers[CONSUMER].verdicts[QUEUE].objective
    assert status is not None
    return status.seconds


async def with_objective(ledger: KeepNoLedger) -> Story:
    world = World()
    objective = {"queue_agent_objective": {"max_lag_seconds": 300, "target": 0.99}}
    world.hume.attributes[CONSUMER.path] = {**world.hume.attributes[CONSUMER.path], **objective}
    world.context.ledger = ledger
    return await begun(world)


async def test_seconds_are_published_when_they_are_written_so_that_a_killed_agent_takes_none_back() -> None:
    ledger = Written(QueueState(Pair(QUEUE, CONSUMER), is_kept=True))
    story = await with_objective(ledger)
    for _ in range(5):
        await story.poll()
    assert published(story) == ObjectiveSeconds()
    assert ledger.noted is not None
    assert ledger.noted.seconds.until == story.world.clock.time.timestamp()
    ledger.written = ledger.noted
    await story.poll()
    assert published(story) == ledger.written.seconds


async def test_seconds_are_not_published_while_a_ledger_that_is_there_cannot_be_read() -> None:
    assert published(await with_objective(Written(None))) is None


async def test_seconds_are_counted_in_memory_where_there_is_no_ledger() -> None:
    story = await with_objective(KeepNoLedger())
    await story.poll()
    seconds = published(story)
    assert seconds is not None
    assert seconds.good + seconds.bad + seconds.unknown >= 2


async def test_time_before_the_objective_could_be_read_is_unknown_and_not_left_out() -> None:
    world = World()
    seconds = ObjectiveSeconds(good=7.0, until=world.clock.time.timestamp())
    world.context.ledger = Written(QueueState(Pair(QUEUE, CONSUMER), is_kept=True, seconds=seconds))
    story = await begun(world)
    kept = story.consumer._judge._kept[QUEUE]
    assert kept.state.seconds.until is None, "there is no objective"
    story.consumer._judge.objectives = UNREAD_OBJECTIVES
    kept.state = replace(kept.state, seconds=seconds)
    story.consumer._judge.judge(world.board.all_consumers[CONSUMER])
    assert kept.state.seconds == seconds
