"""The journal of trims."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

from queue_agent.core.state.trim_journal import KEY_COLUMNS, VALUE_COLUMNS, TrimRecord, table_attributes


def test_rows_of_the_journal_go_by_their_age_alone() -> None:
    attributes = table_attributes(timedelta(hours=2))
    assert attributes["max_data_ttl"] == 7_200_000
    assert (attributes["min_data_versions"], attributes["min_data_ttl"]) == (0, 0)
    assert table_attributes()["max_data_ttl"] == timedelta(days=30) // timedelta(milliseconds=1)


def test_old_rows_are_looked_for_at_least_daily() -> None:
    assert table_attributes()["auto_compaction_period"] == 24 * 60 * 60 * 1000


def test_trims_of_one_queue_stand_together_in_order_of_time() -> None:
    assert list(KEY_COLUMNS)[:3] == ["queue_cluster", "queue_path", "instant"]


def test_every_value_of_a_record_has_a_column() -> None:
    names = {field.name for field in fields(TrimRecord)}
    assert names - {"queue"} | {"queue_cluster", "queue_path"} == {*KEY_COLUMNS, *VALUE_COLUMNS}
