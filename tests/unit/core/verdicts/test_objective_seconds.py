"""Each second is good, bad or unknown, exactly once."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.keeping import Written, changed_rows, restore
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.objectives import NO_SECONDS, Objective
from queue_agent.core.verdicts.queue_poll import observe_queue, without_poll
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.values import Verdict

NOW = 1_750_000_000.0
PAIR = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"))
OBJECTIVE = Objective(300.0, 0.99)


def _reading(offset: int, end: int, written: float | None = None, start: int = 0) -> PartitionReading:
    return PartitionReading(Reading(start, end, offset, NOW, "1", "o", written))


def _after(
    state: QueueState,
    now: float,
    *seen: PartitionReading,
    objective: Objective | None = OBJECTIVE,
    partitions: int | None = None,
) -> QueueState:
    count = len(seen) if partitions is None else partitions
    return observe_queue(state, dict(enumerate(seen)), range(count), now, 1.0, objective)


def _shares(state: QueueState) -> tuple[float, float, float]:
    return state.seconds.good, state.seconds.bad, state.seconds.unknown


def _begun(*seen: PartitionReading) -> QueueState:
    state = _after(QueueState(PAIR), NOW, *seen)
    assert _shares(state) == (0, 0, 0)
    return state


def test_a_reader_that_has_read_all_is_good() -> None:
    state = _begun(_reading(10, 10))
    for second in range(1, 11):
        state = _after(state, NOW + second, _reading(10, 10))
    assert _shares(state) == (10, 0, 0)


def test_quiet_polls_are_counted_by_the_next_that_is_not() -> None:
    state = _begun(_reading(10, 10))
    for second in range(1, 50):
        state = state.passed(NOW + second)
    assert _shares(_after(state, NOW + 50, _reading(10, 20, NOW + 49))) == (50, 0, 0)


def test_seconds_are_bad_from_the_moment_on_at_which_the_row_is_too_old() -> None:
    """Quiet polls until well after it became too old; then it is read."""
    state = _begun(_reading(10, 20, NOW))
    for second in range(1, 400):
        state = state.passed(NOW + second)
    state = _after(state, NOW + 400, _reading(20, 20))
    assert _shares(state) == (301, 99, 0), "the last second ended with all read"


def test_the_worst_partition_counts() -> None:
    fresh, late = _reading(10, 10), _reading(10, 20, NOW - 1000)
    state = _after(_begun(fresh, late), NOW + 1, fresh, late)
    assert _shares(state) == (0, 1, 0)


def test_a_lag_that_is_not_known_is_unknown_unless_another_partition_is_late() -> None:
    fresh, unknown, late = _reading(10, 10), _reading(10, 20), _reading(10, 20, NOW - 1000)
    assert _shares(_after(_begun(fresh, unknown), NOW + 1, fresh, unknown)) == (0, 0, 1)
    assert _shares(_after(_begun(late, unknown), NOW + 1, late, unknown)) == (0, 1, 0)


def test_a_partition_that_can_not_be_read_is_unknown() -> None:
    state = _after(_begun(_reading(10, 10)), NOW + 1, _reading(10, 10), partitions=2)
    assert _shares(state) == (0, 0, 1)


def test_a_second_in_which_rows_were_lost_is_bad_though_it_ended_the_lag() -> None:
    state = _begun(_reading(0, 0))
    state = _after(state, NOW + 1, _reading(10, 10))
    state = _after(state, NOW + 2, _reading(10, 1000, NOW + 1))
    state = _after(state, NOW + 3, _reading(10, 1000, start=1000))
    assert state.positions[0].ledger.counts.lost > 0
    assert _shares(state) == (2, 1, 0)


def test_blind_time_is_unknown_and_nothing_else() -> None:
    state = _begun(_reading(10, 10))
    state = _after(state, NOW + 1, _reading(10, 10))
    assert _shares(_after(state, NOW + 3601, _reading(10, 10))) == (1, 0, 3600)


def test_time_without_polls_is_unknown_as_it_passes() -> None:
    state = _begun(_reading(10, 10))
    for second in range(1, 31):
        state = without_poll(state, Verdict.UNREADABLE, "unmounted", NOW + second, objective=OBJECTIVE)
        assert _shares(state) == (0, 0, second)
    assert without_poll(state, Verdict.UNREADABLE, "unmounted", NOW + 30, objective=OBJECTIVE) is state
    state = _after(state, NOW + 31, _reading(10, 10))
    assert _shares(state) == (0, 0, 31)
    assert _shares(_after(state, NOW + 32, _reading(10, 10))) == (1, 0, 31)


def test_a_consumer_that_could_never_be_polled_is_unknown() -> None:
    state = without_poll(QueueState(PAIR), Verdict.UNREADABLE, "no", NOW, objective=OBJECTIVE)
    state = without_poll(state, Verdict.UNREADABLE, "no", NOW + 5, objective=OBJECTIVE)
    assert _shares(state) == (0, 0, 5)
    [row] = changed_rows(state, None)
    again = restore(PAIR, [(row.partition_index, row.state)], NOW + 6).state
    assert again is not None
    assert _shares(again) == (0, 0, 5)


def test_without_an_objective_no_second_is_counted_and_none_later() -> None:
    state = _begun(_reading(10, 10))
    state = _after(state, NOW + 1, _reading(10, 10))
    state = _after(state, NOW + 2, _reading(10, 10), objective=None)
    state = without_poll(state, Verdict.UNREADABLE, "no", NOW + 3)
    state = _after(state, NOW + 4, _reading(10, 10), objective=Objective(max_gap=60.0))
    assert state.seconds.until is None
    state = _after(state, NOW + 5, _reading(10, 10))
    assert _shares(_after(state, NOW + 7, _reading(10, 10))) == (3, 0, 0)


def test_an_idle_consumer_is_counted_once_a_minute() -> None:
    assert _begun(_reading(10, 10)).deadline <= NOW + 60
    quiet = observe_queue(QueueState(PAIR), {0: _reading(10, 10)}, range(1), NOW, 1.0)
    assert quiet.deadline > NOW + 60


def test_the_owner_s_gap_is_the_patience() -> None:
    gap = Objective(max_gap=30.0)
    state = _after(QueueState(PAIR), NOW, _reading(10, 10), objective=gap)
    for second in range(1, 40):
        state = _after(state, NOW + second, _reading(10, 20, NOW), objective=gap)
    assert state.verdict is not None
    assert state.verdict.verdict is Verdict.STOPPED
    assert state.verdict.whole.reason == "Silent for 39 s with 10 unread rows; its owner allows 30 s"
    assert state.verdict.pace.to_map() == {"usual": None, "patience": 30.0, "known_gaps": 0, "max_gap": 30.0}


def test_a_clock_that_went_back_counts_nothing_twice() -> None:
    state = _begun(_reading(10, 10))
    state = _after(state, NOW + 10, _reading(10, 10))
    state = _after(state, NOW + 2, _reading(10, 20, NOW - 1000))
    assert _shares(state) == (10, 0, 0)
    assert _shares(_after(state, NOW + 11, _reading(10, 10))) == (11, 0, 0)


@given(st.integers(0, 10**6))
def test_the_three_parts_are_all_of_the_time_whatever_happens(seed: int) -> None:
    """Polls, quiet polls, errors, blind time, and restarts from the last row that was written."""
    chance = random.Random(seed)
    clock = NOW
    state = _begun(_reading(10, 10))
    kept: Written | None = None
    rows: dict[int, object] = {}
    published = NO_SECONDS
    end = 10
    for _ in range(60):
        clock += chance.choice([0.3, 1.0, 1.0, 5.0, 60.0])
        match chance.randrange(6):
            case 0:
                state = without_poll(state, Verdict.UNREADABLE, "no", clock, objective=OBJECTIVE)
            case 1:
                state = state.passed(max(clock, state.last_poll or 0.0))
            case 2:
                rows |= {row.partition_index: row.state for row in changed_rows(state, kept)}
                kept = Written.of(state)
                published = state.seconds
            case 3 if kept is not None:
                found = restore(PAIR, rows.items(), clock).state
                assert found is not None
                state, kept = found, None
                assert state.seconds == replace(published, late_at=state.seconds.late_at, is_known=False)
            case _:
                end += chance.choice([0, 0, 10])
                offset = chance.choice([10, end])
                written = None if chance.random() < 0.2 else clock - chance.choice([0, 299, 400])
                state = _after(state, clock, _reading(offset, end, written))
        until = state.seconds.until
        assert until is not None
        assert abs(sum(_shares(state)) - (until - NOW)) < 1e-3
        assert min(_shares(state)) >= 0
