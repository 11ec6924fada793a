"""The journal of trims."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta

from queue_agent.core.state.lifetimes import lifetime_attributes
from queue_agent.core.state.trim_journal import KEY_COLUMNS, TABLE_ATTRIBUTES, VALUE_COLUMNS, JournalSpan, TrimRecord

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)


def test_rows_are_kept_for_a_month() -> None:
    assert lifetime_attributes(timedelta(days=30)) == TABLE_ATTRIBUTES


def test_trims_of_one_queue_stand_together_in_order_of_time() -> None:
    assert list(KEY_COLUMNS)[:3] == ["queue_cluster", "queue_path", "instant"]


def test_every_value_of_a_record_has_a_column() -> None:
    names = {field.name for field in fields(TrimRecord)}
    assert names - {"queue"} | {"queue_cluster", "queue_path"} == {*KEY_COLUMNS, *VALUE_COLUMNS}


def test_a_span_that_two_want_has_what_each_of_them_wants() -> None:
    span = JournalSpan(NOW, frozenset({1})).joined(JournalSpan(NOW - timedelta(seconds=1), frozenset({2})))
    assert span == JournalSpan(NOW - timedelta(seconds=1), frozenset({1, 2}))
