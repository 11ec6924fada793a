"""Partitions that were not looked at for a while, or not at all so far."""

from __future__ import annotations

from queue_agent.core.verdicts.values import Verdict
from tests.unit.core.verdicts.polled_queue import NOW, Queue


def test_a_partition_that_a_reshard_takes_away_and_gives_back_has_other_rows() -> None:
    queue = Queue(3)
    queue.write(2)
    queue.poll()
    queue.read(2)
    assert queue.poll().whole.counts.read == 10
    queue.reshard(2)
    assert queue.poll().whole.counts.read == 10
    queue.reshard(3)
    queue.offsets[2], queue.committed[2] = 110, NOW
    verdict = queue.poll()
    assert (verdict.verdict, queue.stale) == (Verdict.RECREATED, {2})
    assert verdict.whole.reason == (
        "The queue was resharded at 2025-06-15T15:06:45Z; offset 110 in partition 2 is of the old partition,"
        " and rows before it go unread"
    )
    assert verdict.advice.text == "queue-agent consumer reset a://q a://c --to earliest --partition 2"
    for _ in range(12):
        queue.write(2)
    queue.poll()
    assert queue.stale == {2}
    queue.restart()
    assert queue.poll().verdict is Verdict.RECREATED
    queue.read(2)
    verdict = queue.poll()
    assert (verdict.verdict, queue.stale, verdict.whole.rebuild) == (Verdict.OK, set(), None)
    assert (verdict.whole.counts.read, verdict.whole.counts.skipped) == (20, 110)


def test_a_partition_that_comes_back_with_a_new_offset_is_like_a_new_one() -> None:
    queue = Queue(3)
    queue.reshard(2)
    queue.poll()
    queue.reshard(3)
    queue.offsets[2], queue.committed[2] = 0, queue.now
    verdict = queue.poll()
    assert (verdict.verdict, queue.stale, verdict.whole.rebuild) == (Verdict.OK, set(), None)


def test_time_and_rows_in_which_a_consumer_is_not_registered_for_a_partition_do_not_count() -> None:
    queue = Queue(2)
    queue.write(1)
    queue.poll()
    queue.read(1)
    queue.write(1)
    assert queue.poll().whole.counts.read == 10
    queue.registered = [0]
    assert queue.poll().whole.counts.read == 10
    queue.now += 86400
    queue.starts[1] = queue.ends[1] = 500
    queue.poll()
    queue.registered = [0, 1]
    verdict = queue.poll()
    assert (verdict.verdict, verdict.whole.counts.read) == (Verdict.IDLE, 10)
    assert verdict.whole.counts.trimmed_uncommitted == 0


def test_an_offset_of_an_older_partition_stays_one_while_the_consumer_is_not_registered_for_it() -> None:
    queue = Queue(2)
    queue.reshard(1)
    queue.poll()
    queue.reshard(2)
    queue.ends[1], queue.offsets[1], queue.committed[1] = 10, 100, NOW
    queue.poll()
    assert queue.stale == {1}
    queue.registered = [0]
    queue.poll()
    queue.registered = [0, 1]
    queue.poll()
    assert queue.stale == {1}


def test_an_offset_in_a_partition_that_a_reshard_adds_may_be_of_an_older_one() -> None:
    queue = Queue(1)
    queue.reshard(3)
    queue.ends[2], queue.offsets[2], queue.committed[2] = 50, 40, NOW
    queue.poll()
    assert 2 in queue.doubted
    queue.restart()
    queue.poll()
    assert 2 in queue.doubted
    queue.read(2)
    queue.poll()
    assert 2 not in queue.doubted


def test_a_partition_that_could_not_be_read_at_first_is_not_doubted() -> None:
    queue = Queue(1)
    queue.ends[1], queue.offsets[1], queue.committed[1] = 50, 40, NOW
    queue.poll()
    assert queue.doubted == set()


def test_an_offset_that_moves_while_nobody_looks_moves_in_the_tablet_that_was_there_before_and_is_after() -> None:
    queue = Queue(2)
    queue.reshard(2)
    queue.poll()
    assert queue.doubted == {0, 1}
    queue.registered = [0]
    queue.poll()
    queue.registered = [0, 1]
    queue.poll()
    assert queue.doubted == {0, 1}
    queue.registered = [0]
    queue.poll()
    queue.registered = [0, 1]
    queue.write(1)
    queue.read(1)
    queue.poll()
    assert queue.doubted == {0}
