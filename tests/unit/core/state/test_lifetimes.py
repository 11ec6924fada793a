"""How long rows are kept."""

from __future__ import annotations

from datetime import timedelta

from queue_agent.core.state.lifetimes import lifetime_attributes


def test_age_alone_drops_a_row() -> None:
    attributes = lifetime_attributes(timedelta(hours=2))
    assert attributes["max_data_ttl"] == 7_200_000
    assert (attributes["min_data_versions"], attributes["min_data_ttl"]) == (0, 0)


def test_the_cluster_looks_for_old_rows_daily() -> None:
    assert lifetime_attributes(timedelta(days=30))["auto_compaction_period"] == 24 * 60 * 60 * 1000
