from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from aiohttp.test_utils import make_mocked_request

from queue_agent.adapters.serving.event_requests import read_event_query
from queue_agent.core.state.consumer_events import EventQuery
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire.error import YtError

NOW = datetime(2026, 5, 1, tzinfo=UTC)
CURSOR = "2026-05-01T10:00:00.000000Z,Z1_2-af-4"


def ask(query: str) -> EventQuery:
    return read_event_query(make_mocked_request("GET", f"/api/v1/events?{query}"), NOW)


def test_without_parameters_it_is_the_last_day() -> None:
    assert ask("") == EventQuery(NOW - timedelta(days=1), 100)


def test_all_parameters() -> None:
    query = f"since=2026-04-01T03:00:00+03:00&limit=5&before={CURSOR}&queue=a://q&consumer=b://c&kind=loss,verdict"
    since = datetime(2026, 4, 1, tzinfo=UTC)
    expected = EventQuery(
        since, 5, CURSOR, CrossClusterRef("a", "//q"), CrossClusterRef("b", "//c"), ("loss", "verdict")
    )
    assert ask(query) == expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("since=yesterday", "since"),
        ("since=2026-05-01T10:00:00", "zone"),
        ("since=0001-01-01T00:00:00%2B14:00", "since"),
        ("before=5", "before"),
        ('before=2026-05-01T10:00:00.000000Z,"', "before"),
        ("queue=q", "queue"),
        ("consumer=<x>c", "consumer"),
        ("kind=", "kind"),
        ("kind=loss%22", "kind"),
        ("limit=0", "limit"),
    ],
)
def test_what_makes_no_sense_is_refused(query: str, message: str) -> None:
    with pytest.raises(YtError, match=message):
        ask(query)
