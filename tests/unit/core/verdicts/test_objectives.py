"""Shares of seconds."""

from __future__ import annotations

from queue_agent.core.verdicts.objectives import ObjectiveSeconds, ObjectiveStatus


def test_unknown_seconds_are_in_neither_part_of_the_ratio() -> None:
    assert ObjectiveSeconds(99.0, 1.0, 1e6).met_ratio == 0.99
    assert ObjectiveSeconds(unknown=5.0).met_ratio is None


def test_a_status_of_nothing_tells_nothing() -> None:
    assert ObjectiveStatus(None).to_map() == {"error": None}


def test_time_before_the_last_count_is_not_counted_again() -> None:
    seconds = ObjectiveSeconds(good=5.0, until=100.0, is_known=True)
    assert seconds.through(99.0) is seconds
    assert ObjectiveSeconds().through(99.0) == ObjectiveSeconds()
    assert seconds.through(103.0).good == 8.0
