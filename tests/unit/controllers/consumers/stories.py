"""A consumer and its queue, poll by poll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.status.trim_book import TrimBook
from queue_agent.core.queues.snapshots import ConsumerQueueView, ConsumerSnapshot, ConsumerView
from queue_agent.core.state.trim_journal import JournalSpan, Loser, TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.core.verdicts.ledger import Ledger
from queue_agent.core.verdicts.values import Verdict
from queue_agent.errors import ClusterError
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, FakeQueue, World


class Journal:
    """`ports.TrimJournalReader` of what other agents have announced."""

    def __init__(self) -> None:
        self.records: list[TrimRecord] = []
        self.asked: list[JournalSpan] = []
        self.error: ClusterError | None = None

    async def read(self, wanted: Mapping[CrossClusterRef, JournalSpan]) -> Sequence[TrimRecord]:
        self.asked += wanted.values()
        if self.error is not None:
            raise self.error
        return self.records


class Story:
    """The consumer has read 42 rows; the 60 first ones go, and only 18 of these were unread."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.journal = Journal()
        world.context.trims = TrimBook(self.journal, world.clock)
        self.queue = world.queue_controller()
        self.consumer: ConsumerController = world.consumer_controller()

    async def poll(self, seconds: float = 1.0) -> None:
        """Of the queue, the consumer, and what the journal has been asked."""
        self.world.clock.time += timedelta(seconds=seconds)
        await self.queue.do_pass(1)
        await self.consumer.do_pass(1)
        await self.world.context.trims.do_pass(1)

    def trim(self, *losers: Loser, is_told: bool = True, rows: range = range(60), tablet_id: str | None = None) -> None:
        """By another agent, which tells in the journal who loses rows."""
        if is_told:
            record = told(self.world.clock.time, losers)
            self.journal.records.append(
                replace(record, lower_row_index=rows.start, trimmed_row_count=rows.stop, tablet_id=tablet_id)
            )
        self.world.pythia.queues[QUEUE.path] = FakeQueue(["mounted"], {0: (rows.stop, 100)})

    def unread(self) -> int:
        """Rows that went unread, as they are counted."""
        snapshot = self.world.board.all_consumers[CONSUMER]
        return snapshot.verdicts[QUEUE].whole.counts.trimmed_uncommitted

    async def jump(self) -> None:
        """The consumer commits, and is polled before the queue is."""
        self.world.hume.offsets[CONSUMER.path, QUEUE] = {0: 90}
        self.world.clock.time += timedelta(seconds=1)
        await self.consumer.do_pass(1)

    def ledger(self) -> Ledger:
        return self.consumer._judge._kept[QUEUE].state.positions[0].ledger

    def tablets(self) -> Mapping[int, str | None]:
        """By partition, the tablet of whose rows the offset is, as published."""
        return self.world.board.all_consumers[CONSUMER].verdicts[QUEUE].tablets

    def verdict(self) -> Verdict:
        return self.world.board.all_consumers[CONSUMER].verdicts[QUEUE].verdict


def told(at: datetime, losers: Sequence[Loser]) -> TrimRecord:
    constraint = TrimConstraint(ConstraintKind.END_OF_PARTITION)
    return TrimRecord(at, "other:1", QUEUE, "1-2-3-4", 0, 0, 60, constraint, losers)


async def begun(world: World) -> Story:
    await world.synchronize()
    story = Story(world)
    await story.poll()
    await story.poll()
    assert story.verdict() is not Verdict.UNREADABLE
    return story


def seen_later(snapshot: ConsumerSnapshot, seconds: float) -> ConsumerSnapshot:
    """As of a poll that has found nothing new."""
    assert snapshot.view is not None
    position = snapshot.view.queues[QUEUE]
    assert isinstance(position, ConsumerQueueView)
    later = replace(position, seen_at=position.seen_at + timedelta(seconds=seconds))
    return replace(snapshot, content=ConsumerView({QUEUE: later}))
