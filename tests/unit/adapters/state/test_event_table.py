"""Rows of the record of events: written, asked for, and edited by somebody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from queue_agent.adapters.state.event_table import EventTable, to_row, to_text
from queue_agent.core.state.consumer_events import KEY_COLUMNS, VALUE_COLUMNS, Event, EventQuery, EventSlice
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2026, 5, 1, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", '//q"')
NAMED = CrossClusterRef("hume", "//c", 'a"b')
EVENT = Event(NOW, "1-2", "loss", "host:1", "Loses rows", QUEUE, NAMED, "hume://v", {"rows": 5})
BARE = Event(NOW, "1-3", "dropped", "host:1", "Too many")


class Cluster:
    """A table that keeps what is inserted."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    async def insert_rows(self, path: str, rows: list[dict[str, Any]]) -> None:
        assert path == "//sys/qa/consumer_events"
        self.rows += rows

    async def select_all(self, path: str, queries: Sequence[str]) -> Sequence[Sequence[Mapping[str, Any]]]:
        return [self.rows]


async def test_what_is_written_is_read_again() -> None:
    table = EventTable(Cluster(), "//sys/qa")
    await table.write([EVENT, BARE])
    assert await table.read(EventQuery(NOW, 10)) == EventSlice([EVENT, BARE], None)
    assert list(to_row(EVENT)) == [*KEY_COLUMNS, *VALUE_COLUMNS]


@pytest.mark.parametrize(
    "edited",
    [
        {"instant": "yesterday"},
        {"kind": None},
        {"reason": 5},
        {"actor": b"\xff"},
        {"queue_cluster": None},
        {"consumer_name": 3},
        {"subject": 1.5},
    ],
)
async def test_a_row_that_somebody_has_edited_is_passed_over(edited: dict[str, Any]) -> None:
    cluster = Cluster()
    table = EventTable(cluster, "//sys/qa")
    await table.write([EVENT, BARE])
    cluster.rows[0].update(edited)
    assert await table.read(EventQuery(NOW, 10)) == EventSlice([BARE], None)


async def test_a_page_of_edited_rows_is_not_the_last() -> None:
    cluster = Cluster()
    table = EventTable(cluster, "//sys/qa")
    await table.write([EVENT, BARE])
    cluster.rows[1].update(kind=None)
    assert await table.read(EventQuery(NOW, 2)) == EventSlice([EVENT], BARE.cursor)


async def test_details_that_are_no_map_are_none() -> None:
    cluster = Cluster()
    cluster.rows = [{**to_row(BARE), "details": [1]}]
    assert await EventTable(cluster, "//sys/qa").read(EventQuery(NOW, 10)) == EventSlice([BARE], None)


def test_a_query_quotes_what_people_give() -> None:
    query = EventQuery(NOW, 7, "2026-05-01T00:00:00.000000Z,1-2", QUEUE, NAMED, ("verdict", "loss"))
    text = to_text(query, "//t")
    assert text.endswith("order by [instant] desc, [event_id] desc limit 7")
    for part in (
        '[instant] >= "2026-05-01T00:00:00.000000Z"',
        '[event_id] < "1-2"',
        '[queue_path] = "//q\\""',
        '[consumer_name] = "a\\"b"',
        '[kind] in ("loss", "verdict")',
    ):
        assert part in text
