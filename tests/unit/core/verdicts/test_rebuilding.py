"""Reshards and re-creations of a queue: what its consumers hear of them, and until when."""

from __future__ import annotations

import pytest

from queue_agent.core.verdicts.advice import Turn
from queue_agent.core.verdicts.keeping import changed_rows, restore
from queue_agent.core.verdicts.queue_poll import without_poll
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind, newest
from queue_agent.core.verdicts.values import Verdict
from tests.timelines.timelines import HOUR_OF_ROWS, Timeline, warm
from tests.unit.core.verdicts.polled_queue import PAIR, Queue


def test_a_reshard_is_told_until_there_is_a_commit_in_each_partition_with_rows() -> None:
    queue = Queue(2)
    queue.reshard(4)
    queue.write(0, 1, 2, 3)
    verdict = queue.poll()
    assert verdict.verdict is Verdict.RESHARDED
    assert (verdict.color, verdict.advice.turn) == ("amber", Turn.OWNER)
    assert verdict.whole.reason == (
        "Nothing committed in partition 0 since the queue was resharded at 2025-06-15T15:06:42Z; 10 unread rows"
    )
    assert verdict.whole.to_map()["rebuild"] == {"kind": "reshard", "time": "2025-06-15T15:06:42.000000Z"}
    for index in range(4):
        assert queue.poll().verdict is Verdict.RESHARDED
        queue.read(index)
    verdict = queue.poll()
    assert verdict.verdict is Verdict.OK
    assert verdict.whole.rebuild is None


def test_a_reshard_that_is_known_is_not_told_until_a_loss_is_sure() -> None:
    queue = Queue(1)
    for _ in range(3):
        queue.write(0)
        queue.poll()
        queue.read(0)
        queue.poll()
    queue.reshard(1)
    queue.write(*[0] * 20)
    assert queue.poll().verdict is Verdict.RESHARDED
    queue.offsets[0] += 10
    queue.committed[0] = queue.now
    queue.starts[0] = queue.ends[0]
    verdict = queue.poll()
    assert (verdict.verdict, verdict.whole.rebuild, verdict.whole.counts.lost > 0) == (Verdict.OK, None, True)
    assert queue.poll().verdict is Verdict.LOSING


def test_a_commit_shows_that_a_reshard_is_known_though_rows_are_left() -> None:
    queue = Queue(1)
    queue.reshard(2)
    queue.write(1)
    assert queue.poll().verdict is Verdict.RESHARDED
    queue.read(1)
    queue.write(1)
    verdict = queue.poll()
    assert verdict.whole.drainable == 10
    assert verdict.whole.rebuild is None


def test_a_partition_that_is_empty_since_a_reshard_needs_no_commit() -> None:
    queue = Queue(1)
    queue.reshard(3)
    verdict = queue.poll()
    assert verdict.verdict is Verdict.OK
    assert verdict.whole.rebuild is None
    queue.write(2)
    verdict = queue.poll()
    assert (verdict.verdict, verdict.worst_partition) == (Verdict.RESHARDED, 2)
    assert verdict.whole.rebuild is not None
    queue.read(2)
    assert queue.poll().whole.rebuild is None


def test_a_partition_that_can_be_read_later_than_others_is_one_of_the_reshard() -> None:
    queue = Queue(1)
    queue.reshard(2)
    queue.poll(unreadable=(1,))
    queue.write(1)
    verdict = queue.poll()
    assert (verdict.verdict, verdict.worst_partition) == (Verdict.RESHARDED, 1)


def test_a_partition_that_could_not_be_read_so_far_is_no_reshard() -> None:
    queue = Queue(1)
    queue.ends[1], queue.offsets[1], queue.committed[1] = 10, 0, None
    queue.poll()
    assert queue.poll().whole.rebuild is None


def test_the_tablets_that_were_judged_last_are_known_while_none_can_be_read_and_after_they_went() -> None:
    queue = Queue(2)
    judged = {0: "0-1", 1: "1-1"}
    assert queue.poll().tablets == judged
    assert queue.poll(unreadable=(0, 1)).tablets == judged
    unmounted = without_poll(queue.state, Verdict.UNREADABLE, "unmounted", queue.now).verdict
    assert unmounted is not None
    assert unmounted.tablets == judged
    queue.reshard(1)
    queue.poll()
    queue.write(0)
    queue.read(0)
    assert queue.poll().tablets == {0: "0-11", 1: "1-1"}


def test_after_a_reshard_an_offset_is_believed_once_it_moves() -> None:
    """One that is repeated may be of a reader that knows of no reshard, and so may one from before the first look."""
    queue = Queue(2)
    assert queue.doubted == set()
    queue.reshard(2)
    queue.write(0)
    queue.read(0)
    queue.poll()
    assert queue.doubted == {0, 1}
    queue.committed[1] = queue.now
    queue.poll()
    queue.restart()
    queue.poll()
    assert queue.doubted == {0, 1}
    queue.write(0, 1)
    queue.read(0)
    queue.poll()
    assert queue.doubted == {1}
    queue.offsets[1] -= 1
    queue.poll()
    assert queue.doubted == set()


def test_a_re_created_queue_is_told_until_the_consumer_steps_back() -> None:
    line = warm()
    assert line.position is not None
    before = line.position.ledger.counts.read
    line.recreate()
    line.write(10)
    line.run(120)
    assert line.verdicts == ["recreated", "ahead"]
    line.write(HOUR_OF_ROWS)
    line.run(2)
    assert line.verdicts == ["recreated", "ahead", "recreated"]
    line.restart()
    line.run(2)
    assert line.verdicts == ["recreated", "ahead", "recreated"]
    line.commit(0)
    line.run(1)
    line.commit(HOUR_OF_ROWS)
    line.run(2)
    assert line.verdicts == ["recreated", "ahead", "recreated", "ok"]
    assert line.position is not None
    assert line.position.ledger.counts.read - before == HOUR_OF_ROWS
    assert line.position.ledger.counts.trimmed_uncommitted == 0


