from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queue_agent.controllers.status import time_series
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.time_series import KIND, TimeSeriesRecorder
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.passes import PassScope

START = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//home/q")
OTHER = CrossClusterRef("pythia", "//home/other")
CONSUMER = CrossClusterRef("hume", "//home/c", "reader")
QUEUE_FIGURES = {"write_row_count_rate": 5.0, "write_data_weight_rate": 50.0, "row_count": 7}


class Clock:
    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at


class Observer:
    def __init__(self) -> None:
        self.kinds: list[str] = []

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        self.kinds.append(kind)


class Figures(Board):
    """A board whose figures the test gives."""

    def __init__(self, clock: Clock) -> None:
        super().__init__("host", clock)
        self.of_queues: dict[CrossClusterRef, dict[str, Any]] = {}
        self.of_consumers: dict[CrossClusterRef, list[dict[str, Any]]] = {}

    def queues(self) -> Any:
        return dict.fromkeys(self.of_queues)

    def consumers(self) -> Any:
        return dict.fromkeys(self.of_consumers)

    def queue_overview(self, ref: CrossClusterRef) -> dict[str, Any] | None:
        if "bug" in self.of_queues[ref]:
            raise KeyError("bug")
        return self.of_queues[ref]

    def consumer_overview(self, ref: CrossClusterRef) -> Sequence[dict[str, Any]] | None:
        return self.of_consumers[ref]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(clock: Clock) -> Figures:
    return Figures(clock)


async def test_figures_of_queues_and_consumers_are_remembered(board: Figures, clock: Clock) -> None:
    recorder = TimeSeriesRecorder(board, clock, Observer())
    board.of_queues[QUEUE] = QUEUE_FIGURES
    loss = {"value": 30.0, "earliest": 0.0, "latest": 60.0, "cause": "losing", "subject": None}
    board.of_consumers[CONSUMER] = [
        {
            "queue": str(QUEUE),
            "unread_row_count": 4,
            "processing_lag": 1500,
            "read_row_count_rate": 2.0,
            "time_to_loss": loss,
        },
        {"queue": str(OTHER), "error": {"code": 1}},
    ]
    await recorder.do_pass(0)
    view = recorder.queue_series(QUEUE, 24)
    assert view is not None
    assert view.times == [START]
    assert view.series == {
        "write_rows_rate": [5.0],
        "write_bytes_rate": [50.0],
        "backlog_rows": [7.0],
        "trim_rows_rate": [None],
    }
    view = recorder.consumer_series(CONSUMER, QUEUE, 24)
    assert view is not None
    assert view.series == {"lag_rows": [4.0], "lag_time": [1.5], "read_rows_rate": [2.0], "time_to_loss": [30.0]}
    unknown = recorder.consumer_series(CONSUMER, OTHER, 24)
    assert unknown is not None
    assert {tuple(values) for values in unknown.series.values()} == {(None,)}
    assert recorder.queue_series(OTHER, 24) is None


async def test_what_is_not_served_any_more_is_forgotten(board: Figures, clock: Clock) -> None:
    recorder = TimeSeriesRecorder(board, clock, Observer())
    board.of_queues[QUEUE] = QUEUE_FIGURES
    await recorder.do_pass(0)
    board.of_queues = {OTHER: QUEUE_FIGURES}
    clock.at += timedelta(minutes=1)
    await recorder.do_pass(1)
    assert recorder.queue_series(QUEUE, 24) is None
    assert recorder.queue_series(OTHER, 24) is not None


async def test_rows_that_are_trimmed_have_a_rate(board: Figures, clock: Clock) -> None:
    recorder = TimeSeriesRecorder(board, clock, Observer())
    minutes = {0: 100, 1: 700, 2: None, 3: 700, 4: 1000, 9: 2000, 10: 2060, 11: 5, 12: 65}
    for minute, count in minutes.items():
        clock.at = START + timedelta(minutes=minute)
        board.of_queues[QUEUE] = {**QUEUE_FIGURES, "trimmed_row_count": count}
        await recorder.do_pass(minute)
    view = recorder.queue_series(QUEUE, 24)
    assert view is not None
    rates = dict(zip(view.times, view.series["trim_rows_rate"], strict=True))
    found = {minute: rates[START + timedelta(minutes=minute)] for minute in minutes}
    # Not known, after what was not known, after a gap, and of a queue that was made again.
    assert found == {0: None, 1: 10, 2: None, 3: None, 4: 5, 9: None, 10: 1, 11: None, 12: 1}


async def test_a_bug_at_one_object_costs_no_other(board: Figures, clock: Clock) -> None:
    recorder = TimeSeriesRecorder(board, clock, Observer())
    board.of_queues = {QUEUE: {"bug": True}, OTHER: QUEUE_FIGURES}
    await recorder.do_pass(0)
    assert recorder.queue_series(QUEUE, 24) is None
    assert recorder.queue_series(OTHER, 24) is not None


async def test_many_objects_are_recorded_a_few_at_a_time(
    board: Figures, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_series, "OBJECTS_AT_ONCE", 2)
    recorder = TimeSeriesRecorder(board, clock, Observer(), max_objects=4)
    refs = [CrossClusterRef("pythia", f"//q{number}") for number in range(5)]
    board.of_queues = dict.fromkeys(refs, QUEUE_FIGURES)
    await recorder.do_pass(0)
    assert [recorder.queue_series(ref, 24) is not None for ref in refs] == [True] * 4 + [False]


async def test_an_unreadable_queue_has_gaps(clock: Clock) -> None:
    board = Board("host", clock)
    board.put_assignment(Assignment({QUEUE: Role.LEADING}, {}))
    board.put_queue(QueueSnapshot(QueueRow(QUEUE), Role.LEADING, 1, START, ErrorInfo("no")))
    observer = Observer()
    recorder = TimeSeriesRecorder(board, clock, observer)
    await recorder.do_pass(0)
    recorder.pass_finished(0, 0.1, None)
    view = recorder.queue_series(QUEUE, 1)
    assert view is not None
    assert set(view.series) == {"write_rows_rate", "write_bytes_rate", "backlog_rows", "trim_rows_rate"}
    assert {tuple(values) for values in view.series.values()} == {(None,)}
    assert observer.kinds == [KIND]
