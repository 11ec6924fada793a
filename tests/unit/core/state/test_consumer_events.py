"""Events as rows of a table, and which of them somebody asks for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.state.consumer_events import (
    KEY_COLUMNS,
    LIFETIME,
    TABLE_ATTRIBUTES,
    TABLE_NAME,
    VALUE_COLUMNS,
    Event,
    EventQuery,
    EventSlice,
    merge_slices,
)
from queue_agent.core.state.schema import EVENT_COLUMNS, LATEST_VERSION, OWN_TABLES, tables_at
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2026, 5, 1, 10, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//q")
CONSUMER = CrossClusterRef("hume", "//c")
EVENT = Event(NOW, "1-2-3-4", "loss", "host:1", "Loses 5 rows", QUEUE, CONSUMER, "hume://v", {"rows": 5})
ALL = EventQuery(NOW - timedelta(days=1), 100)


def test_the_table_belongs_to_no_version_and_forgets_after_ninety_days() -> None:
    assert TABLE_NAME not in tables_at(LATEST_VERSION)
    assert OWN_TABLES[TABLE_NAME] == (EVENT_COLUMNS, TABLE_ATTRIBUTES)
    assert [column.name for column in EVENT_COLUMNS] == [*KEY_COLUMNS, *VALUE_COLUMNS]
    assert TABLE_ATTRIBUTES["max_data_ttl"] == 90 * 86_400_000
    assert timedelta(days=90) == LIFETIME


def test_an_event_is_published_with_what_it_is_about() -> None:
    assert EVENT.to_map() == {
        "instant": "2026-05-01T10:00:00.000000Z",
        "id": "1-2-3-4",
        "kind": "loss",
        "queue": "pythia://q",
        "consumer": "hume://c",
        "actor": "host:1",
        "subject": "hume://v",
        "reason": "Loses 5 rows",
        "details": {"rows": 5},
    }
    nobody = Event(NOW, "1", "dropped", "host:1", "Too many").to_map()
    assert (nobody["queue"], nobody["consumer"], nobody["details"]) == (None, None, {})


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        (ALL, True),
        (replace(ALL, since=NOW), True),
        (replace(ALL, since=NOW + timedelta(microseconds=1)), False),
        (replace(ALL, before=EVENT.cursor), False),
        (replace(ALL, before="2026-05-01T10:00:00.000000Z,1-2-3-5"), True),
        (replace(ALL, queue=QUEUE, consumer=CONSUMER, kinds=("loss",)), True),
        (replace(ALL, queue=CONSUMER), False),
        (replace(ALL, consumer=QUEUE), False),
        (replace(ALL, kinds=("verdict",)), False),
    ],
)
def test_a_query_asks_for_some_events(query: EventQuery, matches: bool) -> None:
    assert query.matches(EVENT) is matches


def at(second: int, event_id: str) -> Event:
    return replace(EVENT, instant=NOW + timedelta(seconds=second), event_id=event_id)


def test_records_are_merged_down_to_where_each_is_known() -> None:
    some, others = EventSlice([at(9, "a"), at(5, "b")], at(5, "b").cursor), EventSlice([at(7, "c"), at(2, "d")], None)
    whole = merge_slices((some, others), 5)
    assert [event.event_id for event in whole.events] == ["a", "c", "b"], "d may not be the next"
    assert whole.end == at(5, "b").cursor
    page = merge_slices((some, others), 2)
    assert ([event.event_id for event in page.events], page.end) == (["a", "c"], at(7, "c").cursor)
    assert merge_slices((others,), 5) == others
