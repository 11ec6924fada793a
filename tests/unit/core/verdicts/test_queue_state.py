"""What is known of a consumer in one queue."""

from __future__ import annotations

from dataclasses import replace

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.counts import Counts
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.position import Position, open_position
from queue_agent.core.verdicts.queue_state import Pair, QueueState

NOW = 1_750_000_000.0
PAIR = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"))


def _opened(tablet: str, lost: int) -> Position:
    position = open_position(Reading(0, 10, 3, NOW, tablet), NOW)
    return position._replace(ledger=position.ledger._replace(counts=Counts(lost=lost)))


def test_a_quiet_poll_only_moves_the_clock() -> None:
    state = QueueState(PAIR, {0: _opened("1", 0)}, last_poll=NOW)
    assert state.passed(NOW + 10) == replace(state, last_poll=NOW + 10)


def test_counts_and_tablets_are_those_of_partitions_that_are_no_more_too() -> None:
    state = QueueState(PAIR, {0: _opened("1", 5)}, left={0: _opened("3", 9), 1: _opened("2", 7)})
    assert state.counts == {0: Counts(lost=5), 1: Counts(lost=7)}
    assert state.tablets == {0: "1", 1: "2"}
