"""Polls that find nothing new, and those that only seem to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queue_agent.core.queues.snapshots import ConsumerQueueView, ConsumerView
from queue_agent.core.state.rows import Registration
from queue_agent.core.verdicts.keeping import PAIR, LedgerRow, Written, changed_rows
from queue_agent.core.verdicts.owner import OwnersWord
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, World
from tests.unit.controllers.consumers.ledgers import KnownLedger
from tests.unit.controllers.consumers.stories import begun, seen_later


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
