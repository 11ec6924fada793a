"""The simulation notices what it is for: each defect that there once was, put back, makes a count wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import pytest

from queue_agent.controllers.consumers import inquiry, judge
from queue_agent.controllers.consumers.ledger_keeper import LedgerKeeper
from queue_agent.controllers.trimming.journal import TrimJournalKeeper
from queue_agent.controllers.trimming.witness import Witness
from queue_agent.core.consumers import own_trims
from queue_agent.core.queues import growth
from queue_agent.core.queues.snapshots import Compared
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.trimming.losers import Witnessed
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts import queue_poll
from queue_agent.core.verdicts.ledger import Trim
from queue_agent.core.verdicts.returning import appear
from tests.model.stage import World
from tests.model.stage_rows import CONSUMERS, READER, Perils
from tests.model.test_losses import told, trimmed, virtually

pytestmark = pytest.mark.slow

_SEEDS: Final = 8
"""Runs in one of which the defect has to show."""


def compare_with_what_was_seen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit may be seen before the trim that it came after."""
    monkeypatch.setattr(Compared, "is_in_order", property(lambda _: True))
    monkeypatch.setattr("queue_agent.controllers.consumers.consumer_controller.find_readings", _newest)


def _newest(previous: Any, queue: Any, newest: Any = None) -> Sequence[Any]:
    if newest is not None:
        return [newest]
    return [previous.compared.read] if getattr(previous, "compared", None) is not None else []


def count_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition is left out if its index is not below the number of those that a consumer is registered for."""
    monkeypatch.setattr(judge, "registered_indexes", lambda view, one: range(len(growth.registered_indexes(view, one))))


def keep_nothing_urgently(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an agent has counted is written once a minute, and published at once."""
    note = LedgerKeeper.note
    monkeypatch.setattr(LedgerKeeper, "note", lambda keeper, state, *, urgent: note(keeper, state, urgent=False))
    monkeypatch.setattr(judge, "_published", lambda kept: kept.state.verdict)


def write_records_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed agent leaves a hole in the journal."""

    async def announce(keeper: TrimJournalKeeper, records: Collection[TrimRecord]) -> None:
        for record in records:
            keeper.note(record)

    monkeypatch.setattr(TrimJournalKeeper, "announce", announce)


def call_holes_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no record that is known tells of was read, so nobody asks the journal."""
    monkeypatch.setattr(inquiry, "covers", lambda trims, rows: True)
    trims_of = own_trims.trims_of
    monkeypatch.setattr(inquiry, "trims_of", lambda *of: [_void, *trims_of(*of)])


_void: Final = Trim(0, 1 << 40, 1 << 40)


def believe_the_first_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a trim that was not carried out."""
    trims_of = own_trims.trims_of
    monkeypatch.setattr(inquiry, "trims_of", lambda *of: trims_of(*of)[::-1])


def wait_for_all_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """One consumer that is slow costs all others what was read of them."""
    look = Witness.look

    async def look_at_all(witness: Witness, *arguments: Any) -> Witnessed:
        found = await look(witness, *arguments)
        return Witnessed() if None in found.offsets.values() else found

    monkeypatch.setattr(Witness, "look", look_at_all)


def begin_partitions_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of a partition that a reshard has taken away are not there when it comes again."""
    monkeypatch.setattr(queue_poll, "appear", lambda opened, trims, left, reshard: appear(opened, trims, None, reshard))


Defect = Callable[[pytest.MonkeyPatch], None]

DEFECTS: Final[Mapping[Defect, Perils]] = {
    compare_with_what_was_seen_before: Perils(),
    count_partitions: Perils(),
    keep_nothing_urgently: Perils(kill=0.05),
    write_records_later: Perils(kill=0.08),
    call_holes_reading: Perils(kill=0.05),
    believe_the_first_record: Perils(lost_answer=0.3),
    wait_for_all_or_none: Perils(slow=0.5),
    begin_partitions_at_nothing: Perils(reshard=0.15, seconds=90),
}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: str(defect.__name__))
def test_a_defect_makes_a_count_wrong(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    defect(monkeypatch)
    perils = DEFECTS[defect]
    exact: Collection[CrossClusterRef] = (READER,) if perils.slow else CONSUMERS
    for seed in range(_SEEDS):
        world = virtually(World(seed, perils))
        if world.falls or any(told(world)[ref] != trimmed(world)[ref] for ref in exact):
            return
    pytest.fail(f"in {_SEEDS} runs everything was exact")
