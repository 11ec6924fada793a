"""What the record of events hears of a consumer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.changes import Change, Told, find_changes, find_death, told_of
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.queue_poll import observe_queue, without_poll
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.values import Verdict

NOW = 1_750_000_000.0
PAIR = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"))


class Story:
    """A consumer in one partition, polled each second, and its reported changes."""

    def __init__(self) -> None:
        self.state, self.told = QueueState(PAIR), Told()
        self.start, self.end, self.offset, self.object_id = 0, 0, 0, "1"
        self.now = self.committed_at = NOW
        self.changes: list[Change] = []

    def run(self, seconds: int, rows: int = 0, *, reads: bool = True) -> None:
        for _ in range(seconds):
            self.now += 1
            self.end += rows
            if reads and self.offset != self.end:
                self.commit(self.end)
            self.poll()

    def commit(self, offset: int) -> None:
        self.offset, self.committed_at = offset, self.now

    def poll(self) -> None:
        self.observe(self.seen())

    def seen(self) -> dict[int, PartitionReading]:
        age = self.committed_at if self.offset < self.end else None
        reading = Reading(
            self.start, self.end, self.offset, self.committed_at, self.object_id, self.object_id or None, age
        )
        return {0: PartitionReading(reading)}

    def observe(self, seen: dict[int, PartitionReading]) -> None:
        self.state = observe_queue(self.state, seen, range(1), self.now, 1.0)
        self.tell()

    def tell(self) -> None:
        self.told, changes = find_changes(self.told, self.state, self.now)
        self.changes += changes

    def take(self) -> Sequence[Change]:
        taken, self.changes = self.changes, []
        return taken


def kinds(changes: Sequence[Change]) -> list[EventKind]:
    return [change.kind for change in changes]


def warm() -> Story:
    story = Story()
    story.run(600, 10)
    assert story.take() == []
    return story


def test_a_consumer_that_falls_silent_and_reads_on_is_told_twice() -> None:
    story = warm()
    story.run(200, 10, reads=False)
    [stopped] = story.take()
    assert stopped.kind is EventKind.VERDICT
    assert stopped.details["verdict"] == "stopped"
    assert stopped.details["old_verdict"] == "ok"
    assert stopped.reason.startswith("Silent for 2 min")
    story.run(2, 10)
    [back] = story.take()
    assert (back.details["old_verdict"], back.subject) == ("stopped", "ok")


def test_a_loss_begins_and_ends_and_both_tell_how_much() -> None:
    story = warm()
    story.run(20, 100, reads=False)
    story.start = story.end
    story.run(3, 10, reads=False)
    begun = story.take()
    assert kinds(begun) == [EventKind.LOSS, EventKind.VERDICT]
    assert begun[0].details["lost_row_count"] > 0
    story.run(700, 10)
    ended = story.take()
    assert kinds(ended) == [EventKind.LOSS_ENDED, EventKind.VERDICT]
    assert ended[0].reason.startswith(f"Lost {begun[0].details['row_count']:,} rows from")


def test_a_worse_partition_does_not_hide_whose_rows_are_lost() -> None:
    story = warm()
    lost = story.state.verdict
    assert lost is not None
    story.run(20, 100, reads=False)
    story.start = story.end
    told = story.told
    story.run(3, 10, reads=False)
    story.take()
    found = story.state
    assert found.verdict is not None
    # The whole may say something else: the loss is reported in the words of the partition.
    _, changes = find_changes(told, found, story.now)
    assert changes[0].reason == found.verdict.partitions[0].reason


def test_nothing_is_told_while_nothing_is_known() -> None:
    story = warm()
    old = story.told
    story.state = without_poll(story.state, Verdict.UNKNOWN, "Not polled yet", story.now)
    story.tell()
    assert (story.take(), story.told) == ([], old)
    assert find_changes(old, QueueState(PAIR), story.now) == (old, ())


def test_a_queue_that_cannot_be_read_still_loses_what_it_lost() -> None:
    story = warm()
    story.run(20, 100, reads=False)
    story.start = story.end
    story.run(3, 10, reads=False)
    story.take()
    story.state = without_poll(story.state, Verdict.UNREADABLE, "Tablet is unmounted", story.now)
    story.tell()
    [change] = story.take()
    assert (change.reason, change.subject) == ("Tablet is unmounted", "unreadable")
    assert story.told.loses
    story.observe({})
    assert story.take() == []


def test_steps_back_are_told_once_in_ten_minutes() -> None:
    story = warm()
    for _ in range(10):
        story.now += 30
        story.commit(story.offset - 10)
        story.poll()
        story.run(1, 10)
    rewinds = [one for one in story.take() if one.kind is EventKind.REWIND]
    assert len(rewinds) == 1
    story.now += 600
    story.commit(story.offset - 10)
    story.poll()
    assert EventKind.REWIND in kinds(story.take())


def test_a_queue_that_was_made_again_is_told() -> None:
    story = warm()
    story.object_id, story.end, story.start = "2", 0, 0
    story.run(1, reads=False)
    [change] = [one for one in story.take() if one.kind is EventKind.RECREATION]
    assert change.details == {"old_object_id": "1", "object_id": "2"}


def test_who_takes_over_goes_on_from_what_was_told() -> None:
    story = warm()
    story.run(200, 10, reads=False)
    story.take()
    told = told_of(story.state)
    assert (told.verdict, told.loses, told.object_id) == (Verdict.STOPPED, False, "1")
    assert find_changes(told, story.state, story.now)[1] == []
    assert told_of(QueueState(PAIR)) == Told()


def test_a_verdict_without_words_is_told_with_the_word() -> None:
    _, [change] = find_changes(Told(Verdict.STOPPED), warm().state, NOW)
    assert change.reason == "The verdict is ok"


DEAD = Price(5, None, 0, None, None, 90_000.0, is_dead=True)


def test_a_death_is_told_once_and_so_is_its_end() -> None:
    story = Story()
    story.run(10, rows=10)
    story.run(200, rows=10, reads=False)
    death = find_death(story.state, DEAD)
    assert death is not None
    assert (death.kind, death.reason) == (EventKind.DEAD, "Dead: silent for 1 d 1 h, and holds 5 rows")
    assert death.details == DEAD.to_map()
    assert find_death(story.state, None) is None
    assert find_death(story.state, replace(DEAD, is_dead=False)) is None
    story.state = replace(story.state, is_told_dead=True)
    assert find_death(story.state, DEAD) is None
    assert find_death(story.state, None) is None, "it may hold nothing for a while, and has not read"
    story.run(1, rows=10)
    assert story.state.is_told_dead
    end = find_death(story.state, None)
    assert end is not None
    assert (end.kind, end.details) == (EventKind.REVIVED, {})


def test_an_error_is_neither_death_nor_its_end() -> None:
    story = Story()
    assert find_death(story.state, DEAD) is None
    story.run(10, rows=10)
    story.run(200, rows=10, reads=False)
    for is_told_dead in (False, True):
        state = replace(story.state, is_told_dead=is_told_dead)
        unreadable = without_poll(state, Verdict.UNREADABLE, "broken", story.now + 1)
        assert find_death(unreadable, DEAD) is None
        partial = observe_queue(state, story.seen(), range(2), story.now + 1, 1.0)
        assert find_death(partial, DEAD) is None, "of one partition nothing is known"


def test_a_reshard_is_told_once_also_after_a_restart() -> None:
    story = warm()
    resharded = story.seen()[0].reading._replace(tablet_id="2")
    story.now += 1
    story.observe({0: PartitionReading(resharded)})
    [change] = story.take()
    assert (change.kind, change.reason, change.details["kind"]) == (
        EventKind.RESHARD,
        "The queue was resharded",
        "reshard",
    )
    story.told = told_of(story.state)
    story.now += 1
    story.observe({0: PartitionReading(resharded)})
    assert story.take() == []
