"""Whether nobody reads for a consumer any more: an error is no death."""

from __future__ import annotations

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.queue_poll import observe_queue, without_poll
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.silence import find_silence, is_silent
from queue_agent.core.verdicts.values import Verdict

NOW = 1_750_000_000.0
PAIR = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"))
DAY = 86400


def reading(offset: int, end: int, at: float | None, object_id: str = "o") -> PartitionReading:
    return PartitionReading(Reading(0, end, offset, at, "1", object_id, NOW if offset < end else None))


def polled(state: QueueState, seen: dict[int, PartitionReading], seconds: int, step: int, first: float) -> QueueState:
    for second in range(0, seconds, step):
        state = observe_queue(state, seen, range(2), first + second, float(step))
    return state


def warm() -> QueueState:
    """Two partitions that were read each second for ten minutes."""
    state = QueueState(PAIR)
    for second in range(600):
        rows = 10 * second
        seen = {index: reading(rows, rows, NOW + second) for index in (0, 1)}
        state = observe_queue(state, seen, range(2), NOW + second, 1.0)
    return state


def test_a_consumer_that_is_silent_wherever_it_has_rows_to_read() -> None:
    seen = {0: reading(5990, 7000, NOW + 599), 1: reading(5990, 5990, NOW + 599)}
    state = polled(warm(), seen, DAY, 60, NOW + 660)
    silent = find_silence(state)
    assert silent is not None
    assert DAY - 120 <= silent <= DAY + 600
    assert state.verdict is not None
    assert is_silent(state.verdict)


def test_one_that_never_began_is_silent_since_it_was_seen() -> None:
    seen = {index: reading(0, 100, None) for index in (0, 1)}
    state = polled(QueueState(PAIR), seen, DAY, 60, NOW)
    silent = find_silence(state)
    assert silent is not None
    assert silent >= DAY - 120


def test_one_that_reads_somewhere_is_alive() -> None:
    state = warm()
    for minute in range(1, 100):
        seen = {
            0: reading(5990, 7000, NOW + 599),
            1: reading(5990 + minute, 5991 + minute, NOW + 600 + 60 * minute),
        }
        state = observe_queue(state, seen, range(2), NOW + 600 + 60 * minute, 60.0)
    assert state.positions[0].activity is Verdict.STOPPED
    assert find_silence(state) is None
    assert state.verdict is not None
    assert not is_silent(state.verdict)


def test_one_with_nothing_to_read_is_not_dead() -> None:
    assert find_silence(warm()) is None
    assert find_silence(QueueState(PAIR)) is None


def test_what_cannot_be_read_is_not_dead() -> None:
    seen = {0: reading(5990, 7000, NOW + 599)}
    state = polled(warm(), seen, DAY, 60, NOW + 660)
    assert state.positions[0].activity is Verdict.STOPPED
    assert find_silence(state) is None, "a partition cannot be read"
    unreadable = without_poll(state, Verdict.UNREADABLE, "broken", NOW + 2 * DAY)
    assert find_silence(unreadable) is None
