"""Trims as the ledger of one consumer takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from queue_agent.core.consumers import own_trims
from queue_agent.core.state.trim_journal import Loser, TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.core.verdicts.ledger import Trim
from queue_agent.core.verdicts.values import LossCause

NOW = datetime(2025, 1, 23, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//q")
ALICE, BOB = CrossClusterRef("hume", "//alice"), CrossClusterRef("hume", "//bob")


def record(to: int, losers: Sequence[Loser] | None, *, start: int = 0, seconds: float = 0.0) -> TrimRecord:
    constraint = TrimConstraint(ConstraintKind.END_OF_PARTITION)
    return TrimRecord(NOW + timedelta(seconds=seconds), "host:1", QUEUE, "1-2", 0, start, to, constraint, losers, "t")


def trims_of(
    records: Iterable[TrimRecord], consumer: CrossClusterRef, resharded_since: datetime | None = None
) -> list[Trim]:
    return own_trims.trims_of(records, QUEUE, consumer, ["t"], resharded_since)


def test_a_loser_had_committed_as_far_as_was_read() -> None:
    records = [
        record(20, [Loser(ALICE, None, None, False, "daily")], start=10),
        record(10, [Loser(ALICE, 4, 60, True, "v"), Loser(BOB, 9)]),
        record(30, [Loser(ALICE, 4, None, True, "v", is_quarantined=True)], start=20),
    ]
    assert trims_of(records, ALICE) == [
        Trim(0, 10, 4, LossCause.VITAL_TRIMMING, "v", 60),
        Trim(10, 20, None, LossCause.EXPORT_TRIMMING, "daily"),
        Trim(20, 30, 4, LossCause.QUARANTINE, "v"),
    ]
    harmless = [Trim(10, 20, 20, is_harmless=True), Trim(20, 30, 30, is_harmless=True)]
    assert trims_of(records, BOB) == [Trim(0, 10, 9), *harmless], "who lost nothing had committed all rows"


def test_of_two_trims_from_one_row_the_later_one_comes_last_whatever_the_clocks_of_others_say() -> None:
    records = [record(9, [], start=5, seconds=-7), record(7, [], seconds=2), record(5, [], seconds=1)]
    assert [one.to for one in trims_of(records, ALICE)] == [5, 7, 9]


def test_of_trims_by_agents_of_earlier_versions_nothing_is_known() -> None:
    assert trims_of([record(10, None)], ALICE) == [Trim(0, 10, None)]


def test_trims_of_a_tablet_that_is_no_more_say_nothing_of_rows_with_the_same_indexes() -> None:
    old, new = replace(record(20, []), tablet_id="old"), record(5, [])
    unknown = replace(record(7, []), tablet_id=None)
    replica = replace(old, queue=CrossClusterRef("hume", "//replica"), trimmed_row_count=9)
    assert trims_of([old, new, unknown, replica], ALICE) == [Trim(0, to, to, is_harmless=True) for to in (5, 7, 9)]


def test_of_a_queue_that_was_resharded_since_trims_of_tablets_that_nobody_saw_count() -> None:
    before, after = (replace(record(7, [], seconds=at), tablet_id="unseen") for at in (-1, 0))
    assert trims_of([before, after], ALICE, NOW) == trims_of([record(7, [])], ALICE)
    assert trims_of([before, after], ALICE) == []
