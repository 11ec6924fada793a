"""Trims as the ledger of one consumer takes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from queue_agent.core.consumers.own_trims import trims_of
from queue_agent.core.state.trim_journal import Loser, TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.core.verdicts.ledger import Trim
from queue_agent.core.verdicts.values import LossCause

NOW = datetime(2025, 1, 23, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//q")
ALICE, BOB = CrossClusterRef("hume", "//alice"), CrossClusterRef("hume", "//bob")


def record(to: int, losers: Sequence[Loser] | None) -> TrimRecord:
    return TrimRecord(NOW, "host:1", QUEUE, "1-2", 0, 0, to, TrimConstraint(ConstraintKind.END_OF_PARTITION), losers)


def test_a_loser_had_committed_as_far_as_was_read() -> None:
    records = [
        record(10, [Loser(ALICE, 4, 60, True, "v"), Loser(BOB, 9)]),
        record(20, [Loser(ALICE, None, None, False, "daily")]),
    ]
    assert trims_of(records, ALICE) == [
        Trim(10, 4, LossCause.VITAL_TRIMMING, "v", 60),
        Trim(20, None, LossCause.EXPORT_TRIMMING, "daily"),
    ]
    assert trims_of(records, BOB) == [Trim(10, 9), Trim(20, 20)], "who lost nothing had committed all rows"


def test_of_trims_by_agents_of_earlier_versions_nothing_is_known() -> None:
    assert trims_of([record(10, None)], ALICE) == [Trim(10, None)]
