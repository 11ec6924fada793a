from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from queue_agent.controllers.status import overview_feed
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.overview_feed import OverviewFeed
from queue_agent.core.queues.snapshots import ConsumerSnapshot, QueueSnapshot, Role
from queue_agent.core.state.rows import ConsumerRow, QueueRow
from queue_agent.core.status.time_series import TimeSeriesView
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.advice import NO_ADVICE
from tests.waiting import LIMIT_SECONDS

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//home/q")
OTHER = CrossClusterRef("pythia", "//home/other")
CONSUMER = CrossClusterRef("hume", "//home/c", "reader")
KEY = ["hume", "//home/c", "pythia", "//home/q", "reader"]


class Clock:
    def now(self) -> datetime:
        return NOW


class Sparks:
    is_full = False

    def queue_series(self, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        return None

    def consumer_series(self, consumer: CrossClusterRef, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        return None

    def queue_spark(self, queue: CrossClusterRef) -> Sequence[float | None]:
        return [1.0]

    def consumer_spark(self, consumer: CrossClusterRef, queue: CrossClusterRef) -> Sequence[float | None]:
        return [2.0] if (consumer, queue) == (CONSUMER, QUEUE) else []


class Figures(Board):
    """A board whose figures the test gives; it counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__("host", Clock())
        self.snapshots: dict[CrossClusterRef, QueueSnapshot] = {}
        self.readers: dict[CrossClusterRef, ConsumerSnapshot] = {}
        self.figures: dict[CrossClusterRef, Any] = {}
        self.asked = 0

    def put(self, ref: CrossClusterRef, figures: Any, error: ErrorInfo | None = None) -> None:
        content = error or ErrorInfo("not looked at")
        if isinstance(figures, list):
            self.readers[ref] = ConsumerSnapshot(ConsumerRow(ref), Role.LEADING, 1, NOW, content)
        else:
            self.snapshots[ref] = QueueSnapshot(QueueRow(ref), Role.LEADING, 1, NOW, content)
        self.figures[ref] = figures

    def queues(self) -> Any:
        return dict(self.snapshots)

    def consumers(self) -> Any:
        return dict(self.readers)

    def queue_overview(self, ref: CrossClusterRef) -> Any:
        self.asked += 1
        if self.figures[ref] == "bug":
            raise KeyError("bug")
        return self.figures[ref]

    def consumer_overview(self, ref: CrossClusterRef) -> Any:
        self.asked += 1
        return self.figures[ref]


def reading(verdict: str = "ok", color: str = "green", rate: float = 0.0) -> list[dict[str, Any]]:
    entry = {"queue": str(QUEUE), "vital": True, "verdict": verdict, "color": color, "reason": None}
    return [{**entry, **NO_ADVICE.to_map(), "verdict_since": None, "read_row_count_rate": rate}]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview_feed, "LEAST_SECONDS", 0)
    monkeypatch.setattr(overview_feed, "ROWS_PER_SECOND", math.inf)
    monkeypatch.setattr(overview_feed, "SHARE", 0)
    monkeypatch.setattr(overview_feed, "OBJECTS_AT_ONCE", 1)


@pytest.fixture
def board() -> Figures:
    board = Figures()
    board.put(QUEUE, {"row_count": 5})
    board.put(CONSUMER, reading())
    return board


@pytest.fixture
def feed(board: Figures) -> OverviewFeed:
    return OverviewFeed(board, Clock(), Sparks())


async def look(feed: OverviewFeed) -> None:
    """Have it read the board again."""
    await feed.wait(None, 0)


async def test_everything_has_rows_with_sparklines(feed: OverviewFeed) -> None:
    await look(feed)
    document = await feed.everything()
    assert [(row["path"], row["rows"], row["spark"]) for row in document["queues"]] == [("//home/q", 5, [1.0])]
    assert [(row["name"], row["queue_path"], row["spark"]) for row in document["consumers"]] == [
        ("reader", "//home/q", [2.0])
    ]
    assert (document["problems"], document["version"]) == ([], feed.version)


async def test_news_are_told_once(feed: OverviewFeed, board: Figures) -> None:
    await look(feed)
    version = feed.version
    await look(feed)
    assert feed.version == version
    board.put(QUEUE, {"row_count": 6})
    await feed.wait(version, 10)
    changes = feed.changes(version)
    assert changes is not None
    assert [row["rows"] for row in changes["queues"]] == [6]
    assert (changes["consumers"], changes["gone"], changes.get("problems")) == ([], [], None)
    assert feed.version > version
    assert feed.changes(feed.version) == {"version": feed.version, "queues": [], "consumers": [], "gone": []}


async def test_a_problem_comes_and_goes(feed: OverviewFeed, board: Figures) -> None:
    await look(feed)
    version = feed.version
    board.put(CONSUMER, reading("losing", "red"))
    await feed.wait(version, 10)
    changes = feed.changes(version)
    assert changes is not None
    assert [(one["verdict"], one["consumer"]) for one in changes["problems"]] == [("losing", str(CONSUMER))]
    version = feed.version
    board.put(CONSUMER, reading())
    await feed.wait(version, 10)
    changes = feed.changes(version)
    assert changes is not None
    assert changes["problems"] == []


async def test_many_problems_travel_together_and_so_less_often(
    feed: OverviewFeed, board: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        board.put(CrossClusterRef("hume", f"//home/c{number}"), reading("losing", "red"))
    await look(feed)
    monkeypatch.setattr(overview_feed, "ROWS_PER_SECOND", 10)
    board.put(CONSUMER, reading("losing", "red"))
    await feed.wait(feed.version, 0)
    version = feed.version
    board.put(CONSUMER, reading())
    await feed.wait(version, 0.5)
    assert feed.version == version, "51 problems have just travelled"


async def test_objects_that_are_gone_are_told(feed: OverviewFeed, board: Figures) -> None:
    board.put(CONSUMER, reading("losing", "red"))
    await look(feed)
    version = feed.version
    board.readers.clear()
    board.snapshots.clear()
    await feed.wait(version, 10)
    changes = feed.changes(version)
    assert changes is not None
    assert (changes["gone"], changes["problems"]) == ([["queue", *QUEUE[:2]], ["consumer", *KEY]], [])


async def test_a_consumer_leaves_a_queue(feed: OverviewFeed, board: Figures) -> None:
    await look(feed)
    version = feed.version
    board.put(CONSUMER, [])
    await feed.wait(version, 10)
    changes = feed.changes(version)
    assert changes is not None
    assert changes["gone"] == [["consumer", *KEY]]


async def test_quiet_objects_are_not_looked_at_again(feed: OverviewFeed, board: Figures) -> None:
    await look(feed)
    asked = board.asked
    await look(feed)
    assert board.asked == asked
    board.put(QUEUE, {"write_row_count_rate": 5.0})
    board.put(CONSUMER, reading(rate=2.0))
    for _ in range(3):
        await look(feed)
    assert board.asked == asked + 6, "rates fall by themselves"


async def test_a_bug_at_one_object_costs_no_other(feed: OverviewFeed, board: Figures) -> None:
    board.put(OTHER, "bug")
    await look(feed)
    document = await feed.everything()
    assert [row["path"] for row in document["queues"]] == ["//home/q"]


async def test_versions_of_others_are_not_taken_for_ours(feed: OverviewFeed) -> None:
    first = feed.version
    await look(feed)
    assert feed.changes(first - 1) is None
    assert feed.changes(feed.version + 1) is None
    assert feed.changes(first) is not None


async def test_many_wait_and_one_looks(feed: OverviewFeed, board: Figures) -> None:
    async with asyncio.TaskGroup() as viewers:
        for _ in range(10):
            viewers.create_task(feed.wait(None, 0))
    assert board.asked == 2


async def test_somebody_waits_for_so_long_and_no_longer(feed: OverviewFeed) -> None:
    await look(feed)
    async with asyncio.timeout(LIMIT_SECONDS):
        await feed.wait(feed.version, 0.05)
