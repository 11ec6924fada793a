"""Polls that find nothing new, and those that only seem to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from queue_agent.controllers.consumers.inquiry import _Asked
from queue_agent.controllers.status.trim_book import Question
from queue_agent.core.queues.snapshots import ConsumerQueueView, ConsumerView
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_journal import JournalSpan
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.counts import Counts
from queue_agent.core.verdicts.keeping import PAIR, LedgerRow, Written, changed_rows
from queue_agent.core.verdicts.objective_config import ConsumerObjectives
from queue_agent.core.verdicts.owner import OwnersWord
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.values import QueueVerdict
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, World
from tests.unit.controllers.consumers.ledgers import KnownLedger
from tests.unit.controllers.consumers.stories import Story, begun, seen_later


async def test_what_is_acknowledged_shows_although_nothing_else_has_changed() -> None:
    story = await begun(World())
    for _ in range(3):  # a new verdict is judged again at once
        await story.poll()
    judge, snapshot = story.consumer._judge, story.world.board.all_consumers[CONSUMER]
    kept = judge._kept[QUEUE]
    rebuild = Rebuild(RebuildKind.RECREATION, story.world.clock.time.timestamp())
    kept.state = replace(kept.state, positions={0: kept.state.positions[0]._replace(rebuild=rebuild)})
    judge.judge(seen_later(snapshot, 0.5))
    assert kept.state.positions[0].rebuild == rebuild
    judge.owner = OwnersWord(acknowledged={QUEUE: rebuild.at})
    judge.judge(seen_later(snapshot, 1.0))
    assert kept.state.positions[0].rebuild is None


class Quiet:
    """A consumer of which each pass finds what the one before found, with the same objects."""

    def __init__(self, story: Story, ledger: KnownLedger) -> None:
        self.story = story
        self.ledger = ledger
        self.judge = story.consumer._judge
        self.snapshot = story.world.board.all_consumers[CONSUMER]
        self.kept = self.judge._kept[QUEUE]

    def after(self, seconds: float) -> Mapping[CrossClusterRef, QueueVerdict]:
        """Verdicts so many seconds after the last pass that found something."""
        later = seen_later(self.snapshot, seconds)
        instant = self.snapshot.pass_instant + timedelta(seconds=seconds)
        return self.judge.judge(replace(later, pass_instant=instant))


async def quiet() -> Quiet:
    """Of a consumer that has read everything, whose ledger is written when a test says so."""
    world = World()
    world.context.ledger = ledger = KnownLedger(QueueState(Pair(QUEUE, CONSUMER), is_kept=True))
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 100}
    story = await begun(world)
    for _ in range(3):  # a new verdict is judged again at once
        await story.poll()
    found = Quiet(story, ledger)
    assert ledger.noted is not None
    ledger.written = Written.of(ledger.noted)
    found.after(1)
    assert found.after(2) is found.judge._verdicts
    assert found.kept.polled_at is not None
    ledger.noted = None
    return found


async def test_the_time_of_a_quiet_consumer_is_written_too() -> None:
    found = await quiet()
    found.after(500)
    assert found.ledger.noted is None
    found.after(700)
    assert found.ledger.noted is not None
    assert found.ledger.noted.last_poll == found.snapshot.pass_instant.timestamp() + 700


async def test_losses_that_were_not_written_are_noted_again_in_a_minute() -> None:
    """A note is dropped while this agent may not act."""
    found = await quiet()
    position = found.kept.state.positions[0]
    lost = position._replace(ledger=position.ledger._replace(counts=Counts(lost=5)))
    found.kept.state = replace(found.kept.state, positions={0: lost}, deadline=0.0)
    found.kept.noted_at = found.snapshot.pass_instant.timestamp()
    found.after(50)
    assert found.ledger.noted is None
    found.kept.state = replace(found.kept.state, deadline=0.0)
    found.after(70)
    assert found.ledger.noted is not None


async def test_what_is_written_is_published_although_nothing_else_is_new() -> None:
    found = await quiet()
    state = found.kept.state
    counted = state.positions[0]._replace(ledger=state.positions[0].ledger._replace(counts=Counts(lost=5)))
    found.ledger.written = Written.of(replace(state, positions={0: counted}))
    assert found.after(3)[QUEUE].whole.counts.lost == 5


async def test_an_answer_about_trims_is_taken_although_nothing_else_is_new() -> None:
    found = await quiet()
    found.kept.inquiry._asked = _Asked(Question(QUEUE, None, (), JournalSpan(EPOCH, frozenset()), answer=[]), {})
    found.after(3)
    assert not found.kept.inquiry.is_under_way


async def test_an_objective_that_is_invalid_now_is_told_although_nothing_else_is_new() -> None:
    found = await quiet()
    error = ErrorInfo("Error parsing attribute")
    found.judge.owner = OwnersWord(ConsumerObjectives(error=error))
    objective = found.after(3)[QUEUE].objective
    assert objective is not None
    assert objective.error == error


async def test_a_queue_that_is_registered_or_not_any_more_is_judged_although_nothing_else_is_new() -> None:
    found = await quiet()
    snapshot = found.snapshot
    other = CrossClusterRef("pythia", "//tmp/other")
    found.snapshot = replace(
        snapshot, registrations=[*snapshot.registrations, Registration(other, CONSUMER, vital=True)]
    )
    assert found.after(3).keys() == {QUEUE, other}
    found.snapshot = snapshot
    assert found.after(4).keys() == {QUEUE}


async def test_memory_that_is_gone_on_from_knows_the_last_quiet_poll() -> None:
    """There was no table of ledgers, and now there is an empty one."""
    found = await quiet()
    found.kept.is_read = False
    found.ledger.opened = QueueState(Pair(QUEUE, CONSUMER), is_kept=True)
    await found.judge.prepare(found.snapshot.registrations, leading=True)
    assert found.judge._kept[QUEUE].state.last_poll == found.snapshot.pass_instant.timestamp() + 2


async def test_a_pass_that_finds_nothing_new_judges_nothing_and_another_registration_does() -> None:
    world = World()
    world.store.registrations = [Registration(QUEUE, CONSUMER, vital=False)]
    other = await begun(world)
    judge, snapshot = other.consumer._judge, other.world.board.all_consumers[CONSUMER]
    kept, polled = judge._kept[QUEUE], snapshot.pass_instant.timestamp()
    before, state = judge._verdicts, kept.state
    assert judge.judge(seen_later(snapshot, 1)) is before
    assert (kept.state, kept.polled_at) == (state, polled + 1)
    assert judge.judge(seen_later(snapshot, 0.5)) is before
    assert kept.state.last_poll == polled + 1, "the clock went back"
    judge.judge(replace(seen_later(snapshot, 2), registrations=[Registration(QUEUE, CONSUMER, vital=False)]))
    assert kept.state.last_poll == polled + 2, "it may be registered for other partitions"


@pytest.mark.parametrize("offset", [42, 100])
async def test_the_ledger_of_a_consumer_that_does_nothing_is_written_rarely_but_never_old(offset: int) -> None:
    world = World()
    world.context.ledger = ledger = KnownLedger(QueueState(Pair(QUEUE, CONSUMER), is_kept=True))
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: offset}
    story = await begun(world)
    for _ in range(15):  # until it waits, and waits no more for its pace
        await story.poll(60)
    written: list[LedgerRow] = []
    for _ in range(25):
        ledger.noted = None
        await story.poll(60)
        written += [] if ledger.noted is None else changed_rows(ledger.noted, ledger.written)
        ledger.written = Written.of(ledger.noted) if ledger.noted is not None else ledger.written
    last_polls = [row.state["last_poll"] for row in written if row.partition_index == PAIR]
    assert 2 <= len(last_polls) <= 3
    assert world.clock.time.timestamp() - last_polls[-1] <= 600, "or the next agent would not know when it was alive"


async def test_what_has_changed_at_the_time_of_the_last_poll_is_not_forgotten() -> None:
    """Where the clock does not go on, the poll does not count, and the next one finds what it has found."""
    story = await begun(World())
    for _ in range(3):  # a new verdict is judged again at once
        await story.poll()
    judge, snapshot = story.consumer._judge, story.world.board.all_consumers[CONSUMER]
    assert snapshot.view is not None
    position = snapshot.view.queues[QUEUE]
    assert isinstance(position, ConsumerQueueView)
    [mine] = position.partitions
    moved = replace(position, partitions=[replace(mine, next_row_index=50)])
    snapshot = replace(snapshot, content=ConsumerView({QUEUE: moved}))

    judge.judge(snapshot)
    assert story.ledger().reading.offset == 42
    judge.judge(seen_later(snapshot, 1))
    assert story.ledger().reading.offset == 50
