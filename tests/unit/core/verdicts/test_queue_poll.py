"""All partitions of a queue together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.advice import Advice, Turn
from queue_agent.core.verdicts.incidents import Blame
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.queue_poll import REFRESH_PERIOD, find_still, observe_queue, without_poll
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.time_to_loss import Retention, VitalOffset
from queue_agent.core.verdicts.values import Confidence, LossCause, QueueVerdict, Verdict

NOW = 1_750_000_000.0
MOUNT = Advice(Turn.CLUSTER, "mount it", is_command=True)
PAIR = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"))


def _reading(offset: int, end: int, at: float, *, start: int = 0, tablet: str = "1") -> PartitionReading:
    return PartitionReading(Reading(start, end, offset, at, tablet, "o", at if offset < end else None))


def _after(state: QueueState, seen: Mapping[int, PartitionReading], now: float, partitions: int = 2) -> QueueState:
    return observe_queue(state, seen, range(partitions), now, 1.0)


def _verdict(state: QueueState) -> QueueVerdict:
    assert state.verdict is not None
    return state.verdict


def _warm(seconds: int = 600) -> QueueState:
    state = QueueState(PAIR)
    for second in range(seconds):
        rows = 10 * second
        state = _after(state, {index: _reading(rows, rows, NOW + second) for index in (0, 1)}, NOW + second)
    return state


def test_one_silent_partition_among_moving_ones_is_stopped() -> None:
    state = _warm()
    stuck = Reading(0, 6000, 5990, NOW + 599, "1", "o", NOW + 599)
    for second in range(600, 730):
        seen = {0: _reading(10 * second, 10 * second, NOW + second), 1: PartitionReading(stuck)}
        state = _after(state, seen, NOW + second)
    verdict = _verdict(state)
    assert verdict.verdict is Verdict.STOPPED
    assert verdict.worst_partition == 1
    assert verdict.whole.reason == (
        "Silent for 2 min 10 s with 10 unread rows in partition 1; usually commits every 1 s"
    )
    assert verdict.read_rate is not None
    assert verdict.read_rate > 9
    assert verdict.whole.drainable == 10


def test_losses_of_all_partitions_add_up_and_name_whom_to_blame() -> None:
    state = _warm()
    blame = Blame(LossCause.VITAL_TRIMMING, "a://vital")
    for second in (600, 601, 602):
        seen = {index: _reading(5990, 8000, NOW + 599, start=8000 + index)._replace(blame=blame) for index in (0, 1)}
        state = _after(state, seen, NOW + second)
    verdict = _verdict(state)
    assert verdict.verdict is Verdict.LOSING
    lost = verdict.whole.counts
    assert lost.lost + lost.possibly_lost == 2 * (8000 - 5990) + 1
    assert verdict.whole.loss is not None
    assert verdict.whole.loss.subject == "a://vital"
    assert verdict.whole.time_to_loss.value == 0.0


VITAL = Retention(is_vital=True)
AGING = Retention(data_ttl=3600.0)
RELEASED = replace(VITAL, released_at=NOW)


@pytest.mark.parametrize(
    ("cause", "before", "after", "lasts"),
    [
        (LossCause.VITAL_TRIMMING, Retention(), VITAL, 30),
        (LossCause.EXPORT_TRIMMING, Retention(), VITAL, 30),
        (LossCause.VITAL_TRIMMING, Retention(), Retention(), 600),
        (LossCause.TTL, AGING, Retention(), 30),
        (LossCause.TTL, AGING, replace(AGING, is_vital=True), 600),
        (LossCause.FOREIGN, Retention(), VITAL, 600),
        (LossCause.QUARANTINE, RELEASED, VITAL, 30),
        (LossCause.QUARANTINE, RELEASED, RELEASED, 600),
    ],
)
def test_losing_ends_soon_once_its_cause_is_gone(
    cause: LossCause, before: Retention, after: Retention, lasts: int
) -> None:
    state = _warm()
    gone = _reading(5990, 8000, NOW + 599, start=8000)._replace(blame=Blame(cause), retention=before)
    for second in (600, 601):
        state = _after(state, {0: gone}, NOW + second, 1)
    assert _verdict(state).verdict is Verdict.LOSING
    for second in (602, 600 + lasts):
        state = _after(state, {0: gone._replace(retention=after)}, NOW + second, 1)
    assert _verdict(state).verdict is Verdict.LOSING
    assert state.deadline <= NOW + 600 + lasts + 1
    assert _verdict(_after(state, {0: gone._replace(retention=after)}, NOW + 601 + lasts, 1)).verdict is Verdict.LOST


def test_rows_of_a_queue_created_again_are_lost_no_longer_once_the_reader_has_begun_again() -> None:
    state = _warm()
    state = _after(state, {0: _reading(5990, 8000, NOW + 600)}, NOW + 600, 1)
    other = Reading(0, 50, 5990, NOW + 600, "2", "another", None)
    for second in (601, 602, 640):
        state = _after(state, {0: PartitionReading(other)}, NOW + second, 1)
    assert _verdict(state).verdict is Verdict.LOSING
    begun = PartitionReading(other._replace(offset=0, committed_at=NOW + 641))
    assert _verdict(_after(state, {0: begun}, NOW + 641, 1)).verdict is Verdict.LOST


def test_lost_rows_are_told_until_they_are_acknowledged_and_later_ones_are_told_again() -> None:
    state = _warm()
    gone = _reading(5990, 8000, NOW + 599, start=8000)._replace(blame=Blame(LossCause.VITAL_TRIMMING))
    kept = gone._replace(retention=VITAL)
    for second, one in ((600, gone), (601, gone), (640, kept)):
        state = _after(state, {0: one}, NOW + second, 1)
    assert _verdict(state).verdict is Verdict.LOST
    loss = _verdict(state).whole.loss
    assert loss is not None
    early = observe_queue(state, {0: kept}, {0}, NOW + 641, 1.0, None, loss.until - 1)
    assert _verdict(early).verdict is Verdict.LOST
    known = observe_queue(state, {0: kept}, {0}, NOW + 641, 1.0, None, loss.until)
    assert _verdict(known).verdict not in (Verdict.LOST, Verdict.LOSING)
    assert _verdict(known).whole.counts == _verdict(state).whole.counts
    more = gone._replace(reading=gone.reading._replace(start=8100, end=9000))
    for second in (642, 643):
        known = observe_queue(known, {0: more}, {0}, NOW + second, 1.0, None, loss.until)
    assert _verdict(known).verdict is Verdict.LOSING


def test_a_reshard_is_told_until_it_is_acknowledged() -> None:
    state = _warm()
    other = _reading(5990, 8000, NOW + 599, tablet="2")
    state = _after(state, {0: other}, NOW + 600, 1)
    assert _verdict(state).verdict is Verdict.RESHARDED
    assert _verdict(observe_queue(state, {0: other}, {0}, NOW + 601, 1.0, None, NOW + 599)).verdict is Verdict.RESHARDED
    known = observe_queue(state, {0: other}, {0}, NOW + 601, 1.0, None, NOW + 600)
    assert _verdict(known).verdict is not Verdict.RESHARDED
    assert _verdict(known).whole.rebuild is None


@pytest.mark.parametrize(("written", "cause"), [(NOW - 4000, LossCause.TTL), (NOW, LossCause.FOREIGN)])
def test_rows_settled_long_after_they_went_are_as_old_as_they_were(written: float, cause: LossCause) -> None:
    state = _warm()
    seen = _reading(5990, 8000, NOW + 599)._replace(blame=Blame(data_ttl=3600.0))
    there = seen._replace(reading=seen.reading._replace(next_row_time=written))
    gone = seen._replace(reading=seen.reading._replace(start=8000, next_row_time=None), known_to=0)
    for second, one in enumerate((there, gone, gone, gone._replace(known_to=None)), 600):
        state = _after(state, {0: one}, NOW + second, 1)
    loss = _verdict(state).whole.loss
    assert loss is not None
    assert loss.cause is cause


def test_a_poll_in_the_past_changes_nothing() -> None:
    state = _warm(10)
    assert _after(state, {}, NOW) is state


def test_unreadable_partition_count_are_counted_and_keep_their_state() -> None:
    state = _warm(10)
    state = _after(state, {0: _reading(100, 100, NOW + 10)}, NOW + 10)
    assert _verdict(state).unreadable_partition_count == 1
    assert set(state.positions) == {0, 1}
    assert _verdict(state).verdict is Verdict.OK
    assert _verdict(_after(state, {}, NOW + 11)).verdict is Verdict.UNREADABLE


def test_a_queue_without_partitions_is_idle() -> None:
    assert _verdict(_after(QueueState(PAIR), {}, NOW, 0)).verdict is Verdict.IDLE


def test_partitions_that_are_gone_are_forgotten() -> None:
    state = _after(_warm(10), {0: _reading(100, 100, NOW + 10)}, NOW + 10, 1)
    assert set(state.positions) == {0}


def test_an_unreadable_queue_keeps_its_counters_and_since_when() -> None:
    state = without_poll(_warm(10), Verdict.UNREADABLE, "no such tablet", NOW + 10, MOUNT)
    verdict = _verdict(without_poll(state, Verdict.UNREADABLE, "no such tablet", NOW + 20))
    assert verdict.verdict is Verdict.UNREADABLE
    assert verdict.whole.since == NOW + 10
    assert verdict.whole.reason == "no such tablet"
    assert verdict.whole.counts.read > 0
    first = _verdict(without_poll(QueueState(PAIR), Verdict.UNKNOWN, "not polled yet", NOW))
    assert first.verdict is Verdict.UNKNOWN
    assert first.whole.counts.lost == 0
    assert first.whole.loss is None


def test_a_verdict_that_time_will_change_has_a_deadline() -> None:
    state = _warm()
    state = _after(state, {0: _reading(5990, 6000, NOW + 600), 1: _reading(6000, 6000, NOW + 600)}, NOW + 600)
    assert NOW + 600 < state.deadline <= NOW + 660


def test_somebody_else_who_has_trimmed_is_expected_to_do_so_again_for_a_day() -> None:
    others = Retention(trims=True, is_ours=False, vitals=[VitalOffset("a://vital", 9000)])

    def cause(state: QueueState, start: int, now: float) -> str:
        seen = _reading(6000, 8000, NOW + 599, start=start)._replace(retention=others)
        return _verdict(_after(state, {0: seen}, now, 1)).whole.time_to_loss.cause

    state = _warm()
    assert cause(state, 0, NOW + 601) == "none"
    seen = _reading(6000, 8000, NOW + 599, start=5000)._replace(retention=others)
    state = _after(state, {0: seen}, NOW + 600, 1)
    assert cause(state, 5000, NOW + 601) == "vital_trimming"
    assert cause(state, 5000, NOW + 600 + 86_401) == "none"


def _once_read(second: int, offset: int = 10, *, is_vital: bool = True) -> PartitionReading:
    """Of a consumer that has committed ten rows at the beginning."""
    reading = Reading(0, 10 * second, offset, NOW + 1, "1", "o", NOW + 1)
    return PartitionReading(reading, retention=Retention(is_vital=is_vital))


def test_a_vital_consumer_that_committed_once_is_not_waited_for_without_end() -> None:
    for is_vital, expected in ((True, Verdict.STOPPED), (False, Verdict.WAITING)):
        state = QueueState(PAIR)
        for second in range(1, 700):
            seen = {0: _once_read(second, is_vital=is_vital)}
            state = _after(state, seen, NOW + second, 1)
            if second == 300:
                assert _verdict(state).verdict is Verdict.WAITING
        assert _verdict(state).verdict is expected
        assert _verdict(state).whole.confidence is Confidence.LOW


def test_the_first_pause_of_a_vital_consumer_is_what_is_usual_for_it() -> None:
    """It was called stopped, for nothing was known of it; its next pauses are not."""
    state = QueueState(PAIR)
    offset, stopped = 10, []
    for minute in range(1, 6 * 60):
        offset = 10 * minute if minute % 60 == 0 else offset
        now = NOW + 60 * minute
        reading = Reading(0, 10 * minute, offset, NOW + 3600 * (minute // 60), "1", "o", now - 60)
        seen = {0: PartitionReading(reading, retention=Retention(is_vital=True))}
        state = observe_queue(state, seen, range(1), now, 60.0)
        if _verdict(state).verdict is Verdict.STOPPED:
            stopped.append(minute)
    assert stopped
    assert max(stopped) < 61


def test_time_in_which_nobody_polled_is_no_pause_of_the_reader() -> None:
    """The agent is away for 141 s, and the reader commits each second; then it dies."""
    state = _warm()
    for second in [*range(741, 800)]:
        rows = 10 * second
        state = _after(state, {index: _reading(rows, rows + 5, NOW + second) for index in (0, 1)}, NOW + second)
    usual = _verdict(state).pace.usual
    assert usual is not None
    assert usual <= 2
    dead = Reading(0, 9000, 7990, NOW + 799, "1", "o", NOW + 799)
    for second in range(800, 930):
        state = _after(state, {0: PartitionReading(dead), 1: PartitionReading(dead)}, NOW + second)
    assert _verdict(state).verdict is Verdict.STOPPED


def test_a_partition_that_has_not_changed_keeps_its_verdict_until_its_time_comes() -> None:
    state = _warm()
    stuck = PartitionReading(Reading(0, 6000, 5990, NOW + 599, "1", "o", NOW + 599))

    def moving(second: float) -> PartitionReading:
        return _reading(int(10 * second), int(10 * second), NOW + second)

    state = one_by_one = _after(state, {0: moving(600), 1: stuck}, NOW + 600)
    looked_at = []
    for second in range(601, 760):
        still = find_still(state, [0], NOW + second, 1.0)
        seen = {0: moving(second)} if still else {0: moving(second), 1: stuck}
        looked_at += [] if still else [second]
        before, state = state, observe_queue(state, seen, range(2), NOW + second, 1.0, still=still)
        if still:
            assert _verdict(state).partitions[1] is _verdict(before).partitions[1]
        one_by_one = _after(one_by_one, {0: moving(second), 1: stuck}, NOW + second)
        assert _verdict(state).verdict is _verdict(one_by_one).verdict
        assert _verdict(state).whole.drainable == 10
        assert _verdict(state).unreadable_partition_count == 0
    assert _verdict(state).verdict is Verdict.STOPPED
    assert _verdict(state).advice == _verdict(one_by_one).advice
    assert len(looked_at) <= 6, "when its numbers grow old, and when its patience ends"
    assert state.positions[1].silent <= one_by_one.positions[1].silent <= state.positions[1].silent + REFRESH_PERIOD


def test_everything_is_looked_at_again_if_there_is_more_to_know() -> None:
    state = _warm()
    later = NOW + 600
    assert find_still(state, [], later, 1.0) == {0, 1}
    assert find_still(state, [1], later, 1.0) == {0}
    assert find_still(state, None, later, 1.0) == ()
    assert find_still(replace(state, last_poll=None), [], later, 1.0) == ()
    assert find_still(state, [], NOW + 599 + 11, 1.0) == (), "nobody has looked for a while"
    assert find_still(state, [], max(state.deadlines.values()), 10_000.0) == set()
    ledger = state.positions[0].ledger
    gone = ledger._replace(reading=ledger.reading._replace(start=ledger.accounted + 1))
    unsettled = {**state.positions, 0: state.positions[0]._replace(ledger=gone)}
    assert find_still(replace(state, positions=unsettled), [], later, 1.0) == {1}


def test_no_verdict_stays_that_there_was_not() -> None:
    state = without_poll(_warm(), Verdict.UNREADABLE, "Cannot be read", NOW + 600)
    assert not find_still(state, [], NOW + 601, 1.0)


def test_a_pace_that_others_have_changed_reaches_a_partition_that_has_not_moved_at_the_next_poll() -> None:
    """Else its silence would be learned as usual when it ends, and the next ones be told much later."""
    state = QueueState(PAIR)
    silent = PartitionReading(Reading(0, 100, 90, NOW, "1", "o", NOW))
    for second in (0, 100, 200, 300, 400):
        rows = 10 + second // 50
        moved = PartitionReading(Reading(0, rows, rows - 1, NOW + second, "2", "o", NOW + second - 1))
        state = _after(state, {0: silent, 1: moved}, NOW + second)
        for later in range(second + 1, second + 100, 10):
            state = _after(state, {0: silent, 1: moved}, NOW + later)
    assert _verdict(state).partitions[0].verdict is not Verdict.STOPPED
    patience = _verdict(state).pace.patience
    now, read = NOW + 500, 20
    while _verdict(state).pace.patience == patience:
        now, read = now + 1, read + 1
        moved = PartitionReading(Reading(0, read, read - 1, now, "2", "o", now - 0.5))
        assert now < NOW + 600
        still = find_still(state, [1], now, 10.0)
        state = observe_queue(state, {1: moved}, range(2), now, 10.0, still={0})
    assert still
    assert find_still(state, [1], now + 1, 10.0) == set()
