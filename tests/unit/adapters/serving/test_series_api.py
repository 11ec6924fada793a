from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from aiohttp.test_utils import make_mocked_request

from queue_agent.adapters.serving.series_api import show_series
from queue_agent.core.status.time_series import TimeSeriesView
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire.error import YtError

QUEUE = CrossClusterRef("pythia", "//q")
CONSUMER = CrossClusterRef("hume", "//c", "reader")
VIEW = TimeSeriesView([datetime(2026, 5, 1, tzinfo=UTC)], {"rows": [None]})
EMPTY = {"step": 60, "times": [], "series": {}, "source": "memory"}


class Source:
    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def queue_series(self, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        self.asked.append((queue, hours))
        return VIEW if queue == QUEUE else None

    def consumer_series(self, consumer: CrossClusterRef, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        self.asked.append((consumer, queue, hours))
        return VIEW

    def queue_spark(self, queue: CrossClusterRef) -> Sequence[float | None]:
        return []

    def consumer_spark(self, consumer: CrossClusterRef, queue: CrossClusterRef) -> Sequence[float | None]:
        return []


def ask(query: str, source: Source | None) -> object:
    return show_series(source, make_mocked_request("GET", f"/api/v1/series?{query}"))


def test_series_of_a_queue_and_of_a_consumer() -> None:
    source = Source()
    found = {"step": 60, "times": [1777593600], "series": {"rows": [None]}, "source": "memory"}
    assert ask("kind=queue&cluster=pythia&path=//q", source) == found
    assert (
        ask("kind=consumer&cluster=hume&path=//c&name=reader&queue_cluster=pythia&queue_path=//q&hours=2", source)
        == found
    )
    assert source.asked == [(QUEUE, 24), (CONSUMER, QUEUE, 2)]


def test_what_is_not_remembered_is_empty() -> None:
    assert ask("kind=queue&cluster=pythia&path=//other", Source()) == EMPTY
    assert ask("kind=queue&cluster=pythia&path=//q", None) == EMPTY
    assert ask("kind=consumer&cluster=a&path=//c&queue_cluster=a&queue_path=//q", None) == EMPTY


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("cluster=a&path=//q", "kind"),
        ("kind=table&cluster=a&path=//q", "kind"),
        ("kind=queue&path=//q", "cluster"),
        ("kind=queue&cluster=a", "path"),
        ("kind=queue&cluster=a&path=", "path"),
        ("kind=consumer&cluster=a&path=//c&queue_path=//q", "queue_cluster"),
        ("kind=consumer&cluster=a&path=//c&queue_cluster=a", "queue_path"),
        ("kind=queue&cluster=a&path=//q&hours=0", "hours"),
        ("kind=queue&cluster=a&path=//q&hours=25", "hours"),
        ("kind=queue&cluster=a&path=//q&hours=-1", "hours"),
        ("kind=queue&cluster=a&path=//q&hours=" + "9" * 5000, "hours"),
        ("kind=queue&cluster=a&path=//q&hours=00001", "hours"),
        ("kind=queue&cluster=a&path=//q&hours=%D9%A3", "hours"),
    ],
)
def test_what_makes_no_sense_is_refused(query: str, parameter: str) -> None:
    with pytest.raises(YtError, match=f'"{parameter}"'):
        ask(query, Source())
