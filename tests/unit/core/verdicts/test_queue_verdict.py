"""Verdicts of partitions that move, or have come to rest: what in them may be old, and what not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.incidents import Blame
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.queue_poll import REFRESH_PERIOD, find_still, observe_queue
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.time_to_loss import NO_RETENTION, Retention
from queue_agent.core.verdicts.values import Forecast, LossCause, PartitionVerdict, QueueVerdict, Rate

NOW = 1_750_000_000.0
PAIR = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"))
BLAME = Blame(LossCause.VITAL_TRIMMING, "a://vital")
WRITTEN = 50
"""Rows a second."""

_ANY = Forecast(None, "any")


class Poller:
    """Polls each second as an agent does: partitions that were found as before are not looked at.

    Args:
        looks_at_all: instead, at each poll.
    """

    def __init__(self, *, looks_at_all: bool = False) -> None:
        self._looks_at_all = looks_at_all
        self._seen: Mapping[int, PartitionReading] = {}
        self.state = QueueState(PAIR)

    def poll(self, seen: Mapping[int, PartitionReading], now: float) -> QueueVerdict:
        """The verdict after a poll that found that."""
        moved = [index for index, one in seen.items() if one != self._seen.get(index)]
        still = find_still(self.state, None if self._looks_at_all else moved, now, 1.0)
        looked_at = {index: one for index, one in seen.items() if index not in still}
        self.state = observe_queue(self.state, looked_at, range(len(seen)), now, 1.0, still=still)
        self._seen = seen
        assert self.state.verdict is not None
        return self.state.verdict


class Partition:
    """Is written, read and trimmed.

    Args:
        retention: what keeps its rows.
    """

    def __init__(self, retention: Retention = NO_RETENTION) -> None:
        self._retention = retention
        self.start = self.end = self.offset = 0
        self.committed_at = self.written_at = NOW

    def see(self) -> PartitionReading:
        """What a poll finds."""
        next_row_time = NOW + self.offset / WRITTEN if self.offset < self.end else None
        reading = Reading(self.start, self.end, self.offset, self.committed_at, "1", "o", next_row_time)
        return PartitionReading(reading, BLAME, self._retention, written_at=self.written_at)

    def move(self, now: float, *, reads: bool, behind: int = 0, trims: bool = False) -> PartitionReading:
        """Rows are written, and maybe read and trimmed; what a poll finds then."""
        self.end, self.written_at = self.end + WRITTEN, now
        if reads:
            self.offset, self.committed_at = max(self.offset, self.end - behind), now
        if trims:
            self.start = self.end
        return self.see()


@pytest.mark.parametrize("period", [5, 10, 20])
def test_a_loss_is_foretold_between_the_commits_of_a_reader_whatever_its_period(period: int) -> None:
    poller, partition = Poller(), Partition(Retention(data_ttl=period + 5.0))
    for second in range(2000):
        seen = partition.move(NOW + second, reads=second % period == 0)
        found = poller.poll({0: seen}, NOW + second).partitions[0]
        if second > 1500:
            assert (found.time_to_loss.earliest is not None) is bool(found.drainable)


class Action(NamedTuple):
    """What happens to a partition for some seconds."""

    seconds: int
    reads: bool = False
    trims: bool = False
    behind: int = 0
    is_slow: bool = False
    """Of the rows that are written, a tenth is read."""

    rests: bool = False
    """Nothing is written either."""


_ACTIONS = st.lists(
    st.builds(
        Action,
        st.integers(1, 20),
        reads=st.booleans(),
        trims=st.booleans(),
        behind=st.sampled_from([0, 0, 40, 400]),
        is_slow=st.booleans(),
        rests=st.booleans(),
    ),
    max_size=8,
)


@given(_ACTIONS)
def test_verdicts_and_counts_are_those_of_looking_at_the_partition_at_each_poll(actions: list[Action]) -> None:
    some, every, partition = Poller(), Poller(looks_at_all=True), Partition()
    steps = [action for action in actions for _ in range(action.seconds)]
    for now, step in enumerate(steps, int(NOW)):
        behind = partition.end - partition.offset + WRITTEN * 9 // 10 if step.is_slow else step.behind
        reads = step.reads or step.is_slow
        seen = partition.see() if step.rests else partition.move(now, reads=reads, trims=step.trims, behind=behind)
        found, expected = some.poll({0: seen}, now), every.poll({0: seen}, now)
        assert _certain(found.whole) == _certain(expected.whole)
        assert _certain(found.partitions[0]) == _certain(expected.partitions[0])


def test_rates_of_a_partition_that_has_come_to_rest_fall_and_are_a_minute_old_at_most() -> None:
    poller, always, partition = Poller(), Poller(looks_at_all=True), Partition()
    for second in range(2000):
        now = NOW + second
        seen = {0: partition.move(now, reads=True) if second < 900 else partition.see()}
        found, expected = poller.poll(seen, now).partitions[0].read, always.poll(seen, now).partitions[0].read
        if second >= 900:
            assert found is not None
            assert expected is not None
            assert found.mean - expected.mean <= WRITTEN * REFRESH_PERIOD / 900
    assert found == Rate(0.0, 0.0, 0.0)
    assert poller.state.deadline > now + REFRESH_PERIOD


def _certain(verdict: PartitionVerdict) -> PartitionVerdict:
    """What is never old."""
    return verdict._replace(time_to_catch_up=_ANY, time_to_loss=_ANY, read=None, reason=None)
