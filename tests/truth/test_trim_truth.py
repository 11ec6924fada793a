"""No history makes trimming lose a row that somebody needs: the code that agents run, over tables whose truth is known.

Between any two questions of an agent anything may happen, and answers get lost. Every trim is judged by what each of
its rows is, and by all that protected it at every moment since the agent began to ask what the trim rests on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.truth.agent import TruthAgent
from tests.truth.history import History
from tests.truth.tables import Event

EXAMPLES: Final = int(os.environ.get("TRUTH_EXAMPLES", "150"))
"""Histories in the suite; `TRUTH_EXAMPLES=20000` goes on for hours."""

_USUAL: Final = ["write", "read", "read", "send", "flush"] * 2 + ["rewind", "wait"]
_UNUSUAL: Final = [
    "register",
    "register",
    "unregister",
    "set_policy",
    "ban",
    "step_clock",
    "make_anew",
    "reshard",
    "replace_tablet",
    "replace_replica",
    "drop_replica",
    "export",
    "export",
    "stop_export",
    "make_directory_anew",
    "set_progress_back",
]
_LOSSES: Final = ["lose", "refuse"]
_NUMBERS: Final = st.integers(0, 11)


def events(names: Sequence[str]) -> st.SearchStrategy[Event]:
    return st.tuples(st.sampled_from(names), _NUMBERS, _NUMBERS, _NUMBERS)


happenings = events(_USUAL) | events(_USUAL) | events(_UNUSUAL)
meanwhiles = st.lists(st.tuples(st.integers(1, 18), happenings | events(_LOSSES)), max_size=3)


class TrimTruth(RuleBasedStateMachine):
    """Whatever happens, and whenever the agent hears of it, what is needed stays."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self._loop.run(work)

    def teardown(self) -> None:
        self._loop.close()

    @initialize(is_replicated=st.booleans(), partition_count=st.integers(1, 3), data=st.lists(happenings, max_size=12))
    def begin(self, is_replicated: bool, partition_count: int, data: list[Event]) -> None:
        self.history = History(is_replicated, partition_count)
        self.history.fill(4)
        self.agent = TruthAgent(self.history)
        for event in data:
            self.history.happen(event)
        self.run(self.agent.catch_up())

    @rule(data=st.lists(happenings, min_size=1, max_size=6))
    def things_happen(self, data: list[Event]) -> None:
        for event in data:
            self.history.happen(event)

    @rule()
    def attributes_are_written_down(self) -> None:
        self.agent.synchronize()

    @rule()
    def the_agent_reads_its_state(self) -> None:
        self.agent.read_state()

    @rule(meanwhile=meanwhiles)
    def consumers_are_polled(self, meanwhile: list[tuple[int, Event]]) -> None:
        self.run(self.agent.poll_consumers(meanwhile))

    @rule(meanwhile=meanwhiles)
    def tables_are_exported(self, meanwhile: list[tuple[int, Event]]) -> None:
        self.run(self.agent.export(meanwhile))

    @rule(fresh=st.booleans(), data=st.lists(happenings, max_size=3), meanwhile=meanwhiles)
    def the_queue_is_trimmed(self, fresh: bool, data: list[Event], meanwhile: list[tuple[int, Event]]) -> None:
        if fresh:
            self.run(self.agent.catch_up())
        for event in data:
            self.history.happen(event)
        self.run(self.agent.poll_replicas())
        self.run(self.agent.poll_queue(meanwhile))


TestTrimTruth = TrimTruth.TestCase
TestTrimTruth.settings = settings(max_examples=EXAMPLES, stateful_step_count=15)


@pytest.mark.parametrize("is_replicated", [False, True])
async def test_what_nobody_needs_goes_when_all_is_well(is_replicated: bool) -> None:
    history = History(is_replicated, partition_count=2)
    agent = TruthAgent(history)
    history.fill(4)
    for event in [("send", 0, 0, 0), ("send", 0, 1, 0), ("write", 0, 0, 0), ("write", 1, 0, 0)]:
        history.happen(event)
    for event in [("send", 0, 0, 0), ("send", 0, 1, 0), ("export", 0, 0, 0), ("export", 1, 1, 1)]:
        history.happen(event)
    for table in range(2):
        history.happen(("flush", table, 0, 0))
    history.tables.second += 3
    for _ in range(3):
        await agent.catch_up()
    await agent.poll_queue()
    assert [[tablet.lower for tablet in table.tablets] for table in history.tables.storages()] == (
        [[3, 3], [3, 3]] if is_replicated else [[3, 3]]
    )
