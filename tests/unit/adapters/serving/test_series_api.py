from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl

import pytest

from queue_agent.adapters.serving.series_api import show_series
from queue_agent.core.status.time_series import TimeSeriesView
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.status import ToldSeries
from yt_wire.error import YtError

QUEUE = CrossClusterRef("pythia", "//q")
CONSUMER = CrossClusterRef("hume", "//c", "reader")
VIEW = TimeSeriesView([datetime(2026, 5, 1, tzinfo=UTC)], {"rows": [None]})
VIEW_TOLD = {"times": [1777593600], "series": {"rows": [None]}}
EMPTY = {"step": 60, "times": [], "series": {}, "source": "memory", "history_until": None, "note": None}
FOUND = {**EMPTY, **VIEW_TOLD}


class Source:
    def __init__(self, told: ToldSeries) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.told = told

    async def queue_series(self, queue: CrossClusterRef, hours: int) -> ToldSeries:
        self.asked.append((queue, hours))
        return self.told

    async def consumer_series(self, consumer: CrossClusterRef, queue: CrossClusterRef, hours: int) -> ToldSeries:
        self.asked.append((consumer, queue, hours))
        return self.told


async def ask(query: str, source: Source | None) -> object:
    return await show_series(source, dict(parse_qsl(query)))


async def test_series_of_a_queue_and_of_a_consumer() -> None:
    source = Source(ToldSeries(VIEW))
    assert await ask("kind=queue&cluster=pythia&path=//q", source) == FOUND
    of_consumer = "kind=consumer&cluster=hume&path=//c&name=reader&queue_cluster=pythia&queue_path=//q&hours=2"
    assert await ask(of_consumer, source) == FOUND
    assert source.asked == [(QUEUE, 24), (CONSUMER, QUEUE, 2)]


async def test_where_figures_come_from_and_what_is_missing_is_told() -> None:
    source = Source(ToldSeries(VIEW, datetime(2026, 5, 1, tzinfo=UTC), "Some are missing"))
    told = {"source": "history", "history_until": 1777593600, "note": "Some are missing"}
    assert await ask("kind=queue&cluster=pythia&path=//q", source) == {**FOUND, **told}


async def test_what_is_not_remembered_is_empty() -> None:
    assert await ask("kind=queue&cluster=pythia&path=//other", Source(ToldSeries(None))) == EMPTY
    assert await ask("kind=queue&cluster=pythia&path=//q", None) == EMPTY
    assert await ask("kind=consumer&cluster=a&path=//c&queue_cluster=a&queue_path=//q", None) == EMPTY


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
async def test_what_makes_no_sense_is_refused(query: str, parameter: str) -> None:
    with pytest.raises(YtError, match=f'"{parameter}"'):
        await ask(query, Source(ToldSeries(None)))
