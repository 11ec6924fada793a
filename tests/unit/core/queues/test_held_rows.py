"""Which rows somebody keeps from being trimmed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queue_agent.core.queues.held_rows import held_shares
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint
from tests.unit.core.trimming.plans import BROKEN, mounted, snapshot_of, unmounted


def trim(kind: ConstraintKind, row_index: int | None, held: int | None, subject: str | None = "x") -> PartitionTrim:
    return PartitionTrim(None, TrimConstraint(kind, row_index, held, subject))


def test_rows_behind_a_vital_consumer_or_an_export_are_held() -> None:
    trims = {
        0: trim(ConstraintKind.VITAL_CONSUMER, 10, 4),
        1: trim(ConstraintKind.NOTHING_READ, 0, 20),
        2: trim(ConstraintKind.EXPORT, 5, 5, "daily"),
    }
    snapshot = replace(snapshot_of(mounted(0, 40), mounted(10, 30), mounted(0, 40)), trims=trims)
    # Of 100 rows: 30 and 20; another consumer that has read some more holds them as well.
    assert held_shares(snapshot) == {"x": pytest.approx(0.5), "daily": pytest.approx(0.35)}


@pytest.mark.parametrize(
    "one",
    [
        trim(ConstraintKind.RETAINED_ROWS, 10, 20, None),
        trim(ConstraintKind.VITAL_CONSUMER, 40, 0),
        trim(ConstraintKind.EXPORT, None, None, "daily"),
        trim(ConstraintKind.EXPORT, 10, 5, None),
        trim(ConstraintKind.VITAL_CONSUMER, 40, 3),
    ],
)
def test_other_rows_are_not(one: PartitionTrim) -> None:
    assert held_shares(replace(snapshot_of(mounted(0, 40)), trims={0: one})) == {}


def test_nothing_is_held_where_nothing_is_known() -> None:
    held = {0: trim(ConstraintKind.VITAL_CONSUMER, 10, 4)}
    assert held_shares(snapshot_of(mounted(0, 40))) == {}
    assert held_shares(replace(snapshot_of(unmounted()), trims=held)) == {}
    assert held_shares(replace(snapshot_of(mounted(0, 5)), content=BROKEN, trims=held)) == {}