def test_rows_that_an_old_offset_passes_are_skipped_and_not_read() -> None:
    line = warm()
    assert line.position is not None
    before = line.position.ledger.counts.read
    line.recreate()
    line.write(HOUR_OF_ROWS + 100)
    line.run(1)
    line.read(100)
    line.run(1)
    assert line.position is not None
    counts = line.position.ledger.counts
    assert (counts.read - before, counts.skipped) == (100, HOUR_OF_ROWS)
    assert line.position.rebuild is None


@pytest.mark.parametrize(("committed", "lost"), [(0, 20), (5, 15), (20, 0)])
def test_what_was_committed_of_the_old_queue_after_the_last_poll_is_not_lost(committed: int, lost: int) -> None:
    line = warm()
    line.write(20)
    line.run(1)
    line.read(committed)
    line.recreate()
    line.run(1)
    assert line.position is not None
    assert line.position.ledger.counts.lost == lost


@pytest.mark.parametrize(("read", "verdict"), [(20, "recreated"), (15, "losing")])
def test_a_first_commit_right_before_the_re_creation_is_one_of_the_old_queue(read: int, verdict: str) -> None:
    line = Timeline(has_offset=False)
    line.write(20)
    line.run(2)
    line.read(read)
    line.recreate()
    line.run(120)
    assert line.verdicts == ["not_started", verdict, "ahead"]
    assert line.position is not None
    assert line.position.ledger.counts.lost == 20 - read
    line.commit(0)
    line.run(1)
    assert line.position.rebuild is None


def test_an_offset_that_the_new_queue_reaches_says_nothing_of_the_old_one() -> None:
    line = warm()
    line.write(20)
    line.run(1)
    line.read(20)
    line.recreate()
    line.write(HOUR_OF_ROWS + 5000)
    line.run(1)
    assert line.position is not None
    assert line.position.ledger.counts.lost == 20


def _created_again(queue: Queue) -> Queue:
    queue.object_id, queue.tablets = "another", "2"
    queue.ends = dict.fromkeys(queue.ends, 0)
    return queue


@pytest.mark.parametrize(("restarts", "unwatched", "rows"), [(True, 2, "at least 10 rows"), (False, 0, "10 rows")])
def test_who_has_not_looked_at_the_old_queue_itself_says_that_more_may_be_lost(
    *, restarts: bool, unwatched: int, rows: str
) -> None:
    queue = Queue(2)
    queue.write(1)
    queue.poll()
    if restarts:
        queue.restart()
    _created_again(queue).poll()
    verdict = queue.poll()
    counts = verdict.whole.counts
    assert (verdict.verdict, counts.lost, counts.unwatched_recreations) == (Verdict.LOSING, 10, unwatched)
    assert verdict.whole.reason == f"Lost {rows} in partition 1 when the queue was re-created at 2025-06-15T15:06:43Z"


def test_a_partition_that_could_not_be_read_before_the_re_creation_was_not_watched() -> None:
    queue = Queue(2)
    queue.poll(unreadable=(0,))
    partitions = _created_again(queue).poll().partitions
    assert {index: one.counts.unwatched_recreations for index, one in partitions.items()} == {0: 1, 1: 0}


@pytest.mark.parametrize(("seconds", "unwatched"), [(10, 0), (11, 1)])
def test_who_has_not_looked_for_ten_polls_has_not_watched_the_old_queue(seconds: int, unwatched: int) -> None:
    queue = Queue(1)
    queue.now += seconds - 1
    assert _created_again(queue).poll().whole.counts.unwatched_recreations == unwatched


def test_what_is_trimmed_by_an_old_offset_is_lost() -> None:
    line = warm()
    line.recreate()
    line.write(5000)
    line.run(1)
    line.trim(3000)
    line.run(2)
    assert line.verdicts == ["recreated", "losing"]
    assert line.position is not None
    assert line.position.ledger.counts.lost == 3000
    line.recreate()
    line.run(2)
    assert line.position.ledger.counts.lost == 5000


def test_a_consumer_that_has_committed_in_the_new_queue_already_knows_it() -> None:
    line = warm()
    line.recreate()
    line.write(50)
    line.commit(20)
    line.run(2)
    assert line.verdicts == []


def test_a_reshard_hides_no_recreation() -> None:
    line = warm()
    line.recreate()
    line.write(10)
    line.run(1)
    line.tablet += "1"
    line.run(1)
    assert line.position is not None
    assert line.position.rebuild is not None
    assert line.position.rebuild.kind is RebuildKind.RECREATION


@pytest.mark.parametrize("kind", RebuildKind)
def test_what_is_kept_tells_it(kind: RebuildKind) -> None:
    queue = Queue(1)
    queue.reshard(2)
    queue.write(1)
    if kind is RebuildKind.RECREATION:
        queue.object_id = "another"
    queue.poll()
    rows = [(row.partition_index, row.state) for row in changed_rows(queue.state, None)]
    for now in (queue.now, queue.now - 3600):  # also if rows are from the future
        kept = restore(PAIR, rows, now).state
        assert kept is not None
        found = {index: one.rebuild for index, one in kept.positions.items()}
        assert found == {index: one.rebuild for index, one in queue.state.positions.items()}
        assert found[0] == Rebuild(kind, queue.now)


def test_the_newest_is_told() -> None:
    old, new = Rebuild(RebuildKind.RESHARD, 1.0), Rebuild(RebuildKind.RESHARD, 2.0)
    assert newest([None, old, new, None]) is new
    assert newest([None]) is None
