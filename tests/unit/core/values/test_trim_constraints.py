"""What holds a partition back, as it is published."""

from __future__ import annotations

from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint


def test_what_is_not_known_of_a_constraint_is_null() -> None:
    assert TrimConstraint(ConstraintKind.NOT_MOUNTED).to_map() == {
        "kind": "not_mounted",
        "subject": None,
        "row_index": None,
        "held_row_count": None,
        "message": None,
    }


def test_a_trim_is_told_with_what_stops_it() -> None:
    constraint = TrimConstraint(ConstraintKind.VITAL_CONSUMER, 8, 12, "hume://tmp/c", "slow")
    assert PartitionTrim(8, constraint).to_map() == {
        "target": 8,
        "constraint": {
            "kind": "vital_consumer",
            "subject": "hume://tmp/c",
            "row_index": 8,
            "held_row_count": 12,
            "message": "slow",
        },
    }
    assert PartitionTrim(None, constraint).to_map()["target"] is None
