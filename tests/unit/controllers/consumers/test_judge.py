"""Rows that went: whether the journal of trims is waited for, and how long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.core.state.trim_journal import Loser, TrimRecord
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
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

    def verdict(self) -> Verdict:
        return self.world.board.all_consumers[CONSUMER].verdicts[QUEUE].verdict


def told(at: datetime, losers: Sequence[Loser]) -> TrimRecord:
    constraint = TrimConstraint(ConstraintKind.END_OF_PARTITION)
    return TrimRecord(at, "other:1", QUEUE, "1-2-3-4", 0, 0, 60, constraint, losers)


@pytest.fixture
async def story() -> Story:
    world = World()
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


async def test_without_a_journal_nobody_waits(story: Story) -> None:
    story.world.context.config = story.world.context.config.model_copy(update={"trim_journal": False})
    story.trim()
    await story.poll()
    assert story.unread() == 18


async def test_a_ledger_that_waits_is_no_verdict_that_is_missing(story: Story) -> None:
    """After a restart the first poll may have to wait for what the agent before has trimmed."""
    old = story.consumer._judge._kept[QUEUE].state  # as the table of ledgers would give it
    kept = QueueState(old.pair, old.positions, old.pace, old.last_poll, is_kept=True)

    class Ledger(KeepNoLedger):
        async def open(self, pair: Pair) -> QueueState | None:  # type: ignore[override] # it has one
            return kept

        def note(self, state: QueueState, *, urgent: bool) -> None:
            return

    story.world.context.ledger = Ledger()
    story.trim()
    restarted = Story(story.world)
    await restarted.poll()
    assert restarted.verdict() is Verdict.UNKNOWN
    restarted.world.context.trims.note(QUEUE, "1-2-3-4", told(story.world.clock.time, [Loser(CONSUMER, 42)]))
    await restarted.poll()
    assert restarted.verdict() is not Verdict.UNKNOWN
    assert restarted.unread() == 18
