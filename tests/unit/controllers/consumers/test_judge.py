"""Rows that went: what is known of the trims that took them, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_journal import Loser
from queue_agent.core.verdicts.keeping import Written
from queue_agent.core.verdicts.objectives import ObjectiveSeconds
from queue_agent.core.verdicts.owner import OwnersWord
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.values import Verdict
from queue_agent.errors import ClusterError
from tests.unguarded import KeepNoLedger
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, FakeQueue, World
from tests.unit.controllers.consumers.ledgers import KnownLedger
from tests.unit.controllers.consumers.stories import Story, begun, told


@pytest.fixture
async def story() -> Story:
    return await begun(World())


@pytest.fixture
async def other() -> Story:
    """Of a consumer that is not vital."""
    world = World()
    world.store.registrations = [Registration(QUEUE, CONSUMER, vital=False)]
    return await begun(world)


async def test_what_nobody_tells_of_counts_as_done_by_others_once_the_journal_was_read(story: Story) -> None:
    story.trim(is_told=False)
    await story.poll()
    assert story.unread() == 0
    await story.poll()
    assert story.unread() == 18
    assert len(story.journal.asked) == 1


async def test_as_long_as_the_journal_cannot_be_read_counting_waits(story: Story) -> None:
    story.journal.error = ClusterError("no answer")
    story.trim(Loser(CONSUMER, 45))
    for _ in range(30):
        await story.poll()
    assert story.unread() == 0
    story.journal.error = None
    await story.poll()
    await story.poll()
    assert story.unread() == 15


async def test_what_the_journal_tells_counts_as_soon_as_it_is_read(story: Story) -> None:
    story.trim(Loser(CONSUMER, 45))
    await story.poll()
    await story.poll()
    assert story.unread() == 15, "three of them were read right before"


async def test_what_this_agent_trims_counts_at_once(story: Story) -> None:
    story.trim(is_told=False)
    story.world.context.trims.note(QUEUE, "1-2-3-4", told(story.world.clock.time, [Loser(CONSUMER, 45)]))
    await story.poll()
    assert story.unread() == 15
    assert story.journal.asked == []


async def test_a_commit_that_is_seen_before_the_trim_it_jumped_over_is_no_reading(other: Story) -> None:
    """The consumer is polled, the queue is not yet: 18 rows that it has passed were gone."""
    await other.jump()
    assert other.unread() == 0
    other.trim(Loser(CONSUMER, 42))
    await other.poll()
    await other.poll()
    assert other.unread() == 18
    assert other.ledger().counts.read == 90 - 60


async def test_offsets_are_settled_only_against_rows_that_were_seen_after_them(other: Story) -> None:
    await other.jump()
    assert other.ledger().accounted == 42, "as far as is known, the queue was looked at before the commit"
    await other.poll()
    assert other.ledger().accounted == 90
    other.trim(Loser(CONSUMER, 42))
    await other.poll()
    await other.poll()
    assert other.unread() == 0, "they were there after it had committed them"


async def test_a_trim_that_was_not_carried_out_takes_nothing(other: Story) -> None:
    """Its agent was killed; the one that came after it has trimmed the same rows when the consumer had read them."""
    other.journal.records.append(told(other.world.clock.time, [Loser(CONSUMER, 42)]))
    other.world.clock.time += timedelta(seconds=1)
    other.trim()
    await other.poll()
    await other.poll()
    assert other.unread() == 0


async def test_without_a_journal_nobody_waits(story: Story) -> None:
    story.world.context.config = story.world.context.config.model_copy(update={"trim_journal": False})
    story.trim(is_told=False)
    await story.poll()
    assert story.unread() == 18


async def test_an_agent_that_does_not_lead_the_consumer_asks_nothing_and_counts_nothing(other: Story) -> None:
    other.trim(Loser(CONSUMER, 42))
    snapshot = other.world.board.all_consumers[CONSUMER]
    await other.queue.do_pass(1)
    other.consumer._judge.judge(replace(snapshot, role=Role.FOLLOWING))
    await other.world.context.trims.do_pass(1)
    assert other.journal.asked == []
    assert other.ledger().counts.trimmed_uncommitted == 0


async def test_an_agent_that_takes_over_asks_for_all_that_is_not_settled(story: Story) -> None:
    old = story.consumer._judge._kept[QUEUE].state  # as the table of ledgers would give it
    ledger = KnownLedger(QueueState(old.pair, old.positions, old.pace, old.last_poll, is_kept=True))
    story.world.context.ledger = ledger
    story.world.clock.time += timedelta(seconds=40)
    restarted = Story(story.world)
    restarted.trim(Loser(CONSUMER, 42))
    for _ in range(3):
        await restarted.poll()
    assert old.last_poll is not None
    assert [one.since.timestamp() for one in restarted.journal.asked] == [old.last_poll - 60]
    assert restarted.ledger().counts.trimmed_uncommitted == 18
    assert restarted.unread() == 0, "or the next agent would have to take it back"
    assert ledger.noted is not None
    ledger.written = Written.of(ledger.noted)
    await restarted.poll()
    assert restarted.unread() == 18


@pytest.mark.parametrize("begun_with", ["//tmp/q-0", "another tablet"])
async def test_an_agent_that_takes_over_takes_trims_of_tablets_that_nobody_saw(story: Story, begun_with: str) -> None:
    """The queue was resharded more than once meanwhile, or not at all: then the trim was of other rows."""
    old = story.consumer._judge._kept[QUEUE].state
    position = old.positions[0]
    reading = position.ledger.reading._replace(tablet_id=begun_with)
    positions = {0: position._replace(ledger=position.ledger._replace(reading=reading))}
    story.world.context.ledger = KnownLedger(QueueState(old.pair, positions, old.pace, old.last_poll, is_kept=True))
    story.world.clock.time += timedelta(seconds=40)
    restarted = Story(story.world)
    restarted.trim(Loser(CONSUMER, 50), tablet_id="an unseen tablet")
    for _ in range(3):
        await restarted.poll()
    is_told = begun_with == "another tablet"
    assert restarted.ledger().counts.trimmed_uncommitted == (10 if is_told else 18)


async def test_whose_rows_an_offset_counts_is_not_known_before_its_ledger_is_read(story: Story) -> None:
    """It may know of another tablet, in which the offset was."""
    old = story.consumer._judge._kept[QUEUE].state
    ledger = KnownLedger(None)
    story.world.context.ledger = ledger
    restarted = Story(story.world)
    for _ in range(3):
        await restarted.poll()
    assert (restarted.verdict() is Verdict.UNKNOWN, restarted.tablets()) == (False, {})
    ledger.is_missing = True  # nobody keeps anything here
    again = restarted.consumer._judge.judge(story.world.board.all_consumers[CONSUMER])
    assert again[QUEUE].tablets == old.tablets, "although nothing else has changed"
    await restarted.poll()
    assert restarted.tablets() == old.tablets
    ledger.is_missing = False
    await restarted.poll()
    assert restarted.tablets() == {}
    ledger.opened = QueueState(old.pair, old.positions, old.pace, old.last_poll, is_kept=True)
    await restarted.poll()
    assert restarted.tablets() == old.tablets


def positions(story: Story) -> Mapping[int, object]:
    return story.consumer._judge._kept[QUEUE].state.positions


async def test_a_ledger_begins_with_rows_that_were_seen_after_its_offsets() -> None:
    world = World()
    await world.synchronize()
    story = Story(world)
    await story.poll()
    assert story.verdict() is Verdict.UNKNOWN
    assert positions(story) == {}
    await story.poll()
    assert story.ledger().accounted == 42


async def newly_kept(error: ClusterError | None) -> Story:
    """Another agent has trimmed for this consumer, and nobody has written what it has lost."""
    world = World()
    world.context.ledger = KnownLedger(QueueState(Pair(QUEUE, CONSUMER), is_kept=True))
    await world.synchronize()
    story = Story(world)
    story.trim(Loser(CONSUMER, 42))
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 90}
    story.journal.error = error
    for _ in range(2):
        await story.poll()
    return story


async def test_a_new_ledger_waits_for_what_the_journal_has_of_its_consumer() -> None:
    story = await newly_kept(None)
    assert positions(story) == {}
    for _ in range(3):
        await story.poll()
    assert story.ledger().counts.trimmed_uncommitted == 18


async def test_rows_that_go_while_a_new_ledger_waits_are_settled_later() -> None:
    """The answer that it waits for is about fewer rows."""
    story = await newly_kept(None)
    story.world.hume.offsets[CONSUMER.path, QUEUE] = {0: 65}
    story.trim(Loser(CONSUMER, 65), rows=range(60, 80))
    for _ in range(4):
        await story.poll()
    assert story.ledger().counts.trimmed_uncommitted == 18 + 15


async def test_a_partition_that_begins_while_another_one_waits_keeps_nobody_waiting() -> None:
    story = await newly_kept(None)
    story.world.pythia.queues[QUEUE.path] = FakeQueue(["mounted"] * 2, {0: (60, 100), 1: (0, 10)})
    story.world.hume.offsets[CONSUMER.path, QUEUE] = {0: 90, 1: 5}
    for _ in range(5):
        await story.poll()
    assert positions(story).keys() == {0, 1}
    assert story.ledger().counts.trimmed_uncommitted == 18


async def test_a_new_ledger_does_not_wait_for_a_journal_that_cannot_be_read() -> None:
    story = await newly_kept(ClusterError("no answer"))
    await story.poll(seconds=9)
    assert positions(story) == {}
    await story.poll()
    assert story.ledger().counts.trimmed_uncommitted == 0


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
    ledger = KnownLedger(QueueState(Pair(QUEUE, CONSUMER), is_kept=True))
    story = await with_objective(ledger)
    for _ in range(5):
        await story.poll()
    assert published(story) == ObjectiveSeconds()
    assert ledger.noted is not None
    assert ledger.noted.seconds.until == story.world.clock.time.timestamp()
    assert ledger.noted is not None
    ledger.written = Written.of(ledger.noted)
    await story.poll()
    assert published(story) == ledger.written.seconds


async def test_seconds_are_not_published_while_a_ledger_that_is_there_cannot_be_read() -> None:
    assert published(await with_objective(KnownLedger(None))) is None


async def test_seconds_are_counted_in_memory_where_there_is_no_ledger() -> None:
    story = await with_objective(KeepNoLedger())
    await story.poll()
    await story.poll()
    seconds = published(story)
    assert seconds is not None
    assert seconds.good + seconds.bad + seconds.unknown >= 2


async def test_time_before_the_objective_could_be_read_is_unknown_and_not_left_out() -> None:
    world = World()
    seconds = ObjectiveSeconds(good=7.0, until=world.clock.time.timestamp())
    world.context.ledger = KnownLedger(QueueState(Pair(QUEUE, CONSUMER), is_kept=True, seconds=seconds))
    story = await begun(world)
    kept = story.consumer._judge._kept[QUEUE]
    assert kept.state.seconds.until is None, "there is no objective"
    story.consumer._judge.owner = OwnersWord()
    kept.state = replace(kept.state, seconds=seconds)
    story.consumer._judge.judge(world.board.all_consumers[CONSUMER])
    assert kept.state.seconds == seconds
